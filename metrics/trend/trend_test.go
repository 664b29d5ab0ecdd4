package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) }

func TestWindow(t *testing.T) {
	for planned, want := range map[int]int{0: 5, 99: 5, 120: 6, 200: 10, 2000: 100, 10000: 101} {
		if got := Window(planned); got != want {
			t.Errorf("a plan of %d cycles has a window of %d, want %d", planned, got, want)
		}
	}
}

// slowAverage is the average as it is documented, in the plainest way.
func slowAverage(y []float64, w, i int) float64 {
	if !Finite(y[i]) {
		return math.NaN()
	}
	sum, n := 0.0, 0
	for j := i; j >= 0 && n < w; j-- {
		if Finite(y[j]) {
			sum += y[j]
			n++
		}
	}
	if n < (w+1)/2 {
		return math.NaN()
	}
	return sum / float64(n)
}

func TestAverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var y []float64
	for i := range 400 {
		v := rng.NormFloat64()
		if i%17 == 3 {
			v = math.NaN()
		}
		if i%53 == 9 {
			v = math.Inf(1)
		}
		y = append(y, v)
	}
	for _, w := range []int{1, 5, 6, 101} {
		got := Average(y, w)
		for i := range y {
			if want := slowAverage(y, w, i); math.IsNaN(want) != math.IsNaN(got[i]) || !math.IsNaN(want) && !near(got[i], want, 1e-12) {
				t.Fatalf("average of %d at %d is %v, want %v", w, i, got[i], want)
			}
		}
		// The past does not move when more comes.
		if past := Average(y[:200], w); !slices.EqualFunc(past, got[:200], func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Errorf("average of %d over 200 rows is another one once there are 400", w)
		}
	}
}

func TestThirds(t *testing.T) {
	for _, tt := range []struct {
		y           []float64
		first, last float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6}, 1.5, 5.5},
		{[]float64{7}, 7, 7},
		{[]float64{1, math.NaN(), 3}, 1, 3},
	} {
		if a, b := Thirds(tt.y); a != tt.first || b != tt.last {
			t.Errorf("thirds of %v are %v and %v, want %v and %v", tt.y, a, b, tt.first, tt.last)
		}
	}
	if a, _ := Thirds(nil); !math.IsNaN(a) {
		t.Errorf("the first third of nothing is %v", a)
	}
}

// Tabulated two-sided 95 % quantiles.
func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.7062, 2: 4.30265, 5: 2.57058, 10: 2.22814, 30: 2.04227, 120: 1.97993, 1e6: 1.95997} {
		if got := Student(df); math.Abs(got-want) > 6e-5 {
			t.Errorf("quantile for %v degrees is %v, want %v", df, got, want)
		}
	}
	// Between whole degrees: the density, summed up by trapezia.
	for _, df := range []float64{1.5, 3.7, 17.25} {
		mass, step, to := 0.0, 1e-4, Student(df)
		up, _ := math.Lgamma((df + 1) / 2)
		down, _ := math.Lgamma(df / 2)
		c := math.Exp(up-down) / math.Sqrt(df*math.Pi)
		density := func(x float64) float64 { return c * math.Pow(1+x*x/df, -(df+1)/2) }
		for x := 0.0; x < to; x += step {
			w := min(step, to-x)
			mass += w * (density(x) + density(x+w)) / 2
		}
		if math.Abs(2*mass-0.95) > 1e-6 {
			t.Errorf("within %v there is %v of the mass for %v degrees, want 0.95", to, 2*mass, df)
		}
	}
}

// slowFit solves the normal equations and applies the documented widening, as a second way to the same line.
func slowFit(x, y []float64) (slope, lo, hi, bandLo float64) {
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	start := (sy - slope*sx) / n
	e := make([]float64, len(x))
	rss, lag := 0.0, 0.0
	for i := range x {
		e[i] = y[i] - start - slope*x[i]
		rss += e[i] * e[i]
		if i > 0 {
			lag += e[i] * e[i-1]
		}
	}
	r := math.Min(math.Max(lag/rss, 0), 0.95)
	eff := n * (1 - r) / (1 + r)
	q := Student(math.Max(1, eff-2))
	around := sxx - sx*sx/n
	se := math.Sqrt(rss/(n-2)/around) * math.Sqrt(n/eff)
	at := x[0]
	mean := math.Sqrt(rss/(n-2)*(1/n+(at-sx/n)*(at-sx/n)/around)) * math.Sqrt(n/eff)
	return slope, slope - q*se, slope + q*se, start + slope*at - q*mean
}

func TestFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{10, 57, 1000} {
		var x, y []float64
		noise := 0.0
		for i := range n {
			noise = 0.5*noise + rng.NormFloat64()
			x, y = append(x, float64(2*i+5)), append(y, 0.3+0.01*float64(i)+noise)
		}
		l, ok := Fit(x, y)
		lo, hi := l.Interval()
		band, _ := l.Band(x[0])
		slope, wlo, whi, wband := slowFit(x, y)
		if !ok || !near(l.Slope, slope, 1e-9) || !near(lo, wlo, 1e-9) || !near(hi, whi, 1e-9) || !near(band, wband, 1e-9) {
			t.Errorf("%d rows: %v [%v, %v], band from %v, want %v [%v, %v], band from %v", n, l.Slope, lo, hi, band, slope, wlo, whi, wband)
		}
	}
}

// Of many series without a slope, about one in twenty has an interval that says there is one, whether neighbours resemble each other or not.
func TestIntervalsHold(t *testing.T) {
	for _, alike := range []float64{0, 0.4} {
		rng := rand.New(rand.NewPCG(5, 6))
		wrong := 0
		for range 400 {
			var x, y []float64
			noise := 0.0
			for i := range 200 {
				noise = alike*noise + rng.NormFloat64()
				x, y = append(x, float64(i)), append(y, noise)
			}
			if l, _ := Fit(x, y); !l.Flat() {
				wrong++
			}
		}
		if wrong < 8 || wrong > 36 {
			t.Errorf("correlation %v: %d of 400 flat series have a slope, want about 20", alike, wrong)
		}
	}
}

func TestFitNeedsRows(t *testing.T) {
	x, y := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, math.NaN()}
	if _, ok := Fit(x, y); ok {
		t.Error("nine finite rows give a line")
	}
	y[9] = 10
	l, ok := Fit(x, y)
	if lo, hi := l.Interval(); !ok || !near(lo, 1, 1e-12) || !near(hi, 1, 1e-12) || l.Flat() {
		t.Errorf("a straight line has the slope %v to %v", lo, hi)
	}
	if _, ok := Fit(make([]float64, 12), make([]float64, 12)); ok {
		t.Error("points of one x give a line")
	}
}

// A spike of one row survives at any width, what is kept is few rows, and a gap is kept too.
func TestThin(t *testing.T) {
	n := 10000
	x, y := make([]float64, n), make([]float64, n)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range x {
		x[i], y[i] = float64(i+1), rng.Float64()
	}
	y[6543], y[222], y[7000] = 50, -50, math.NaN()
	for _, px := range []int{300, 400, 1200} {
		keep := Thin(x, y, 1, float64(n), px)
		for _, i := range []int{0, 222, 6543, 7000, n - 1} {
			if !slices.Contains(keep, i) {
				t.Errorf("%d pixels: row %d is not kept", px, i)
			}
		}
		if len(keep) > 4*px+8 || !slices.IsSorted(keep) {
			t.Errorf("%d pixels: %d rows are kept", px, len(keep))
		}
	}
	if keep := Thin(x, y, 100, 200, 300); len(keep) != 103 || keep[0] != 98 || keep[102] != 200 {
		t.Errorf("few rows: %d from %d, want all 101 and their neighbours", len(keep), keep[0])
	}
	if keep := Thin(nil, nil, 0, 1, 10); keep != nil {
		t.Errorf("no rows give %v", keep)
	}
}

// Columns are those of the picture: each keeps its own lowest and highest.
func TestThinByColumn(t *testing.T) {
	var x, y []float64
	for i := range 100 {
		x, y = append(x, float64(i)), append(y, float64((i*37)%50))
	}
	keep := Thin(x, y, 0, 100, 5)
	for c := range 5 {
		low, high := c*20, c*20
		for i := c * 20; i < c*20+20; i++ {
			if y[i] < y[low] {
				low = i
			}
			if y[i] > y[high] {
				high = i
			}
		}
		for _, i := range []int{c * 20, c*20 + 19, low, high} {
			if !slices.Contains(keep, i) {
				t.Errorf("column %d: row %d is not kept", c, i)
			}
		}
	}
}

// A column with a few gaps keeps the extremes of each piece between them; one with many is drawn as a whole, so that what is sent stays bounded.
func TestThinBetweenGaps(t *testing.T) {
	x, y := make([]float64, 4000), make([]float64, 4000)
	for i := range x {
		x[i], y[i] = float64(i), float64(i%3)
	}
	y[10], y[20], y[15], y[25] = math.NaN(), math.Inf(1), 50, -50
	keep := Thin(x, y, 0, 4000, 10)
	for _, i := range []int{0, 9, 10, 11, 15, 19, 20, 21, 25} {
		if !slices.Contains(keep, i) {
			t.Errorf("row %d is not kept of a column with two gaps: %v", i, keep[:12])
		}
	}
	for i := range y {
		if i%4 == 0 {
			y[i] = math.NaN()
		}
	}
	if keep := Thin(x, y, 0, 4000, 10); len(keep) > 5*11 || !slices.Contains(keep, 15) {
		t.Errorf("%d rows are kept of columns that are full of gaps", len(keep))
	}
}
