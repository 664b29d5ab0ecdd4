package train

import (
	"fmt"
	"math"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
)

// How a batch is cut, what is recomputed, which backend computes and on how many cores: no bit of a gradient or of the state after two
// steps depends on it.
func TestCutsDoNotMatter(t *testing.T) {
	one, two := cpu.New(1), cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer one.Close()
	defer two.Close()
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		var grads, after map[string]string
		for _, v := range []struct {
			k         kernels.Backend
			threads   int
			budget    int
			recompute bool
		}{
			{ref.New[float32](), 1, 100_000, false},
			{ref.New[float32](), 1, 50, true},
			{one, 1, 1, false},
			{one, 1, 50, true},
			{one, 1, 100_000, false},
			{two, 2, 1, true},
			{two, 2, 1, false},
			{two, 2, 50, false},
			{two, 2, 50, true},
			{two, 2, 100_000, false},
			{two, 2, 100_000, true},
		} {
			if testing.Short() && v.threads < 2 {
				continue
			}
			name := fmt.Sprintf("%v, %s with %d threads, budget %d, recompute %v", format, v.k.Name(), v.threads, v.budget, v.recompute)
			c := settings()
			c.MaxTokens, c.Recompute, c.FreezeGate = v.budget, v.recompute, false
			c.Loss.Entropy = 0.01
			e := engine(t, c, actor(format, 1), v.k)
			g := gradients(t, e, batch(1, 2, 3))
			mustStep(t, e, batch(1, 2, 3))
			mustStep(t, e, batch(2, 2, 3))
			if grads == nil {
				grads, after = g, state(e)
				continue
			}
			wantSame(t, name+": gradients", g, grads)
			wantSame(t, name+": state after two steps", state(e), after)
		}
	}
}

// All budgets cut the same samples in the same order.
func TestPasses(t *testing.T) {
	b := batch(1, 3, 4)
	for _, budget := range []int{1, 20, 50, 100_000} {
		var got []*rl.Sample
		ps := passes(b.Samples, budget)
		for _, p := range ps {
			got = append(got, p.samples...)
			if n := p.in.Len(); n > budget && len(p.samples) > 1 {
				t.Errorf("budget %d: a pass of %d samples has %d tokens", budget, len(p.samples), n)
			}
			if len(p.rows) != len(p.next) || len(p.rows) != len(p.scale) {
				t.Errorf("budget %d: %d rows, %d next, %d scales", budget, len(p.rows), len(p.next), len(p.scale))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(b.Samples) {
			t.Errorf("budget %d: samples are lost or out of order", budget)
		}
		if want := map[int]int{1: len(b.Samples), 100_000: 1}[budget]; want != 0 && len(ps) != want {
			t.Errorf("budget %d: %d passes, want %d", budget, len(ps), want)
		}
	}
	if ps := passes(nil, 10); len(ps) != 0 {
		t.Errorf("no samples make %d passes", len(ps))
	}
}

// alone returns the logprobs and entropies of one sample from a whole-sequence forward pass over it alone, with nothing of the engine.
func alone(m *dsv4.Model, k kernels.Backend, s *rl.Sample) (lp, ent []float32) {
	c := ops.NewCtx(k, &tensor.Arena{}, dtype.F32)
	model.Prepare(c, m)
	all := s.Tokens()
	in := &ops.Tokens{}
	for pos, id := range all[:len(all)-1] {
		in.ID, in.Seq, in.Pos = append(in.ID, id), append(in.Seq, 5), append(in.Pos, int32(pos))
	}
	stores := make([]kv.InPlace, len(small.Layers))
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false) // [T, S, D]
	first := len(s.Prompt.Tokens) - 1
	h := m.Final(c, x.Slice(first, len(all)-1))
	scale := make([]float32, len(s.Response))
	for i := range scale {
		scale[i] = s.Sampling.InvTemperature()
	}
	lpT, entT := ops.LogProb(c, h, m.Head(), s.Response, scale)
	return lpT.F32(), entT.F32()
}

// A token's logprob is the same bits from a step, from scoring, from another cut, and from its sequence alone on the plain backend.
func TestLogProbsAreOne(t *testing.T) {
	long(t)
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		stepped, scored, cut := batch(3, 2, 4), batch(3, 2, 4), batch(3, 2, 4)
		mustStep(t, cpuEngine(t, settings(), format), stepped)
		if err := cpuEngine(t, settings(), format).Score(t.Context(), scored.Samples); err != nil {
			t.Fatal(err)
		}
		c := settings()
		c.MaxTokens, c.Recompute = 1, true
		if err := refEngine(t, c, format).Score(t.Context(), cut.Samples); err != nil {
			t.Fatal(err)
		}
		m := actor(format, 1)
		for i, s := range stepped.Samples {
			lp, ent := alone(m, ref.New[float32](), s)
			for j := range s.Response {
				for _, got := range [][2]float32{
					{s.TrainLogProbs[j], s.Entropy[j]},
					{scored.Samples[i].TrainLogProbs[j], scored.Samples[i].Entropy[j]},
					{cut.Samples[i].TrainLogProbs[j], cut.Samples[i].Entropy[j]},
				} {
					if got != [2]float32{lp[j], ent[j]} {
						t.Fatalf("%v, sample %d, token %d: logprob and entropy are %v, want %v %v", format, i, j, got, lp[j], ent[j])
					}
				}
			}
		}
	}
}

// The logprob is that of the softmax over logits divided by the sample's temperature, and temperature 0 counts as 1.
func TestTemperature(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.F32)
	lps := map[float64][]float64{}
	for _, temp := range []float64{0, 0.6, 1, 1.3} {
		var all []*rl.Sample
		for v := range small.Vocab {
			s := batch(4, 1, 1).Samples[0]
			s.Response, s.LogProbs, s.Sampling.Temperature = []int32{int32(v)}, nil, temp
			all = append(all, s)
		}
		if err := e.Score(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		entropy := 0.0
		for _, s := range all {
			lp := float64(s.TrainLogProbs[0])
			lps[temp] = append(lps[temp], lp)
			entropy -= math.Exp(lp) * lp
		}
		if got := float64(all[0].Entropy[0]); math.Abs(got-entropy) > 1e-5 { // float32 sums of 24 terms
			t.Errorf("temperature %v: entropy is %v, want %v", temp, got, entropy)
		}
	}
	for _, temp := range []float64{0.6, 1.3} {
		z := 0.0
		for _, lp := range lps[1] {
			z += math.Exp(lp / temp)
		}
		for v, lp := range lps[1] {
			if want := lp/temp - math.Log(z); math.Abs(lps[temp][v]-want) > 1e-5 {
				t.Errorf("temperature %v: logprob of token %d is %v, want %v", temp, v, lps[temp][v], want)
			}
		}
	}
	for v := range lps[0] {
		if lps[0][v] != lps[1][v] {
			t.Errorf("temperature 0: logprob of token %d is %v, want that of temperature 1, %v", v, lps[0][v], lps[1][v])
		}
	}
}

// Scoring first and stepping then is the same as stepping at once.
func TestScoringBeforeTheStepChangesNothing(t *testing.T) {
	direct, scored := cpuEngine(t, settings(), dtype.BF16), cpuEngine(t, settings(), dtype.BF16)
	b := batch(5, 2, 4)
	if err := scored.Score(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	got, want := mustStep(t, scored, b), mustStep(t, direct, batch(5, 2, 4))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("figures are %v, want %v", got, want)
	}
	wantSame(t, "state", state(scored), state(direct))
}

// A second step on the same samples compares with the logprobs from before the first.
func TestSecondStepIsOffPolicy(t *testing.T) {
	c := withLoss(func(c *loss.Config) { c.UseTIS = false })
	e := cpuEngine(t, c, dtype.F32)
	b := batch(6, 2, 4)
	first := mustStep(t, e, b)
	if first["train/ois"] != 1 || first["train/ppo_kl"] != 0 || first["train/pg_clipfrac"] != 0 {
		t.Errorf("first step: ratio %v, KL %v, clipped %v, want 1, 0, 0", first["train/ois"], first["train/ppo_kl"], first["train/pg_clipfrac"])
	}
	second := mustStep(t, e, b)
	if second["train/ois"] == 1 || second["train/ppo_kl"] == 0 {
		t.Errorf("second step: ratio %v, KL %v, want them to have moved", second["train/ois"], second["train/ppo_kl"])
	}
	if first["rollout/log_probs"] != second["rollout/log_probs"] {
		t.Errorf("mean trainer logprob went from %v to %v, want it to stay what it was before the first step", first["rollout/log_probs"], second["rollout/log_probs"])
	}
}
