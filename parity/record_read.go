package parity

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// What a record may hold at most, far above what any comparison makes.
const (
	longestAbout = 16 << 20
	longestLine  = 256 << 20
	mostLines    = 1 << 20
	mostID       = 1 << 12 // bytes
)

// strict reads one JSON value that has no unknown key, and nothing behind it.
func strict(raw []byte, to any) error {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return errors.New("is empty, want one JSON object")
	case bytes.HasPrefix(raw, []byte("\ufeff")):
		return errors.New("begins with a byte order mark, want none")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the value")
	}
	return nil
}

func (r *Record) readSequences() error {
	f, err := r.open(sequencesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("has no %s%s", sequencesFile, r.sides())
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines, err := readLines(f)
	if err != nil {
		return fmt.Errorf("%s: %w", sequencesFile, err)
	}
	for i, l := range lines {
		if err := r.add(l); err != nil {
			return fmt.Errorf("%s: line %d: %w", sequencesFile, i+1, err)
		}
	}
	if len(r.seqs) == 0 {
		return fmt.Errorf("%s has no sequence", sequencesFile)
	}
	return nil
}

// sides says which folder may have been meant where this one holds both sides' records.
func (r *Record) sides() string {
	if _, err := r.root.Stat("a/" + sequencesFile); err == nil {
		return "; it holds both sides of a comparison, each is a record of its own: add /a or /b"
	}
	return ""
}

// readLines reads lines of JSON. Each is held to the form by itself; empty ones are errors.
func readLines(from io.Reader) ([]line, error) {
	s := bufio.NewScanner(from)
	s.Buffer(make([]byte, 1<<16), longestLine)
	var out []line
	for s.Scan() {
		if len(out) == mostLines {
			return nil, fmt.Errorf("there are more than %d lines", mostLines)
		}
		var l line
		if err := strict(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, l)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
	}
	return out, nil
}

// check holds a line to the form.
func (l line) check() error {
	switch {
	case len(l.ID) > mostID:
		return fmt.Errorf("id has %d bytes, want at most %d", len(l.ID), mostID)
	case len(l.Prompt) == 0:
		return errors.New("prompt has no token, want at least one")
	case len(l.Response) == 0:
		return errors.New("response has no token, want at least one")
	case len(l.LogProbs) != len(l.Response):
		return fmt.Errorf("%d logprobs for %d tokens of the response", len(l.LogProbs), len(l.Response))
	case l.Generated != nil && len(l.Generated) != len(l.Response):
		return fmt.Errorf("%d generated logprobs for %d tokens of the response", len(l.Generated), len(l.Response))
	}
	for i, id := range append(append([]int32(nil), l.Prompt...), l.Response...) {
		if id < 0 {
			return fmt.Errorf("token %d is %d, want an id", i, id)
		}
	}
	for i, lp := range append(append(Figures(nil), l.LogProbs...), l.Generated...) {
		if lp > 1e-4 { // what rounding may leave of the likeliest token
			return fmt.Errorf("logprob %d is %v, want at most 0", i%len(l.Response), lp)
		}
	}
	return l.scores().fits(Sequence{ID: l.ID, Prompt: l.Prompt, Response: l.Response})
}

func (l line) scores() Scores {
	return Scores{LogProbs: l.LogProbs, Top: l.Top, Experts: fromLine(l.Experts), Index: fromLine(l.Index)}
}

// add takes a line in. A sequence that is there twice would leave it open which is meant.
func (r *Record) add(l line) error {
	s := Sequence{ID: l.ID, Prompt: l.Prompt, Response: l.Response, Generated: l.Generated}
	if s.ID == "" {
		s.ID = fmt.Sprint(len(r.seqs))
	}
	if at, twice := r.at[key(s)]; twice {
		return fmt.Errorf("has the tokens of line %d", at+1)
	}
	if l.Taps != "" {
		f, err := r.open(l.Taps)
		if err != nil {
			return fmt.Errorf("taps: %w", err)
		}
		f.Close()
	}
	r.at[key(s)] = len(r.seqs)
	r.seqs, r.score, r.taps = append(r.seqs, s), append(r.score, l.scores()), append(r.taps, l.Taps)
	return nil
}

// ReadSequences reads prompts with responses from lines of JSON: those of a record, of which only id, prompt and response are needed.
func ReadSequences(from io.Reader) ([]Sequence, error) {
	s := bufio.NewScanner(from)
	s.Buffer(make([]byte, 1<<16), longestLine)
	var out []Sequence
	for n := 1; s.Scan(); n++ {
		var l line
		if err := strict(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if l.LogProbs == nil {
			l.LogProbs = make(Figures, len(l.Response))
		}
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if l.ID == "" {
			l.ID = fmt.Sprint(n - 1)
		}
		out = append(out, Sequence{ID: l.ID, Prompt: l.Prompt, Response: l.Response})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("there is no sequence")
	}
	return out, nil
}
