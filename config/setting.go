package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Setting is one flag: its names, its fields, and where its present value came from.
type Setting struct {
	Name    string   // without the dashes
	Others  []string // other spellings
	Group   string   // heading in --help
	Help    string
	Default string // as --help shows it; "" when there is none
	Origin  string // "default", "recipe NAME", "file F:LINE", "flag", "flag --extra-args"

	fields    []reflect.Value // all of one type; all get the value
	unit      string          // "", "bytes" or "count"
	choices   []string
	bare      string // what it means without a value; "" if it needs one
	line      bool   // the next word is the value, whatever it looks like
	unheeded  string // why it never changes anything; "" if it does
	directive bool   // says what to read: no value of its own to print
	adds      bool   // a list that grows where the flag comes again on one layer, instead of being replaced
	said      []string
	layer     string // what said it
}

func newSetting(group, tag string, f reflect.StructField, v reflect.Value) *Setting {
	names := strings.Split(tag, ",")
	n := &Setting{
		Name: names[0], Others: names[1:], Group: group, Help: f.Tag.Get("help"), Origin: "default",
		fields: []reflect.Value{v}, unit: f.Tag.Get("unit"), choices: strings.Fields(f.Tag.Get("choices")),
		line: f.Tag.Get("words") == "line", adds: f.Tag.Get("again") == "adds",
	}
	if !settable(v.Type()) {
		panic(fmt.Sprintf("config: --%s is a %s, which cannot be read", n.Name, v.Type()))
	}
	if slices.ContainsFunc(names, func(s string) bool { return !isName(s) }) {
		panic(fmt.Sprintf("config: flag %q: want lower case letters, digits and dashes", tag))
	}
	n.Default = n.String()
	return n
}

// isName reports whether s can be a flag: letters, digits and single dashes or underscores, beginning with a letter.
func isName(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_", r)) {
			return false
		}
	}
	return s != ""
}

// share binds the fields of n, which has the same name, to s.
func (s *Setting) share(n *Setting) {
	same := s.Type() == n.Type() && s.unit == n.unit && s.Default == n.Default &&
		slices.Equal(s.choices, n.choices) && slices.Equal(s.Others, n.Others)
	if !same {
		panic(fmt.Sprintf("config: --%s is registered as %s = %q and as %s = %q", s.Name, s.Type(), s.Default, n.Type(), n.Default))
	}
	if s.Help == "" {
		s.Help = n.Help
	}
	if n.Help != "" && n.Help != s.Help {
		panic(fmt.Sprintf("config: --%s has two meanings: %q and %q", s.Name, s.Help, n.Help))
	}
	s.fields = append(s.fields, n.fields...)
}

// Type returns the Go type of the setting's fields.
func (s *Setting) Type() reflect.Type { return s.fields[0].Type() }

// Value returns the present value: the field's own type, nil where a pointer is nil.
func (s *Setting) Value() any {
	v := s.fields[0]
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return v.Interface()
}

// Words returns the present value as the words that follow the flag; none for what is empty or not set.
func (s *Setting) Words() []string { return words(s.fields[0], s.unit) }

// String returns the value as a person would type it, quoted where needed.
func (s *Setting) String() string { return Quote(s.Words()...) }

// set stores words in every field. Nothing is stored when they cannot be read.
func (s *Setting) set(words []string, origin string) error {
	for _, w := range words {
		if len(s.choices) > 0 && !slices.Contains(s.choices, w) {
			return fmt.Errorf("--%s is %q, want %s", s.Name, w, strings.Join(s.choices, ", "))
		}
	}
	for _, f := range s.fields { // their own copies: two fields never share a slice or a map
		v, err := read(f.Type(), words, s.unit)
		if err != nil {
			return fmt.Errorf("--%s is %w", s.Name, err)
		}
		f.Set(v)
	}
	s.Origin = origin
	return nil
}

// all returns the words of an assignment, behind those that its layer said before where they add up.
func (s *Setting) all(a *assignment) []string {
	if s.adds && s.layer == a.from.name {
		return append(slices.Clip(s.said), a.words...)
	}
	return a.words
}

// clear is --no-x for what can be absent.
func (s *Setting) clear(origin string) {
	for _, f := range s.fields {
		f.SetZero()
	}
	s.Origin, s.layer = origin, ""
}

func (s *Setting) isSwitch() bool {
	t := s.Type()
	return !isText(t) && (t.Kind() == reflect.Bool || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Bool)
}

// typed reports whether the value was given on the command line.
func (s *Setting) typed() bool { return s.Origin == "flag" || strings.HasPrefix(s.Origin, "flag ") }

func (s *Setting) isList() bool { return s.Type().Kind() == reflect.Slice && !isText(s.Type()) }

// canClear reports whether --no-x means "none".
func (s *Setting) canClear() bool {
	return !isText(s.Type()) && (s.Type().Kind() == reflect.Pointer || s.isList() || s.Type().Kind() == reflect.Map)
}
