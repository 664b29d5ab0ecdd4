package plot

import "math"

// An axis maps numbers to pixels.
type axis struct {
	log      bool
	lo, hi   float64
	from, to float64 // pixels of lo and hi
	ticks    []float64
}

// most is how many ticks an axis may have.
const most = 8

// newAxis returns an axis from a round number at or below lo to one at or above hi. Without numbers it goes from 0 to 1.
func newAxis(lo, hi float64, log bool, from, to float64) axis {
	if lo > hi {
		lo, hi = 0, 1
	}
	a := axis{log: log && lo > 0, from: from, to: to}
	if a.log {
		a.decades(lo, hi)
	} else {
		a.steps(lo, hi)
	}
	return a
}

// decades makes a logarithmic axis of whole powers of ten.
func (a *axis) decades(lo, hi float64) {
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	last = max(last, first+1)
	a.lo, a.hi = math.Pow(10, first), math.Pow(10, last)
	for e := first; e <= last; e += math.Ceil((last - first) / most) {
		a.ticks = append(a.ticks, math.Pow(10, e))
	}
}

// steps makes a linear axis whose ticks are 1, 2 or 5 times a power of ten apart.
func (a *axis) steps(lo, hi float64) {
	if lo == hi {
		lo, hi = lo-0.5, hi+0.5
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/most)))
	for _, m := range []float64{1, 2, 5, 10} {
		if first, last := math.Floor(lo/(step*m)), math.Ceil(hi/(step*m)); last-first <= most {
			step *= m
			break
		}
	}
	first, last := math.Floor(lo/step), math.Ceil(hi/step)
	a.lo, a.hi = first*step, last*step
	for n := first; n <= last; n++ {
		a.ticks = append(a.ticks, n*step)
	}
}

// at returns the pixel of v.
func (a axis) at(v float64) float64 {
	share := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		share = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return a.from + (a.to-a.from)*share
}
