package train

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/train/loss"
)

// variants are losses that count, sum, discount and normalise in every way there is.
func variants() map[string]Config {
	out := map[string]Config{}
	add := func(name string, change func(c *loss.Config)) { out[name] = withLoss(change) }
	for _, agg := range []string{loss.TrajMean, loss.TokenMean, loss.SeqSum, loss.SeqMean, loss.SeqSumNorm} {
		add(agg, func(c *loss.Config) { c.Agg, c.Entropy, c.UseKL, c.KLCoef = agg, 0.01, true, 0.1 })
	}
	for _, estimator := range []string{loss.GSPO, loss.CISPO, loss.RLOO} {
		add(estimator, func(c *loss.Config) { c.Estimator = estimator })
	}
	add("reinforce++, whitened, KL in the reward", func(c *loss.Config) {
		c.Estimator, c.Est.Whiten, c.Est.Gamma, c.Est.RewardKL = loss.Reinforce, true, 0.9, 0.1
	})
	add("reinforce++ baseline, whitened, covariance", func(c *loss.Config) {
		c.Estimator, c.Est.Whiten, c.Est.RewardKL, c.Est.CovRatio, c.Est.CovLow = loss.Baseline, true, 0.1, 0.3, 0
	})
	add("distilled", func(c *loss.Config) { c.Est.Distill = true })
	add("ppo", func(c *loss.Config) {
		c.Estimator, c.Est.Lambda, c.Est.Gamma, c.Agg = loss.PPO, 0.9, 0.99, loss.TokenMean
	})
	add("off-policy masks", func(c *loss.Config) { c.UseOPSM = true })
	add("sft", func(c *loss.Config) { c.Type = "sft_loss" })
	for _, level := range []string{loss.Token, loss.Sequence, loss.Geometric} {
		c := misSettings(level)
		c.Loss.MIS.Normalize, c.Loss.Agg = true, loss.TokenMean
		out["mis by "+level] = c
	}
	two := out[loss.TokenMean]
	two.Steps = 2
	out["two steps"] = two
	return out
}

// begunBatch returns a batch in which the first tokens of some responses don't train, and the same batch with these tokens as part of the prompts: what
// precedes tokens that train does not matter to what is made of them, so the two are one.
func begunBatch(seed uint64) (masked, moved *rl.Batch) {
	masked, moved = batch(seed, 2, 4), batch(seed, 2, 4)
	for i, s := range masked.Samples {
		k := min(i%4*2, len(s.Response)-1)
		if k == 0 {
			continue
		}
		s.LossMask = slices.Concat(make([]bool, k), slices.Repeat([]bool{true}, len(s.Response)-k))
		m := moved.Samples[i]
		m.Prompt = &rl.Prompt{ID: s.Prompt.ID, Group: s.Prompt.Group, Tokens: slices.Concat(s.Prompt.Tokens, s.Response[:k])}
		m.Response, m.LogProbs = m.Response[k:], m.LogProbs[k:]
	}
	return masked, moved
}

// A token that does not train is as one of the prompt, in loss, weights, advantages and figures, whatever the loss.
func TestMaskedTokensAreAsThePrompts(t *testing.T) {
	for name, c := range variants() {
		if testing.Short() && name != "ppo" && name != loss.TokenMean {
			continue
		}
		t.Run(name, func(t *testing.T) {
			a, b := accompanied(t, c, ref.New[float32](), dtype.F32), accompanied(t, c, ref.New[float32](), dtype.F32)
			if c.Loss.HasCritic() { // its values begin at 0
				mustStep(t, a, batch(4, 2, 2))
				mustStep(t, b, batch(4, 2, 2))
			}
			masked, moved := begunBatch(5)
			got, want := mustStep(t, a, masked), mustStep(t, b, moved)
			for _, stats := range []rl.Stats{got, want} {
				maps.DeleteFunc(stats, func(name string, _ float64) bool { return strings.Contains(name, "by_position") })
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("figures are %v, want %v", got, want)
			}
			wantSame(t, "state", bothStates(a), bothStates(b))
			for i, s := range masked.Samples {
				m := moved.Samples[i]
				skip := len(s.Response) - len(m.Response)
				if len(s.TrainLogProbs) != len(s.Response) || !slices.Equal(s.TrainLogProbs[skip:], m.TrainLogProbs) || s.Advantage != m.Advantage {
					t.Errorf("sample %d: logprobs %v, advantage %v, want %v at the end, %v", i, s.TrainLogProbs, s.Advantage, m.TrainLogProbs, m.Advantage)
				}
			}
		})
	}
}

// The loss with maximum likelihood is the mean over tokens that train of what each has alone, wherever they stand; so is its gradient.
func TestMaskInTheMiddle(t *testing.T) {
	c := withLoss(func(c *loss.Config) { c.Type, c.Agg = "sft_loss", loss.TokenMean })
	e := refEngine(t, c, dtype.F32)
	sample := func() *rl.Sample {
		return slices.MaxFunc(batch(4, 1, 8).Samples, func(a, b *rl.Sample) int { return len(a.Response) - len(b.Response) })
	}
	one := func(mask []bool) (map[string][]float32, float64) {
		s := sample()
		s.LossMask = mask
		sums, err := e.gradients(t.Context(), []*rl.Sample{s})
		if err != nil {
			t.Fatal(err)
		}
		defer e.opt.ZeroGrad()
		out := map[string][]float32{}
		for _, p := range e.Params() {
			if p.Grad != nil {
				out[p.Name] = clone(p.Grad.F32())
			}
		}
		if sums.Tokens != lengthOf(s) || math.Abs(sums.Weight-1) > 1e-12 {
			t.Errorf("%v: %d tokens of weight %v train, want %d of weight 1", mask, sums.Tokens, sums.Weight, lengthOf(s))
		}
		return out, sums.Loss
	}
	n := len(sample().Response)
	mask := make([]bool, n)
	for i := range mask {
		mask[i] = i%3 != 1
	}
	got, gotLoss := one(mask)
	want, wantLoss, tokens := map[string][]float64{}, 0.0, 0.0
	for i, m := range mask {
		if !m {
			continue
		}
		only := make([]bool, n)
		only[i] = true
		grads, l := one(only)
		wantLoss, tokens = wantLoss+l, tokens+1
		for name, g := range grads {
			if want[name] == nil {
				want[name] = make([]float64, len(g))
			}
			for k, v := range g {
				want[name][k] += float64(v)
			}
		}
	}
	if d := math.Abs(gotLoss - wantLoss/tokens); tokens < 3 || tokens == float64(n) || d > 1e-6 {
		t.Errorf("the loss of %v of %d tokens is %v, want %v", tokens, n, gotLoss, wantLoss/tokens)
	}
	for name, g := range got {
		for k, v := range g {
			if w := want[name][k] / tokens; math.Abs(float64(v)-w) > 1e-5*(1+math.Abs(w)) { // sums in another order
				t.Fatalf("%s: gradient %d is %v, want %v", name, k, v, w)
			}
		}
	}
}

// A mask that lets all train is none.
func TestMaskOfNothing(t *testing.T) {
	c := critics()
	a, b := accompanied(t, c, ref.New[float32](), dtype.F32), accompanied(t, c, ref.New[float32](), dtype.F32)
	whole := batch(3, 2, 3)
	for _, s := range whole.Samples {
		s.LossMask = slices.Repeat([]bool{true}, len(s.Response))
	}
	if got, want := mustStep(t, a, whole), mustStep(t, b, batch(3, 2, 3)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("figures are %v, want %v", got, want)
	}
	wantSame(t, "state", bothStates(a), bothStates(b))
}

func TestMaskOfAnotherLength(t *testing.T) {
	b := batch(1, 1, 2)
	b.Samples[1].LossMask = make([]bool, len(b.Samples[1].Response)+1)
	err := stepError(t, refEngine(t, settings(), dtype.F32), b)
	if want := fmt.Sprintf("its mask says of %d tokens whether they train, and the response has %d", len(b.Samples[1].LossMask), len(b.Samples[1].Response)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

// Tokens that don't train are in no figure of the gap.
func TestMaskedTokensHaveNoGap(t *testing.T) {
	s := differing(-1, 0.25, 9, 0.5)
	s.LossMask, s.RefLogProbs = []bool{true, false, true}, []float32{-1, float32(math.NaN()), -1}
	got := rl.Stats{}
	diagnose(got, []*rl.Sample{s})
	if got["train/logp_diff/max"] != 0.5 || got["train/logp_diff/mean"] != 0.375 || got["train/nonfinite_tokens/reference"] != 0 || got["train/logp_diff/by_position/1"] != 0.5 {
		t.Errorf("figures are %v, want those of the first and the third token", got)
	}
}
