package taps

import (
	"fmt"
	"slices"
)

// A Tap is what came out at one boundary for some rows of a sequence.
type Tap struct {
	Layer int // -1 outside the blocks
	Name  string
	First int   // position of the first row, or number of the first window
	Rate  int   // tokens that a row stands for; 0 where that is not known, as of windows in files of other programs
	Shape []int // of a row: [D], [S, D] of streams, [k, F] of experts, [k] of choices

	Values []float32 // rows end to end
	Choice []int32   // the same of a choice; then Values is nil
}

// Width returns the number of elements of a row.
func (t *Tap) Width() int {
	n := 1
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Rows returns the number of rows.
func (t *Tap) Rows() int {
	if w := t.Width(); w > 0 {
		return (len(t.Values) + len(t.Choice)) / w
	}
	return 0
}

// Row returns the values of row i, which share the tap's memory.
func (t *Tap) Row(i int) []float32 { w := t.Width(); return t.Values[i*w:][:w] }

// Picks returns the choice of row i, which shares the tap's memory.
func (t *Tap) Picks(i int) []int32 { w := t.Width(); return t.Choice[i*w:][:w] }

// Boundary returns where the tap was taken.
func (t *Tap) Boundary() Boundary { b, _ := BoundaryOf(t.Name); return b }

// Title returns the tap's name as files use it: L3.attn_out.
func (t *Tap) Title() string { return Title(t.Layer, t.Name) }

func (t *Tap) place() place { return place{t.Layer, t.Name} }

// bytes is what the tap takes.
func (t *Tap) bytes() int { return 4 * (len(t.Values) + len(t.Choice)) }

// check holds the tap against itself and against a sequence of n tokens.
func (t *Tap) check(n int) error {
	p, err := parsePlace(t.Title())
	if err != nil {
		return err
	}
	b := boundaries[byName[p.name]]
	w, have := t.Width(), len(t.Values)
	if b.Choice {
		have = len(t.Choice)
	}
	switch {
	case w < 1:
		return fmt.Errorf("has rows of shape %v, want at least one element", t.Shape)
	case b.Choice && t.Values != nil, !b.Choice && t.Choice != nil:
		return fmt.Errorf("holds the wrong kind of numbers: a choice is whole numbers, all else is not")
	case have%w != 0:
		return fmt.Errorf("has %d elements, want whole rows of %d", have, w)
	case t.First < 0 || t.First > n || have/w > n-t.First:
		return fmt.Errorf("has %d rows from position %d on, of a sequence of %d tokens", have/w, t.First, n)
	case b.rows == ofSlots && len(t.Shape) != slotAxes(b):
		return fmt.Errorf("has rows of shape %v, want a row for each expert of a token", t.Shape)
	}
	return nil
}

// slotAxes is how many axes a row has that stands for a token's slots.
func slotAxes(b Boundary) int {
	if b.Name == "router_weights" {
		return 1
	}
	return 2
}

// A Set is the taps of one sequence. One goroutine at a time uses it.
type Set struct {
	Tokens []int32
	Origin string // who computed it, in words

	taps map[place]*Tap
}

// NewSet returns a set without taps.
func NewSet(tokens []int32) *Set {
	return &Set{Tokens: slices.Clone(tokens), taps: map[place]*Tap{}}
}

// Add adds a tap, which the set then owns. It takes the place of one of the same layer and name.
func (s *Set) Add(t *Tap) error {
	if err := t.check(len(s.Tokens)); err != nil {
		return fmt.Errorf("tap %s: %w", t.Title(), err)
	}
	s.taps[t.place()] = t
	return nil
}

// AddLogProbs adds the logprobs of the tokens from position first on, in nats, at temperature 1.
func (s *Set) AddLogProbs(first int, values []float32) error {
	if first < 1 {
		return fmt.Errorf("tap %s: begins at position %d, want at least 1: nothing goes before the first token", LogProb, first)
	}
	return s.Add(&Tap{Layer: -1, Name: LogProb, First: first, Shape: []int{1}, Values: slices.Clone(values)})
}

// Find returns the tap of a layer (-1 outside the blocks) and name, nil if it is not there.
func (s *Set) Find(layer int, name string) *Tap { return s.taps[place{layer, name}] }

// Taps returns all taps in order of computation.
func (s *Set) Taps() []*Tap {
	list := make([]*Tap, 0, len(s.taps))
	for _, t := range s.taps {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Tap) int { return a.place().compare(b.place()) })
	return list
}

// Bytes returns the memory of all values.
func (s *Set) Bytes() (n int) {
	for _, t := range s.taps {
		n += t.bytes()
	}
	return n
}
