package page

import (
	"embed"
	"html/template"
	"io"
	"math"

	"furlong/parity"
)

//go:embed page.html self.html style.css
var files embed.FS

// Write writes the page of a comparison.
func Write(w io.Writer, r *parity.Report) error { return write(w, "page.html", newView(r)) }

// WriteSelf writes the page of one side held against itself.
func WriteSelf(w io.Writer, r *parity.SelfReport) error { return write(w, "self.html", r) }

func write(w io.Writer, name string, data any) error {
	t, err := template.New(name).Funcs(functions).ParseFS(files, name, "style.css")
	if err != nil {
		return err
	}
	return t.Execute(w, data)
}

// functions are what the templates call.
var functions = template.FuncMap{
	"nats": nats, "percent": percent, "show": show, "lines": lines, "plus": func(a, b int) int { return a + b },
	"finite": func(f parity.Figure) bool { return finite(float64(f)) },
	"share":  func(part, of int) string { return percent(parity.Figure(float64(part) / float64(of))) },
}

// stripTokens is how many tokens the strips of a page show at most: a browser lays out as many in a second or two.
const stripTokens = 100_000

// A view is a report with what the page makes of it.
type view struct {
	*parity.Report
	First  *parity.Comparison // of both sides' scores
	Others []parity.Comparison
	Spread template.HTML // distribution of the gaps
	Groups []group       // of the first comparison
	Strips []strip
	Hidden int // sequences that have no strip
	Walk   []step
	Legend []cell
}

func newView(r *parity.Report) *view {
	v := &view{Report: r, Legend: legend()}
	v.Strips, v.Hidden = strips(r.Sequences)
	if len(r.Comparisons) > 0 {
		v.First, v.Others = &r.Comparisons[0], r.Comparisons[1:]
		v.Groups = groups(v.First)
		v.Spread = spread(r.Sequences)
	}
	if r.Divergence != nil {
		v.Walk = walk(r.Divergence)
	}
	return v
}

// A group is a table of buckets with a bar each.
type group struct {
	Title, Says, Head string
	Rows              []bar
}

// Long reports whether the table is shown on demand only.
func (g group) Long() bool { return len(g.Rows) > 12 }

// A bar is a bucket, and how long its bar is in percent of the longest.
type bar struct {
	parity.Bucket
	Width float64
}

func groups(c *parity.Comparison) []group {
	var out []group
	for _, g := range []group{
		{"By position in the response", "A gap that grows along the response, or begins at some position, is a matter of state: window, compressed entries, cache, table.", "position", bars(c.ByPosition)},
		{"By probability under A", "Rounding moves unlikely tokens most. A gap at likely tokens is no rounding.", "probability", bars(c.ByProbability)},
		{"By kind of token", "", "kind", bars(c.ByClass)},
		{"By prompt", "", "prompt", bars(c.ByPrompt)},
	} {
		if len(g.Rows) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func bars(all []parity.Bucket) []bar {
	longest := 0.0
	for _, b := range all {
		if m := float64(b.Gap.Mean); finite(m) {
			longest = max(longest, m)
		}
	}
	var out []bar
	for _, b := range all {
		row := bar{Bucket: b}
		if m := float64(b.Gap.Mean); finite(m) && longest > 0 {
			row.Width = 100 * m / longest
		}
		if b.Gap.Tokens > 0 {
			out = append(out, row)
		}
	}
	return out
}

// A step is a boundary of the walk, with the differences as lengths on a logarithmic scale from 1e-8 to 10.
type step struct {
	parity.OpRow
	First                  bool // of the finding
	Own, Brought, LimitsAt float64
}

func walk(d *parity.Divergence) []step {
	var out []step
	for _, o := range d.Ops {
		out = append(out, step{o, d.Found && o.Layer == d.Layer && o.Op == d.Op, place(o.Local), place(o.Inherited), place(o.Limit)})
	}
	return out
}

// place returns where a relative difference lies between 1e-8 and 10, in percent.
func place(f parity.Figure) float64 {
	switch v := float64(f); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 100
	case v <= 0:
		return 0
	default:
		return min(max((math.Log10(v)+8)/9, 0), 1) * 100
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
