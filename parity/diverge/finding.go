package diverge

import (
	"fmt"
	"math"
	"slices"

	"furlong/kv"
	"furlong/parity/taps"
)

// A Case is what is compared: a side's recorded taps with a judge.
type Case struct {
	Side, Judge string // their names in sentences; "" for "the other side" and "the judge"
	Of, Against Formats
	Layers      [][]kv.Spec // of the model; nil where they are not known, which costs words only
	Own         bool        // the judge is the side's own model, in its formats, on its backend, so that any bit that differs is a finding: only the path differs
}

// A Kind says what a finding amounts to.
type Kind string

// The kinds of findings.
const (
	SameBits Kind = "same bits"
	Rounding Kind = "rounding" // no op is off by more than the order of sums explains
	Tie      Kind = "tie"      // nor is any, but a choice fell the other way within rounding
	Noise    Kind = "formats"  // no op is off by more than the formats explain
	Op       Kind = "op"       // an op is off
	Head     Kind = "head"     // all is equal up to the last norm, and logprobs are not
	Path     Kind = "path"     // an op is off in a side's own arithmetic: what it keeps between passes is at fault, or how it cuts them
)

// A Row is one boundary with its limit.
type Row struct {
	Layer     int
	Op        string
	Local     float64 // what the op makes of equal inputs
	Inherited float64 // the largest difference of what it reads as both sides have it; NaN where only one side was recorded
	Limit     float64
	Over      bool
	At        int    // first position above the limit, or of the largest difference; -1 without one
	Says      string // of choices: how many differ; of a problem: which; "" otherwise
}

// A Finding is what differences amount to.
type Finding struct {
	Kind  Kind
	Found bool // an op is at fault: the fields up to Reason are of it
	Layer int  // -1 outside the blocks
	Op    string
	At    int // first position at fault, -1 where that is not known

	Local, Inherited, Limit float64
	Reason                  string // where the limit is from

	Says string   // in a sentence or three
	More []string // further sentences
	Rows []Row    // every boundary, in order of computation
	Weak bool     // made without a judge
}

// Title returns the name of the boundary at fault: L3.attn_out.
func (f *Finding) Title() string { return taps.Title(f.Layer, f.Op) }

// A walk is what First goes through.
type walk struct {
	c      Case
	limits *Limits
	local  []taps.Diff
	plain  map[string]*taps.Diff
	list   []taps.Diff // plain, in order
	layers int
}

// First names the first op that makes more of its inputs than rounding explains. local are the differences of a forced pass of the judge over the side's taps; plain
// are those of both sides as they are, nil where only one was recorded.
func First(c Case, local, plain []taps.Diff) (*Finding, error) {
	limits, err := NewLimits(c.Against, c.Of)
	if err != nil {
		return nil, err
	}
	w := &walk{c: c.named(), limits: limits, local: local, plain: map[string]*taps.Diff{}, list: plain}
	for i := range plain {
		w.plain[plain[i].Title()] = &plain[i]
	}
	for _, d := range local {
		w.layers = max(w.layers, d.Layer+1)
	}
	f := &Finding{Layer: -1, At: -1, Inherited: math.NaN()}
	worst := -1
	for i := range local {
		row := w.row(&local[i])
		f.Rows = append(f.Rows, row)
		if row.Over && worst < 0 {
			worst = i
		}
	}
	if worst < 0 {
		w.nothing(f)
	} else {
		w.found(f, &local[worst], f.Rows[worst])
	}
	return f, nil
}

func (c Case) named() Case {
	if c.Side == "" {
		c.Side = "the other side"
	}
	if c.Judge == "" {
		c.Judge = "the judge"
	}
	return c
}

// row holds one difference against its limit.
func (w *walk) row(d *taps.Diff) Row {
	limit := w.limits.Of(d)
	r := Row{Layer: d.Layer, Op: d.Name, Local: d.Worst(), Inherited: w.inherited(d), Limit: limit.Value, At: -1}
	at := w.above(d, limit)
	r.Over = len(at) > 0 || d.Problem != ""
	switch {
	case len(at) > 0:
		r.At = d.Position(at[0])
	case d.At >= 0:
		r.At = d.Position(d.At)
	}
	switch {
	case d.Problem != "":
		r.Says = d.Problem
	case d.Skipped != "":
		r.Says = "not compared: " + d.Skipped
	case len(d.Differ) > 0:
		r.Says = fmt.Sprintf("%d of %d choices differ, by a margin of at most %s", len(d.Differ), len(d.Errors), margin(d.Worst()))
	}
	return r
}

// flips is the share of rows that may be above the limit where a choice was not recorded: it can have fallen the other way within rounding.
const flips = 0.1

// above returns the rows that are off: above the limit, or all of them where they are off alike.
func (w *walk) above(d *taps.Diff, limit Limit) []int {
	at := d.Above(limit.Value)
	if w.c.Own {
		at = d.Above(0)
		if d.Boundary().Choice {
			at = d.Differ
		}
	}
	if slices.ContainsFunc(covered(d)[1:], func(b taps.Boundary) bool { return b.Choice }) && float64(len(at)) <= flips*float64(len(d.Errors)) {
		return nil
	}
	if len(at) == 0 && drifts(d, limit) {
		return d.Above(0)
	}
	return at
}

// drifts reports whether all elements are off alike, by more than rounding leaves: a constant that is a little other.
func drifts(d *taps.Diff, limit Limit) bool {
	if d.Boundary().Choice || d.Name == taps.LogProb || len(d.Errors) < 8 {
		return false
	}
	return math.Abs(d.Gain) > limit.Steady || math.Abs(d.Shift) > limit.Steady
}

// inherited returns the largest difference of what an op reads, as both sides have it.
func (w *walk) inherited(d *taps.Diff) float64 {
	most, seen := 0.0, false
	for _, title := range d.Boundary().Inputs(d.Layer, w.layers) {
		if p := w.plain[title]; p != nil {
			most, seen = math.Max(most, share(p)), true
		}
	}
	if !seen && d.Name != taps.Embed {
		return math.NaN()
	}
	return most
}

// share is the worst error, or of choices the share that differs.
func share(d *taps.Diff) float64 {
	if d.Boundary().Choice {
		return float64(len(d.Differ)) / math.Max(1, float64(len(d.Errors)))
	}
	return d.Worst()
}
