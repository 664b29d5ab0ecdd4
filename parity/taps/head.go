package taps

import (
	"math"

	"furlong/ops"
	"furlong/tensor"
)

// headRows is how many rows of logits are in memory at a time.
const headRows = 64

// head compares logits and logprobs, some rows at a time: what was recorded before takes the judge's place here, too.
func (f *forced) head(h *tensor.Tensor) {
	logits, lps := f.s.Find(-1, Logits), f.s.Find(-1, LogProb)
	var dl, dp *gathered
	if logits != nil {
		dl = newGathered(logits)
	} else {
		f.missing[place{-1, Logits}] = true
	}
	if lps != nil {
		dp = newGathered(lps)
	}
	for lo := 0; lo < h.Rows(); lo += headRows {
		m := f.c.Mem.Mark()
		hi := min(lo+headRows, h.Rows())
		x := ops.Linear(f.c, h.Slice(lo, hi), f.j.Model.Head())
		if dl != nil && x.Dim() == logits.Width() {
			dl.take(Floats(x), lo)
			lay(x, lo, logits)
		}
		if dp != nil {
			dp.size = max(dp.size, largest(Floats(x)))
			dp.take(f.next(x, lo), lo+1)
		}
		f.c.Mem.Release(m)
	}
	f.tell(dl, Logits)
	f.tell(dp, LogProb)
}

// next returns the logprobs that rows of logits, the first of position lo, give to the tokens that follow; the last token has none after it.
func (f *forced) next(x *tensor.Tensor, lo int) []float32 {
	n := min(x.Rows(), f.in.Len()-1-lo)
	if n <= 0 {
		return nil
	}
	lp, lse := f.c.New(n), f.c.New(n)
	one := make([]float32, n)
	for i := range one {
		one[i] = 1
	}
	f.c.K.LogProb(lp, nil, lse, x.Slice(0, n), f.in.ID[lo+1:lo+1+n], one)
	return floats(lp, 0, n)
}

// largest returns the largest magnitude of what is a number.
func largest(x []float32) (most float64) {
	for _, v := range x {
		if finite(v) {
			most = max(most, math.Abs(float64(v)))
		}
	}
	return most
}

// lay writes what was recorded of logits over x, whose first row is of position lo.
func lay(x *tensor.Tensor, lo int, t *Tap) {
	w := t.Width()
	for i := range x.Rows() {
		if j := lo + i - t.First; j >= 0 && j < t.Rows() {
			put(x, i, t.Row(j), w)
		}
	}
}

// gathered is the judge's rows beside those of a tap.
type gathered struct {
	t    *Tap
	own  []float32
	size float64 // of logits: the largest magnitude
}

func newGathered(t *Tap) *gathered {
	g := &gathered{t: t, own: make([]float32, len(t.Values))}
	for i := range g.own {
		g.own[i] = float32(math.NaN())
	}
	return g
}

// take keeps rows of which the first is of position lo.
func (g *gathered) take(rows []float32, lo int) {
	w := g.t.Width()
	for i := range len(rows) / w {
		if j := lo + i - g.t.First; j >= 0 && j < g.t.Rows() {
			copy(g.own[j*w:][:w], rows[i*w:][:w])
		}
	}
}

// tell reports what was gathered, if anything.
func (f *forced) tell(g *gathered, name string) {
	if g == nil {
		return
	}
	b := boundaries[byName[name]]
	d := Diff{Layer: -1, Name: name, First: g.t.First, Rate: 1, At: -1, Spans: f.spans(-1, b)}
	if name == Logits && g.t.Width() != f.j.Model.Vocab() {
		d.Problem = "rows of another vocabulary"
	} else {
		d.see(g.own, g.t.Values, g.t.Width(), name == LogProb)
		d.Terms = f.terms(-1, b)
	}
	if name == LogProb {
		d.Size, d.Terms = g.size, f.j.Model.Head().Value.Dim()
	}
	f.diffs = append(f.diffs, d)
}
