package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Sense is what a value of an option of the kind Expands stands for.
type Sense struct {
	Value string // "true" and "false" of a switch; "" is any value
	When  string // "NAME=VALUE": only where that option of the kind Expands has that value; "" is always
	Flags string // the flags, as a file of flags has them; {NAME} is what that flag is given
}

// An Expansion is an option that stands for other flags, and which.
type Expansion struct {
	Flag, Value, Origin string
	Flags               []string
}

// Expansions returns the options that stood for other flags, in the order of their table.
func (s *Set) Expansions() []Expansion { return s.expansions }

// place is where a {NAME} stands in the flags of a Sense.
var placeholder = regexp.MustCompile(`\{[a-z0-9-]+\}`)

// expand puts right below each layer what its options of the kind Expands stand for, in the order of their table. The last word on an option counts,
// whichever layer has it; flags that are spelled out in a layer go before what others of the same layer stand for. To repeat what a lower layer says
// changes nothing.
func (s *Set) expand(layers []*layer) []*layer {
	last, owner := map[string]assignment{}, map[string]*layer{}
	for _, l := range layers {
		for _, a := range l.assigns {
			was, seen := last[a.name()]
			if !seen || a.option == nil || a.said() != was.said() {
				owner[a.name()] = l
			}
			last[a.name()] = a
		}
	}
	var out []*layer
	for _, l := range layers {
		l.fillBare(last)
		for _, name := range s.order {
			if s.options[name].Kind == Expands && owner[name] == l {
				out = append(out, s.sense(last[name], last))
			}
		}
		out = append(out, l)
	}
	return out
}

// fillBare gives settings that were given without a value what that means.
func (l *layer) fillBare(last map[string]assignment) {
	kept := l.assigns[:0]
	for _, a := range l.assigns {
		if a.setting != nil && a.setting.bare != "" && len(a.words) == 0 && !a.off {
			value, err := fill(a.setting.bare, last, strings.Clone)
			if err != nil {
				l.errs = append(l.errs, a.from.errorf(a.line, "%s without a value %w", a.spelled, err))
				continue
			}
			a.words = []string{value}
		}
		kept = append(kept, a)
	}
	l.assigns = kept
}

// Bare says what a setting that takes a value means where it has none, and lets --no-x mean that it is empty: {NAME} is what that flag is given.
func (s *Set) Bare(flag, value string) *Set {
	s.byName[flag].bare = value
	return s
}

// name returns the name of what is assigned.
func (a *assignment) name() string {
	if a.setting != nil {
		return a.setting.Name
	}
	return a.option.Name
}

// sense reads what one option stands for.
func (s *Set) sense(a assignment, last map[string]assignment) *layer {
	value := a.said()
	if value == none && a.option.Takes == One {
		return &layer{}
	}
	out := &layer{}
	fail := func(format string, args ...any) { out.errs = append(out.errs, a.from.errorf(a.line, format, args...)) }
	e := Expansion{Flag: a.option.Name, Value: value, Origin: a.from.origin(a.line)}
	if a.option.Takes == Switch {
		e.Flag, e.Value = map[string]string{"true": "", "false": "no-"}[value]+e.Flag, ""
	}
	var text []string
	for _, sense := range a.option.Senses {
		if (sense.Value == "" || sense.Value == value) && holds(sense.When, last) {
			filled, err := fill(sense.Flags, last, quoteWord)
			if err != nil {
				fail("%s %w", a.spelled, err)
			}
			text = append(text, filled)
		}
	}
	if !a.option.means(value) {
		fail("%s is %s, want %s", a.spelled, Quote(value), strings.Join(a.option.values(), " or "))
		return out
	}
	in, err := scan(strings.Join(text, "\n"), true)
	if err != nil {
		fail("%s: %w", a.spelled, err)
	}
	for _, w := range in {
		e.Flags = append(e.Flags, w.text)
	}
	s.expansions = append(s.expansions, e)
	l := s.read(source{name: strings.TrimSpace("--" + e.Flag + " " + e.Value)}, in)
	l.errs = append(out.errs, l.errs...)
	return &l
}

// holds reports whether the option of a When has its value.
func holds(when string, last map[string]assignment) bool {
	name, value, _ := strings.Cut(when, "=")
	if when == "" {
		return true
	}
	a, given := last[name]
	return given && a.option != nil && a.said() == value
}

// fill puts what flags are given in the places of {NAME}, as write writes it.
func fill(text string, last map[string]assignment, write func(string) string) (string, error) {
	var err error
	out := placeholder.ReplaceAllStringFunc(text, func(at string) string {
		name := strings.Trim(at, "{}")
		a, given := last[name]
		if !given || len(a.words) != 1 {
			err = fmt.Errorf("needs --%s", name)
			return at
		}
		return write(a.words[0])
	})
	return out, err
}

// values returns the values that an option of the kind Expands knows; none for one that takes any.
func (o *Option) values() []string {
	var out []string
	for _, sense := range o.Senses {
		if sense.Value == "" {
			return nil
		}
		if !slices.Contains(out, sense.Value) {
			out = append(out, sense.Value)
		}
	}
	return out
}

// means reports whether an option of the kind Expands knows a value.
func (o *Option) means(value string) bool {
	known := o.values()
	return known == nil || slices.Contains(known, value)
}
