package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"furlong/dtype"
	"furlong/metrics"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
)

// Samples that must not train change nothing but their count, wherever they stand: not the baseline of their group, not what a token
// counts, not the expert load.
func TestWhatMustNotTrainDoesNot(t *testing.T) {
	long(t)
	want := cpuEngine(t, settings(), dtype.F32)
	figures := mustStep(t, want, batch(1, 2, 4))
	for name, spoil := range map[string]func(s *rl.Sample){
		"invalid":  func(s *rl.Sample) { s.Verdict = rl.Invalid },
		"ungraded": func(s *rl.Sample) { s.Verdict = rl.Ungraded },
		"empty":    func(s *rl.Sample) { s.Response, s.LogProbs = nil, nil },
		"masked":   func(s *rl.Sample) { s.LossMask = make([]bool, len(s.Response)) },
		"invalid and not a number": func(s *rl.Sample) {
			s.Verdict, s.Reward, s.LogProbs[0] = rl.Invalid, math.NaN(), float32(math.NaN())
		},
	} {
		for _, at := range []int{0, 3} {
			b, extra := batch(1, 2, 4), batch(1, 2, 4).Samples[4]
			extra.Verdict, extra.Reward, extra.Prompt = rl.Right, 100, b.Samples[5].Prompt
			spoil(extra)
			b.Samples = slices.Insert(b.Samples, at, extra)
			e := cpuEngine(t, settings(), dtype.F32)
			got := mustStep(t, e, b)
			if n := got["train/excluded_samples"]; n != 1 {
				t.Errorf("%s: %v samples excluded, want 1", name, n)
			}
			got["train/excluded_samples"] = 0
			if fmt.Sprint(got) != fmt.Sprint(figures) {
				t.Errorf("%s at %d: figures are %v, want %v", name, at, got, figures)
			}
			wantSame(t, name, state(e), state(want))
			if extra.TrainLogProbs != nil || extra.Advantage != 0 {
				t.Errorf("%s: has logprobs %v and advantage %v, want none", name, extra.TrainLogProbs, extra.Advantage)
			}
		}
	}
}

// A valid sample keeps its advantage beside one without tokens: rewards 100 and 1 must not become +-49.5.
func TestEmptySampleShiftsNoBaseline(t *testing.T) {
	c := withLoss(func(c *loss.Config) { c.NoStd = true })
	b := batch(2, 1, 3)
	for i, reward := range []float64{100, 1, 3} {
		b.Samples[i].Verdict, b.Samples[i].Reward = rl.Right, reward
	}
	b.Samples[0].Response, b.Samples[0].LogProbs = nil, nil
	mustStep(t, cpuEngine(t, c, dtype.F32), b)
	if a := [2]float64{b.Samples[1].Advantage, b.Samples[2].Advantage}; a != [2]float64{-1, 1} {
		t.Errorf("advantages are %v, want -1 and 1", a)
	}
}

func TestNothingToTrainOn(t *testing.T) {
	for name, b := range map[string]*rl.Batch{
		"no samples":  {},
		"all invalid": batch(1, 2, 2),
		"all empty":   batch(1, 2, 2),
		"all masked":  batch(1, 2, 2),
	} {
		for _, s := range b.Samples {
			switch name {
			case "all invalid":
				s.Verdict = rl.Invalid
			case "all masked":
				s.LossMask = make([]bool, len(s.Response))
			default:
				s.Response, s.LogProbs = nil, nil
			}
		}
		e := cpuEngine(t, settings(), dtype.BF16)
		mustStep(t, e, batch(2, 2, 2))
		before := state(e)
		stats, err := e.Step(t.Context(), b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := rl.Stats{
			"train/skipped_steps": 1, "train/excluded_samples": float64(len(b.Samples)), "train/samples": 0, "train/tokens": 0,
			"train/step": 1, "train/lr-pg_0": 1e-2,
		}
		if !maps.Equal(stats, want) {
			t.Errorf("%s: figures are %v, want %v", name, stats, want)
		}
		wantSame(t, name, state(e), before)
	}
}

// A group whose answers are all alike teaches nothing. It counts in the mean, though.
func TestNoSpreadNoGradient(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.F32)
	b := batch(3, 2, 3)
	for _, s := range b.Samples {
		s.Verdict, s.Reward = rl.Right, 0.1 // three times which is no exact mean
	}
	before := state(e)
	stats := mustStep(t, e, b)
	if stats["train/grad_norm"] != 0 || stats["train/pg_loss"] != 0 {
		t.Errorf("gradient %v, loss %v, want 0", stats["train/grad_norm"], stats["train/pg_loss"])
	}
	for _, s := range e.opt.States() {
		if slices.Max(s.M) != 0 || slices.Min(s.M) != 0 || slices.Max(s.V) != 0 {
			t.Errorf("%s has moments", s.Param.Name)
		}
		if same := string(s.Param.Value.Mem) == before[s.Param.Name]; same == s.Param.Decay {
			t.Errorf("%s: unchanged is %v where decay is %v", s.Param.Name, same, s.Param.Decay)
		}
	}
	half := batch(3, 2, 3)
	for _, s := range half.Samples[:3] {
		s.Verdict, s.Reward = rl.Wrong, 0
	}
	if n := mustStep(t, cpuEngine(t, settings(), dtype.F32), half)["train/samples"]; n != 6 {
		t.Errorf("%v samples trained, want 6", n)
	}
}

// planted are places where a number that is none comes through to every logprob.
var planted = []string{
	"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight", "model.hc_head.hc_fn",
	"model.layers.0.mlp.gate.weight", "model.layers.2.mlp.gate.weight", "model.layers.1.self_attn.kv_proj.weight",
	"model.layers.2.self_attn.compressor.gate_proj.weight", "model.layers.3.attn_hc.base",
}

func TestNaNSkipsTheStep(t *testing.T) {
	long(t)
	clean := map[dtype.Type]map[string]string{}
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		e := cpuEngine(t, settings(), format)
		mustStep(t, e, batch(1, 2, 3))
		mustStep(t, e, batch(3, 2, 3))
		clean[format] = state(e)
		for _, name := range planted {
			e := cpuEngine(t, settings(), format)
			mustStep(t, e, batch(1, 2, 3))
			p := find(t, e, name)
			good := p.Value.Clone()
			poison(p.Value)
			e.prepare()
			checkSkipped(t, e, batch(2, 2, 3))
			copy(p.Value.Mem, good.Mem)
			e.prepare()
			mustStep(t, e, batch(3, 2, 3))
			wantSame(t, name+": a step after the skipped one", state(e), clean[format])
		}
	}
}

// checkSkipped wants a step on b that is skipped and counted and moves nothing.
func checkSkipped(t *testing.T, e *Engine, b *rl.Batch) {
	t.Helper()
	before := state(e)
	stats, err := e.Step(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if stats["train/skipped_steps"] != 1 || stats["train/nonfinite_tokens"] == 0 || stats["train/step"] != 1 {
		t.Errorf("skipped %v, tokens not finite %v, steps %v, want 1, some, 1", stats["train/skipped_steps"], stats["train/nonfinite_tokens"], stats["train/step"])
	}
	wantSame(t, "skipped step", state(e), before)
	if n := e.opt.GradNorm(); n != 0 {
		t.Errorf("a gradient of norm %v is left", n)
	}
}

func find(t testing.TB, e *Engine, name string) *tensor.Param {
	t.Helper()
	for _, p := range e.Params() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no parameter %s", name)
	return nil
}

// poison makes every element a NaN.
func poison(x *tensor.Tensor) {
	for i := range x.Len() {
		if x.Type == dtype.BF16 {
			x.BF16()[i] = 0x7fc0
		} else {
			x.F32()[i] = float32(math.NaN())
		}
	}
}

// The loss may be finite and the gradient not, or the other way round.
func TestEitherStopsTheStep(t *testing.T) {
	for _, tt := range []struct {
		name string
		grad float64
		sums loss.Sums
	}{
		{"infinite gradient", math.Inf(1), loss.Sums{}},
		{"gradient is NaN", math.NaN(), loss.Sums{}},
		{"loss is NaN", 1, loss.Sums{Loss: math.NaN()}},
		{"infinite loss", 1, loss.Sums{Loss: math.Inf(-1)}},
	} {
		e := cpuEngine(t, settings(), dtype.BF16)
		before := state(e)
		e.opt.States()[3].Param.Grad.F32()[1] = float32(tt.grad)
		stats := e.update(&tt.sums)
		norm := stats["train/grad_norm"]
		if stats["train/skipped_steps"] != 1 || !(math.IsInf(norm, 0) || math.IsNaN(norm)) || e.Steps() != 0 {
			t.Errorf("%s: figures are %v after %d steps, want a skipped step", tt.name, stats, e.Steps())
		}
		wantSame(t, tt.name, state(e), before)
	}
}

// A trainer logprob that is no number leaves the gradient finite: the loss is what says that it must not be followed.
// A learning rate beyond all bounds makes weights that are no numbers, out of finite gradients.
func TestStepThatSpoilsWeights(t *testing.T) {
	c := settings()
	c.Optim.LR = 1e39
	e := cpuEngine(t, c, dtype.BF16)
	_, err := e.Step(t.Context(), batch(1, 2, 4))
	for _, want := range []string{"train: step 1 has left a damaged weight: tensor \"model.", "want a finite number"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
}

func TestTrainerNaNSkipsTheStep(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.F32)
	mustStep(t, e, batch(1, 2, 3))
	b := batch(2, 2, 3)
	if err := e.Score(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	b.Samples[1].TrainLogProbs[0] = float32(math.NaN())
	checkSkipped(t, e, b)
}

// What the rollout engine says may be no number, too. The sample is well formed, so it is counted and stops the step.
func TestRolloutNaNSkipsTheStep(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.F32)
	mustStep(t, e, batch(1, 2, 3))
	b := batch(2, 2, 3)
	b.Samples[4].LogProbs[0] = float32(math.NaN())
	checkSkipped(t, e, b)
}

func TestImpossibleUnderRolloutTrains(t *testing.T) {
	b := batch(2, 2, 3)
	b.Samples[4].LogProbs[0] = float32(math.Inf(-1))
	stats := mustStep(t, cpuEngine(t, settings(), dtype.F32), b)
	if stats["train/nonfinite_tokens"] != 1 || !(stats["train/tis"] > 1e6) || !(stats["train/tis_used"] <= 2) {
		t.Errorf("%v not finite, importance %v, used %v, want 1, a huge one, at most 2", stats["train/nonfinite_tokens"], stats["train/tis"], stats["train/tis_used"])
	}
}

// trained says whether the spec trains a weight; decayed whether it decays.
func trained(name string, freezeGate bool) bool {
	gate := strings.HasSuffix(name, ".mlp.gate.weight")
	return !strings.Contains(name, ".indexer.") && !strings.HasSuffix(name, "tid2eid") && !strings.HasSuffix(name, "e_score_correction_bias") && !(gate && freezeGate)
}

func decayed(p *tensor.Param) bool {
	one := len(p.Value.Shape) == 1
	for _, part := range []string{"sinks", "position_bias", "_hc.", "hc_head"} {
		one = one || strings.Contains(p.Name, part)
	}
	return !one
}

func TestFrozenTensors(t *testing.T) {
	for _, freeze := range []bool{true, false} {
		c := settings()
		c.FreezeGate = freeze
		e := cpuEngine(t, c, dtype.F32)
		before := state(e)
		for seed := range uint64(3) {
			mustStep(t, e, batch(seed, 2, 4))
		}
		after := state(e)
		for _, p := range e.Params() {
			moved := after[p.Name] != before[p.Name]
			if want := trained(p.Name, freeze); moved != want {
				t.Errorf("--moe-router-freeze-gate %v: %s moved is %v, want %v", freeze, p.Name, moved, want)
			}
			if want := trained(p.Name, freeze); p.Frozen == want || (p.Grad != nil) != want {
				t.Errorf("--moe-router-freeze-gate %v: %s: frozen %v, gradient %v, want trained %v", freeze, p.Name, p.Frozen, p.Grad != nil, want)
			}
		}
	}
}

// With no gradient at all, decay is the only thing that moves a weight.
func TestWhatDecays(t *testing.T) {
	c := settings()
	c.FreezeGate, c.Optim.WeightDecay = false, 0.1
	e := cpuEngine(t, c, dtype.F32)
	before := map[string][]float32{}
	for _, s := range e.opt.States() {
		before[s.Param.Name] = slices.Clone(s.Master)
	}
	e.update(&loss.Sums{})
	keep := float32(1 - c.Optim.LR*0.1)
	for _, s := range e.opt.States() {
		for i, old := range before[s.Param.Name] {
			want := old
			if decayed(s.Param) {
				want = old * keep
			}
			if s.Master[i] != want {
				t.Errorf("%s[%d] went from %v to %v, want %v", s.Param.Name, i, old, s.Master[i], want)
				break
			}
		}
	}
}

// Every figure of a step has a place in the table of metrics.
func TestFiguresAreInTheTable(t *testing.T) {
	kl := withLoss(func(c *loss.Config) { c.UseKL, c.KLCoef = true, 0.1 })
	e, err := New(kl, actor(dtype.F32, 1), actor(dtype.F32, 2), cpuEngine(t, settings(), dtype.F32).whole().k, files())
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := e.Step(t.Context(), &rl.Batch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, stats := range []rl.Stats{mustStep(t, e, batch(1, 2, 4)), mustStep(t, supervised(t), batch(1, 2, 4)), nothing} {
		for name := range stats {
			if _, ok := metrics.Lookup(name); !ok {
				t.Errorf("%s is not in the table of metrics", name)
			}
		}
	}
	for _, name := range []string{"train/loss", "train/grad_norm", "train/kl_loss", "train/tis_used", "train/logp_diff/p99", "moe/load_cv", "rollout/entropy"} {
		if _, ok := mustStep(t, e, batch(2, 2, 4))[name]; !ok {
			t.Errorf("a step says nothing about %s", name)
		}
	}
}

func supervised(t testing.TB) *Engine {
	return cpuEngine(t, withLoss(func(c *loss.Config) { c.Type, c.Agg = "sft_loss", loss.TokenMean }), dtype.F32)
}

// Supervised training takes examples that nobody judged, and its loss is minus their mean logprob.
func TestSupervised(t *testing.T) {
	e, b := supervised(t), batch(1, 2, 4)
	for _, s := range b.Samples {
		s.Verdict, s.LogProbs = rl.Ungraded, nil
	}
	first := mustStep(t, e, b)
	sum, n := 0.0, 0.0
	for _, s := range b.Samples {
		for _, lp := range s.TrainLogProbs {
			sum -= float64(lp)
			n++
		}
	}
	if got := first["train/loss"]; math.Abs(got-sum/n) > 1e-12*sum || first["train/tokens"] != n {
		t.Errorf("loss is %v over %v tokens, want %v over %v", got, first["train/tokens"], sum/n, n)
	}
	for range 5 {
		mustStep(t, e, b)
	}
	if last := mustStep(t, e, b)["train/loss"]; !(last < first["train/loss"]) {
		t.Errorf("loss went from %v to %v, want it to fall", first["train/loss"], last)
	}
}

func TestRefusedBatches(t *testing.T) {
	long(t)
	clean := cpuEngine(t, settings(), dtype.F32)
	mustStep(t, clean, batch(2, 2, 3))
	after := state(clean)
	for _, tt := range []struct {
		spoil func(s *rl.Sample)
		want  string
	}{
		{func(s *rl.Sample) { s.Prompt = &rl.Prompt{ID: "p"} }, "prompt p, sample 1: the prompt has no tokens, want at least one"},
		{func(s *rl.Sample) { s.LogProbs = s.LogProbs[1:] }, "rollout logprobs for"},
		{func(s *rl.Sample) { s.LogProbs = nil }, "prompt p0, sample 1: no rollout logprobs, which --use-tis needs"},
		{func(s *rl.Sample) { s.TrainLogProbs, s.Entropy = []float32{}, []float32{} }, "0 trainer logprobs for"},
		{func(s *rl.Sample) { s.RefLogProbs = []float32{} }, "0 reference logprobs for"},
		{func(s *rl.Sample) { s.TrainLogProbs = slices.Clone(s.LogProbs) }, "one is there and not the other"},
		{func(s *rl.Sample) { s.Response[0] = 24 }, "step: "}, // no token of this vocabulary
		{func(s *rl.Sample) { s.Response[0] = -1 }, "step: "},
	} {
		e, b := cpuEngine(t, settings(), dtype.F32), batch(1, 1, 3)
		before := state(e)
		tt.spoil(b.Samples[1])
		_, err := e.Step(t.Context(), b)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want one with %q", err, tt.want)
		}
		wantSame(t, tt.want, state(e), before)
		mustStep(t, e, batch(2, 2, 3))
		wantSame(t, tt.want+": a step after the refusal", state(e), after)
	}
}

// A cancelled step has moved nothing, and leaves no part of a gradient behind.
func TestCancelledStep(t *testing.T) {
	c := settings()
	c.MaxTokens = 1
	e, want := cpuEngine(t, c, dtype.F32), cpuEngine(t, c, dtype.F32)
	ctx, cancel := context.WithCancel(t.Context())
	e.actor = counting{e.actor, func(n int) {
		if n == 3 {
			cancel()
		}
	}, new(atomic.Int64)}
	if _, err := e.Step(ctx, batch(1, 2, 3)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v, want %v", err, context.Canceled)
	}
	wantSame(t, "cancelled", state(e), state(want))
	mustStep(t, e, batch(2, 2, 3))
	mustStep(t, want, batch(2, 2, 3))
	wantSame(t, "after a cancelled step", state(e), state(want))
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if err := e.Score(ctx, batch(1, 1, 1).Samples); !errors.Is(err, context.Canceled) {
		t.Errorf("scoring: error is %v, want %v", err, context.Canceled)
	}
}
