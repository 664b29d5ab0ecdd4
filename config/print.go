package config

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"
)

// Args returns the present settings as a command line: parsed by an equal Set they give equal settings, whatever the
// recipe underneath. --recipe, --config and --extra-args have been followed and are not part of it.
func (s *Set) Args() []string {
	var out []string
	for _, n := range s.settings {
		if !n.directive {
			out = append(out, n.args()...)
		}
	}
	var places []string
	for _, p := range s.places {
		places = append(places, p.words()...)
	}
	if len(places) == 0 {
		return out
	}
	return append(append(out, "--"), places...) // led in by --, so that no list of words swallows them
}

// Given returns the settings that some layer gave and that change something, as a command line: over no recipe it says the same.
func (s *Set) Given() []string {
	var out []string
	for _, n := range s.settings {
		if !n.directive && n.Origin != "default" && !s.vain[n.Name] {
			out = append(out, n.args()...)
		}
	}
	return out
}

func (s *Setting) args() []string {
	list := s.Words()
	switch {
	case s.isSwitch() && len(list) == 1:
		return []string{map[string]string{"true": "--", "false": "--no-"}[list[0]] + s.Name}
	case len(list) == 0 && s.isSwitch():
		return nil // not decided, and no flag says so
	case len(list) == 0:
		return []string{"--no-" + s.Name}
	case len(list) == 1:
		return []string{"--" + s.Name + "=" + list[0]}
	}
	return append([]string{"--" + s.Name}, list...)
}

func (p *place) words() []string {
	switch {
	case !p.given:
		return nil
	case p.field.Kind() == reflect.Slice:
		return p.field.Interface().([]string)
	}
	return []string{p.field.String()}
}

// PrintText writes a table of every setting, where it came from and its value, then what was read and is no setting.
func (s *Set) PrintText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SETTING\tORIGIN\tVALUE")
	for _, n := range s.settings {
		value := n.String()
		if len(n.Words()) == 0 {
			value = "-"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", n.Name, n.Origin, value)
	}
	printNotes(tw, "NOT ACTED ON", s.notes, func(n Note) bool { return !n.Held })
	printNotes(tw, "SO IN ANY CASE", s.notes, func(n Note) bool { return n.Held })
	printNotes(tw, "NOT BUILT IN: NO RUN BEGINS", s.lacks, func(Note) bool { return true })
	if len(s.expansions) > 0 {
		fmt.Fprintln(tw, "\nSTANDS FOR\tORIGIN\tFLAGS")
	}
	for _, e := range s.expansions {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", strings.TrimSpace(e.Flag+" "+e.Value), e.Origin, Quote(e.Flags...))
	}
	if len(s.claims) > 0 {
		fmt.Fprintln(tw, "\nABOUT THE MODEL\tORIGIN\tVALUE")
	}
	for _, c := range s.claims {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", c.Flag, c.Origin, c.Value)
	}
	return tw.Flush()
}

func printNotes(tw io.Writer, head string, notes []Note, wanted func(Note) bool) {
	for _, n := range notes {
		if !wanted(n) {
			continue
		}
		if head != "" {
			fmt.Fprintf(tw, "\n%s\tORIGIN\tWHY\n", head)
			head = ""
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", strings.TrimSpace(n.Flag+" "+n.Value), n.Origin, n.Why)
	}
}

// PrintFlags writes the settings as a file of flags, one a line, which --config reads back.
func (s *Set) PrintFlags(w io.Writer) error {
	for _, n := range s.settings {
		if list := n.args(); !n.directive && len(list) > 0 {
			if _, err := fmt.Fprintln(w, Quote(list...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Printed is one setting in [Set.JSON].
type Printed struct {
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Values returns every setting by name, with values that JSON can hold: times are text such as "1m30s", and so are
// infinities.
func (s *Set) Values() map[string]Printed {
	out := map[string]Printed{}
	for _, n := range s.settings {
		out[n.Name] = Printed{Value: jsonValue(n.Value()), Origin: n.Origin}
	}
	return out
}

// PrintJSON writes {"setting": {"value": ..., "origin": ...}, ...}, sorted by name.
func (s *Set) PrintJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(s.Values())
}

func jsonValue(v any) any {
	if v == nil || isText(reflect.TypeOf(v)) {
		return v
	}
	switch r := reflect.ValueOf(v); {
	case r.Type() == durationType:
		return time.Duration(r.Int()).String()
	case r.Kind() == reflect.Slice:
		out := make([]any, r.Len())
		for i := range out {
			out[i] = jsonValue(r.Index(i).Interface())
		}
		return out
	case r.CanFloat() && math.IsInf(r.Float(), 0):
		return writeScalar(r, "")
	}
	return v
}
