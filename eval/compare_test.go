package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// By looking at every way to swap the two sides.
func TestCountSignsByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var steps []int
		seen := 0
		for range r.IntN(10) {
			d := r.IntN(9) - 4
			steps, seen = append(steps, d), seen+d
		}
		hits, ways := 0, 1<<len(steps)
		for signs := range ways {
			sum := 0
			for i, d := range steps {
				if signs>>i&1 == 1 {
					d = -d
				}
				sum += d
			}
			hits += b2i(max(sum, -sum) >= max(seen, -seen))
		}
		if got, want := countSigns(steps), float64(hits)/float64(ways); math.Abs(got-want) > 1e-12 {
			t.Fatalf("countSigns(%v) = %v, want %v", steps, got, want)
		}
	}
}

// Drawn signs agree with counted ones within four standard errors.
func TestDrawnSignsAreCountedOnes(t *testing.T) {
	steps := []int{3, -1, 2, 2, -2, 1, 0, 4, -1, 1, 2, -3}
	var diffs []float64
	for _, d := range steps {
		diffs = append(diffs, float64(d)/7)
	}
	want := countSigns(steps)
	if got := drawSigns(diffs, 5); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/resamples)+1./resamples {
		t.Errorf("drawn: %v, counted: %v", got, want)
	}
}

func TestSignTestByCounting(t *testing.T) {
	for better := range 8 {
		for worse := range 8 {
			n, hits := better+worse, 0
			for way := range uint(1) << n {
				up := bits.OnesCount(way)
				hits += b2i(max(up, n-up) >= max(better, worse))
			}
			if got, want := signTest(better, worse), float64(hits)/float64(int(1)<<n); math.Abs(got-want) > 1e-12 {
				t.Errorf("signTest(%d, %d) = %v, want %v", better, worse, got, want)
			}
		}
	}
}

// One policy against itself, evaluated twice with other draws: the tests cry wolf in five cases of a hundred or less, and not much less. A
// policy that is better by 0.15 is found.
func TestEqualPoliciesLookEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const runs, problems, n = 400, 30, 4
	r := rand.New(rand.NewPCG(7, 8))
	exact, signs, outside, found := 0, 0, 0, 0
	for i := range runs {
		ps := chances(r, problems)
		a, b := simulated(r, n, ps), simulated(r, n, ps)
		p, _, err := permutation(a, b, 1, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		exact += b2i(p <= .05)
		c := &Comparison{}
		c.sides(a, b)
		signs += b2i(c.SignP <= .05)
		diffs := make([]float64, problems)
		for j := range diffs {
			diffs[j], ps[j] = float64(b[j].C-a[j].C)/n, min(1, ps[j]+.15)
		}
		d := resampled(diffs, uint64(i), 1000)
		outside += b2i(d.Low > 0 || d.High < 0)
		if p, _, _ = permutation(a, simulated(r, n, ps), 1, 1); p <= .05 {
			found++
		}
	}
	// A rate of 0.05 in 400 runs has a standard error of 0.011.
	if exact > runs*8/100 || exact < runs*1/100 || signs > runs*8/100 || outside > runs*11/100 {
		t.Errorf("of %d comparisons of equal policies %d are significant by permutation, %d by sign, %d by the interval, want 5 %% or so", runs, exact, signs, outside)
	}
	if found < runs/2 {
		t.Errorf("a gain of 0.15 is found in %d of %d runs: this shows nothing", found, runs)
	}
}

// sides returns two results of the same problems.
func twoResults(t *testing.T) (before, after *Result) {
	t.Helper()
	return read(t, nil, `{"id":"a","scores":[1,0,0,0]}`, `{"id":"b","scores":[0,0,0,0]}`, `{"id":"c","scores":[1,0,0,0]}`, `{"id":"d","scores":[1,1,1,1]}`),
		read(t, nil, `{"id":"d","scores":[1,1,1,1]}`, `{"id":"b","scores":[1,1,0,0]}`, `{"id":"a","scores":[1,1,1,0]}`, `{"id":"c","scores":[0,0,0,0]}`)
}

func TestCompare(t *testing.T) {
	before, after := twoResults(t)
	c, err := Compare(before, after, false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Better != 2 || c.Worse != 1 || c.SignP != 1 || !reflect.DeepEqual(c.Gained, []string{"b"}) || !reflect.DeepEqual(c.Lost, []string{"c"}) {
		t.Errorf("comparison is %+v, want b gained, c lost, two better and one worse", c)
	}
	// The differences are 2, 2, -1 and 0 quarters. Of the eight ways to swap the first three, four give 3 quarters or more either way.
	s := c.Scores[0]
	if s.Before.Value != 6./16 || s.After.Value != 9./16 || s.Difference.Value != 3./16 || s.P != .5 || !strings.HasPrefix(s.Test, "exact") || len(c.Scores) != 3 {
		t.Errorf("pass@1 is %+v, want 6/16, 9/16 and p 0.5", s)
	}
	back, err := Compare(after, before, false)
	if err != nil || back.Scores[0].Difference.Value != -s.Difference.Value || back.Scores[0].P != s.P || !reflect.DeepEqual(back.Gained, c.Lost) {
		t.Errorf("the other way round: %+v, %v", back, err)
	}
	same, err := Compare(before, before, false)
	if err != nil || same.Scores[0].P != 1 || same.SignP != 1 || same.Scores[0].Difference != (Interval{}) {
		t.Errorf("of one with itself: %+v, %v, want p 1", same, err)
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *Result)
		ignore bool
		want   string
	}{
		{"temperature", func(r *Result) { r.Sampling.Temperature = .5 }, false, "settings differ: Temperature is 0.5, was 0; --ignore settings"},
		{"seed alone", func(r *Result) { r.Sampling.Seed = 7 }, false, ""},
		{"empty list", func(r *Result) { r.Sampling.StopIDs = []int32{} }, false, ""},
		{"grader", func(r *Result) { r.Grader = "math" }, false, "grader is math, was "},
		{"ignored", func(r *Result) { r.Grader = "math" }, true, ""},
		{"set", func(r *Result) { r.Set = "aime" }, true, "set is results before and aime after"},
		{"problem", func(r *Result) { r.Problems[0].ID = "z" }, true, "problem a: is only in the evaluation before"},
		{"fewer", func(r *Result) { r.Problems = r.Problems[:2] }, true, "problem c: is only in the evaluation before"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, after := twoResults(t)
			tt.change(after)
			c, err := Compare(before, after, tt.ignore)
			if tt.want == "" && (err != nil || tt.ignore != (len(c.Differ) > 0)) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Compare = %+v, %v, want an error with %q", c, err, tt.want)
			}
		})
	}
	before, after := twoResults(t)
	before.Prompts, after.Prompts = strings.Repeat("a", 64), strings.Repeat("b", 64)
	if _, err := Compare(before, after, true); err == nil || !strings.Contains(err.Error(), "ids are the same, but not texts and labels") {
		t.Errorf("other texts: error is %v", err)
	}
}

// Problems of which too little could be judged on one side are left out of a figure on both.
func TestCompareLeavesUnjudgedOut(t *testing.T) {
	before := read(t, nil, `{"id":"a","scores":[1,0]}`, `{"id":"b","scores":[0,null]}`, `{"id":"c","scores":[null,null]}`)
	after := read(t, nil, `{"id":"a","scores":[1,1]}`, `{"id":"b","scores":[1,1]}`, `{"id":"c","scores":[1,1]}`)
	c, err := Compare(before, after, false)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Scores; len(s) != 2 || s[0].Problems != 2 || s[1].Problems != 1 || s[0].Difference.Value != .75 || !reflect.DeepEqual(c.Gained, []string{"b"}) {
		t.Errorf("scores are %+v, gained %v", s, c.Gained)
	}
}

func ExampleCompare() {
	before := &Result{Set: "s", Samples: 8, Problems: []Problem{{ID: "a", N: 8, C: 4}, {ID: "b", N: 8}}}
	after := &Result{Set: "s", Samples: 8, Problems: []Problem{{ID: "a", N: 8, C: 5}, {ID: "b", N: 8, C: 1}}}
	c, err := Compare(before, after, false)
	fmt.Println(c.Scores[0].Difference, c.Scores[0].P, c.Gained, err)
	// Output:
	// 0.125 [0.125, 0.125] 0.5 [b] <nil>
}
