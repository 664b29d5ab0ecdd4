package config

import (
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
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", wrap(s.purpose, 0), s.usage())
	if len(s.examples) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range s.examples {
			fmt.Fprintf(&b, "  # %s\n  %s\n", e.says, e.line)
		}
	}
	s.helpPlaces(&b)
	for _, g := range s.groups() {
		fmt.Fprintf(&b, "\n%s:\n", g)
		for _, n := range s.settings {
			if n.Group == g {
				b.WriteString(entry(n.heading(), n.says()))
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
	line := []string{"furlong", s.command}
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

func (s *Setting) says() string {
	text := s.Help
	if s.Default != "" && s.Default != "''" && s.Default != "false" {
		text += " (default " + s.Default + ")"
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
