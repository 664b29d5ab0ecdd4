package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
)

// A Set is everything that one command can be told. Make it with [New], [Set.Add] the structs, then [Set.Parse].
// It is for one goroutine and one Parse.
type Set struct {
	command  string // "train"
	called   string // in --help, if not command
	purpose  string
	examples []example
	settings []*Setting
	byName   map[string]*Setting
	places   []*place
	owners   []validator
	idlers   []idler
	noters   []noter
	options  map[string]Option // accepted, not acted on
	order    []string          // their names
	layers   *layering         // nil: the command line is the only layer
	readFile func(string) ([]byte, error)

	presume func(said func(string) (string, bool)) Presumption
	beneath []beneath
	passes  []pass

	notes, lacks []Note
	claims       []Claim
	expansions   []Expansion
	vain         map[string]bool // settings that change nothing beside the others
	recipe       string
	presumed     Presumption
}

type example struct{ line, says string }

type validator interface{ Validate() error }

// An idler knows flags that change nothing as it stands, and why. Validate has found no fault with it, or has told.
type idler interface{ Idle() map[string]string }

// A noter knows flags that change nothing as it stands, and why, which people write all the same: published command lines have them. They are noted.
type noter interface{ Unheeded() map[string]string }

// A place is a positional argument.
type place struct {
	name, help string
	optional   bool
	given      bool
	field      reflect.Value // a string, or []string for all that remain
}

// New returns an empty Set for a command such as "train". The purpose is one or two sentences for --help.
func New(command, purpose string) *Set {
	return &Set{
		command:  command,
		purpose:  purpose,
		byName:   map[string]*Setting{},
		options:  map[string]Option{},
		readFile: os.ReadFile,
	}
}

// CalledAs names the command that --help shows, where it is another than the one whose settings these are.
func (s *Set) CalledAs(command string) *Set {
	s.called = command
	return s
}

// Example adds a command line to --help, and what it does.
func (s *Set) Example(line, says string) *Set {
	s.examples = append(s.examples, example{line, says})
	return s
}

// Add registers every tagged field of the structs that p points to, nested ones included, under a heading of --help.
// A nested struct may name its own heading with `group:"..."`. The fields' present values are the defaults.
//
//	flag:"name,other"     the flag, and other spellings of it
//	arg:"DIR", "[DIR]"    a positional argument, required or not; a []string takes all that remain
//	help:"..."            one line
//	unit:"bytes|count"    suffixes are understood
//	choices:"a b c"       nothing else is taken
//	words:"line"          the next word is the value even if it looks like a flag
//
// A struct may have two methods: Validate() error, with all that is wrong, and Idle() map[string]string, with the flags that change nothing
// as it stands, and why. Such a flag on the command line is an error; one that repeats the default is noted. A third, Unheeded() map[string]string, names
// those that are noted in any case.
//
// Two fields may share a flag if type, default and help agree (one help may be left out); both get the value.
func (s *Set) Add(group string, p ...any) *Set {
	for _, x := range p {
		v := reflect.ValueOf(x)
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			panic(fmt.Sprintf("config: Add(%q): got %T, want a pointer to a struct", group, x))
		}
		s.addStruct(group, v.Elem())
	}
	return s
}

func (s *Set) addStruct(group string, v reflect.Value) {
	if o, ok := reflect.TypeAssert[validator](v.Addr()); ok {
		s.owners = append(s.owners, o)
	}
	if o, ok := reflect.TypeAssert[idler](v.Addr()); ok {
		s.idlers = append(s.idlers, o)
	}
	if o, ok := reflect.TypeAssert[noter](v.Addr()); ok {
		s.noters = append(s.noters, o)
	}
	for i := range v.NumField() {
		s.addField(group, v.Type().Field(i), v.Field(i))
	}
}

func (s *Set) addField(group string, f reflect.StructField, v reflect.Value) {
	flag, isFlag := f.Tag.Lookup("flag")
	arg, isArg := f.Tag.Lookup("arg")
	if (isFlag || isArg) && !f.IsExported() {
		panic(fmt.Sprintf("config: field %s is tagged but not exported", f.Name))
	}
	switch {
	case isFlag:
		s.addSetting(newSetting(group, flag, f, v))
	case isArg:
		s.addPlace(arg, f, v)
	case f.IsExported():
		s.addNested(group, f, v)
	}
}

func (s *Set) addNested(group string, f reflect.StructField, v reflect.Value) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	if g, ok := f.Tag.Lookup("group"); ok {
		group = g
	}
	s.addStruct(group, v)
}

func (s *Set) addSetting(n *Setting) {
	if old := s.byName[n.Name]; old != nil && old.Name == n.Name {
		old.share(n)
		return
	}
	for _, name := range append([]string{n.Name}, n.Others...) {
		if s.byName[name] != nil {
			panic(fmt.Sprintf("config: --%s is registered twice", name))
		}
		s.byName[name] = n
	}
	s.settings = append(s.settings, n)
}

func (s *Set) addPlace(arg string, f reflect.StructField, v reflect.Value) {
	inner := strings.TrimSuffix(strings.TrimPrefix(arg, "["), "]")
	p := &place{name: inner, help: f.Tag.Get("help"), optional: inner != arg, field: v}
	if v.Kind() != reflect.String && v.Type() != reflect.TypeFor[[]string]() {
		panic(fmt.Sprintf("config: argument %s is a %s, want a string or []string", inner, v.Type()))
	}
	if n := len(s.places); n > 0 && s.places[n-1].field.Kind() == reflect.Slice {
		panic(fmt.Sprintf("config: argument %s follows %s, which takes all that remain", inner, s.places[n-1].name))
	}
	s.places = append(s.places, p)
}

// Unheeded marks flags that change nothing whatever else is given. On the command line they are noted, with the reason.
func (s *Set) Unheeded(why string, flags ...string) *Set {
	for _, f := range flags {
		s.byName[f].unheeded = why
	}
	return s
}

// Also gives a setting further names, for launch lines in which it has another.
func (s *Set) Also(flag string, names ...string) *Set {
	n := s.byName[flag]
	n.Others = append(n.Others, names...)
	for _, name := range names {
		if s.byName[name] != nil {
			panic(fmt.Sprintf("config: --%s is registered twice", name))
		}
		s.byName[name] = n
	}
	return s
}

// Settings returns the settings in the order in which they were added.
func (s *Set) Settings() []*Setting { return s.settings }

// Knows reports whether a name is a flag: a setting's, or an option's; and whether it is a switch.
func (s *Set) Knows(flag string) (known, isSwitch bool) {
	if n := s.byName[flag]; n != nil {
		return !n.directive, n.isSwitch()
	}
	o, known := s.options[flag]
	return known, known && (o.Takes == Switch || o.Takes == Nothing)
}

// Recipe returns the name of the recipe that was read, or "".
func (s *Set) Recipe() string { return s.recipe }
