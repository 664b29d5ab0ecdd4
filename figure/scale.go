package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"furlong/metrics/trend"
)

// An Axis says how numbers become places.
type Axis struct {
	Label string // what it shows, with its unit
	Log   bool
	// Zero asks a linear axis to begin at 0, unless that leaves the data less than a third of the height, and a logarithmic one to give zeros a lane of their own.
	Zero  bool
	Foot  bool       // a linear axis begins at 0, whatever that does to the data
	Tight bool       // ends where the data end, without air
	Whole bool       // ticks at whole numbers only
	Unit  TickUnit   // how ticks are printed
	Range [2]float64 // from where to where; fitted to the data where both are 0
	Ticks []float64  // where to print numbers; at round ones if nil
}

// A TickUnit is how the numbers at an axis are printed.
type TickUnit int

// The units of ticks.
const (
	Plain   TickUnit = iota
	Percent          // of one
	Kilo             // thousands as k, millions as M
)

// An extent is the least and the largest of numbers.
type extent struct {
	lo, hi float64
	zeros  bool
}

func nothing() extent { return extent{lo: math.Inf(1), hi: math.Inf(-1)} }

func (e *extent) add(log bool, values ...float64) {
	for _, v := range values {
		switch {
		case !trend.Finite(v):
		case log && v == 0:
			e.zeros = true
		case !log || v > 0:
			e.lo, e.hi = min(e.lo, v), max(e.hi, v)
		}
	}
}

func (e extent) empty() bool { return e.lo > e.hi }

// A scale maps numbers to pixels.
type scale struct {
	log      bool
	lo, hi   float64
	from, to float64 // pixels of lo and hi
	ticks    []float64
	step     float64
	unit     TickUnit
	lane     float64 // pixel of zeros on a logarithmic axis; NaN without a lane
}

// laneHigh is how far the lane of zeros lies below a logarithmic axis.
const laneHigh = 16

// newScale returns a scale that shows the numbers in e between two pixels, with a tick each so many pixels.
func newScale(a Axis, e extent, from, to, apart float64) scale {
	s := scale{log: a.Log, from: from, to: to, unit: a.Unit, lane: math.NaN()}
	if a.Log && a.Zero && e.zeros {
		s.lane = from
		s.from = from + math.Copysign(laneHigh, to-from)
	}
	if a.Range != [2]float64{} {
		e.lo, e.hi = a.Range[0], a.Range[1]
		a.Tight, a.Zero, a.Foot = true, false, false
	}
	most := max(2, math.Floor(math.Abs(to-s.from)/apart))
	if a.Log {
		s.fitLog(e, a.Tight)
		s.decades(most)
	} else {
		s.fit(e, a)
		s.round(most, a.Whole)
	}
	if a.Ticks != nil {
		s.ticks = a.Ticks
	}
	return s
}

// fit sets the ends of a linear scale: those of the data and 5 % air, 0 where that is asked for and does not flatten what there is.
func (s *scale) fit(e extent, a Axis) {
	if e.empty() {
		e.lo, e.hi = 0, 1
	}
	s.lo, s.hi = e.lo, e.hi
	zero := (a.Zero || a.Foot) && e.lo >= 0
	if e.flattened(a) {
		zero = false
	}
	if zero {
		s.lo = 0
	}
	air := 0.05 * (s.hi - s.lo)
	if s.hi == s.lo {
		air = max(0.05*math.Abs(s.hi), 0.5*one(s.hi == 0), one(a.Whole))
	}
	if !a.Tight || s.hi == s.lo {
		s.hi += air
		if !zero {
			s.lo -= air
		}
	}
}

// flattened reports whether an axis is asked to begin at 0, and would leave the data less than a third of the height.
func (e extent) flattened(a Axis) bool {
	return a.Zero && !a.Foot && !a.Log && a.Range == [2]float64{} && e.lo >= 0 && e.lo < e.hi && e.hi-e.lo < e.hi/3
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *scale) fitLog(e extent, tight bool) {
	if e.empty() {
		e.lo, e.hi = 0.1, 1
	}
	s.lo, s.hi = e.lo, e.hi
	if !tight || s.lo == s.hi {
		s.lo, s.hi = s.lo/1.3, s.hi*1.3
	}
}

// decades sets ticks at powers of ten, or where there are not two of them, at round numbers.
func (s *scale) decades(most float64) {
	first, last := math.Ceil(math.Log10(s.lo)-1e-9), math.Floor(math.Log10(s.hi)+1e-9)
	every := max(1, math.Ceil((last-first+1)/most))
	for e := first; e <= last; e += every {
		s.ticks = append(s.ticks, math.Pow(10, e))
	}
	if len(s.ticks) >= 2 {
		return
	}
	s.ticks = nil
	s.round(most, false)
	s.step = 0 // numbers as short as they are
}

// round sets ticks that are 1, 2 or 5 times a power of ten apart.
func (s *scale) round(most float64, whole bool) {
	s.step = math.Pow(10, math.Floor(math.Log10((s.hi-s.lo)/most)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (s.hi-s.lo)/(s.step*m) <= most {
			s.step *= m
			break
		}
	}
	if whole {
		s.step = max(1, s.step)
	}
	for n := math.Ceil(s.lo/s.step - 1e-9); n*s.step <= s.hi+1e-9*s.step; n++ {
		s.ticks = append(s.ticks, n*s.step)
	}
}

// fits reports whether v has a place on the scale.
func (s scale) fits(v float64) bool {
	if !trend.Finite(v) {
		return false
	}
	return !s.log || v > 0 || v == 0 && !math.IsNaN(s.lane)
}

// at returns the pixel of v.
func (s scale) at(v float64) float64 {
	share := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		if v == 0 {
			return s.lane
		}
		share = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return s.from + (s.to-s.from)*share
}

// label prints a tick.
func (s scale) label(v float64) string {
	switch s.unit {
	case Percent:
		return number(100*v, 100*s.step) + "%"
	case Kilo:
		if m := max(math.Abs(s.lo), math.Abs(s.hi)); m >= 2e6 {
			return number(v/1e6, s.step/1e6) + "M"
		} else if m >= 2e3 && v != 0 {
			return number(v/1e3, s.step/1e3) + "k"
		}
	case Plain:
		if max(math.Abs(s.lo), math.Abs(s.hi)) < 1e-3 && math.Abs(v) > s.step/2 {
			return number(v, 0)
		}
	}
	return number(v, s.step)
}

// number prints v with the decimals that a step asks for; without a step, as short as it is.
func number(v, step float64) string {
	if step == 0 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		if a := math.Abs(v); v != 0 && (a < 1e-3 || a >= 1e5) {
			mantissa, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
			n, _ := strconv.Atoi(e)
			return strings.ReplaceAll(fmt.Sprintf("%se%d", mantissa, n), "-", "−")
		}
		return strings.ReplaceAll(strconv.FormatFloat(v, 'g', 6, 64), "-", "−")
	}
	decimals := 0
	for d := step; decimals < 12 && math.Abs(d-math.Round(d)) > 1e-6*d; d *= 10 {
		decimals++
	}
	if math.Abs(v) < step/1e6 {
		v = 0 // 0.3-0.3 is not quite 0
	}
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−")
}
