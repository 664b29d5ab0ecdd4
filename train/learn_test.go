package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/train/loss"
)

// A player draws answers from the engine's own policy, by scoring every token that might come next.
type player struct {
	e *Engine
	r *rand.Rand
}

// odds returns the logprob of every token after a prompt and the beginning of a response.
func (p player) odds(t testing.TB, prompt *rl.Prompt, begun []int32) []float32 {
	t.Helper()
	var all []*rl.Sample
	for v := range small.Vocab {
		all = append(all, &rl.Sample{Prompt: prompt, Sampling: rl.DefaultSampling(), Response: append(append([]int32{}, begun...), int32(v))})
	}
	if err := p.e.Score(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	lps := make([]float32, len(all))
	for v, s := range all {
		lps[v] = s.TrainLogProbs[len(begun)]
	}
	return lps
}

// group draws n answers of one token.
func (p player) group(t testing.TB, prompt *rl.Prompt, n int) (out []*rl.Sample) {
	lps := p.odds(t, prompt, nil)
	for i := range n {
		u, v := p.r.Float64(), 0
		for ; v < len(lps)-1; v++ {
			if u -= math.Exp(float64(lps[v])); u < 0 {
				break
			}
		}
		out = append(out, &rl.Sample{
			Prompt: prompt, Index: i, Sampling: rl.DefaultSampling(), Response: []int32{int32(v)}, LogProbs: []float32{lps[v]}, Verdict: rl.Wrong,
		})
	}
	return out
}

// The policy learns to answer with the same token whatever the prompt is, from nothing but a reward for it.
func TestLearnsAToyTask(t *testing.T) {
	long(t)
	const right = 17
	c := settings()
	c.Optim.LR = 2e-2
	e := cpuEngine(t, c, dtype.BF16)
	p := player{e, rand.New(rand.NewPCG(1, 2))}
	var prompts []*rl.Prompt
	for i := range 4 {
		prompts = append(prompts, &rl.Prompt{ID: fmt.Sprint(i), Tokens: tokens(p.r, 3+i)})
	}
	chance := func() (mean float64) {
		for _, q := range prompts {
			mean += math.Exp(float64(p.odds(t, q, nil)[right])) / float64(len(prompts))
		}
		return mean
	}
	before := chance()
	for cycle := range 25 {
		b := &rl.Batch{Cycle: cycle}
		for i, q := range prompts {
			q.Group = int64(cycle*len(prompts) + i)
			for _, s := range p.group(t, q, 16) {
				if s.Response[0] == right {
					s.Verdict, s.Reward = rl.Right, 1
				}
				b.Samples = append(b.Samples, s)
			}
		}
		stats := mustStep(t, e, b)
		if stats["train/logp_diff/max"] != 0 {
			t.Fatalf("cycle %d: the policy that answered is %v nats from the one that trains, want 0", cycle, stats["train/logp_diff/max"])
		}
	}
	if after := chance(); !(before < 0.3 && after > 0.95) {
		t.Errorf("chance of the right answer went from %v to %v, want from below 0.3 to above 0.95", before, after)
	}
}

// Every estimator learns it, in two steps a cycle: a token that the policy knows and does not prefer.
func TestEveryEstimatorLearnsAToyTask(t *testing.T) {
	long(t)
	for _, estimator := range []string{loss.GSPO, loss.CISPO, loss.RLOO, loss.Reinforce, loss.Baseline, loss.PPO} {
		t.Run(estimator, func(t *testing.T) {
			c := settings()
			c.Loss.Estimator, c.Optim.LR, c.Steps = estimator, 1e-2, 2
			c.Loss.Est.Whiten = estimator == loss.Reinforce || estimator == loss.Baseline
			p := player{accompaniedCPU(t, c, dtype.BF16), rand.New(rand.NewPCG(1, 2))}
			prompt := &rl.Prompt{ID: "p", Tokens: tokens(p.r, 4)}
			right, before := int32(0), 0.0
			for v, lp := range p.odds(t, prompt, nil) {
				if q := math.Exp(float64(lp)); q > before && q < 0.3 {
					right, before = int32(v), q
				}
			}
			for cycle := range 20 {
				b := &rl.Batch{Cycle: cycle + 1, Samples: p.group(t, prompt, 32)}
				for _, s := range b.Samples {
					if s.Response[0] == right {
						s.Verdict, s.Reward = rl.Right, 1
					}
				}
				mustStep(t, p.e, b)
			}
			if after := math.Exp(float64(p.odds(t, prompt, nil)[right])); !(after > 0.9) {
				t.Errorf("chance of the right answer went from %v to %v, want above 0.9", before, after)
			}
		})
	}
}

// With a reference, the KL is 0 as long as both are one, and pulls the policy back afterwards.
func TestKLPullsBack(t *testing.T) {
	long(t)
	for _, kind := range []string{"k2", "low_var_kl"} {
		c := withLoss(func(c *loss.Config) { c.UseKL, c.KLCoef, c.KLType = true, 1, kind })
		c.Optim.LR, c.Optim.WeightDecay = 1e-3, 0
		k := cpuEngine(t, settings(), dtype.F32).whole().k
		policy, reference := actor(dtype.F32, 1), actor(dtype.F32, 1)
		e, err := New(c, policy, reference, k, files())
		if err != nil {
			t.Fatal(err)
		}
		untouched := Digest(reference.Params())
		flat := func() *rl.Batch { // no spread, so no advantage: all that pulls is the KL
			b := batch(3, 1, 4)
			for _, s := range b.Samples {
				s.Verdict, s.Reward = rl.Right, 1
			}
			return b
		}
		first := mustStep(t, e, flat())
		if first["train/kl_loss"] != 0 || first["train/grad_norm"] != 0 || first["train/loss"] != 0 {
			t.Errorf("%s: at the start KL %v, gradient %v, loss %v, want 0", kind, first["train/kl_loss"], first["train/grad_norm"], first["train/loss"])
		}
		away := find(t, e, "model.layers.1.self_attn.o_b_proj.weight").Value.F32()
		for i := range away {
			away[i] += 0.02 * float32(i%7-3)
		}
		e.prepare()
		far := mustStep(t, e, flat())["train/kl_loss"]
		for range 15 {
			mustStep(t, e, flat())
		}
		if near := mustStep(t, e, flat())["train/kl_loss"]; !(far > 0 && near > 0 && near < far/2) {
			t.Errorf("%s: KL went from %v to %v in 15 steps, want half or less", kind, far, near)
		}
		if Digest(reference.Params()) != untouched {
			t.Errorf("%s: the reference has changed", kind)
		}
	}
}

// Scoring fills the reference's logprobs too, and they are those that a step would have computed.
func TestReferenceLogProbs(t *testing.T) {
	c := withLoss(func(c *loss.Config) { c.UseKL, c.KLCoef = true, 0.1 })
	k := cpuEngine(t, settings(), dtype.F32).whole().k
	scored, stepped := batch(1, 2, 3), batch(1, 2, 3)
	e, err := New(c, actor(dtype.F32, 1), actor(dtype.F32, 2), k, files())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Score(t.Context(), scored.Samples); err != nil {
		t.Fatal(err)
	}
	mustStep(t, e, stepped)
	m := actor(dtype.F32, 2)
	for i, s := range scored.Samples {
		want, _ := alone(m, k, s)
		for j := range want {
			if s.RefLogProbs[j] != want[j] || stepped.Samples[i].RefLogProbs[j] != want[j] {
				t.Fatalf("sample %d, token %d: reference logprob is %v scored, %v stepped, want %v", i, j, s.RefLogProbs[j], stepped.Samples[i].RefLogProbs[j], want[j])
			}
		}
	}
}
