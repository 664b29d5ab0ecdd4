package train

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"furlong/dtype"
	"furlong/metrics"
	"furlong/train/loss"
)

// misSettings are mis with weights of the level, bounded closely enough that some are.
func misSettings(level string) Config {
	return withLoss(func(c *loss.Config) {
		c.IS, c.MIS.Level, c.MIS.Upper, c.MIS.RSLevel = "mis", level, 1.3, level
		switch level { // of sequences these batches have some within and some without
		case loss.Sequence:
			c.MIS.Upper = 20
		case loss.Geometric:
			c.MIS.Upper = 1.36
		}
	})
}

// However a batch is cut into micro-batches, weights are divided by the mean of the whole: the state after two steps and all figures are the same bits.
func TestCutsDoNotMatterToNormalisation(t *testing.T) {
	long(t)
	for _, level := range []string{loss.Token, loss.Sequence, loss.Geometric} {
		var want map[string]string
		var figures [2]string
		for _, budget := range []int{100_000, 1} {
			c := misSettings(level)
			c.MaxTokens = budget
			e := cpuEngine(t, c, dtype.F32)
			first, second := mustStep(t, e, batch(1, 2, 3)), mustStep(t, e, batch(2, 2, 3))
			got := [2]string{fmt.Sprint(first), fmt.Sprint(second)}
			if want == nil {
				want, figures = state(e), got
				if f := first["train/mis_batch_norm_factor"]; !(f > 0) || f == 1 {
					t.Errorf("%s: weights are divided by %v: the test shows nothing", level, f)
				}
				if used, want := first["train/tis_used"], first["train/mis_is_ratio_mean_final"]; !(math.Abs(used-want) <= 1e-12) {
					t.Errorf("%s: the loss was multiplied by %v on average, the whole batch says %v", level, used, want)
				}
				if n := first["train/rejected_tokens"]; n == 0 || n == first["train/tokens"] {
					t.Errorf("%s: %v of %v tokens are rejected: the test shows little", level, n, first["train/tokens"])
				}
				continue
			}
			wantSame(t, fmt.Sprintf("%s, budget %d", level, budget), state(e), want)
			if got != figures {
				t.Errorf("%s, budget %d: figures are\n%v, want\n%v", level, budget, got, figures)
			}
		}
	}
}

// Several steps on one batch: what multiplies the loss was settled before the first, and stays; the policy moves.
func TestWeightsAreConstantsOfTheCycle(t *testing.T) {
	for name, c := range map[string]Config{
		"tis": settings(), "mis": misSettings(loss.Token), "mis, geometric": misSettings(loss.Geometric),
		"icepop": withLoss(func(c *loss.Config) { c.IS, c.TISLow, c.TISClip = "icepop", 0.8, 1.25 }),
	} {
		e, b := cpuEngine(t, c, dtype.F32), batch(6, 2, 4)
		first, next := mustStep(t, e, b), mustStep(t, e, b)
		for k, v := range first {
			fixed := strings.HasPrefix(k, "train/tis") || strings.HasPrefix(k, "train/mis_") || strings.HasPrefix(k, "train/rejected") || strings.HasPrefix(k, "train/logp_diff")
			if fixed && next[k] != v {
				t.Errorf("%s: %s went from %v to %v", name, k, v, next[k])
			}
		}
		if next["train/ois"] == 1 {
			t.Errorf("%s: the policy has not moved", name)
		}
	}
}

// A correction that needs the mean of the whole batch has the trainer score it first, once; the others cost no pass.
func TestWhoScoresFirst(t *testing.T) {
	normless := misSettings(loss.Token)
	normless.Loss.MIS.Normalize = false
	measured := withLoss(func(c *loss.Config) { c.Measure = true })
	for _, tt := range []struct {
		name  string
		c     Config
		extra bool
	}{{"tis", settings(), false}, {"mis", misSettings(loss.Token), true}, {"mis without normalisation", normless, false}, {"mis measured", measured, false}} {
		tt.c.MaxTokens = 1
		e, b := cpuEngine(t, tt.c, dtype.F32), batch(1, 2, 3)
		var passes atomic.Int64
		e.actor = counting{e.actor, func(int) {}, &passes}
		mustStep(t, e, b)
		want := int64(len(b.Samples))
		if tt.extra {
			want *= 2
		}
		if n := passes.Load(); n != want {
			t.Errorf("%s: %d passes for %d samples, want %d", tt.name, n, len(b.Samples), want)
		}
		mustStep(t, e, b)
		if n := passes.Load() - want; n != int64(len(b.Samples)) {
			t.Errorf("%s: %d passes in the second step, want %d", tt.name, n, len(b.Samples))
		}
	}
}

// Scoring first is the same as having been scored.
func TestScoredBeforeNormalising(t *testing.T) {
	direct, scored := cpuEngine(t, misSettings(loss.Sequence), dtype.BF16), cpuEngine(t, misSettings(loss.Sequence), dtype.BF16)
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

// Measuring changes nothing but the figures that it adds.
func TestMeasuringMovesNothing(t *testing.T) {
	plain, measured := cpuEngine(t, settings(), dtype.F32), cpuEngine(t, withLoss(func(c *loss.Config) { c.Measure = true }), dtype.F32)
	without, with := mustStep(t, plain, batch(3, 2, 4)), mustStep(t, measured, batch(3, 2, 4))
	wantSame(t, "measured", state(measured), state(plain))
	for k, v := range without {
		if with[k] != v {
			t.Errorf("%s is %v, measured %v", k, v, with[k])
		}
	}
	if _, ok := with["train/mis_is_ratio_mean_final"]; !ok || len(with) <= len(without) {
		t.Errorf("measuring adds %d figures, want those of mis", len(with)-len(without))
	}
	if _, ok := without["train/mis_k3_kl"]; !ok {
		t.Error("a step says nothing about train/mis_k3_kl")
	}
}

// With the rollout engine's logprobs for old the gap is measured as without.
func TestGapIsMeasuredAgainstTheTrainer(t *testing.T) {
	off := cpuEngine(t, withLoss(func(c *loss.Config) { c.UseTIS = false }), dtype.F32)
	on := cpuEngine(t, withLoss(func(c *loss.Config) { c.UseTIS, c.UseRollout = false, true }), dtype.F32)
	want, got := mustStep(t, off, batch(4, 2, 4)), mustStep(t, on, batch(4, 2, 4))
	for k, v := range want {
		if (strings.HasPrefix(k, "train/logp_diff") || strings.HasPrefix(k, "train/mis_") || strings.HasPrefix(k, "train/train_rollout")) && got[k] != v {
			t.Errorf("%s is %v, want %v", k, got[k], v)
		}
	}
	if got["train/logp_diff/mean"] == 0 || want["train/ois"] != 1 || math.Abs(got["train/ois"]-got["train/tis"]) > 1e-12 || got["train/pg_clipfrac"] == 0 {
		t.Errorf("gap %v, ratio %v (importance %v), clipped %v, want a gap, the ratio to rollout, and some clipped",
			got["train/logp_diff/mean"], got["train/ois"], got["train/tis"], got["train/pg_clipfrac"])
	}
}

// An undefined logprob spoils the step under every correction, also where another token of the sample has it vetoed.
func TestRolloutNaNSkipsEveryCorrection(t *testing.T) {
	for name, c := range map[string]Config{
		"icepop": withLoss(func(c *loss.Config) { c.IS = "icepop" }), "mis": misSettings(loss.Token), "mis, sequence": misSettings(loss.Sequence),
		"rollout for old": withLoss(func(c *loss.Config) { c.UseTIS, c.UseRollout = false, true }),
	} {
		e := cpuEngine(t, c, dtype.F32)
		mustStep(t, e, batch(1, 2, 3))
		b := batch(2, 2, 3)
		s := b.Samples[4]
		s.LogProbs[0] = float32(math.NaN())
		for i := range s.LogProbs[1:] {
			s.LogProbs[1+i] = 9
		}
		t.Run(name, func(t *testing.T) { checkSkipped(t, e, b) })
	}
}

func TestCorrectionsNeedRollout(t *testing.T) {
	for want, c := range map[string]Config{
		"no rollout logprobs, which --is-correction mis needs":    misSettings(loss.Token),
		"no rollout logprobs, which --get-mismatch-metrics needs": withLoss(func(c *loss.Config) { c.UseTIS, c.Measure = false, true }),
		"no rollout logprobs, which --use-rollout-logprobs needs": withLoss(func(c *loss.Config) { c.UseTIS, c.UseRollout = false, true }),
	} {
		b := batch(1, 1, 3)
		b.Samples[1].LogProbs = nil
		if _, err := cpuEngine(t, c, dtype.F32).Step(t.Context(), b); err == nil || !strings.Contains(err.Error(), "prompt p0, sample 1: "+want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	b := batch(1, 1, 3)
	b.Samples[1].LogProbs = nil
	stats := mustStep(t, cpuEngine(t, withLoss(func(c *loss.Config) { c.IS = "none" }), dtype.F32), b)
	if _, ok := stats["train/mis_kl"]; !ok || stats["train/samples"] != 3 {
		t.Errorf("without a correction: %v samples trained, the others compared is %v, want 3 and true", stats["train/samples"], ok)
	}
}

// Every figure of every correction has a place in the table of metrics.
func TestFiguresOfCorrectionsAreInTheTable(t *testing.T) {
	for _, mode := range []string{"truncate", "clip", "mask"} {
		c := misSettings(loss.Token)
		c.Loss.MIS.Mode, c.Loss.UseOPSM = mode, true
		stats := mustStep(t, cpuEngine(t, c, dtype.F32), batch(1, 2, 4))
		for name := range stats {
			if _, ok := metrics.Lookup(name); !ok {
				t.Errorf("%s is not in the table of metrics", name)
			}
		}
		for _, name := range []string{"train/opsm_clipfrac", "train/rejected_tokens", "train/rejected_samples", "train/mis_rs_catastrophic_seq_fraction"} {
			if _, ok := stats[name]; !ok {
				t.Errorf("--tis-mode %s: a step says nothing about %s", mode, name)
			}
		}
	}
	supervisedStats := mustStep(t, supervised(t), batch(1, 2, 4))
	for _, name := range []string{"train/mis_kl", "train/rejected_tokens"} {
		if v, ok := supervisedStats[name]; ok {
			t.Errorf("supervised training says %s is %v", name, v)
		}
	}
}

// A step all of whose tokens are rejected follows no answer: what is left is the optimizer's own motion, of which a first step has none.
func TestEverythingRejected(t *testing.T) {
	e := cpuEngine(t, withLoss(func(c *loss.Config) { c.IS = "icepop" }), dtype.F32)
	b := batch(1, 2, 3)
	for _, s := range b.Samples {
		for i := range s.LogProbs {
			s.LogProbs[i] = -20
		}
	}
	stats := mustStep(t, e, b)
	if stats["train/grad_norm"] != 0 || stats["train/rejected_tokens"] != stats["train/tokens"] || stats["train/rejected_samples"] != 6 {
		t.Errorf("gradient %v, %v of %v tokens and %v samples rejected, want 0, all, 6",
			stats["train/grad_norm"], stats["train/rejected_tokens"], stats["train/tokens"], stats["train/rejected_samples"])
	}
}
