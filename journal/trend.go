package journal

import (
	"math"
	"slices"
)

// A line is the least-squares line through figures of cycles that follow each other.
type line struct {
	start, slope float64 // at the first cycle; a cycle
	se           float64 // standard error of the slope
	n            int
}

// fit returns the line through y. Its standard error is the usual one, stretched by what neighbouring residuals have in common: figures of neighbouring
// cycles are alike (they come from nearly one policy), so that they say less than as many independent ones. With a correlation r of neighbours,
// n figures count as n(1-r)/(1+r). A short series shows less of r than there is, by about (2+4r)/n once a line is taken off; that is put back.
func fit(y []float64) line {
	n := float64(len(y))
	mid, mean := (n-1)/2, 0.0
	for _, v := range y {
		mean += v / n
	}
	var sxx, sxy float64
	for i, v := range y {
		x := float64(i) - mid
		sxx += x * x
		sxy += x * (v - mean)
	}
	l := line{slope: sxy / sxx, n: len(y)}
	l.start = mean - l.slope*mid
	var squares, neighbours, last float64
	for i, v := range y {
		e := v - l.start - l.slope*float64(i)
		squares += e * e
		neighbours += e * last
		last = e
	}
	if squares == 0 || n <= 4 {
		return l
	}
	r := min(max(0, (n*neighbours/squares+2)/(n-4)), 0.9)
	l.se = math.Sqrt(squares / (n - 2) / sxx * (1 + r) / (1 - r))
	return l
}

// rise returns by how much the line rises over its cycles.
func (l line) rise() float64 { return l.slope * float64(l.n-1) }

// surely reports whether the slope is more than so many standard errors above zero.
func (l line) surely(errors float64) bool { return l.slope > 0 && l.slope > errors*l.se }

// A level is where figures usually are: their median, and how far they usually lie from it.
type level struct {
	median, spread float64
}

// levelOf returns the level of figures that a few outliers don't move. 1.4826 makes of the median distance what the standard deviation is of a
// normal distribution. The spread is at least a hundredth of the median: figures that happen to agree don't make the next one an outlier.
func levelOf(y []float64) level {
	m := median(y)
	far := make([]float64, len(y))
	for i, v := range y {
		far[i] = math.Abs(v - m)
	}
	return level{m, max(1.4826*median(far), m/100)}
}

// above returns how many spreads v lies above the level.
func (l level) above(v float64) float64 { return (v - l.median) / max(l.spread, 1e-9) }

func median(y []float64) float64 {
	s := slices.Sorted(slices.Values(y))
	n := len(s)
	return (s[n/2] + s[(n-1)/2]) / 2
}
