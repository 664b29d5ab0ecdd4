package train

import (
	"math"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/train/loss"
)

// differing returns a sample whose trainer logprobs are the given distances above the rollout engine's, all of which are lp.
func differing(lp float32, distances ...float32) *rl.Sample {
	s := &rl.Sample{}
	for _, d := range distances {
		s.LogProbs = append(s.LogProbs, lp)
		s.TrainLogProbs = append(s.TrainLogProbs, lp+d)
		s.Entropy = append(s.Entropy, 2)
	}
	return s
}

func TestDiagnose(t *testing.T) {
	stats := rl.Stats{}
	diagnose(stats, []*rl.Sample{differing(-8, 0, .25, -.75, 4), differing(-0.0625, 0, 0), {}})
	for name, want := range map[string]float64{
		"train/logp_diff/mean": 5. / 6, "train/logp_diff/signed": 3.5 / 6, "train/logp_diff/max": 4, "train/logp_diff/p50": .25, "train/logp_diff/p99": 4,
		"train/logp_diff/frac_gt_0.5": 2. / 6, "train/logp_diff/frac_gt_2": 1. / 6,
		"train/logp_diff/by_prob/lt_0.01": 1.25, "train/logp_diff/by_prob/ge_0.9": 0,
		"train/logp_diff/by_position/0": 0, "train/logp_diff/by_position/1": (.25 + .75 + 4 + 0) / 4,
		"rollout/rollout_log_probs": (-32 - 0.125) / 6, "rollout/log_probs": (-32 - 0.125 + 3.5) / 6, "rollout/entropy": 2,
	} {
		if got, ok := stats[name]; !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestNoRolloutLogProbsNoDiagnostics(t *testing.T) {
	stats := rl.Stats{}
	if diagnose(stats, []*rl.Sample{{TrainLogProbs: []float32{-1}, Entropy: []float32{1}}}); len(stats) != 0 {
		t.Errorf("figures of no difference: %v", stats)
	}
}

func TestBins(t *testing.T) {
	for i, want := range map[int]string{0: "0", 1: "1", 3: "1", 4: "4", 15: "4", 16: "16", 63: "16", 64: "64", 255: "64", 256: "256", 1024: "1024", 16384: "16384", 1 << 20: "16384"} {
		if got := positions[positionBin(i)]; got != want {
			t.Errorf("position %d is in bin %s, want %s", i, got, want)
		}
	}
	for p, want := range map[float64]string{0: "lt_0.01", .009: "lt_0.01", .011: "lt_0.1", .2: "lt_0.5", .51: "lt_0.9", .91: "ge_0.9", 1: "ge_0.9"} {
		if got := probabilities[probabilityBin(float32(math.Log(p)))]; got != want {
			t.Errorf("probability %v is in bin %s, want %s", p, got, want)
		}
	}
}

// With logprobs from the trainer's own weights there is no difference, and the importance ratio is 1.
func TestNoGapWithinOnePolicy(t *testing.T) {
	e, b := cpuEngine(t, settings(), dtype.BF16), batch(1, 2, 4)
	if err := e.Score(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Samples {
		s.LogProbs, s.TrainLogProbs, s.Entropy = s.TrainLogProbs, nil, nil
	}
	stats := mustStep(t, e, b)
	for name, want := range map[string]float64{
		"train/logp_diff/max": 0, "train/train_rollout_logprob_abs_diff": 0, "train/train_rollout_kl": 0, "train/tis": 1, "train/tis_used": 1, "train/tis_abs": 0, "train/ois": 1,
	} {
		if stats[name] != want {
			t.Errorf("%s is %v, want %v", name, stats[name], want)
		}
	}
}

// Shares are shares however tokens are weighed, also where the loss is a sum.
func TestFiguresAreMeansInEveryAggregation(t *testing.T) {
	long(t)
	for _, agg := range []string{loss.TrajMean, loss.TokenMean, loss.SeqSum, loss.SeqMean, loss.SeqSumNorm} {
		e := cpuEngine(t, withLoss(func(c *loss.Config) { c.Agg = agg }), dtype.F32)
		b := batch(1, 2, 4)
		for _, s := range b.Samples {
			for i := range s.LogProbs {
				s.LogProbs[i] = -20 // beyond the cap
			}
		}
		stats := mustStep(t, e, b)
		if stats["train/ois"] != 1 || stats["train/tis_clipfrac"] != 1 || stats["train/tis_used"] != 2 {
			t.Errorf("%s: ratio %v, capped %v, used %v, want 1, 1, 2", agg, stats["train/ois"], stats["train/tis_clipfrac"], stats["train/tis_used"])
		}
	}
}
