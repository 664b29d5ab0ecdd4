package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// none is how Python prints that a value is absent: a flag that is given it might as well not be there.
const none = "None"

// ErrHelp is returned by [Set.Parse] when --help or -h is among the arguments. Nothing was stored.
var ErrHelp = errors.New("help was asked for")

// layering holds the flags that say what else to read.
type layering struct {
	Recipe    string `flag:"recipe" help:"recipe to start from; none for no recipe"`
	Config    string `flag:"config" help:"file of flags, read after the recipe and before the command line"`
	ExtraArgs string `flag:"extra-args" words:"line" help:"more flags, in one word; read last, so they override"`

	defaultRecipe string
}

// Layered gives the command --recipe, --config and --extra-args. recipe is the one to start from when none is named;
// "" means none.
func (s *Set) Layered(recipe string) *Set {
	s.layers = &layering{Recipe: recipe, defaultRecipe: recipe}
	s.Add("Where settings come from", s.layers)
	for _, name := range []string{"recipe", "config", "extra-args"} {
		s.byName[name].directive = true
	}
	return s
}

// Parse reads all layers into the registered structs, then calls every Validate. It returns everything that is wrong,
// joined; what could be read is stored even then. With [ErrHelp] nothing is.
func (s *Set) Parse(args []string) error {
	s.demandHelp()
	in := make([]word, len(args))
	for i, a := range args {
		in[i] = word{text: a}
	}
	line := s.read(source{name: "flag"}, in)
	if line.help {
		return ErrHelp
	}
	recipe, file := s.lower(&line)
	ap := applier{set: s, broken: map[string]bool{}}
	for _, l := range s.expand(slices.Concat(s.withExtra(recipe), s.variables(), s.withExtra(file), s.withExtra(&line))) {
		ap.layer(l)
	}
	ap.places(line.places)
	ap.validate()
	ap.idle()
	return errors.Join(ap.errs...)
}

func (s *Set) demandHelp() {
	for _, n := range s.settings {
		if n.Help == "" {
			panic(fmt.Sprintf("config: --%s has no help text", n.Name))
		}
	}
}

// lower returns the layers below the command line: the recipe and the file that it names, nil where there is none.
func (s *Set) lower(line *layer) (recipe, file *layer) {
	if s.layers == nil {
		return nil, nil
	}
	if a := line.last(s.byName["config"]); a != nil && a.words[0] != none {
		file = s.file(a.words[0], line)
	}
	name, named := s.layers.defaultRecipe, false
	for _, l := range []*layer{file, line} {
		if a := l.last(s.byName["recipe"]); a != nil {
			name, named = a.words[0], true
		}
	}
	if !named && s.presume != nil {
		if p := s.presume(line.said); p.Recipe != "" {
			name, s.presumed = p.Recipe, p
			s.beneath = slices.Insert(s.beneath, 0, beneath{p.Origin, p.Flags})
		}
	}
	if name == "" || name == "none" || name == none {
		return nil, file
	}
	s.recipe = name
	return s.recipeLayer(name, line), file
}

// A Presumption is a recipe that nobody named, and flags that lie right above it, with what is said of where they come from.
type Presumption struct {
	Recipe string
	Why    string
	Flags  []string
	Origin string
}

// Presume gives the choice of the recipe to a function, where neither the command line nor a file names one. It can ask what the command line says
// to a flag, under the name it has there, and answers nothing for the recipe that [Set.Layered] was given.
func (s *Set) Presume(choose func(said func(flag string) (value string, given bool)) Presumption) *Set {
	s.presume = choose
	return s
}

// Presumed returns the recipe that was chosen for the flags on the command line, the zero Presumption when none was.
func (s *Set) Presumed() Presumption { return s.presumed }

// Below adds a layer between the recipe and the file: flags that come from somewhere else, such as a variable. The origin is what is said of them.
func (s *Set) Below(origin string, flags ...string) *Set {
	s.beneath = append(s.beneath, beneath{origin, flags})
	return s
}

type beneath struct {
	origin string
	flags  []string
}

// variables reads what [Set.Below] added.
func (s *Set) variables() []*layer {
	var out []*layer
	for _, b := range s.beneath {
		in := make([]word, len(b.flags))
		for i, f := range b.flags {
			in[i] = word{text: f}
		}
		l := s.read(source{name: b.origin}, in)
		out = append(out, &l)
	}
	return out
}

// said returns the last word on a flag, under any of its names.
func (l *layer) said(flag string) (value string, given bool) {
	for _, a := range l.assigns {
		if a.name() == flag || a.spelled == "--"+flag {
			value, given = strings.Join(a.words, " "), true
		}
	}
	return value, given
}

func (s *Set) file(path string, line *layer) *layer {
	text, err := s.readFile(path)
	if err != nil {
		line.errs = append(line.errs, fmt.Errorf("--config: %w", err))
		return &layer{}
	}
	l := s.text(source{name: "file " + path, lines: true}, string(text))
	l.refuse(s.byName["config"], "a file of flags cannot name another")
	return l
}

func (s *Set) recipeLayer(name string, line *layer) *layer {
	text, err := Recipe(name)
	if err != nil {
		line.errs = append(line.errs, fmt.Errorf("--%w", err)) // the flag has the name of what it names
		return &layer{}
	}
	l := s.text(source{name: "recipe " + name, lines: true}, text)
	l.refuse(s.byName["config"], "a recipe cannot name a file")
	l.refuse(s.byName["recipe"], "a recipe cannot name another")
	return l
}

// text reads the parts of a file of flags that are for this command.
func (s *Set) text(src source, text string) *layer {
	in, err := scan(section(text, s.command), true)
	l := s.read(src, in)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %w", src.name, err))
	}
	for _, w := range l.places {
		l.errs = append(l.errs, fmt.Errorf("%s: unexpected word %q, want a flag", src.name, w))
	}
	return &l
}

// refuse removes a directive where it has no place, with a complaint.
func (l *layer) refuse(s *Setting, why string) {
	kept := l.assigns[:0]
	for _, a := range l.assigns {
		if a.setting == s {
			l.errs = append(l.errs, a.from.errorf(a.line, "--%s: %s", s.Name, why))
			continue
		}
		kept = append(kept, a)
	}
	l.assigns = kept
}

// An applier stores layers and collects what is wrong with them.
type applier struct {
	set    *Set
	errs   []error
	broken map[string]bool // flags whose value could not be read
}

func (ap *applier) layer(l *layer) {
	ap.errs = append(ap.errs, l.errs...)
	ap.errs = append(ap.errs, l.contradictions()...)
	for _, a := range l.assigns {
		ap.assign(a)
	}
}

// withExtra returns a layer and the command line that its --extra-args holds, which lies right above it; nothing of nothing.
func (s *Set) withExtra(l *layer) []*layer {
	if l == nil {
		return nil
	}
	if s.layers == nil {
		return []*layer{l}
	}
	a := l.last(s.byName["extra-args"])
	if a == nil || a.words[0] == none {
		return []*layer{l}
	}
	src := source{name: a.from.origin(a.line) + " --extra-args"}
	list, err := scan(a.words[0], false)
	extra := s.read(src, list)
	if err != nil {
		extra.errs = append(extra.errs, fmt.Errorf("%s: %w", src.name, err))
	}
	for _, w := range extra.places {
		extra.errs = append(extra.errs, fmt.Errorf("%s: unexpected word %q, want a flag", src.name, w))
	}
	for _, name := range []string{"recipe", "config", "extra-args"} {
		extra.refuse(s.byName[name], "not inside --extra-args")
	}
	return []*layer{l, &extra}
}

// contradictions reports settings that a layer gives different values under different names. Under one name the last word counts, as everywhere.
func (l *layer) contradictions() []error {
	var errs []error
	first := map[*Setting]assignment{}
	for _, a := range l.assigns {
		if a.setting == nil {
			continue
		}
		was, seen := first[a.setting]
		if seen && a.under() != was.under() && a.value() != was.value() && !same(a.value(), was.value()) {
			errs = append(errs, a.from.errorf(a.line, "%s and %s are two names of one setting, want one value", was.typed(), a.typed()))
		}
		first[a.setting] = a
	}
	return errs
}

// under returns the name that an assignment used, without --no-.
func (a *assignment) under() string {
	if a.off {
		return strings.TrimPrefix(a.spelled, "--no-")
	}
	return strings.TrimPrefix(a.spelled, "--")
}

// value returns what an assignment gives its setting, as text.
func (a *assignment) value() string {
	if a.setting.isSwitch() && len(a.words) == 0 {
		return map[bool]string{false: "true", true: "false"}[a.off]
	}
	return strings.Join(a.words, " ")
}

// typed returns an assignment as it may have been typed.
func (a *assignment) typed() string { return strings.TrimSpace(a.spelled + " " + Quote(a.words...)) }

func (ap *applier) assign(a assignment) {
	origin := a.from.origin(a.line)
	var err error
	switch n := a.setting; {
	case n == nil && a.option.Kind == Expands: // what it stands for is a layer of its own
	case n == nil:
		err = ap.set.note(a, origin)
	case !a.off && len(a.words) == 1 && a.words[0] == none && !n.directive:
		ap.set.keep(Note{Flag: n.Name, Value: none, Origin: origin, Why: "None is no value: it is as if the flag were not there", Held: true, Listed: true}, false)
	case n.isSwitch() && len(a.words) == 0:
		err = n.set([]string{map[bool]string{false: "true", true: "false"}[a.off]}, origin)
	case a.off:
		n.clear(origin)
	default:
		said := n.all(&a)
		if err = n.set(said, origin); err != nil {
			ap.broken[n.Name] = true
		} else {
			n.said, n.layer = said, a.from.name
		}
	}
	if err != nil {
		ap.errs = append(ap.errs, a.from.errorf(a.line, "%w", err))
	}
}

// places hands the positional arguments out, in order.
func (ap *applier) places(args []string) {
	args = ap.oneDash(args)
	for _, p := range ap.set.places {
		switch {
		case len(args) == 0 && !p.optional:
			ap.errs = append(ap.errs, fmt.Errorf("argument %s is missing: %s", p.name, p.help))
		case len(args) == 0:
		case p.field.Kind() == reflect.Slice:
			p.field.Set(reflect.ValueOf(append([]string(nil), args...)))
			args, p.given = nil, true
		default:
			p.field.SetString(args[0])
			args, p.given = args[1:], true
		}
	}
	for _, a := range args {
		ap.errs = append(ap.errs, fmt.Errorf("unexpected argument %q", a))
	}
}

// oneDash complains of flags that have one dash where two were meant, and returns what is left without them and their values. Such a word is a file's name only
// with ./ before it.
func (ap *applier) oneDash(args []string) (rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, valued := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		n := ap.set.byName[name]
		if !strings.HasPrefix(args[i], "-") || n == nil && !slices.Contains(ap.set.names(), name) {
			rest = append(rest, args[i])
			continue
		}
		ap.errs = append(ap.errs, fmt.Errorf("unexpected argument %q: flags begin with two dashes, did you mean --%s?", args[i], name))
		if valued || n != nil && n.isSwitch() {
			continue
		}
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
		}
	}
	return rest
}

// validate calls every Validate. A complaint that speaks of a flag whose value could not be read is left out: that
// flag still holds the value of a lower layer, so the complaint would be about something nobody said.
func (ap *applier) validate() {
	seen := map[string]bool{}
	for _, o := range ap.set.owners {
		for _, err := range flatten(o.Validate()) {
			text := err.Error()
			if !seen[text] && !ap.aboutBroken(text) {
				ap.errs = append(ap.errs, err)
			}
			seen[text] = true
		}
	}
}

// idle complains of what was typed and changes nothing. What asks for nothing, since it is the default or a switch that is off, is
// noted or passed over. Recipes and files say more than one command needs, and are not complained of; no more is the command line of another program, by
// which a recipe was presumed: it says what that program takes.
func (ap *applier) idle() {
	why, noted := ap.reasons(), ap.unheeded()
	ap.set.vain = map[string]bool{}
	for _, n := range ap.set.settings {
		ap.set.vain[n.Name] = why[n.Name] != ""
		reason := cmp.Or(why[n.Name], noted[n.Name], n.unheeded)
		switch {
		case reason == "" || !n.typed() || ap.broken[n.Name] || n.isSwitch() && n.String() == "false":
		case n.String() == n.Default || why[n.Name] == "" || ap.set.presumed.Recipe != "":
			ap.set.notes = append(ap.set.notes, Note{Flag: n.Name, Value: n.String(), Origin: n.Origin, Why: reason})
		default:
			ap.errs = append(ap.errs, fmt.Errorf("--%s changes nothing: %s", n.Name, reason))
		}
	}
}

// reasons returns the flags that change nothing as the structs stand, and why.
func (ap *applier) reasons() map[string]string {
	all := map[string]string{}
	for _, o := range ap.set.idlers {
		ap.collect(all, o, o.Idle())
	}
	return all
}

// unheeded returns those of them that are only noted.
func (ap *applier) unheeded() map[string]string {
	all := map[string]string{}
	for _, o := range ap.set.noters {
		ap.collect(all, o, o.Unheeded())
	}
	return all
}

// collect adds what owner says of its flags to all.
func (ap *applier) collect(all map[string]string, owner any, says map[string]string) {
	for name, why := range says {
		if ap.set.byName[name] == nil {
			panic(fmt.Sprintf("config: %T speaks of --%s, which is no flag", owner, name))
		}
		all[name] = why
	}
}

func (ap *applier) aboutBroken(text string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '(' || r == ')' || r == ',' || r == ':' }) {
		if name, ok := strings.CutPrefix(w, "--"); ok && ap.broken[name] {
			return true
		}
	}
	return false
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	var many interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &many) || many.(error).Error() != err.Error():
		return []error{err}
	}
	var out []error
	for _, e := range many.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}

// Problems returns the single complaints of an error that [Set.Parse] returned.
func Problems(err error) []error { return flatten(err) }
