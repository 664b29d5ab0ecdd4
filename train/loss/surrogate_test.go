package loss

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// sequenced returns the default loss under gspo without a correction.
func sequenced() Config {
	c := plain()
	c.Estimator = GSPO
	return c
}

func TestWholeRatioByHand(t *testing.T) {
	c := sequenced()
	c.EpsClip, c.EpsClipHigh = 0.1, 0.1
	for _, tt := range []struct {
		name             string
		moved            []float32
		advantage        float64
		loss, grad, clip float64 // grad is of each of two tokens of weight 1/2
	}{
		{"in place", []float32{0, 0}, 1, -1, -.5, 0},
		{"tokens apart, the response in place", []float32{1, -1}, 1, -1, -.5, 0},
		{"risen within", []float32{0.0625, 0.0625}, 1, -math.Exp(.0625), -math.Exp(.0625) / 2, 0},
		{"risen beyond", []float32{0.5, 0}, 1, -1.1, 0, 1},
		{"risen beyond, wrong answer", []float32{0.5, 0}, -1, math.Exp(.25), math.Exp(.25) / 2, 0},
		{"fallen beyond, wrong answer", []float32{-0.5, 0}, -1, .9, 0, 1},
		{"far beyond the bound", []float32{50, 0}, -1, math.Exp(20), 0, 0},
	} {
		tok := Tokens{Entropy: []float32{0, 0}, Advantage: tt.advantage, Weight: .5}
		for _, d := range tt.moved {
			tok.Old, tok.New = append(tok.Old, -60), append(tok.New, -60+d)
		}
		s, dlp, _ := tok.policy(c)
		if !near(s.PG, tt.loss) || !near(float64(dlp[0]), tt.grad) || dlp[0] != dlp[1] || !near(s.ClipFrac, tt.clip) {
			t.Errorf("%s: loss %v, gradients %v, clipped %v, want %v, %v, %v", tt.name, s.PG, dlp, s.ClipFrac, tt.loss, tt.grad, tt.clip)
		}
	}
}

// The gradients of gspo against differences: with corrections, KL in the loss, entropy, dual clip, masking, and advantages that differ by token.
func TestGradientsOfTheWholeRatio(t *testing.T) {
	for n, cc := range everyCorrection() {
		if n%9 != 0 {
			continue
		}
		c := cc.c
		c.Estimator, c.Entropy = GSPO, 0.01
		c.UseKL, c.KLCoef, c.KLType, c.Unbiased = true, 0.25, "k2", n%2 == 0
		if n%4 == 0 {
			c.EpsClipC = 1.5
		}
		for _, move := range []float32{-0.5, -0.125, 0, 0.125, 0.75} {
			for _, advantage := range []float64{1.5, -1.5} {
				tok := spread(advantage, move+0.5, move-0.25, move, move-0.25, move)
				tok.Advantages = []float64{advantage, -advantage / 2, 0, 2 * advantage, advantage}
				tok.Spared = []bool{n%5 == 0, false, false, false, true}
				tok.Mean = c.MeanWeight([]Tokens{tok})
				t.Run(fmt.Sprintf("%s, moved %v, advantage %v", cc.name, move, advantage), func(t *testing.T) { checkGradients(t, c, tok) })
			}
		}
	}
}

// Advantages that differ by token, under the token's own ratio.
func TestGradientsOfTokenAdvantages(t *testing.T) {
	c := plain()
	c.EpsClipC = 3
	tok := spread(7, away...)
	tok.Advantages = []float64{1, -1, 0, 2, -.5, .25, -3, 1, -1, -2}
	tok.Spared = []bool{false, false, false, true, false, false, false, false, false, true}
	checkGradients(t, c, tok)
	s, dlp, _ := tok.policy(c)
	if s.Spared != 0.2 || dlp[3] != 0 || dlp[9] != 0 {
		t.Errorf("spared %v with gradients %v and %v, want 0.2, 0, 0", s.Spared, dlp[3], dlp[9])
	}
	tok.Spared, tok.Advantages = nil, slices.Repeat([]float64{7}, len(away))
	a, one, _ := tok.policy(c)
	tok.Advantages = nil
	b, all, _ := tok.policy(c)
	if fmt.Sprint(a, one) != fmt.Sprint(b, all) {
		t.Error("equal advantages of tokens are not the same as one advantage")
	}
}

func TestBoundedWeightByHand(t *testing.T) {
	c := plain()
	c.Estimator = CISPO
	for _, tt := range []struct{ ratio, advantage, weight, clip float64 }{
		{1, 1, 1, 0}, {1.2, 1, 1.2, 0}, {1.5, 1, 1.28, 1}, {1.5, -1, 1.28, 1}, {0.5, 1, .8, 1}, {0.5, -1, .8, 1}, {0.9, -2, .9, 0},
	} {
		tok := ratioed(2, tt.ratio, tt.advantage)
		s, dlp, _ := tok.policy(c)
		lp := float64(tok.New[0])
		if want := -tt.weight * tt.advantage; !near(s.PG, want*lp) || !near(float64(dlp[0]), want/2) || !near(s.ClipFrac, tt.clip) {
			t.Errorf("ratio %v, advantage %v: loss %v, gradient %v, clipped %v, want %v, %v, %v", tt.ratio, tt.advantage, s.PG, dlp[0], s.ClipFrac, want*lp, want/2, tt.clip)
		}
	}
}

// The ratio is a constant of cispo's loss. Where old moves along with new it is one, and differences show what is left: with corrections rollout moves along too.
func TestGradientsOfTheBoundedWeight(t *testing.T) {
	for _, cc := range everyCorrection()[:60] {
		c := cc.c
		c.Estimator, c.Entropy = CISPO, 0.01
		for _, advantage := range []float64{1.5, -1.5} {
			tok := spread(advantage, away...)
			tok.Mean = c.MeanWeight([]Tokens{tok})
			_, dlp, _ := tok.policy(c)
			for i := range tok.New {
				if want := movedTogether(c, tok, i); !(math.Abs(float64(dlp[i])-want) <= limit*max(1, math.Abs(want))) {
					t.Errorf("%s: token %d has gradient %v, want %v", cc.name, i, dlp[i], want)
				}
			}
		}
	}
}

// movedTogether returns the derivative of the loss as token i's logprobs under all policies move by the same.
func movedTogether(c Config, t Tokens, i int) float64 {
	at := func(d float32) float64 {
		u := t
		for _, x := range []*[]float32{&u.New, &u.Old, &u.Rollout} {
			*x = slices.Clone(*x)
			(*x)[i] += d
		}
		s, _, _ := u.policy(c)
		return s.Loss
	}
	return (at(step) - at(-step)) / (2 * step)
}

// A logprob that is not finite spoils the step under every estimator, and no gradient is one that is no number.
func TestNotFiniteSpoilsEveryEstimator(t *testing.T) {
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO, Reinforce, Baseline, PPO} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			c := plain()
			c.Estimator = estimator
			tok := spread(1, 0.125, 0, 0.25)
			tok.New[1] = float32(bad)
			s, dlp, _ := tok.policy(c)
			if s.Finite() || s.NonFinite != 1 {
				t.Errorf("%s, %v: finite %v, %d counted, want false and 1", estimator, bad, s.Finite(), s.NonFinite)
			}
			if slices.ContainsFunc(dlp, func(v float32) bool { return v != v }) {
				t.Errorf("%s, %v: gradients are %v", estimator, bad, dlp)
			}
		}
	}
}

func TestValueByHand(t *testing.T) {
	c := Default()
	for _, tt := range []struct {
		name               string
		new, old           float32
		want               float64
		loss, grad, moving float64
	}{
		{"in place", 0.5, 0.5, 1, .25, -1, 0},
		{"moved within", 0.625, 0.5, 1, .140625, -.75, 0},
		{"moved too far towards what is right", 1, 0.5, 1, .09, 0, 1},
		{"moved too far away", 0, 0.5, 1, 1, -2, 0},
		{"right", 1, 1, 1, 0, 0, 0},
	} {
		var s ValueSums
		dv := poisoned(1)
		c.Value(ValueTokens{New: []float32{tt.new}, Old: []float32{tt.old}, Returns: []float64{tt.want}, Weight: 1}, dv, &s)
		if !near(s.Loss, tt.loss) || !near(float64(dv[0]), tt.grad) || s.ClipFrac != tt.moving {
			t.Errorf("%s: loss %v, gradient %v, clipped %v, want %v, %v, %v", tt.name, s.Loss, dv[0], s.ClipFrac, tt.loss, tt.grad, tt.moving)
		}
	}
}

func TestGradientsOfValues(t *testing.T) {
	c := Default()
	tok := ValueTokens{
		New: []float32{0.5, 1.25, -1, 0.125, 2}, Old: []float32{0.5, 0.5, -0.875, 1, 1.9375}, Returns: []float64{1, 1, 1, 0, -1}, Weight: 0.2,
	}
	var sums ValueSums
	dv := poisoned(5)
	c.Value(tok, dv, &sums)
	for i := range tok.New {
		start := tok.New[i]
		at := func(d float32) float64 {
			var s ValueSums
			tok.New[i] = start + d
			c.Value(tok, poisoned(5), &s)
			tok.New[i] = start
			return s.Loss
		}
		if want := (at(step) - at(-step)) / (2 * step); math.Abs(float64(dv[i])-want) > limit {
			t.Errorf("value %d has gradient %v, want %v", i, dv[i], want)
		}
	}
	tok.New[2] = float32(math.NaN())
	c.Value(tok, dv, &sums)
	if sums.Finite() {
		t.Error("a value that is no number passes")
	}
}

// Tokens whose covariance is within the bounds, and of those the share that was asked for; which they are depends on seed and place alone.
func TestSpared(t *testing.T) {
	c := Default()
	if c.Spared([]Tokens{spread(1, 0)}, 1) != nil {
		t.Error("tokens are spared although nobody asked")
	}
	c.Est.CovRatio, c.Est.CovLow, c.Est.CovHigh = 0.25, 0.5, 4
	good := Tokens{Advantage: 1, Old: []float32{-1, -1, -3, -1}}
	bad := Tokens{Advantage: -1, Old: []float32{-1, -9, -3, -4}} // mean logprob -2.875: covariances 1.875 x3, -0.125; and -1.875, 6.125, 0.125, 1.125
	batch := []Tokens{good, bad}
	within := [][]bool{{true, true, false, true}, {false, false, false, true}}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		got := c.Spared(batch, seed)
		n := 0
		for k := range got {
			for i, is := range got[k] {
				n += map[bool]int{true: 1}[is]
				if is && !within[k][i] {
					t.Errorf("seed %d: token %d of sample %d is spared", seed, i, k)
				}
			}
		}
		if n != 2 {
			t.Errorf("seed %d: %d of 8 tokens are spared, want 2", seed, n)
		}
		if fmt.Sprint(c.Spared(batch, seed)) != fmt.Sprint(got) {
			t.Errorf("seed %d does not say which", seed)
		}
		seen[fmt.Sprint(got)] = true
	}
	if len(seen) < 3 {
		t.Errorf("20 seeds spare %d sets of tokens", len(seen))
	}
	c.Est.CovRatio = 1e-9
	if got := slices.Concat(c.Spared(batch, 1)...); len(slices.DeleteFunc(got, func(is bool) bool { return !is })) != 1 {
		t.Errorf("a share of less than a token spares %v, want one token", got)
	}
}
