package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"furlong/nearest"
)

// An Option is a flag of other training stacks that has no setting here. It is read, so that a launch line need not be
// edited, and then it does what its Kind says. Nothing that would change the result is passed over.
type Option struct {
	Name    string // without the dashes
	Takes   Takes
	Kind    Kind
	Only    []string // values that are so in any case, whatever the Kind; "false" is one of a Switch that asks for something
	Default string   // what it is where the flag comes from, for the page of flags; "" when there is none
	Section string   // where it comes from, for the page of flags
	Why     string   // why it does nothing, why it is so, what is missing, what another value would need
	Senses  []Sense  // of Expands: what values stand for
	Secret  bool     // of Refused: what it is given is never shown

	unknown bool // made up for a name that Set.Pass let pass
}

// Takes says how many words follow an option.
type Takes int

// What follows an option.
const (
	Nothing Takes = iota // a switch without a --no- form
	Switch               // --x and --no-x
	One
	Some // one or more, up to the next flag
	Any  // any number, none included
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
	// Refused options ask for what no run here can mean.
	Refused
	// Missing options ask for what this build does not have: they are understood, and whoever begins a run refuses it.
	Missing
	// Expands options stand for other flags: see Sense.
	Expands
)

var takesNames = [...]string{"", "", "VALUE", "VALUE...", "[VALUE...]"}

// String returns what follows an option, as the page of flags shows it; "" after a switch.
func (t Takes) String() string { return takesNames[t] }

var kindNames = [...]string{"without effect", "so in any case", "checked against the model", "refused", "not built in", "stands for others"}

// String returns the kind in the words of the page of flags.
func (k Kind) String() string { return kindNames[k] }

// A Note is an option that was read and not acted on.
type Note struct {
	Flag, Value string
	Origin, Why string
	Held        bool // what it asks for is so in any case
	Listed      bool // it is a row of a table of options, not a setting that has no effect beside others
}

// A Claim is what a launch line says about the model.
type Claim struct {
	Flag, Value, Origin string
}

// Accept adds options that are read and not acted on. A row whose name is a setting of the Set gives way to it.
func (s *Set) Accept(rows []Option) *Set {
	for _, o := range rows {
		if s.byName[o.Name] != nil {
			continue
		}
		if _, twice := s.options[o.Name]; !twice {
			s.order = append(s.order, o.Name)
		}
		s.options[o.Name] = o
	}
	return s
}

// Pass takes flags that nobody knows for options of another program, where their names begin with a prefix: they have no effect, for the
// reason why. One that is nearly a flag that is acted on, checked or refused is taken for it, misspelled, and stays unknown.
func (s *Set) Pass(prefix, why string) *Set {
	s.passes = append(s.passes, pass{prefix, why})
	return s
}

type pass struct{ prefix, why string }

// misspelled is how many edits may lie between a flag and one that was meant.
const misspelled = 2

// passed finds the pass of an unknown name and makes an option of it that takes any number of words.
func (s *Set) passed(name string, a *assignment) bool {
	base := strings.TrimPrefix(name, "no-")
	i := slices.IndexFunc(s.passes, func(p pass) bool { return strings.HasPrefix(base, p.prefix) && len(base) > len(p.prefix) })
	if i < 0 {
		return false
	}
	why := s.passes[i].why
	if near := nearest.Within(misspelled, name, s.names()); near != "" {
		if o, ok := s.options[strings.TrimPrefix(near, "no-")]; !ok || o.Kind != Idle {
			return false
		}
		why += ", did you mean --" + near + "?"
	}
	a.option = &Option{Name: name, Takes: Any, Kind: Idle, Why: why, unknown: true}
	return true
}

// Options returns the rows that [Set.Accept] took, in order, without those that are settings.
func (s *Set) Options() []Option {
	var out []Option
	for _, name := range s.order {
		out = append(out, s.options[name])
	}
	return out
}

// Notes returns the options that were read and not acted on, the last value of each, in the order first met.
func (s *Set) Notes() []Note { return s.notes }

// Remark adds notes of the caller's own, such as on variables that have no effect.
func (s *Set) Remark(notes ...Note) *Set {
	s.notes = append(s.notes, notes...)
	return s
}

// Lacks returns the options that ask for what this build does not have. Whoever begins a run must refuse it if there are any.
func (s *Set) Lacks() []Note { return s.lacks }

// Claims returns what was said about the model. Whoever loads the model must call [Check].
func (s *Set) Claims() []Claim { return s.claims }

func (o *Option) arity() (least, most int) {
	switch o.Takes {
	case One:
		return 1, 1
	case Some:
		return 1, -1
	case Any:
		return 0, -1
	}
	return 0, 0
}

// said returns the value that an assignment gives its option; of a switch "true" or "false", of one without a --no- form "".
func (a *assignment) said() string {
	switch {
	case a.option.Takes != Switch:
		return strings.Join(a.words, " ")
	case a.off:
		return "false"
	case len(a.words) == 1:
		return a.words[0]
	}
	return "true"
}

// isSo reports whether a value asks for nothing.
func (o *Option) isSo(value string) bool {
	asks := o.Kind == Refused || o.Kind == Missing
	return asks && o.Takes == Switch && value == "false" || slices.ContainsFunc(o.Only, func(only string) bool { return same(only, value) })
}

// note does what the option's kind says.
func (s *Set) note(a assignment, origin string) error {
	o, value := a.option, a.said()
	n := Note{Flag: o.Name, Value: Quote(a.words...), Origin: origin, Why: o.Why, Listed: !o.unknown}
	if o.Takes == Switch {
		n.Flag, n.Value = strings.TrimPrefix(a.spelled, "--"), ""
	}
	if o.Secret {
		n.Value = ""
	}
	switch {
	case o.Takes == Switch && value != "true" && value != "false":
		return fmt.Errorf("%s is %q, want true or false", a.spelled, value)
	case o.Takes == One && value == none:
		n.Held, n.Why = true, "None is no value"
	case o.Kind == Stated:
		put(&s.claims, Claim{Flag: o.Name, Value: value, Origin: origin}, func(c Claim) string { return c.Flag })
		return nil
	case o.isSo(value), o.Kind == Held && len(o.Only) == 0:
		n.Held = true
	case o.Kind == Held:
		return fmt.Errorf("%s is %s, want %s: %s", a.spelled, Quote(value), strings.Join(o.Only, " or "), o.Why)
	case o.Kind == Refused:
		return fmt.Errorf("%s cannot be obeyed: %s", strings.TrimSpace(a.spelled+" "+n.Value), o.Why)
	}
	s.keep(n, o.Kind == Missing && !n.Held)
	return nil
}

// keep remembers a note in the place of one of the same flag.
func (s *Set) keep(n Note, lacking bool) {
	name := func(n Note) string { return strings.TrimPrefix(n.Flag, "no-") }
	forget := func(list []Note) []Note {
		return slices.DeleteFunc(list, func(old Note) bool { return name(old) == name(n) })
	}
	if lacking {
		s.notes = forget(s.notes)
		put(&s.lacks, n, name)
		return
	}
	s.lacks = forget(s.lacks)
	put(&s.notes, n, name)
}

// put adds an entry to a list, or puts it in the place of one that has the same name.
func put[T any](list *[]T, x T, name func(T) string) {
	for i := range *list {
		if name((*list)[i]) == name(x) {
			(*list)[i] = x
			return
		}
	}
	*list = append(*list, x)
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
