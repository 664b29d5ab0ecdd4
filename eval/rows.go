package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ReadRows summarizes results that others wrote: a JSON object a line with
//
//	id         the problem: a text or a number; rows of one id are counted together, one without is a problem of its own
//	scores     a list of 0 and 1, one a sample; null for a sample that could not be judged
//	answers    the answers of the same samples, texts or numbers, null for none; maj@k needs them
//	lengths    of the same responses, in tokens
//	truncated  whether each was cut off by a token limit
//
// or, of one sample, with id, score, answer, length and truncated. What is given in one row is given in all; other keys are left alone. All
// problems have the same number of samples. ks are those of the figures, none for 1, 2, 4, ... up to that number. Errors begin with
// name and the line.
func ReadRows(r io.Reader, name string, ks []int, seed uint64) (*Result, error) {
	t := &tally{places: map[string]int{}}
	in := bufio.NewReaderSize(r, 1<<16)
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		if len(text) == 0 {
			break
		}
		if err := t.line(text, line); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
	}
	out, err := t.result(ks, seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out.Data = name
	return out, nil
}

// A tally counts rows as they come.
type tally struct {
	problems []Problem
	last     []int // line that a problem was seen in last
	places   map[string]int
	lengths  []int
	cut      int
	first    string // the first sample that was not judged
	given    [4]given
}

// given notes whether rows have a key.
type given struct {
	yes  bool
	line int // of the row that said so, 0 before the first
}

// line takes in one line, with its end. As in files of prompts, a byte order mark, Windows line ends and blank lines are no matter.
func (t *tally) line(text []byte, line int) error {
	if line == 1 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	row, err := readRow(text)
	if err != nil {
		return err
	}
	for i, key := range []struct {
		name string
		yes  bool
	}{{"ids", row.id != ""}, {"answers", row.answers != nil}, {"lengths", row.lengths != nil}, {"truncated", row.truncated != nil}} {
		if g := t.given[i]; g.line > 0 && g.yes != key.yes {
			return fmt.Errorf("%s are given %s and not %s, want them in all rows or in none", key.name, where(key.yes, line, g.line), where(!key.yes, line, g.line))
		}
		if t.given[i].line == 0 {
			t.given[i] = given{key.yes, line}
		}
	}
	t.take(row, line)
	return nil
}

// where says which of two lines.
func where(here bool, line, first int) string {
	if here {
		return fmt.Sprintf("in line %d", line)
	}
	return fmt.Sprintf("in line %d", first)
}

// take counts a row's samples.
func (t *tally) take(row *resultRow, line int) {
	id := row.id
	if id == "" {
		id = fmt.Sprintf("line %d", line)
	}
	at, ok := t.places[id]
	if !ok {
		at = len(t.problems)
		t.places[id] = at
		t.problems, t.last = append(t.problems, Problem{ID: id}), append(t.last, line)
	}
	t.last[at] = line
	for i, s := range row.scores {
		cut := row.truncated != nil && row.truncated[i]
		answer, length := "", 0
		if row.answers != nil {
			answer = row.answers[i]
		}
		if row.lengths != nil {
			length = row.lengths[i]
			t.lengths = append(t.lengths, length)
		}
		t.cut += b2i(cut)
		if s == unjudged && t.first == "" {
			t.first = fmt.Sprintf("problem %s, line %d: score is null", id, line)
		}
		t.problems[at].count(s, answer, row.answers != nil, length, cut, row.truncated != nil)
	}
}

// count counts one sample of rows.
func (p *Problem) count(score int8, answer string, answered bool, length int, cut, known bool) {
	p.Tokens += length
	p.Truncated += b2i(cut)
	if score == unjudged {
		p.Invalid++
		return
	}
	p.N, p.C = p.N+1, p.C+int(score)
	if known && !cut {
		p.WholeN, p.WholeC = p.WholeN+1, p.WholeC+int(score)
	}
	if answered {
		p.vote(answer, score == 1)
	}
}

// result works out the figures.
func (t *tally) result(ks []int, seed uint64) (*Result, error) {
	if len(t.problems) == 0 {
		return nil, errors.New("holds no rows, want a JSON object a line")
	}
	n := t.problems[0].N + t.problems[0].Invalid
	for i, p := range t.problems {
		if m := p.N + p.Invalid; m != n {
			return nil, fmt.Errorf("line %d: problem %s has %d scores in all, want %d as problem %s (line %d)", t.last[i], p.ID, m, n, t.problems[0].ID, t.last[0])
		}
		slices.SortFunc(t.problems[i].Votes, before)
	}
	for _, k := range ks {
		if k > n {
			return nil, fmt.Errorf("pass@%d: k is %d, want 1 to %d, the samples of problem %s", k, k, n, t.problems[0].ID)
		}
	}
	if len(ks) == 0 {
		ks = Powers(n)
	}
	r := &Result{Set: "results", Samples: n, Problems: sorted(t.problems), FirstInvalid: t.first}
	var cut *int
	if t.given[3].yes {
		cut = &t.cut
	}
	r.measure(t.lengths, cut)
	return r, r.figures(ks, seed)
}
