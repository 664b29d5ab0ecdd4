package diverge

import (
	"fmt"
	"math"
	"strings"

	"furlong/parity/taps"
)

// jump is how much larger than the largest difference of what it reads an op's may be without being named, where no judge says what the op makes of equal
// inputs: ops that magnify rounding have been seen to magnify it this much (softmax over rows whose scores are large, norms of small rows).
const jump = 30

// littleInput is a difference of what a choice is made by that flips it for a token here and there, and not for every tenth.
const littleInput = 1e-3

// Growth is First without a judge: from the differences of two recorded sides alone. It names the first op whose difference is above its limit and far above all that
// it reads. That is weaker: what an op inherits it may make larger without being at fault.
func Growth(c Case, plain []taps.Diff) (*Finding, error) {
	limits, err := NewLimits(c.Against, c.Of)
	if err != nil {
		return nil, err
	}
	w := &walk{c: c.named(), limits: limits, local: plain, plain: map[string]*taps.Diff{}, list: plain}
	for i := range plain {
		w.plain[plain[i].Title()] = &plain[i]
		w.layers = max(w.layers, plain[i].Layer+1)
	}
	f := &Finding{Layer: -1, At: -1, Inherited: math.NaN(), Weak: true}
	for i := range plain {
		r := w.grown(&plain[i])
		f.Rows = append(f.Rows, r)
		if r.Over && !f.Found {
			f.Found, f.Kind, f.Layer, f.Op, f.At = true, Op, r.Layer, r.Op, r.At
			f.Local, f.Inherited, f.Limit, f.Reason = r.Local, r.Inherited, r.Limit, limits.Of(&plain[i]).Reason
			w.told(f, &plain[i])
		}
	}
	if !f.Found {
		w.nothing(f)
		f.More = append(f.More, "No judge was there to say what each op makes of equal inputs.")
	}
	return f, nil
}

// grown holds a difference against its limit and against what it inherits.
func (w *walk) grown(d *taps.Diff) Row {
	r := w.row(d)
	inherited := 0.0
	if !math.IsNaN(r.Inherited) {
		inherited = r.Inherited
	}
	if d.Boundary().Choice {
		r.Local = share(d)
		r.Over = len(d.Differ) > 0 && (inherited <= w.limits.Of(d).Value || inherited < littleInput && r.Local > flips)
		return r
	}
	r.Limit = math.Max(r.Limit, jump*inherited)
	at := d.Above(r.Limit)
	r.Over = d.Problem != "" || len(at) > 0
	if len(at) > 0 {
		r.At = d.Position(at[0])
	}
	return r
}

// told says what was seen, and how far that goes.
func (w *walk) told(f *Finding, d *taps.Diff) {
	says := fmt.Sprintf("%s and %s seem to diverge first at %s: %s. Their results differ there by %s, %s, where what it reads differs by at most %.1e.",
		w.c.Side, w.c.Judge, w.place(d), d.Boundary().Says, figure(d), where(d, w.rowsOff(d, f.Limit), w.specs(d.Layer)), f.Inherited)
	f.Says = strings.ToUpper(says[:1]) + says[1:]
	f.More = append(f.More, "This is judged by growth from op to op, since no built-in model was there to say what each op makes of equal inputs: an op that magnifies what it inherits can look like this.")
	f.More = append(f.More, w.downstream(d)...)
}

func (w *walk) rowsOff(d *taps.Diff, limit float64) []int {
	if d.Boundary().Choice {
		return d.Differ
	}
	return d.Above(limit)
}
