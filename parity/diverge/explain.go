package diverge

import (
	"fmt"
	"slices"
	"strings"

	"furlong/parity/taps"
)

// A Suspect is a mistake that engines are known to make. It is tried where a difference was found: if a judge that makes the mistake, too,
// shows no difference any more, that is what the other side does.
type Suspect interface {
	// Name is a short name for lists: "window one longer".
	Name() string
	// Says completes "the other side ..." in words, with what is right.
	Says() string
	// Ops returns the names of the boundaries at which the mistake can show first; none for everywhere.
	Ops() []string
	// Plant returns a judge that makes the mistake, and false where it can't be made, or would change nothing. The judge that it is given stays as it is.
	Plant(j taps.Judge) (taps.Judge, bool)
}

// An Explained is a suspect that was tried.
type Explained struct {
	Name, Says string
	Left       float64 // local difference at the op with the mistake in the judge
	Match      bool    // it is within rounding then, and no op before it in the layer is off
	Failed     string  // why it could not be tried; "" where it was
}

// Explain tries suspects on the judge where f found an op at fault, and returns those that were tried: matches first, then by what is left of the difference. A suspect whose
// pass fails is told with its error.
func Explain(c Case, j taps.Judge, s *taps.Set, f *Finding, suspects []Suspect) ([]Explained, error) {
	limits, err := NewLimits(c.Against, c.Of)
	if err != nil || !f.Found {
		return nil, err
	}
	w := &walk{c: c.named(), limits: limits}
	var tried []Explained
	for _, x := range suspects {
		if ops := x.Ops(); len(ops) > 0 && !slices.Contains(ops, f.Op) {
			continue
		}
		if planted, ok := x.Plant(j); ok {
			tried = append(tried, w.try(planted, s, f, x))
		}
	}
	slices.SortStableFunc(tried, func(a, b Explained) int {
		switch {
		case a.Match != b.Match && a.Match, a.Match == b.Match && a.Left < b.Left:
			return -1
		case a.Match != b.Match || a.Left > b.Left:
			return 1
		}
		return 0
	})
	return tried, nil
}

// try runs the layer again with a mistake in the judge.
func (w *walk) try(j taps.Judge, s *taps.Set, f *Finding, x Suspect) Explained {
	e := Explained{Name: x.Name(), Says: x.Says()}
	diffs, err := taps.ForceLayer(j, s, f.Layer)
	if err != nil {
		e.Failed = err.Error()
		return e
	}
	e.Match = true
	for i := range diffs {
		d := &diffs[i]
		r := w.row(d)
		e.Match = e.Match && !r.Over
		if d.Name == f.Op {
			e.Left = share(d)
			e.Match = e.Match && vanished(d, e.Left, f)
			return e
		}
	}
	e.Match, e.Failed = false, fmt.Sprintf("the judge has no %s then", f.Title())
	return e
}

// leftover is the share of a difference that may be left for it to count as gone: where formats differ the limit alone is wide.
const leftover = 1.0 / 3

// vanished reports whether what is left of a finding's difference is little of it. What was found below the limit, in all elements alike, is gone if it is not
// found again.
func vanished(d *taps.Diff, left float64, f *Finding) bool {
	return d.Boundary().Choice || f.Local <= f.Limit || left <= leftover*f.Local
}

// Sentence says what suspects explain a finding, "" if none does. Several that fit are all named: what was recorded can't tell them apart.
func Sentence(c Case, tried []Explained) string {
	var fit []string
	for _, e := range tried {
		if e.Match {
			fit = append(fit, e.Says)
		}
	}
	side := c.named().Side
	switch len(fit) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Most likely %s %s: with that in the judge the difference is gone.", side, fit[0])
	}
	return fmt.Sprintf("Each of %d known mistakes explains it, and what was recorded can't tell them apart: %s %s.", len(fit), side, strings.Join(fit, "; or it "))
}
