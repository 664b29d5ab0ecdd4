package loss

import (
	"math"
	"slices"
	"testing"
)

func TestAdvantages(t *testing.T) {
	noStd, raw := Default(), Default()
	noStd.NoStd, raw.NoNormalize = true, true
	for _, tt := range []struct {
		name          string
		c             Config
		rewards, want []float64
	}{
		{"one right of four", Default(), []float64{1, 0, 0, 0}, []float64{1.5, -.5, -.5, -.5}},
		{"half right", Default(), []float64{1, 0}, []float64{math.Sqrt(.5), -math.Sqrt(.5)}},
		{"any scale", Default(), []float64{-3, 5}, []float64{-math.Sqrt(.5), math.Sqrt(.5)}},
		{"alone", Default(), []float64{7}, []float64{0}},
		{"nobody", Default(), nil, nil},
		{"mean only", noStd, []float64{1, 0, 0, 0}, []float64{.75, -.25, -.25, -.25}},
		{"mean only, alone", noStd, []float64{7}, []float64{0}},
		{"as graded", raw, []float64{1, 0, 0.5}, []float64{1, 0, .5}},
		{"as graded, no spread", raw, []float64{1, 1}, []float64{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.c.Advantages(slices.Clone(tt.rewards))
			if len(got) != len(tt.want) {
				t.Fatalf("Advantages(%v) = %v, want %v", tt.rewards, got, tt.want)
			}
			for i, w := range tt.want {
				if math.Abs(got[i]-w) > 1e-5 { // 1e-6 is added to the standard deviation
					t.Errorf("Advantages(%v) = %v, want %v", tt.rewards, got, tt.want)
				}
			}
		})
	}
}

// Three times 0.1 has the mean 0.10000000000000002: without care every answer is a little worse than the mean.
func TestNoSpreadIsNoAdvantage(t *testing.T) {
	for _, r := range []float64{0, 1, -1, 0.1, 0.7, 1. / 3, 1e-300, 1e300} {
		for n := 1; n <= 16; n++ {
			got := Default().Advantages(slices.Repeat([]float64{r}, n))
			if slices.Min(got) != 0 || slices.Max(got) != 0 {
				t.Fatalf("%d rewards of %v give %v, want zeros", n, r, got)
			}
		}
	}
}

func TestAdvantagesHaveMeanZeroAndStdOne(t *testing.T) {
	rewards := []float64{0.3, -1, 2, 0.25, 0.25, 7, -2.5, 0}
	a := Default().Advantages(rewards)
	sum, sq := 0.0, 0.0
	for _, v := range a {
		sum += v
		sq += v * v
	}
	if std := math.Sqrt(sq / float64(len(a)-1)); math.Abs(sum) > 1e-14 || math.Abs(std-1) > 1e-6 {
		t.Errorf("sum %v, unbiased standard deviation %v, want 0 and 1", sum, std)
	}
	for i := range a {
		for j := range a {
			if (rewards[i] > rewards[j]) != (a[i] > a[j]) {
				t.Errorf("rewards %v and %v become %v and %v", rewards[i], rewards[j], a[i], a[j])
			}
		}
	}
}

func TestWeights(t *testing.T) {
	lengths := []int{3, 0, 5, 1}
	const longest = 10
	for _, tt := range []struct {
		agg  string
		want []float64
		sum  float64
	}{
		{TrajMean, []float64{1. / 9, 0, 1. / 15, 1. / 3}, 1},
		{SeqMean, []float64{1. / 9, 0, 1. / 15, 1. / 3}, 1},
		{TokenMean, []float64{1. / 9, 0, 1. / 9, 1. / 9}, 1},
		{SeqSum, []float64{1. / 3, 0, 1. / 3, 1. / 3}, 3},
		{SeqSumNorm, []float64{1. / 30, 0, 1. / 30, 1. / 30}, 0.3},
	} {
		c := Default()
		c.Agg = tt.agg
		got, sum := c.Weights(lengths, longest), 0.0
		for i, w := range got {
			sum += w * float64(lengths[i])
			if math.Abs(w-tt.want[i]) > 1e-15 {
				t.Errorf("%s: weights are %v, want %v", tt.agg, got, tt.want)
			}
		}
		if math.Abs(sum-tt.sum) > 1e-14 {
			t.Errorf("%s: weights of all tokens sum to %v, want %v", tt.agg, sum, tt.sum)
		}
	}
	c := Default()
	c.PerToken = true
	if got := c.Weights(lengths, longest); got[0] != 1./9 || got[3] != 1./9 {
		t.Errorf("--calculate-per-token-loss: weights are %v, want 1/9", got)
	}
}

// A batch gives the same sums and the same gradients in one pass, in many, and in another order: a micro-batch needs nothing from
// the others.
func TestSplitsDoNotMatter(t *testing.T) {
	ratios := [][]float32{{0, .125, .375}, {}, {-.375, -.125, 0, .25, 1}, {.5}}
	for _, agg := range []string{TrajMean, TokenMean, SeqSum, SeqMean, SeqSumNorm} {
		c := Default()
		c.Agg, c.UseKL, c.KLCoef, c.Entropy = agg, true, 0.1, 0.01
		var batch []Tokens
		var lengths []int
		for i, r := range ratios {
			batch = append(batch, spread(float64(i)-1, r...))
			lengths = append(lengths, len(r))
		}
		for i, w := range c.Weights(lengths, 8) {
			batch[i].Weight = w
		}
		whole, grads := together(c, batch)
		back, front := batch[2:], batch[:2]
		a, g1 := together(c, back)
		b, g0 := together(c, front)
		if !slices.Equal(grads, append(g0, g1...)) {
			t.Errorf("%s: gradients depend on the split", agg)
		}
		for _, f := range []struct {
			name       string
			got, whole float64
		}{
			{"loss", a.Loss + b.Loss, whole.Loss},
			{"policy loss", a.PG + b.PG, whole.PG},
			{"KL", a.KL + b.KL, whole.KL},
			{"ratio", a.OIS + b.OIS, whole.OIS},
			{"weight", a.Weight + b.Weight, whole.Weight},
			{"effective size", a.ESS + b.ESS, whole.ESS},
			{"tokens", float64(a.Tokens + b.Tokens), float64(whole.Tokens)},
			{"samples", float64(a.Samples + b.Samples), 3},
		} {
			if math.Abs(f.got-f.whole) > 1e-14 {
				t.Errorf("%s: %s is %v in two parts, %v whole", agg, f.name, f.got, f.whole)
			}
		}
		if m := whole.Mean(whole.TISUsed); !(m > 0.7 && m < 1.4) { // ratios of exp(-0.25), 1, exp(0.25)
			t.Errorf("%s: mean importance is %v, want about 1 however tokens are weighed", agg, m)
		}
	}
}

func together(c Config, batch []Tokens) (s Sums, grads []float32) {
	for _, t := range batch {
		dlp, dent := poisoned(len(t.New)), poisoned(len(t.New))
		c.Policy(t, dlp, dent, &s)
		grads = append(append(grads, dlp...), dent...)
	}
	return s, grads
}
