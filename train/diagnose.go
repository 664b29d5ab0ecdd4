package train

import (
	"math"
	"slices"

	"furlong/rl"
	"furlong/train/loss"
)

// report writes a step's sums under their metric names: the loss as it was descended, all else as means over tokens.
func report(stats rl.Stats, s *loss.Sums, c loss.Config) {
	stats["train/loss"] = s.Loss
	stats["train/entropy_loss"] = s.Mean(s.Entropy)
	stats["train/nonfinite_tokens"] = float64(s.NonFinite)
	stats["train/tokens"], stats["train/samples"] = float64(s.Tokens), float64(s.Samples)
	if c.Type == "sft_loss" {
		return
	}
	stats["train/pg_loss"] = s.PG
	stats["train/pg_clipfrac"] = s.Mean(s.ClipFrac)
	stats["train/ppo_kl"] = s.Mean(s.PPOKL)
	stats["train/ois"] = s.Mean(s.OIS)
	stats["train/ess_ratio"] = s.ESS / float64(s.Samples)
	stats["train/train_rollout_logprob_abs_diff"] = s.Mean(s.GapAbs)
	stats["train/train_rollout_kl"] = s.Mean(s.GapKL)
	stats["train/tis"] = s.Mean(s.TIS)
	stats["train/tis_abs"] = s.Mean(s.TISAbs)
	stats["train/tis_used"] = s.Mean(s.TISUsed)
	stats["train/tis_clipfrac"] = s.Mean(s.TISClipFrac)
	stats["train/rejected_tokens"], stats["train/rejected_samples"] = float64(s.RejectedTokens), float64(s.RejectedSamples)
	if c.UseOPSM {
		stats["train/opsm_clipfrac"] = s.Mean(s.OPSM)
	}
	if c.UseKL {
		stats["train/kl_loss"] = s.Mean(s.KL)
	}
}

// diagnose writes how the trainer's logprobs differ from the rollout engine's, token by token.
func diagnose(stats rl.Stats, samples []*rl.Sample) {
	var diffs []float64
	signed, byAge, byProb := 0.0, buckets{}, buckets{}
	for _, s := range samples {
		for i := range s.LogProbs {
			d := float64(s.TrainLogProbs[i]) - float64(s.LogProbs[i])
			signed += d
			diffs = append(diffs, math.Abs(d))
			byAge.add(positionBin(i), math.Abs(d))
			byProb.add(probabilityBin(s.LogProbs[i]), math.Abs(d))
		}
	}
	if len(diffs) == 0 {
		return
	}
	spread(stats, diffs)
	stats["train/logp_diff/signed"] = signed / float64(len(diffs))
	byAge.report(stats, "train/logp_diff/by_position/")
	byProb.report(stats, "train/logp_diff/by_prob/")
	meanLogProbs(stats, samples, len(diffs))
}

// spread writes mean, quantiles and tails of absolute differences.
func spread(stats rl.Stats, diffs []float64) {
	slices.Sort(diffs)
	n := len(diffs)
	sum, half, two := 0.0, 0, 0
	for _, d := range diffs {
		sum += d
		if d > 0.5 {
			half++
		}
		if d > 2 {
			two++
		}
	}
	at := func(q float64) float64 { return diffs[min(n-1, int(q*float64(n)))] }
	for name, v := range map[string]float64{
		"mean": sum / float64(n), "p50": at(.5), "p95": at(.95), "p99": at(.99), "p999": at(.999), "max": diffs[n-1],
		"frac_gt_0.5": float64(half) / float64(n), "frac_gt_2": float64(two) / float64(n),
	} {
		stats["train/logp_diff/"+name] = v
	}
}

func meanLogProbs(stats rl.Stats, samples []*rl.Sample, tokens int) {
	var train, roll, ent float64
	for _, s := range samples {
		for i := range s.LogProbs {
			train += float64(s.TrainLogProbs[i])
			roll += float64(s.LogProbs[i])
			ent += float64(s.Entropy[i])
		}
	}
	n := float64(tokens)
	stats["rollout/log_probs"], stats["rollout/rollout_log_probs"], stats["rollout/entropy"] = train/n, roll/n, ent/n
}

// buckets are means by a name.
type buckets map[string]*struct {
	sum float64
	n   int
}

func (b buckets) add(name string, v float64) {
	if b[name] == nil {
		b[name] = &struct {
			sum float64
			n   int
		}{}
	}
	b[name].sum += v
	b[name].n++
}

func (b buckets) report(stats rl.Stats, prefix string) {
	for name, v := range b {
		stats[prefix+name] = v.sum / float64(v.n)
	}
}

// positionBin names the power-of-four bin of a response position.
func positionBin(i int) string {
	names := []string{"0", "1", "4", "16", "64", "256", "1024", "4096", "16384"}
	bin := 0
	for lo := 1; i >= lo && bin < len(names)-1; lo *= 4 {
		bin++
	}
	return names[bin]
}

// probabilityBin names the bin of a token's probability under the rollout engine: differences live where it is small.
func probabilityBin(lp float32) string {
	p := math.Exp(float64(lp))
	switch {
	case p < 0.01:
		return "lt_0.01"
	case p < 0.1:
		return "lt_0.1"
	case p < 0.5:
		return "lt_0.5"
	case p < 0.9:
		return "lt_0.9"
	}
	return "ge_0.9"
}
