package config

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// helpColumn is where the text about a flag begins, and helpWidth where it ends.
const (
	helpColumn = 38
	helpWidth  = 110
)

// PrintHelp writes what --help shows: purpose, usage, examples, then the flags by heading, with their defaults.
func (s *Set) PrintHelp(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", paragraphs(s.purpose), s.usage())
	if len(s.examples) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range s.examples {
			fmt.Fprintf(&b, "  # %s\n  %s\n", e.says, e.line)
		}
	}
	s.helpPlaces(&b)
	recipe := s.recipeValues()
	for _, g := range s.groups() {
		fmt.Fprintf(&b, "\n%s:\n", g)
		for _, n := range s.settings {
			if n.Group == g {
				b.WriteString(entry(n.heading(), n.says(recipe[n])))
			}
		}
	}
	if len(s.options) > 0 {
		fmt.Fprintf(&b, "\n%s\n", wrap(fmt.Sprintf("%d options of other training stacks are read as well and not acted on; "+
			"each one used is named at the start, with the reason.", len(s.options)), 0))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Set) usage() string {
	line := []string{"furlong", cmp.Or(s.called, s.command)}
	if len(s.settings) > 0 {
		line = append(line, "[flags]")
	}
	for _, p := range s.places {
		line = append(line, p.heading())
	}
	return strings.Join(line, " ")
}

func (p *place) heading() string {
	name := p.name
	if p.field.Kind() == reflect.Slice {
		name += "..."
	}
	if p.optional {
		return "[" + name + "]"
	}
	return name
}

func (s *Set) helpPlaces(b *strings.Builder) {
	if len(s.places) == 0 {
		return
	}
	b.WriteString("\nArguments:\n")
	for _, p := range s.places {
		b.WriteString(entry(p.heading(), p.help))
	}
}

// groups returns the headings in the order in which they were first used.
func (s *Set) groups() []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range s.settings {
		if !seen[n.Group] {
			out = append(out, n.Group)
		}
		seen[n.Group] = true
	}
	return out
}

func (s *Setting) heading() string {
	if s.isSwitch() {
		return "--[no-]" + s.Name
	}
	return "--" + s.Name + " " + s.placeholder()
}

// Takes returns what follows the flag, as --help shows it; "" after a switch.
func (s *Setting) Takes() string {
	if s.isSwitch() {
		return ""
	}
	return s.placeholder()
}

func (s *Setting) placeholder() string {
	t := s.Type()
	switch {
	case len(s.choices) > 0:
		return strings.Join(s.choices, "|")
	case isText(t):
		return "TEXT"
	case s.isList():
		return scalarName(t.Elem(), s.unit) + "..."
	case t.Kind() == reflect.Map:
		return "'K=V ...'"
	case t.Kind() == reflect.Pointer:
		return scalarName(t.Elem(), s.unit)
	}
	return scalarName(t, s.unit)
}

func scalarName(t reflect.Type, unit string) string {
	switch {
	case isText(t) || t.Kind() == reflect.String:
		return "TEXT"
	case t == durationType:
		return "TIME"
	case unit == "bytes":
		return "BYTES"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "X"
	case t.Kind() == reflect.Bool:
		return "BOOL"
	}
	return "N"
}

// recipeValues returns what the recipe that is read without --recipe says, by setting, as help shows it.
func (s *Set) recipeValues() map[*Setting]string {
	out := map[*Setting]string{}
	if s.layers == nil || s.layers.defaultRecipe == "" {
		return out
	}
	name := s.layers.defaultRecipe
	for _, a := range s.recipeLayer(name, &layer{}).assigns {
		if v := a.shown(); a.setting != nil && v != a.setting.Default {
			out[a.setting] = "recipe " + name + " " + v
		}
	}
	return out
}

// shown returns the value that an assignment gives, in the form of a default.
func (a *assignment) shown() string {
	switch {
	case a.setting == nil:
		return ""
	case a.off:
		return "off"
	case a.setting.isSwitch() && len(a.words) == 0:
		return "true"
	}
	v, err := read(a.setting.Type(), a.words, a.setting.unit)
	if err != nil {
		return Quote(a.words...)
	}
	return Quote(words(v, a.setting.unit)...)
}

// says returns the help text with the default, and with what a recipe has in its place.
func (s *Setting) says(recipe string) string {
	var values []string
	if s.Default != "" && s.Default != "''" && s.Default != "false" {
		values = append(values, "default "+s.Default)
	}
	if recipe != "" {
		values = append(values, recipe)
	}
	text := s.Help
	if len(values) > 0 {
		text += " (" + strings.Join(values, ", ") + ")"
	}
	if len(s.Others) > 0 {
		text += "; also --" + strings.Join(s.Others, ", --")
	}
	return text
}

func entry(head, text string) string {
	head = "  " + head
	if len(head) > helpColumn-2 {
		head += "\n" + strings.Repeat(" ", helpColumn)
	} else {
		head += strings.Repeat(" ", helpColumn-len(head))
	}
	return head + wrap(text, helpColumn) + "\n"
}

// paragraphs wraps text between empty lines, but for what begins with blanks: a table stays as it is.
func paragraphs(text string) string {
	all := strings.Split(strings.Trim(text, "\n"), "\n\n")
	for i, p := range all {
		if !strings.HasPrefix(p, " ") {
			all[i] = wrap(p, 0)
		}
	}
	return strings.Join(all, "\n\n")
}

// wrap breaks text at blanks; lines after the first are indented.
func wrap(text string, indent int) string {
	var b strings.Builder
	at := indent
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(w) > helpWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}
