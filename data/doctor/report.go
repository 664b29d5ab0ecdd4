package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var errEmpty = errors.New("conversation is empty")

// A Finding is one kind of thing that was found.
type Finding struct {
	Kind     string   `json:"kind"`
	Harm     bool     `json:"harm"` // a run would be refused, go wrong or report a wrong number
	Count    int      `json:"count"`
	What     string   `json:"what"`     // what there are Count of, and what to do
	Examples []string `json:"examples"` // the first few, with their places
}

// A Keys counts the rows that have a key, by the kind of their value.
type Keys map[string]map[string]int

// A Report is what was found.
type Report struct {
	Rows     int       `json:"rows"`
	Problems int       `json:"problems"` // different ones
	Largest  int       `json:"largest"`  // rows of one problem
	Findings []Finding `json:"findings"`
	Keys     Keys      `json:"keys"`
	Longest  int       `json:"longest"`   // prompt, in tokens
	NearOnly int       `json:"near_only"` // problems among which near ones were looked for; 0 is all
}

// mostExamples is how many rows a finding names, mostKeys how many keys are counted.
const (
	mostExamples = 5
	mostKeys     = 200
)

// Harmful returns how many findings harm.
func (r *Report) Harmful() int {
	n := 0
	for _, f := range r.Findings {
		if f.Harm {
			n++
		}
	}
	return n
}

// A kind is a row of the table of findings. Their order is that of the report.
type kind struct {
	name string
	harm bool
	what string
}

var kinds = []kind{
	{"malformed", true, "rows are no JSON object, no UTF-8 or too long; a run refuses more than 0.1 %"},
	{"no-prompt", true, "rows have no prompt that can be read; a run refuses them"},
	{"repeated-key", true, "rows have a key twice in one object, of which readers take the one or the other; a run refuses them"},
	{"bad-label", true, "rows have a label that is none: a text, a number, a list of these or an object with nums and target is one; a run refuses them"},
	{"bad-metadata", true, "rows have metadata that are no object; a run refuses them"},
	{"bad-id", true, "rows have an id that is neither a text nor a number; a run refuses them"},
	{"no-label", true, "rows have no label; a run refuses them without --allow-empty-labels"},
	{"ungradable", true, "labels that the grader cannot read: their samples are invalid and never train"},
	{"id", true, "rows have the id of another problem; a run refuses them"},
	{"duplicate", true, "rows say what an earlier row says; an epoch goes through them all (--drop-duplicate-prompts keeps the first of equal texts)"},
	{"conflict", true, "rows have the problem of an earlier row and another label: one of them is wrong"},
	{"overlap", true, "rows have a problem of --against: an evaluation on it measures memory"},
	{"near-overlap", true, "rows have nearly a problem of --against, with the same numbers and no other label"},
	{"broken-escape", true, "texts in which the backslash and first letter of a LaTeX command became a control character"},
	{"double-escape", true, "texts in which a LaTeX command has two backslashes"},
	{"lost-backslash", true, "texts in which a LaTeX command has no backslash"},
	{"near-duplicate", false, "rows have nearly the problem of an earlier row, with the same numbers and no other label"},
	{"control-character", false, "texts with control characters"},
	{"misread", false, "texts with characters that come from reading UTF-8 as something else"},
	{"not-read", false, "columns of Parquet have no form in JSON; no run sees what is in them"},
	{"too-long", false, "prompts are longer than --rollout-max-prompt-len; a run leaves them out"},
	{"mixed-prompts", false, "rows have a prompt of the rarer kind, text or messages"},
	{"mixed-labels", false, "rows have a label of a rarer kind"},
	{"empty", true, "files hold no row"},
}

// tally collects findings.
type tally map[string]*Finding

func (t tally) add(kind, place, format string, args ...any) {
	f := t[kind]
	if f == nil {
		f = &Finding{}
		t[kind] = f
	}
	if f.Count++; len(f.Examples) < mostExamples {
		f.Examples = append(f.Examples, strings.TrimSuffix(place+": "+fmt.Sprintf(format, args...), ": "))
	}
}

// findings returns what was found in the table's order.
func (t tally) findings(rows int) []Finding {
	out := []Finding{}
	for _, k := range kinds {
		f := t[k.name]
		if f == nil {
			continue
		}
		f.Kind, f.Harm, f.What = k.name, k.harm, k.what
		if k.name == "malformed" && float64(f.Count) <= mostMalformed*float64(rows) {
			f.Harm = false
		}
		out = append(out, *f)
	}
	return out
}

// String returns the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, %d different problems; the most frequent one stands there %d times; the longest prompt has %d tokens\n", r.Rows, r.Problems, r.Largest, r.Longest)
	for _, f := range r.Findings {
		word := "note"
		if f.Harm {
			word = "harm"
		}
		fmt.Fprintf(&b, "%s  %-17s %d %s\n", word, f.Kind, f.Count, f.What)
		for _, e := range f.Examples {
			fmt.Fprintf(&b, "        %s\n", e)
		}
		if n := f.Count - len(f.Examples); n > 0 {
			fmt.Fprintf(&b, "        and %d more\n", n)
		}
	}
	if r.NearOnly > 0 {
		fmt.Fprintf(&b, "note  near problems were looked for among the first %d different ones only\n", r.NearOnly)
	}
	b.WriteString("keys\n")
	for _, k := range slices.Sorted(maps.Keys(r.Keys)) {
		fmt.Fprintf(&b, "      %-17s", k)
		for _, t := range slices.Sorted(maps.Keys(r.Keys[k])) {
			fmt.Fprintf(&b, " %s %d", t, r.Keys[k][t])
		}
		b.WriteString("\n")
	}
	return b.String()
}
