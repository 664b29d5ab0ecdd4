package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Option is a flag of other training stacks that has no setting here. It is read, so that a launch line need not be
// edited, and then it does what its Kind says. Nothing that would change the result is passed over.
type Option struct {
	Name  string // without the dashes
	Takes Takes
	Kind  Kind
	Only  []string // Held: the values that are so; none means any
	Why   string   // why it does nothing, why it is so, what another value would need
}

// Takes says how many words follow an option.
type Takes int

// What follows an option.
const (
	Nothing Takes = iota // a switch
	One
	Some // one or more, up to the next flag
)

// Kind says what happens to an option.
type Kind int

const (
	// Idle options change no result here: a warning, once.
	Idle Kind = iota
	// Held options ask for what is always so. Any value but those of Only is an error.
	Held
	// Stated options describe the model, which comes from its checkpoint: they are claims to be checked.
	Stated
	// Refused options ask for what cannot be done.
	Refused
)

// A Note is an option that was read and not acted on.
type Note struct {
	Flag, Value string
	Origin, Why string
	Held        bool // what it asks for is so in any case
}

// A Claim is what a launch line says about the model.
type Claim struct {
	Flag, Value, Origin string
}

// Accept adds options that are read and not acted on. A row whose name is a setting of the Set gives way to it.
func (s *Set) Accept(rows []Option) *Set {
	for _, o := range rows {
		if s.byName[o.Name] == nil {
			s.options[o.Name] = o
		}
	}
	return s
}

// Notes returns the options that were read and not acted on, the last value of each, in the order first met.
func (s *Set) Notes() []Note { return s.notes }

// Claims returns what was said about the model. Whoever loads the model must call [Check].
func (s *Set) Claims() []Claim { return s.claims }

func (o *Option) arity() (least, most int) {
	switch o.Takes {
	case One:
		return 1, 1
	case Some:
		return 1, -1
	}
	return 0, 0
}

// note does what the option's kind says.
func (s *Set) note(a assignment, origin string) error {
	o, value := a.option, Quote(a.words...)
	switch {
	case o.Kind == Refused:
		return fmt.Errorf("%s cannot be obeyed: %s", a.spelled, o.Why)
	case o.Kind == Stated:
		s.claim(Claim{Flag: o.Name, Value: strings.Join(a.words, " "), Origin: origin})
		return nil
	case o.Kind == Held && len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(only string) bool { return same(only, strings.Join(a.words, " ")) }):
		return fmt.Errorf("%s is %s, want %s: %s", a.spelled, value, strings.Join(o.Only, " or "), o.Why)
	}
	n := Note{Flag: o.Name, Value: value, Origin: origin, Why: o.Why, Held: o.Kind == Held}
	for i := range s.notes {
		if s.notes[i].Flag == n.Flag {
			s.notes[i] = n
			return nil
		}
	}
	s.notes = append(s.notes, n)
	return nil
}

func (s *Set) claim(c Claim) {
	for i := range s.claims {
		if s.claims[i].Flag == c.Flag {
			s.claims[i] = c
			return
		}
	}
	s.claims = append(s.claims, c)
}

// Check compares claims with facts, which are the model's own values by flag name; of a switch the fact is "". A claim
// for which there is no fact is an error too: it can be neither obeyed nor checked.
func Check(claims []Claim, facts map[string]string) error {
	var errs []error
	for _, c := range claims {
		fact, known := facts[c.Flag]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("--%s: this model says nothing about it", c.Flag))
		case !same(fact, c.Value):
			errs = append(errs, fmt.Errorf("--%s is %s, the model has %s", c.Flag, Quote(c.Value), Quote(fact)))
		}
	}
	return errors.Join(errs...)
}

// same compares values as numbers where both are lists of numbers, else as text.
func same(a, b string) bool {
	as, bs := strings.Fields(a), strings.Fields(b)
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		x, errX := strconv.ParseFloat(as[i], 64)
		y, errY := strconv.ParseFloat(bs[i], 64)
		if as[i] != bs[i] && (errX != nil || errY != nil || x != y) {
			return false
		}
	}
	return true
}
