package config

import (
	"errors"
	"fmt"
	"strings"
)

// A source is one text of flags: how it is named as an origin, and before a complaint.
type source struct {
	name  string // "flag", "recipe NAME", "file F", "flag --extra-args"
	lines bool   // places in it are lines
}

func (src source) origin(line int) string {
	if src.lines && strings.HasPrefix(src.name, "file ") {
		return fmt.Sprintf("%s:%d", src.name, line)
	}
	return src.name
}

func (src source) errorf(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	switch {
	case src.lines:
		return fmt.Errorf("%s:%d: %w", src.name, line, err)
	case src.name != "flag":
		return fmt.Errorf("%s: %w", src.name, err)
	}
	return err
}

// An assignment is a flag with its words, before anything is stored.
type assignment struct {
	setting *Setting // nil for an option
	option  *Option
	spelled string // as it was typed, with dashes
	words   []string
	off     bool // --no-x
	from    source
	line    int
}

// A layer is a source that has been read.
type layer struct {
	assigns []assignment
	places  []string
	help    bool
	errs    []error
}

// last returns the last word on a setting; nil when there is none, or no layer.
func (l *layer) last(s *Setting) *assignment {
	if l == nil {
		return nil
	}
	for i := len(l.assigns) - 1; i >= 0; i-- {
		if l.assigns[i].setting == s {
			return &l.assigns[i]
		}
	}
	return nil
}

// A reader turns words into a layer. It stores nothing: which layers there are is known only at the end.
type reader struct {
	set  *Set
	src  source
	in   []word
	out  layer
	last int // line of the last word taken
}

func (s *Set) read(src source, in []word) layer {
	r := reader{set: s, src: src, in: in}
	for len(r.in) > 0 {
		r.one()
	}
	return r.out
}

func (r *reader) errorf(format string, args ...any) {
	r.out.errs = append(r.out.errs, r.src.errorf(r.last, format, args...))
}

func (r *reader) take() string {
	w := r.in[0]
	r.in, r.last = r.in[1:], w.line
	return w.text
}

// values takes words up to the next flag, at most n; n < 0 means all.
func (r *reader) values(n int) []string {
	var out []string
	for len(r.in) > 0 && len(out) != n && r.in[0].text != "--" && !isFlag(r.in[0].text) {
		line := r.last
		out = append(out, r.take())
		r.last = line // complaints name the line of the flag
	}
	return out
}

// isFlag reports whether a word is a flag: two dashes, and no white space before the first '='. So the value of
// --extra-args, which begins with dashes and holds blanks, is none; nor is a negative number. The only short flag is -h.
func isFlag(w string) bool {
	head, _, _ := strings.Cut(w, "=")
	return w == "-h" || len(w) > 2 && strings.HasPrefix(w, "--") && !strings.ContainsAny(head, " \t\n\v\f\r")
}

func (r *reader) one() {
	w := r.take()
	switch {
	case w == "--":
		for len(r.in) > 0 {
			r.place(r.take())
		}
	case w == "-h" || w == "--help":
		r.out.help = true
	case isFlag(w):
		name, value, has := strings.Cut(w[2:], "=")
		r.flag(name, value, has)
	default:
		r.place(w)
	}
}

func (r *reader) place(w string) { r.out.places = append(r.out.places, w) }

func (r *reader) flag(name, value string, has bool) {
	a := assignment{spelled: "--" + name, from: r.src, line: r.last}
	if has {
		a.words = []string{value}
	}
	if !r.set.lookup(name, &a) && !r.set.passed(name, &a) {
		r.errorf("unknown flag --%s%s", name, r.set.suggest(name))
		r.values(-1)
		return
	}
	if err := r.arguments(&a, has); err != nil {
		r.errorf("%w", err)
		return
	}
	r.out.assigns = append(r.out.assigns, a)
}

// lookup finds what a name means: a setting, its --no- form, or an option that is accepted and not acted on.
func (s *Set) lookup(name string, a *assignment) bool {
	if a.setting = s.byName[name]; a.setting != nil {
		return true
	}
	if base, ok := strings.CutPrefix(name, "no-"); ok {
		if n := s.byName[base]; n != nil && (n.isSwitch() || n.canClear() || n.bare != "") {
			a.setting, a.off = n, true
			return true
		}
	}
	if o, ok := s.options[name]; ok {
		a.option = &o
		return true
	}
	if base, ok := strings.CutPrefix(name, "no-"); ok {
		if o, ok := s.options[base]; ok && o.Takes == Switch {
			a.option, a.off = &o, true
			return true
		}
	}
	return false
}

// arguments takes the words that belong to the flag.
func (r *reader) arguments(a *assignment, has bool) error {
	least, most := a.arity()
	switch {
	case a.off && has:
		return fmt.Errorf("%s takes no value, got %q", a.spelled, a.words[0])
	case has && most == 0 && a.option != nil && a.option.Takes != Switch:
		return fmt.Errorf("%s takes no value, got %q", a.spelled, a.words[0])
	case has:
		return nil
	case a.setting != nil && a.setting.line && len(r.in) > 0:
		line := r.last
		a.words = []string{r.take()}
		r.last = line
	default:
		a.words = r.values(most)
	}
	if len(a.words) < least {
		return errors.New(a.spelled + " wants a value")
	}
	return nil
}

// arity returns how many words follow the flag at least and at most; most < 0 means any number.
func (a *assignment) arity() (least, most int) {
	switch {
	case a.option != nil:
		return a.option.arity()
	case a.off || a.setting.isSwitch():
		return 0, 0
	case a.setting.isList():
		return 1, -1
	case a.setting.bare != "":
		return 0, 1
	}
	return 1, 1
}
