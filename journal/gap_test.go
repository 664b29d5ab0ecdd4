package journal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/rl"
)

// A noise draws the gap of a cycle around a level of 1.
type noise struct {
	name string
	next func(r *rand.Rand) func() (mean, tail float64)
}

// independent draws mean and tail anew each cycle.
func independent(one func(r *rand.Rand) float64) func(r *rand.Rand) func() (float64, float64) {
	return func(r *rand.Rand) func() (float64, float64) {
		return func() (float64, float64) { return one(r), one(r) }
	}
}

// noises are constant levels with noise of several kinds: what runs show is between the second and the fifth.
var noises = []noise{
	{"none", independent(func(*rand.Rand) float64 { return 1 })},
	{"normal, a third", independent(func(r *rand.Rand) float64 { return max(0, 1+r.NormFloat64()/3) })},
	{"lognormal", independent(func(r *rand.Rand) float64 { return math.Exp(0.4 * r.NormFloat64()) })},
	{"neighbours alike", func(r *rand.Rand) func() (float64, float64) {
		a, b := 0.0, 0.0
		return func() (float64, float64) {
			a, b = 0.6*a+0.2*r.NormFloat64(), 0.6*b+0.2*r.NormFloat64()
			return max(0, 1+a), max(0, 1+b)
		}
	}},
	{"a few tokens of many nats", func(r *rand.Rand) func() (float64, float64) {
		return func() (float64, float64) {
			mean := 1 + 0.2*r.NormFloat64()
			for r.IntN(5) == 0 {
				mean += 4 * r.Float64()
			}
			return max(0, mean), max(0, 1+0.25*r.NormFloat64())
		}
	}},
}

// figures returns the gap of a cycle at a level in nats.
func figures(level, mean, tail float64) rl.Stats {
	return rl.Stats{"train/logp_diff/mean": level * mean, "train/logp_diff/p99": 20 * level * tail}
}

// Ten thousand cycles of a gap that stays where it is raise nothing, whatever its noise and its level.
func TestNoFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for i, n := range noises {
		for _, level := range []float64{0, 1e-6, 2.8e-3, 0.09} {
			t.Run(fmt.Sprint(n.name, " at ", level), func(t *testing.T) {
				g, next := newGapWatch(), n.next(rand.New(rand.NewPCG(uint64(i), math.Float64bits(level))))
				for cycle := range map[bool]int{true: 10000, false: 500}[level == 2.8e-3] {
					mean, tail := next()
					if drift, jump := g.see(figures(level, mean, tail)); drift+jump != "" {
						t.Fatalf("cycle %d: %s%s", cycle, drift, jump)
					}
				}
			})
		}
	}
}

// A drift that is planted after 300 quiet cycles is found: one that doubles the gap in 50 cycles before 120 have passed, in 100 before 160, in 300 before 280.
func TestPlantedDriftIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, n := range noises {
		for _, tt := range []struct{ doubles, within int }{{50, 120}, {100, 160}, {300, 280}} {
			for seed := range uint64(5) {
				g, next := newGapWatch(), n.next(rand.New(rand.NewPCG(seed, 7)))
				found := 0
				for cycle := 1; cycle <= 300+tt.within && found == 0; cycle++ {
					mean, tail := next()
					grown := 1 + max(0, float64(cycle-300))/float64(tt.doubles)
					if drift, _ := g.see(figures(2.8e-3, mean*grown, tail*grown)); drift != "" {
						found = cycle - 300
					}
				}
				if found <= 0 {
					t.Errorf("%s: one that doubles in %d cycles is not found in %d (%d)", n.name, tt.doubles, tt.within, found)
				}
			}
		}
	}
}

// A jump is seen in the cycle in which it comes, does not become the level while it lasts, is over when it is over, and is the level when it stays.
func TestJump(t *testing.T) {
	for i, n := range noises {
		g, next := newGapWatch(), n.next(rand.New(rand.NewPCG(uint64(i), 3)))
		at := func(factor float64) bool {
			mean, tail := next()
			_, jump := g.see(figures(2.8e-3, mean*factor, tail*factor))
			return jump != ""
		}
		for range 60 {
			if at(1) {
				t.Fatalf("%s: quiet cycles jump", n.name)
			}
		}
		for cycle := range 15 {
			if !at(30) {
				t.Fatalf("%s: cycle %d of a jump to the thirtyfold is not seen", n.name, cycle)
			}
		}
		if at(1) {
			t.Errorf("%s: it is over, and still seen", n.name)
		}
		lasts := 0
		for ; at(30) && lasts < 100; lasts++ {
		}
		if lasts < levelCycles || lasts > levelCycles+2 {
			t.Errorf("%s: what stays is a jump for %d cycles, want about %d", n.name, lasts, levelCycles)
		}
	}
}

// The first cycles have no level to jump from, and cycles without a figure are passed over.
func TestNothingToHoldAgainst(t *testing.T) {
	g := newGapWatch()
	for cycle := range levelLeast {
		if drift, jump := g.see(figures(1, float64(cycle*cycle), float64(cycle*cycle))); drift+jump != "" {
			t.Errorf("cycle %d: %s%s", cycle, drift, jump)
		}
	}
	n := len(g.mean.of)
	for _, s := range []rl.Stats{{}, {"train/logp_diff/mean": math.NaN()}, {"train/logp_diff/mean": 1, "train/logp_diff/p99": math.Inf(1)}} {
		if drift, jump := g.see(s); drift+jump != "" || len(g.mean.of) != n {
			t.Errorf("%v says %s%s", s, drift, jump)
		}
	}
}

// The line and its error are those of the textbook: here of Anscombe's first set, in the order of x, whose slope is 0.5001 with an error of 0.1179; neighbours
// correlate by -0.59 there, which stretches nothing.
func TestFit(t *testing.T) {
	y := []float64{4.26, 5.68, 7.24, 4.82, 6.95, 8.81, 8.04, 8.33, 10.84, 7.58, 9.96}
	l := fit(y)
	if math.Abs(l.slope-0.5001) > 5e-5 || math.Abs(l.start-5.0005) > 5e-4 || math.Abs(l.se-0.1179) > 5e-5 {
		t.Errorf("the line is %+v", l)
	}
	if straight := fit([]float64{1, 2, 3, 4}); !straight.surely(6) || straight.rise() != 3 {
		t.Errorf("a straight line is %+v", straight)
	}
	if flat := fit([]float64{2, 2, 2}); flat.surely(0) {
		t.Errorf("a flat line rises: %+v", flat)
	}
}

func TestLevel(t *testing.T) {
	l := levelOf([]float64{1, 2, 3, 4, 100})
	if l.median != 3 || l.spread != 1.4826 {
		t.Errorf("the level is %+v", l)
	}
	if one := levelOf([]float64{5, 5, 5, 5}); one.spread != 0.05 || one.above(5.1) < 1.99 {
		t.Errorf("figures that agree are %+v", one)
	}
}
