package taps

import (
	"errors"
	"fmt"
	"strconv"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// Format is what the metadata of a file of taps say under "format".
const Format = "furlong-taps-1"

const (
	tokensName  = "tokens" // I32 [T]
	firstPrefix = "first." // metadata: first position of the rows of a tap, where that is not 0
	ratePrefix  = "rate."  // metadata: tokens that a row stands for, where that is more than 1
)

// Write writes a set to a file, whole or not at all.
func Write(path string, s *Set) (err error) {
	list := s.Taps()
	tensors := map[string]*tensor.Tensor{tokensName: ints(s.Tokens, len(s.Tokens))}
	entries := []checkpoint.Entry{entry(tokensName, tensors[tokensName])}
	metadata := map[string]string{"format": Format, "origin": s.Origin}
	for _, t := range list {
		x := t.tensor()
		tensors[t.Title()] = x
		entries = append(entries, entry(t.Title(), x))
		if t.First != 0 {
			metadata[firstPrefix+t.Title()] = strconv.Itoa(t.First)
		}
		if t.Rate > 1 {
			metadata[ratePrefix+t.Title()] = strconv.Itoa(t.Rate)
		}
	}
	w, err := safetensors.Create(path, entries, metadata)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.Write(e.Name, tensors[e.Name]); err != nil {
			return err
		}
	}
	return w.Close()
}

func entry(name string, t *tensor.Tensor) checkpoint.Entry {
	return checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: t.Type, Shape: t.Shape}}
}

func ints(x []int32, shape ...int) *tensor.Tensor {
	t := tensor.New(dtype.I32, shape...)
	copy(t.I32(), x)
	return t
}

func (t *Tap) tensor() *tensor.Tensor {
	shape := append([]int{t.Rows()}, t.Shape...)
	if t.Choice != nil || t.Boundary().Choice {
		return ints(t.Choice, shape...)
	}
	return tensor.Of(t.Values, shape...)
}

// Read reads a file of taps. tokens are those of the sequence: nil takes what the file says, which must agree if both say it. A file of another program
// need not have tokens, nor metadata, nor any particular tap.
func Read(path string, tokens []int32) (s *Set, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s, err = read(f, tokens); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads a file of taps that is in memory: see Read. name stands for it in errors.
func Parse(name string, content []byte, tokens []int32) (*Set, error) {
	f, err := safetensors.Parse(name, content)
	if err != nil {
		return nil, err
	}
	s, err := read(f, tokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// FromFile returns the taps of a file that is open, which stays the caller's: see [Read].
func FromFile(f *safetensors.File, tokens []int32) (*Set, error) { return read(f, tokens) }

func read(f *safetensors.File, tokens []int32) (*Set, error) {
	meta := f.Metadata()
	if format, ok := meta["format"]; ok && format != Format && format != "pt" && format != "np" { // the libraries' own marks
		return nil, fmt.Errorf("metadata: format is %.40q, want %q", format, Format)
	}
	own, err := tokensOf(f, tokens)
	if err != nil {
		return nil, err
	}
	s := NewSet(own)
	s.Origin = meta["origin"]
	for _, name := range f.Names() {
		if name == tokensName {
			continue
		}
		if err := readTap(f, s, name, meta); err != nil {
			return nil, fmt.Errorf("tensor %.80q: %w", name, err)
		}
	}
	return s, nil
}

// tokensOf returns the tokens of the sequence: given, or in the file, or both and equal.
func tokensOf(f *safetensors.File, given []int32) ([]int32, error) {
	info, ok := f.Info(tokensName)
	if !ok {
		if len(given) == 0 {
			return nil, fmt.Errorf("has no tensor %q: say which tokens were computed", tokensName)
		}
		return given, nil
	}
	if info.Type != dtype.I32 || len(info.Shape) != 1 {
		return nil, fmt.Errorf("tensor %q: is %v, want a list of I32", tokensName, info)
	}
	t, err := f.Tensor(tokensName)
	if err != nil {
		return nil, err
	}
	own := append([]int32{}, t.I32()...)
	if given == nil {
		return own, nil
	}
	if len(own) != len(given) {
		return nil, fmt.Errorf("is of %d tokens, want the %d of the sequence", len(own), len(given))
	}
	for i, v := range own {
		if v != given[i] {
			return nil, fmt.Errorf("has token %d at position %d, want %d", v, i, given[i])
		}
	}
	return own, nil
}

func readTap(f *safetensors.File, s *Set, name string, meta map[string]string) error {
	p, err := parsePlace(name)
	if err != nil {
		return err
	}
	t := &Tap{Layer: p.layer, Name: p.name}
	if t.First, err = number(meta, firstPrefix+name, len(s.Tokens)); err != nil {
		return err
	}
	if t.Rate, err = number(meta, ratePrefix+name, maxRate); err != nil {
		return err
	}
	x, err := f.Tensor(name)
	if err != nil {
		return err
	}
	if err := t.take(x, len(s.Tokens)); err != nil {
		return err
	}
	if err := t.check(len(s.Tokens)); err != nil {
		return err
	}
	s.taps[p] = t
	return nil
}

// maxRate bounds the tokens that a window can have.
const maxRate = 1 << 20

// number reads a whole number from metadata, 0 where there is none.
func number(meta map[string]string, key string, most int) (int, error) {
	text, ok := meta[key]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("metadata: %.80q is %.40q, want 0 to %d", key, text, most)
	}
	return n, nil
}

// take sets the tap's shape and values from what a file holds: [rows, ...], of experts also with a token's slots as rows of their own.
func (t *Tap) take(x *tensor.Tensor, tokens int) error {
	b := t.Boundary()
	switch {
	case len(x.Shape) < 2 && t.Name != LogProb || len(x.Shape) == 0:
		return fmt.Errorf("is %v, want rows", x)
	case b.Choice && x.Type != dtype.I32:
		return fmt.Errorf("is %v, want I32: it is a choice", x)
	case !b.Choice && x.Type != dtype.F32 && x.Type != dtype.F64:
		return fmt.Errorf("is %v, want F32 or F64", x)
	}
	t.Shape = append([]int{}, x.Shape[1:]...)
	if len(t.Shape) == 0 {
		t.Shape = []int{1}
	}
	if rows := tokens - t.First; b.rows == ofSlots && slotAxes(b) == 2 && len(x.Shape) == 2 && rows > 0 && x.Shape[0]%rows == 0 {
		t.Shape = []int{x.Shape[0] / rows, x.Shape[1]}
	}
	if b.Choice {
		t.Choice = append([]int32{}, x.I32()...)
	} else {
		t.Values = Floats(x)
	}
	return nil
}
