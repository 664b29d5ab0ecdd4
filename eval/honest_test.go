package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// flips returns how many of n samples are right, each with chance p.
func flips(r *rand.Rand, n int, p float64) (c int) {
	for range n {
		if r.Float64() < p {
			c++
		}
	}
	return c
}

// Over many sets of n samples the mean of the estimates is 1-(1-p)^k, whatever n. The plug-in 1-(1-c/n)^k, which is biased, fails the same
// test: it can fail.
func TestPassAtKIsUnbiased(t *testing.T) {
	const sets = 50_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		n, k int
		p    float64
	}{{4, 1, .3}, {4, 2, .3}, {8, 4, .1}, {8, 8, .1}, {16, 8, .05}, {32, 4, .5}} {
		sum, square, plug := 0.0, 0.0, 0.0
		for range sets {
			c := flips(r, tt.n, tt.p)
			v, err := PassAtK(tt.n, c, tt.k)
			if err != nil {
				t.Fatal(err)
			}
			sum, square = sum+v, square+v*v
			plug += 1 - math.Pow(1-float64(c)/float64(tt.n), float64(tt.k))
		}
		mean, want := sum/sets, 1-math.Pow(1-tt.p, float64(tt.k))
		far := 4 * math.Sqrt((square/sets-mean*mean)/sets) // four standard errors
		if math.Abs(mean-want) > far {
			t.Errorf("n %d, k %d, p %v: mean is %v, want %v within %v", tt.n, tt.k, tt.p, mean, want, far)
		}
		if tt.k > 1 && math.Abs(plug/sets-want) < far {
			t.Errorf("n %d, k %d, p %v: the biased estimate is %v, as good as unbiased: this shows nothing", tt.n, tt.k, tt.p, plug/sets)
		}
	}
}

func TestPassAtKGrows(t *testing.T) {
	at := func(n, c, k int) float64 {
		v, err := PassAtK(n, c, k)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, n := range []int{1, 7, 32, 1000} {
		for c := 0; c <= n; c += max(1, n/13) {
			for k := 1; k <= n; k += max(1, n/13) {
				v := at(n, c, k)
				if v < 0 || v > 1 || k > 1 && v < at(n, c, k-1)-1e-12 || c > 0 && v < at(n, c-1, k)-1e-12 {
					t.Errorf("pass@%d of %d of %d is %v: want it to grow with k and with right samples", k, c, n, v)
				}
			}
		}
	}
}

// simulated returns problems of n samples, whose chances are those of ps.
func simulated(r *rand.Rand, n int, ps []float64) (out []Problem) {
	for i, p := range ps {
		c := flips(r, n, p)
		out = append(out, Problem{ID: fmt.Sprintf("%03d", i), N: n, C: c, Votes: []Vote{{"right", c, true}, {"wrong", n - c, false}}})
	}
	return out
}

// chances returns those of problems of a kind: many hard ones, some easy ones.
func chances(r *rand.Rand, problems int) (ps []float64) {
	for range problems {
		u := r.Float64()
		ps = append(ps, u*u)
	}
	return ps
}

// Of many evaluations 95 of 100 intervals hold the truth: that of the kind of problems for the wide one, that of the same problems for the
// narrow one. Simulated 200 times, a share of 0.95 has a standard error of 0.015.
func TestIntervalsHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const runs, problems, n = 200, 50, 8
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 4} {
		truth := kind(k)
		wide, narrow, crossed := 0, 0, 0
		for i := range runs {
			ps := chances(r, problems)
			s := quickly(t, simulated(r, n, ps), k, uint64(i))
			same := 0.0
			for _, p := range ps {
				same += (1 - math.Pow(1-p, float64(k))) / problems
			}
			wide += b2i(s.Low <= truth && truth <= s.High)
			narrow += b2i(s.Decode.Low <= same && same <= s.Decode.High)
			crossed += b2i(s.Decode.Low <= truth && truth <= s.Decode.High)
		}
		if wide < runs*90/100 || wide > runs*99/100 || narrow < runs*90/100 || narrow > runs*99/100 {
			t.Errorf("pass@%d: of %d intervals %d hold the truth, and %d ranges that of their problems, want about 95 %%", k, runs, wide, narrow)
		}
		if crossed > runs*85/100 {
			t.Errorf("pass@%d: %d of %d ranges of decoding alone hold the truth of other problems: this shows nothing", k, crossed, runs)
		}
	}
}

// quickly is passScore with fewer resamples: the simulation's own error is larger than theirs.
func quickly(t *testing.T, problems []Problem, k int, seed uint64) Score {
	t.Helper()
	values := make([]float64, len(problems))
	for i, p := range problems {
		var err error
		if values[i], err = p.passAt(k); err != nil {
			t.Fatal(err)
		}
	}
	v := resampled(values, seed, 1000)
	return Score{k, v, noise(problems, passLotteries(problems, k), v.Value, 1000, rand.NewPCG(seed, 1)), len(problems)}
}

// kind returns the mean of pass@k over chances u*u, by the midpoint rule.
func kind(k int) float64 {
	const steps = 100_000
	sum := 0.0
	for i := range steps {
		u := (float64(i) + .5) / steps
		sum += 1 - math.Pow(1-u*u, float64(k))
	}
	return sum / steps
}

// Majorities of two answers are right when the right one has more than half of the votes.
func TestMajorityRangesHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const runs, problems, n, k = 150, 40, 8, 3
	r := rand.New(rand.NewPCG(5, 6))
	narrow := 0
	for i := range runs {
		ps := chances(r, problems)
		of, draws := simulated(r, n, ps), rand.NewPCG(uint64(i), 1)
		values, all, err := majLotteries(of, k, draws)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, v := range values {
			sum += v / problems
		}
		got := noise(of, all, sum, 1000, draws)
		truth := 0.0
		for _, p := range ps {
			truth += (p*p*p + 3*p*p*(1-p)) / problems
		}
		narrow += b2i(got.Low <= truth && truth <= got.High)
	}
	if narrow < runs*89/100 || narrow > runs*99/100 {
		t.Errorf("%d of %d ranges hold the truth, want about 95 %%", narrow, runs)
	}
}

// What can be known of noise: nothing from one sample a problem, and none where every sample of a problem agrees.
func TestNoNoise(t *testing.T) {
	for _, tt := range []struct {
		problems []Problem
		want     *Range
	}{
		{[]Problem{{ID: "a", N: 1, C: 1}, {ID: "b", N: 8, C: 1}}, nil},
		{[]Problem{{ID: "a", N: 8, C: 8}, {ID: "b", N: 8}}, &Range{.5, .5}},
	} {
		s, err := passScore(tt.problems, 1, 1)
		if err != nil || (s.Decode == nil) != (tt.want == nil) || tt.want != nil && *s.Decode != *tt.want {
			t.Errorf("of %+v the range is %v, %v, want %v", tt.problems, s.Decode, err, tt.want)
		}
	}
}

// Thirty problems by eight samples: what such a set can tell. Decoding alone moves pass@1 by about 0.06 where problems are even, and
// problems count for more.
func TestThirtyProblems(t *testing.T) {
	var problems []Problem
	for i := range 30 {
		problems = append(problems, Problem{ID: fmt.Sprintf("%02d", i), N: 8, C: []int{0, 1, 3, 4, 6, 8}[i%6]})
	}
	s, err := passScore(problems, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	wide, narrow := (s.High-s.Low)/2, (s.Decode.High-s.Decode.Low)/2
	if wide < .11 || wide > .14 || narrow < .04 || narrow > .06 {
		t.Errorf("intervals are ±%.3f over problems and ±%.3f over draws, want about 0.12 and 0.05", wide, narrow)
	}
}
