package parity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// near reports whether two figures agree to so many parts of the larger.
func near(a, b Figure, parts float64) bool {
	x, y := float64(a), float64(b)
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.IsNaN(x) && math.IsNaN(y)
	}
	return math.Abs(x-y) <= parts*math.Max(1e-12, math.Max(math.Abs(x), math.Abs(y)))
}

// some draws pairs of logprobs: many small gaps, some large, some equal to the bit.
func some(seed uint64, n int) []pair {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]pair, n)
	for i := range out {
		a := -float32(r.ExpFloat64()) - 1e-3
		b := a
		switch r.IntN(4) {
		case 0:
			b = a + float32(r.NormFloat64()*1e-6)
		case 1:
			b = a + float32(r.NormFloat64()*0.3)
		case 2:
			b = a - float32(r.ExpFloat64())
		}
		out[i] = pair{a, b}
	}
	return out
}

// The figures of a gap, by their definitions in the package comment, written the slow way: every quantile by counting.
func TestGapIsAsDefined(t *testing.T) {
	for seed := range uint64(20) {
		pairs := some(seed, 1+int(seed)*37)
		got := gapOf(pairs)
		n := float64(len(pairs))
		var d []float64
		for _, p := range pairs {
			d = append(d, float64(p.a)-float64(p.b))
		}
		at := func(q float64) Figure {
			// The smallest |d| such that at least a share q has one no larger.
			best := math.Inf(1)
			for _, x := range d {
				hold := 0
				for _, y := range d {
					if math.Abs(y) <= math.Abs(x) {
						hold++
					}
				}
				if float64(hold)/n >= q-1e-12 && math.Abs(x) < best {
					best = math.Abs(x)
				}
			}
			return Figure(best)
		}
		share := func(f func(pair, float64) bool) Figure {
			c := 0
			for i, p := range pairs {
				if f(p, d[i]) {
					c++
				}
			}
			return Figure(float64(c) / n)
		}
		mean := func(f func(float64) float64) Figure {
			s := 0.0
			for _, x := range d {
				s += f(x) / n
			}
			return Figure(s)
		}
		for _, tt := range []struct {
			name      string
			got, want Figure
		}{
			{"mean", got.Mean, mean(math.Abs)},
			{"signed", got.Signed, mean(func(x float64) float64 { return x })},
			{"p50", got.P50, at(.5)},
			{"p95", got.P95, at(.95)},
			{"p99", got.P99, at(.99)},
			{"p999", got.P999, at(.999)},
			{"max", got.Max, at(1)},
			{"exact", got.Exact, share(func(p pair, _ float64) bool { return math.Float32bits(p.a) == math.Float32bits(p.b) })},
			{"over 0.5", got.Over05, share(func(_ pair, d float64) bool { return d > 0.5 || d < -0.5 })},
			{"over 2", got.Over2, share(func(_ pair, d float64) bool { return d > 2 || d < -2 })},
		} {
			if !near(tt.got, tt.want, 1e-9) {
				t.Errorf("seed %d, %d tokens: %s is %v, want %v", seed, len(pairs), tt.name, tt.got, tt.want)
			}
		}
	}
}

// Quantiles of a list that anybody can count.
func TestQuantile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		of   []float64
		q    float64
		want Figure
	}{
		{ten, .5, 5}, {ten, .95, 10}, {ten, .1, 1}, {ten, .11, 2}, {ten, .999, 10}, {ten, 1, 10}, {ten[:1], .5, 1}, {nil, .5, Figure(math.NaN())},
	} {
		if got := quantile(tt.of, tt.q); !near(got, tt.want, 0) {
			t.Errorf("quantile %v of %v is %v, want %v", tt.q, tt.of, got, tt.want)
		}
	}
	if got := quantile(make([]float64, 1000), .5); got != 0 {
		t.Errorf("quantile of zeros is %v", got)
	}
}

// Numbers that are none are counted and change no other figure.
func TestNonFinite(t *testing.T) {
	pairs := some(3, 100)
	want := gapOf(pairs)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	spoiled := append([]pair{{nan, -1}, {-1, nan}, {inf, inf}, {nan, nan}, {inf, -1}}, pairs...)
	got := gapOf(spoiled)
	if got.NonFinite != 5 || got.Tokens != 105 {
		t.Errorf("%d of %d tokens are not finite, want 5 of 105", got.NonFinite, got.Tokens)
	}
	if got.Mean != want.Mean || got.Max != want.Max || got.P99 != want.P99 || got.Over2 != want.Over2 {
		t.Errorf("figures of the others are %+v, want %+v", got, want)
	}
	if got.Exact >= want.Exact {
		t.Errorf("the share of exact tokens is %v, want less than %v: broken tokens are not equal", got.Exact, want.Exact)
	}
	k1, k3, r := divergences(spoiled)
	wk1, wk3, wr := divergences(pairs)
	if k1 != wk1 || k3 != wk3 || r != wr || correlation(spoiled) != correlation(pairs) {
		t.Error("broken tokens change estimates")
	}
	all := gapOf(spoiled[:5])
	if !math.IsNaN(float64(all.Mean)) || !math.IsNaN(float64(all.Max)) || all.NonFinite != 5 || all.Exact != 0 {
		t.Errorf("of broken tokens alone: %+v, want no figures", all)
	}
}

// Over samples of A, k1 and k3 both tend to KL(A||B), which is known here.
func TestEstimatesTendToTheDivergence(t *testing.T) {
	a, b := []float64{.5, .3, .15, .05}, []float64{.4, .25, .15, .2}
	want := 0.0
	for i := range a {
		want += a[i] * math.Log(a[i]/b[i])
	}
	r := rand.New(rand.NewPCG(1, 2))
	var pairs []pair
	for range 400000 {
		u, i := r.Float64(), 0
		for u -= a[0]; u >= 0; u -= a[i] {
			i++
		}
		pairs = append(pairs, pair{float32(math.Log(a[i])), float32(math.Log(b[i]))})
	}
	k1, k3, ratio := divergences(pairs)
	// Standard errors: of k1 0.44/sqrt(n), of k3 0.2/sqrt(n), of the ratio 0.7/sqrt(n).
	if math.Abs(float64(k1)-want) > 0.003 || math.Abs(float64(k3)-want) > 0.002 {
		t.Errorf("k1 is %v and k3 %v, want %v", k1, k3, want)
	}
	if math.Abs(float64(ratio.Mean)-1) > 0.006 { // B's probabilities sum to 1 over A's support
		t.Errorf("mean ratio is %v, want 1", ratio.Mean)
	}
	if !near(ratio.Min, Figure(b[0]/a[0]), 1e-6) || !near(ratio.Max, Figure(b[3]/a[3]), 1e-6) {
		t.Errorf("ratios are from %v to %v, want %v to %v", ratio.Min, ratio.Max, b[0]/a[0], b[3]/a[3])
	}
}

// The same sums with the textbook's formula of one pass, and both ends of the scale.
func TestCorrelation(t *testing.T) {
	pairs := some(5, 500)
	var n, sx, sy, sxx, syy, sxy float64
	for _, p := range pairs {
		x, y := math.Exp(float64(p.a)), math.Exp(float64(p.b))
		n, sx, sy, sxx, syy, sxy = n+1, sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
	}
	want := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	if got := correlation(pairs); !near(got, Figure(want), 1e-9) {
		t.Errorf("correlation is %v, want %v", got, want)
	}
	same := []pair{{-1, -1}, {-2, -2}, {-3, -3}}
	if got := correlation(same); !near(got, 1, 1e-12) {
		t.Errorf("correlation of equal numbers is %v, want 1", got)
	}
	turned := []pair{{float32(math.Log(.2)), float32(math.Log(.6))}, {float32(math.Log(.4)), float32(math.Log(.4))}, {float32(math.Log(.6)), float32(math.Log(.2))}}
	if got := correlation(turned); !near(got, -1, 1e-6) {
		t.Errorf("correlation of opposite numbers is %v, want -1", got)
	}
	if got := correlation([]pair{{-1, -2}, {-1, -3}}); !math.IsNaN(float64(got)) {
		t.Errorf("correlation with what does not vary is %v, want none", got)
	}
}

// Bits are compared, not values.
func TestExactIsOfBits(t *testing.T) {
	if g := gapOf([]pair{{0, float32(math.Copysign(0, -1))}, {-1, -1}}); g.Exact != 0.5 || g.Max != 0 {
		t.Errorf("gap is %+v, want half of it exact", g)
	}
}

func TestPositionBucket(t *testing.T) {
	for _, tt := range []struct {
		at   int
		want string
	}{{0, "0-63"}, {63, "0-63"}, {64, "64-127"}, {127, "64-127"}, {128, "128-255"}, {511, "256-511"}, {512, "512-1023"}, {1024, "1024-2047"}, {70000, "65536-131071"}} {
		if got, _ := positionBucket(tt.at); got != tt.want {
			t.Errorf("position %d is in %s, want %s", tt.at, got, tt.want)
		}
	}
	last := -1
	for i := range 5000 { // places are in order
		if _, n := positionBucket(i); n < last || n > last+1 {
			t.Fatalf("position %d is in bucket %d after %d", i, n, last)
		} else {
			last = n
		}
	}
}

func TestProbabilityBin(t *testing.T) {
	for _, tt := range []struct {
		p    float64
		want string
	}{{.001, "below 0.01"}, {.02, "0.01-0.1"}, {.3, "0.1-0.5"}, {.6, "0.5-0.9"}, {.95, "0.9-1"}, {1, "0.9-1"}} {
		if got, _ := probabilityBin(float32(math.Log(tt.p))); got != tt.want {
			t.Errorf("probability %v is in %q, want %q", tt.p, got, tt.want)
		}
	}
	if got, _ := probabilityBin(float32(math.NaN())); got != "below 0.01" {
		t.Errorf("no probability is in %q", got)
	}
}

// A figure in JSON is the same figure again, and no number has its name.
func TestFigures(t *testing.T) {
	list := Figures{0, -1.5, float32(math.Inf(-1)), float32(math.Inf(1)), -1e-45, -0.1}
	raw, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `[0,-1.5,"-Inf","+Inf",-1e-45,-0.1]`; string(raw) != want {
		t.Errorf("JSON is %s, want %s", raw, want)
	}
	var back Figures
	if err := back.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if math.Float32bits(list[i]) != math.Float32bits(back[i]) {
			t.Errorf("number %d comes back as %v, want %v", i, back[i], list[i])
		}
	}
	var f Figure
	for _, bad := range []string{`null`, `"Infinity"`, `true`, `[]`, `1e999`, `"1"`, `0x10`, `NaN`, ``} {
		if err := f.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v, want an error", bad, f)
		}
	}
	if err := f.UnmarshalJSON([]byte(`"NaN"`)); err != nil || !math.IsNaN(float64(f)) {
		t.Errorf("NaN comes back as %v, %v", f, err)
	}
}

// Shares are told as all or nothing only if they are.
func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		share Figure
		want  string
	}{{1, "100%"}, {0, "0%"}, {0.9999999, "99.99%"}, {0.00001, "<0.01%"}, {0.5, "50%"}, {Figure(math.NaN()), "-"}} {
		if got := percent(tt.share); got != tt.want {
			t.Errorf("%v is told as %s, want %s", tt.share, got, tt.want)
		}
	}
}

func ExampleCompare() {
	seqs := []Sequence{{ID: "sum", Prompt: []int32{1}, Response: []int32{2, 3}}}
	c := Compare(Comparing{Name: "scored", Worst: 1}, seqs, []Scores{{LogProbs: []float32{-1, -2}}}, []Scores{{LogProbs: []float32{-1, -2.5}}})
	fmt.Println(c.Gap.Mean, c.Gap.Exact, c.Worst[0].Position)
	// Output: 0.25 0.5 1
}
