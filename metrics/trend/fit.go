package trend

import "math"

// Fewest is how many rows a line needs.
const Fewest = 10

// most is the largest correlation of neighbouring residuals that a line is widened for.
const most = 0.95

// A Line is a least-squares line and what is left open about it.
type Line struct {
	N            int     // rows
	MeanX, MeanY float64 // a point on it
	Slope        float64
	R            float64 // correlation of neighbouring residuals, from 0 to 0.95
	Effective    float64 // rows that the N count as
	spread       float64 // standard deviation of the residuals, stretched by what they have in common
	sxx          float64
	t            float64 // Student's quantile for 95 %
}

// Fit returns the line through the finite ones of the points, whose x ascend. Without [Fewest] of them, or where all have one x, there is none.
func Fit(x, y []float64) (Line, bool) {
	x, y = finite(x, y)
	l := Line{N: len(x)}
	if l.N < Fewest {
		return Line{}, false
	}
	l.MeanX, l.MeanY = Mean(x), Mean(y)
	sxy := 0.0
	for i := range x {
		l.sxx += (x[i] - l.MeanX) * (x[i] - l.MeanX)
		sxy += (x[i] - l.MeanX) * (y[i] - l.MeanY)
	}
	if l.sxx == 0 {
		return Line{}, false
	}
	l.Slope = sxy / l.sxx
	l.residuals(x, y)
	return l, true
}

// residuals finds how far the points lie from the line and how alike neighbours are.
func (l *Line) residuals(x, y []float64) {
	var squares, neighbours, last float64
	for i := range x {
		e := y[i] - l.At(x[i])
		squares += e * e
		neighbours += e * last
		last = e
	}
	if squares > 0 {
		l.R = min(max(neighbours/squares, 0), most)
	}
	n := float64(l.N)
	l.Effective = n * (1 - l.R) / (1 + l.R)
	l.spread = math.Sqrt(squares / (n - 2) * n / l.Effective)
	l.t = Student(max(1, l.Effective-2))
}

// At returns the height of the line.
func (l Line) At(x float64) float64 { return l.MeanY + l.Slope*(x-l.MeanX) }

// Interval returns the 95 % interval of the slope.
func (l Line) Interval() (lo, hi float64) {
	d := l.t * l.spread / math.Sqrt(l.sxx)
	return l.Slope - d, l.Slope + d
}

// Band returns the 95 % interval of the mean at x.
func (l Line) Band(x float64) (lo, hi float64) {
	d := l.t * l.spread * math.Sqrt(1/float64(l.N)+(x-l.MeanX)*(x-l.MeanX)/l.sxx)
	return l.At(x) - d, l.At(x) + d
}

// Flat reports whether the interval of the slope holds 0: noise alone explains what rise or fall there is.
func (l Line) Flat() bool {
	lo, hi := l.Interval()
	return lo <= 0 && hi >= 0
}

// finite returns the points of which both numbers are finite.
func finite(x, y []float64) (fx, fy []float64) {
	for i := range x {
		if Finite(x[i]) && Finite(y[i]) {
			fx, fy = append(fx, x[i]), append(fy, y[i])
		}
	}
	return fx, fy
}
