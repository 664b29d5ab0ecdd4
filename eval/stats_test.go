package eval

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

func TestPassAtK(t *testing.T) {
	for _, tt := range []struct {
		n, c, k int
		want    float64
	}{
		{8, 3, 1, 3. / 8},
		{8, 3, 2, 9. / 14}, // 0.6429
		{8, 3, 4, 13. / 14},
		{8, 3, 8, 1},
		{8, 1, 1, .125},
		{8, 1, 2, .25},
		{8, 1, 4, .5},
		{8, 1, 8, 1},
		{4, 1, 4, 1},
		{4, 0, 4, 0},
		{1, 0, 1, 0},
		{1, 1, 1, 1},
		{8, 8, 3, 1},
	} {
		got, err := PassAtK(tt.n, tt.c, tt.k)
		if err != nil || math.Abs(got-tt.want) > 1e-15 { // a product of up to 8 rounded factors
			t.Errorf("PassAtK(%d, %d, %d) = %v, %v, want %v", tt.n, tt.c, tt.k, got, err, tt.want)
		}
	}
}

// Over all choices of k samples of n, the share that holds a right one is what the estimator must give.
func TestPassAtKByCounting(t *testing.T) {
	const n = 10
	for c := range n + 1 {
		for k := 1; k <= n; k++ {
			hits, all := 0, 0
			for choice := range uint(1) << n {
				if bits.OnesCount(choice) == k {
					all++
					if choice&(1<<c-1) != 0 {
						hits++
					}
				}
			}
			got, err := PassAtK(n, c, k)
			if want := float64(hits) / float64(all); err != nil || math.Abs(got-want) > 1e-14 {
				t.Errorf("PassAtK(%d, %d, %d) = %v, %v, want %v", n, c, k, got, err, want)
			}
		}
	}
}

// With one sample the chance is the share of right ones, to the bit, and whether c are right and k drawn or the other way round is the same.
func TestPassAtKOfOneIsTheShare(t *testing.T) {
	for _, n := range []int{1, 7, 8, 1000, 3_000_000} {
		for _, c := range []int{1, n / 3, n / 2, n} {
			one, err := PassAtK(n, c, 1)
			if err != nil || math.Abs(one-float64(c)/float64(n)) > 1e-16 {
				t.Errorf("PassAtK(%d, %d, 1) = %v, %v, want %v", n, c, one, err, float64(c)/float64(n))
			}
			if c < 1 {
				continue
			}
			if a, b := must(PassAtK(n, c, min(n, 4))), must(PassAtK(n, min(n, 4), c)); a != b {
				t.Errorf("%d of %d right and %d drawn is %v, the other way round %v", c, n, min(n, 4), a, b)
			}
		}
	}
}

func TestPassAtKRefuses(t *testing.T) {
	for _, tt := range []struct {
		n, c, k int
		want    string
	}{
		{4, 1, 5, "k is 5, want 1 to 4"},
		{4, 1, 0, "k is 0, want 1 to 4"},
		{0, 0, 1, "k is 1, want 1 to 0"},
		{4, 5, 1, "5 of 4 samples are right"},
		{4, -1, 1, "-1 of 4 samples are right"},
	} {
		if _, err := PassAtK(tt.n, tt.c, tt.k); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("PassAtK(%d, %d, %d): error is %v, want %q", tt.n, tt.c, tt.k, err, tt.want)
		}
	}
}

// half returns n problems of 8 samples; every other one is always right.
func half(n int) (problems []Problem) {
	for i := range n {
		problems = append(problems, Problem{ID: fmt.Sprintf("p%03d", i), N: 8, C: 8 * (i % 2)})
	}
	return problems
}

func TestIntervalIsThatOfTheMean(t *testing.T) {
	got, err := PassAt(half(400), 1, 3)
	// The mean of 400 draws of 0 or 1 has the standard deviation 0.5/20 = 0.025, and 95 % lie within 1.96 of these. The mean
	// is a multiple of 1/400, and the quantile of 10,000 resamples is off by less than 0.002.
	if err != nil || got.Value != 0.5 || math.Abs(got.Low-0.451) > 0.004 || math.Abs(got.High-0.549) > 0.004 {
		t.Errorf("PassAt = %v, %v, want 0.5 [0.451, 0.549]", got, err)
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	problems := half(50)
	for i := range problems {
		problems[i].C = i * i % 7
	}
	want, err := PassAt(problems, 2, 1)
	slices.Reverse(problems)
	if got, err2 := PassAt(problems, 2, 1); got != want || err != nil || err2 != nil {
		t.Errorf("reversed: %v, %v, want %v, %v", got, err2, want, err)
	}
	if other, _ := PassAt(problems, 2, 2); other == want {
		t.Error("seeds 1 and 2 give the same interval to the last bit")
	}
}

func TestAllTheSameHasNoWidth(t *testing.T) {
	problems := []Problem{{ID: "a", N: 2, C: 1}, {ID: "b", N: 4, C: 2}}
	if got, err := PassAt(problems, 1, 1); err != nil || got != (Interval{.5, .5, .5}) {
		t.Errorf("PassAt = %v, %v, want 0.5 without width", got, err)
	}
}

func TestDifferenceIsPaired(t *testing.T) {
	before, after := half(400), half(400)
	for i := range after {
		after[i].C = max(after[i].C, 1) // every failed problem now has one right sample in eight
	}
	slices.Reverse(after)
	got, err := Difference(before, after, 1, 5)
	if err != nil || math.Abs(got.Value-1./16) > 1e-12 {
		t.Errorf("Difference = %v, %v, want 0.0625", got, err)
	}
	// The differences are 0 or 1/8 with equal chance: standard deviation 1/16/20. Unpaired it would be ten times as wide.
	if got.Low < 0.0625-2.2*0.003125 || got.High > 0.0625+2.2*0.003125 || got.High-got.Low < 3*0.003125 {
		t.Errorf("interval is %v, want 0.0625 within 1.96 times 0.0031", got)
	}
	back, err := Difference(after, before, 1, 5)
	if err != nil || back != (Interval{-got.Value, -got.High, -got.Low}) {
		t.Errorf("the other way round: %v, %v, want the negative of %v", back, err, got)
	}
	if none, err := Difference(before, before, 8, 5); err != nil || none != (Interval{}) {
		t.Errorf("of the same twice: %v, %v, want 0", none, err)
	}
}

func TestRefusals(t *testing.T) {
	a, b, c := Problem{ID: "a", N: 8, C: 1}, Problem{ID: "b", N: 8, C: 1}, Problem{ID: "c", N: 4, C: 1}
	for _, tt := range []struct {
		name          string
		before, after []Problem
		k             int
		want          string
	}{
		{"other problems", []Problem{b, a}, []Problem{a, c}, 1, "problem b: is only in the evaluation before"},
		{"more before", []Problem{a, b}, []Problem{a}, 1, "problem b: is only in the evaluation before"},
		{"more after", []Problem{b}, []Problem{b, a}, 1, "problem a: is only in the evaluation after"},
		{"more after, at the end", []Problem{a}, []Problem{b, a}, 1, "problem b: is only in the evaluation after"},
		{"nothing before", nil, []Problem{a}, 1, "before: no problems"},
		{"twice after", []Problem{a}, []Problem{a, a}, 1, "after: problem a: is there twice"},
		{"too few samples", []Problem{c}, []Problem{c}, 8, "before: problem c: pass@8: k is 8, want 1 to 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Difference(tt.before, tt.after, tt.k, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Difference = %v, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
	if _, err := PassAt([]Problem{a, c}, 8, 1); err == nil || !strings.Contains(err.Error(), "problem c: pass@8") {
		t.Errorf("PassAt beyond n: error is %v", err)
	}
}

func TestGroup(t *testing.T) {
	one, two := &rl.Prompt{ID: "one", Text: "same", Label: "1"}, &rl.Prompt{ID: "two", Text: "same", Label: "2"}
	again := *one
	sample := func(p *rl.Prompt, v rl.Verdict, stop rl.Stop, tokens int) *rl.Sample {
		return &rl.Sample{Prompt: p, Verdict: v, Stop: stop, Response: make([]int32, tokens), Text: fmt.Sprintf(`So \boxed{%d}`, tokens)}
	}
	got, err := Group([]*rl.Sample{
		sample(two, rl.Wrong, rl.StopToken, 3),
		sample(one, rl.Right, rl.StopToken, 4),
		sample(one, rl.Right, rl.StopLength, 9),
		sample(&again, rl.Wrong, rl.StopLength, 9),
		sample(one, rl.Invalid, rl.StopToken, 1),
		sample(two, rl.Invalid, rl.StopLength, 9),
	})
	want := []Problem{
		{ID: "one", N: 3, C: 2, Invalid: 1, Truncated: 2, WholeN: 1, WholeC: 1, Tokens: 23, Votes: []Vote{{"4", 2, true}, {"9", 1, false}}},
		{ID: "two", N: 1, Invalid: 1, Truncated: 1, WholeN: 1, Tokens: 12, Votes: []Vote{{"3", 1, false}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Group = %+v, %v, want %+v", got, err, want)
	}
	if _, err := Group([]*rl.Sample{sample(one, rl.Ungraded, rl.StopToken, 1)}); err == nil || !strings.Contains(err.Error(), "problem one: sample 0 is ungraded") {
		t.Errorf("ungraded: error is %v", err)
	}
	again.Label = "3"
	if _, err := Group([]*rl.Sample{sample(one, rl.Right, rl.StopToken, 1), sample(&again, rl.Right, rl.StopToken, 1)}); err == nil || !strings.Contains(err.Error(), "problem one: its id stands for") {
		t.Errorf("one id, two labels: error is %v", err)
	}
}

func Example() {
	before := []Problem{{ID: "a", N: 8, C: 4}, {ID: "b", N: 8, C: 0}}
	after := []Problem{{ID: "a", N: 8, C: 5}, {ID: "b", N: 8, C: 1}}
	at4, err := PassAtK(8, 3, 4)
	fmt.Printf("%.4f %v\n", at4, err)
	fmt.Println(PassAt(before, 1, 42))
	fmt.Println(Difference(before, after, 1, 42))
	// Output:
	// 0.9286 <nil>
	// 0.250 [0.000, 0.500] <nil>
	// 0.125 [0.125, 0.125] <nil>
}

func must(v float64, err error) float64 {
	if err != nil {
		panic(err)
	}
	return v
}
