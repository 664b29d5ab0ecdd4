package train

import (
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
	if c.Est.CovRatio != 0 {
		stats["train/clip_cov_frac"] = s.Mean(s.Spared)
	}
	if c.UseKL {
		stats["train/kl_loss"] = s.Mean(s.KL)
	}
}
