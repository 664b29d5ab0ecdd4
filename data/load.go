package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"furlong/rl"
	"furlong/tokenizer"
)

// mostMalformed is the share of lines that may be no JSON: one in a thousand.
const mostMalformed = 0.001

// A Set is a file of prompts in memory. It does not change and may be shared.
type Set struct {
	prompts []*rl.Prompt
	report  Report
	digest  string // of ids, texts and labels, in order
}

// Len returns the number of prompts.
func (s *Set) Len() int { return len(s.prompts) }

// Report returns what was found in the file.
func (s *Set) Report() Report { return s.report }

// Prompts returns every prompt once, in the file's order, Group counting from 0. The prompts are the caller's.
func (s *Set) Prompts() []*rl.Prompt {
	all := make([]*rl.Prompt, len(s.prompts))
	for i := range all {
		all[i] = s.prompt(i, int64(i))
	}
	return all
}

// prompt returns prompt i as one of a run's groups.
func (s *Set) prompt(i int, group int64) *rl.Prompt {
	p := *s.prompts[i]
	p.Group = group
	return &p
}

// RolloutsPerEpoch returns how many rollouts of so many prompts an epoch holds, the incomplete last one not counted.
func (s *Set) RolloutsPerEpoch(batch int) (int, error) {
	if batch < 1 || batch > s.Len() {
		return 0, fmt.Errorf("--rollout-batch-size is %d, want 1 to %d, the prompts of %s", batch, s.Len(), s.report.File)
	}
	return s.Len() / batch, nil
}

// Open reads the file that c names.
func Open(c Config, tok tokenizer.Tokenizer) (*Set, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	path, _, err := parseSlice(c.File)
	if err != nil {
		return nil, err
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".parquet" || ext == ".gz" || ext == ".zst" {
		return nil, fmt.Errorf("%s: %s files are not read, want jsonl", path, ext)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, c, tok)
}

// Read reads a file from r. Messages name it as c does.
func Read(r io.Reader, c Config, tok tokenizer.Tokenizer) (*Set, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	path, rows, err := parseSlice(c.File)
	if err != nil {
		return nil, err
	}
	l := loader{
		Config: c, tok: tok, rows: rows, lines: newLines(r, c.MaxLineBytes),
		set:      &Set{report: Report{File: path}},
		ids:      map[string]place{},
		contents: map[string]int{},
		texts:    map[string]string{},
	}
	if err := l.all(); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if err := l.judge(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l.set, nil
}

// A loader fills a Set.
type loader struct {
	Config
	tok   tokenizer.Tokenizer
	rows  span
	lines *lines
	set   *Set
	first error // the first malformed line

	ids      map[string]place  // what each id stands for
	contents map[string]int    // line of the first row of each content
	texts    map[string]string // label of the first row of each text
}

// A place is where something was first seen.
type place struct {
	content string
	line    int
}

// all reads every line. Its error begins with the line's number.
func (l *loader) all() error {
	for {
		line, err := l.lines.next()
		if errors.Is(err, io.EOF) {
			l.set.report.Marked = l.lines.marked
			return nil
		}
		if err == nil {
			err = l.line(line)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", l.lines.number, err)
		}
	}
}

// line takes one line, blank and outside of the slice included.
func (l *loader) line(line []byte) error {
	rep := &l.set.report
	if len(strings.TrimSpace(string(line))) == 0 {
		rep.Blank++
		return nil
	}
	n := rep.Lines
	rep.Lines++
	if n < l.rows.from || n >= l.rows.to {
		rep.Outside++
		return nil
	}
	r, err := l.parse(line)
	if _, ok := errors.AsType[malformed](err); ok {
		rep.Malformed++
		rep.note(l.lines.number, "left out: %v", err)
		l.first = cmp.Or(l.first, fmt.Errorf("line %d: %w", l.lines.number, err))
		return nil
	}
	if err != nil {
		return err
	}
	return l.row(r)
}

// row takes one row into the set, or counts why not.
func (l *loader) row(r row) error {
	rep := &l.set.report
	if r.label == "" && l.LabelKey != "" {
		if !l.AllowEmptyLabels {
			return fmt.Errorf("%s is empty or missing, want the gold answer (--allow-empty-labels leaves such rows out)", l.LabelKey)
		}
		rep.EmptyLabels++
		rep.note(l.lines.number, "left out: %s is empty or missing", l.LabelKey)
		return nil
	}
	duplicate, err := l.compare(r)
	if err != nil || duplicate && l.DropDuplicates {
		return err
	}
	tokens := l.tok.Encode(r.text)
	if l.MaxPromptTokens > 0 && len(tokens) > l.MaxPromptTokens {
		rep.TooLong++
		return nil
	}
	p := &rl.Prompt{ID: r.id, Text: r.text, Tokens: tokens, Label: r.label, Metadata: r.metadata, Set: l.name()}
	l.set.prompts = append(l.set.prompts, p)
	return nil
}

// compare looks for r among the rows before it: as a duplicate, as the same text with another label, as another problem
// under the same id.
func (l *loader) compare(r row) (duplicate bool, err error) {
	rep, content := &l.set.report, r.content()
	if first, ok := l.ids[r.id]; ok && first.content != content {
		return false, fmt.Errorf("id %q stands for another problem in line %d", r.id, first.line)
	} else if !ok {
		l.ids[r.id] = place{content, l.lines.number}
	}
	if line, ok := l.contents[content]; ok {
		rep.Duplicates++
		rep.note(l.lines.number, "same text and label as line %d", line)
		return true, nil
	}
	l.contents[content] = l.lines.number
	if label, ok := l.texts[r.text]; ok {
		rep.Conflicts++
		rep.note(l.lines.number, "same text as an earlier row, label %q there and %q here", label, r.label)
	} else {
		l.texts[r.text] = r.label
	}
	return false, nil
}

// name returns the data set's name: its file's, without folder and ending.
func (l *loader) name() string {
	base := filepath.Base(l.set.report.File)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// judge decides whether the file as a whole will do.
func (l *loader) judge() error {
	rep := &l.set.report
	rep.Rows, rep.Dropped = len(l.set.prompts), l.DropDuplicates
	if n := rep.Lines - rep.Outside; float64(rep.Malformed) > mostMalformed*float64(n) {
		return fmt.Errorf("%d of %d lines are malformed, want at most 0.1 %%; the first: %w", rep.Malformed, n, l.first)
	}
	switch {
	case rep.Rows > 0:
		l.set.digest = l.set.sum()
		return nil
	case rep.TooLong > 0:
		return fmt.Errorf("every prompt left is longer than --rollout-max-prompt-len (%d): %v", l.MaxPromptTokens, rep)
	}
	return fmt.Errorf("no prompt is left: %v", rep)
}

// sum returns a digest of what the set holds, in order.
func (s *Set) sum() string {
	h := sha256.New()
	for _, p := range s.prompts {
		fmt.Fprintf(h, "%q %q %q\n", p.ID, p.Text, p.Label)
	}
	return hex.EncodeToString(h.Sum(nil))
}
