package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"furlong/data/rows"
	"furlong/tokenizer"
)

// mostMalformed is the share of rows that may be no JSON object: one in a thousand.
const mostMalformed = 0.001

// Open reads the files that c names. Close the set when no prompt of it is needed any more.
func Open(c Config, tok tokenizer.Tokenizer) (*Set, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	parts, err := c.parts()
	if err != nil {
		return nil, err
	}
	p, err := newParser(c, tok)
	if err != nil {
		return nil, err
	}
	set := &Set{mix: len(parts) > 1}
	for _, part := range parts {
		f, err := p.open(part)
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		set.add(f)
	}
	return set, nil
}

// open reads one file.
func (p *parser) open(part part) (*file, error) {
	disk, info, err := rows.OpenRegular(part.path)
	if err != nil {
		if strings.Contains(part.path, ",") && errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w; several files are given as NAME=FILE,NAME=FILE", err)
		}
		return nil, err
	}
	if info.Size() > int64(p.Memory) {
		f, err := p.load(part, disk, info.Size())
		if err != nil || f.spooled() {
			return f, errors.Join(err, disk.Close())
		}
		f.close = disk.Close
		return f, nil
	}
	content := make([]byte, info.Size())
	_, err = io.ReadFull(disk, content)
	if err := errors.Join(err, disk.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", part.path, err)
	}
	return p.load(part, bytes.NewReader(content), info.Size())
}

// Read reads one file from r, into memory. Messages name it as c does.
func Read(r io.Reader, c Config, tok tokenizer.Tokenizer) (*Set, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	parts, err := c.parts()
	if err != nil {
		return nil, err
	}
	p, err := newParser(c, tok)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f, err := p.load(parts[0], bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	set := &Set{}
	set.add(f)
	return set, nil
}

// A loader fills a file.
type loader struct {
	*parser
	part  part
	in    *rows.File
	file  *file
	first error // the first malformed row
	sum   hash.Hash

	ids      map[key]sight // what each id of the file's own stands for
	contents map[key]int   // row number of the first row of each content
	texts    map[key]sight // label of the first row of each text
}

// A key stands for a text, a sight for where something was first seen.
type (
	key   [16]byte
	sight struct {
		what   key
		number int
	}
)

func keyOf(text string) key { return key(sum128([]byte(text))) }

func sum128(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:16]
}

// load reads a file from r, of which prompts are read again later.
func (p *parser) load(part part, r io.ReaderAt, size int64) (*file, error) {
	in, err := rows.New(part.path, r, size, p.MaxLineBytes)
	if err != nil {
		return nil, err
	}
	l := loader{
		parser: p, part: part, in: in, sum: sha256.New(),
		file: &file{part: part, parser: p, parquet: in.Parquet(), store: r, report: Report{File: part.path, parquet: in.Parquet()}},
		ids:  map[key]sight{}, contents: map[key]int{}, texts: map[key]sight{},
	}
	if in.Parquet() {
		l.file.spool = newSpool(p.Memory)
		l.file.store = l.file.spool
		l.file.report.LeftOut = in.LeftOut()
	}
	err = errors.Join(l.parallel(), in.Close())
	if err == nil && l.file.spool != nil {
		err = l.file.spool.finish()
	}
	if err == nil {
		if err = l.judge(); err != nil {
			err = fmt.Errorf("%s: %w", part.path, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l.file, nil
}

// take takes one row that was looked at, in the file's order.
func (l *loader) take(it *item) error {
	rep := &l.file.report
	if it.blank {
		rep.Blank++
		return nil
	}
	rep.Lines++
	if it.outside {
		rep.Outside++
		return nil
	}
	err := it.err
	if _, ok := errors.AsType[malformed](err); ok {
		rep.Malformed++
		rep.note(it.number, "left out: %v", err)
		if l.first == nil {
			l.first = fmt.Errorf("%s %d: %w", rep.word(), it.number, err)
		}
		return nil
	}
	if err == nil {
		err = l.row(it)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", rows.Place(l.part.path, l.file.parquet, it.number), err)
	}
	return nil
}

// row takes one row into the file, or counts why not.
func (l *loader) row(it *item) error {
	rep, r := &l.file.report, &it.row
	if r.label == "" && l.LabelKey != "" {
		if !l.AllowEmptyLabels {
			return fmt.Errorf("%s is empty or missing, want the gold answer (--allow-empty-labels leaves such rows out)%s", l.LabelKey, l.unread())
		}
		rep.EmptyLabels++
		rep.note(it.number, "left out: %s is empty or missing", l.LabelKey)
		return nil
	}
	duplicate, err := l.compare(it)
	if err != nil || duplicate && l.DropDuplicates {
		return err
	}
	if l.MaxPromptTokens > 0 && it.tokens > l.MaxPromptTokens {
		rep.TooLong++
		return nil
	}
	return l.keep(it)
}

// unread names the columns of Parquet that rows lack because they have no form in JSON: what is missing may be in one of them.
func (l *loader) unread() string {
	if len(l.file.report.LeftOut) == 0 {
		return ""
	}
	return "; columns not read: " + strings.Join(l.file.report.LeftOut, ", ")
}

// keep adds a prompt to the file's index.
func (l *loader) keep(it *item) error {
	e := entry{offset: it.offset, length: int32(len(it.text)), number: uint32(it.number), tokens: int32(it.tokens), check: [8]byte(it.content[:8])}
	if l.file.spool != nil {
		var err error
		if e.offset, err = l.file.spool.add(it.text); err != nil {
			return err
		}
	}
	if it.tokens > l.file.longest.Tokens || len(l.file.entries) == 0 {
		l.file.longest = Longest{ID: it.row.id, Tokens: it.tokens, File: l.part.path}
	}
	l.sum.Write(it.digested)
	l.file.entries = append(l.file.entries, e)
	return nil
}

// compare looks for a row among those before it: as a duplicate, as the same text with another label, as another problem
// under the same id.
func (l *loader) compare(it *item) (duplicate bool, err error) {
	rep, r := &l.file.report, &it.row
	if r.ownID {
		if first, ok := l.ids[it.id]; ok && first.what != it.content {
			return false, fmt.Errorf("id %.60q stands for another problem in %s %d", r.id, rep.word(), first.number)
		} else if !ok {
			l.ids[it.id] = sight{it.content, it.number}
		}
	}
	if number, ok := l.contents[it.content]; ok {
		rep.Duplicates++
		rep.note(it.number, "same text and label as %s %d", rep.word(), number)
		return true, nil
	}
	l.contents[it.content] = it.number
	label := keyOf(r.label)
	if first, ok := l.texts[it.textKey]; ok && first.what != label {
		rep.Conflicts++
		rep.note(it.number, "same text as %s %d and another label, %.40q", rep.word(), first.number, r.label)
	} else if !ok {
		l.texts[it.textKey] = sight{label, it.number}
	}
	return false, nil
}

// judge decides whether the file as a whole will do.
func (l *loader) judge() error {
	rep := &l.file.report
	rep.Marked = l.in.Marked()
	rep.Rows, rep.Dropped = len(l.file.entries), l.DropDuplicates
	if n := rep.Lines - rep.Outside; float64(rep.Malformed) > mostMalformed*float64(n) {
		return fmt.Errorf("%d of %d %ss are malformed, want at most 0.1 %%; the first: %w", rep.Malformed, n, rep.word(), l.first)
	}
	switch {
	case rep.Rows > 0:
		l.file.digest = fmt.Sprintf("%x", l.sum.Sum(nil))
		return nil
	case rep.TooLong > 0:
		return fmt.Errorf("every prompt left is longer than --rollout-max-prompt-len (%d): %v", l.MaxPromptTokens, rep)
	}
	return fmt.Errorf("no prompt is left: %v", rep)
}
