package store

// Series that answers are made from by name. Everything else of a row is shown as it is.
const (
	stepTime    = "perf/step_time"
	updateTime  = "perf/update_weights_time"
	retries     = "update/retries"
	refused     = "update/refused"
	attested    = "update/attested"
	skipped     = "train/skipped_steps"
	rewardKey   = "rollout/raw_reward"
	lossKey     = "train/loss"
	gapMean     = "train/logp_diff/mean"
	entropyKey  = "rollout/entropy"
	truncKey    = "rollout/truncated"
	truncAllKey = "rollout/truncated_ratio"
	lenKey      = "rollout/response_len/mean"
	invalidKey  = "reward/invalid"
	repeatKey   = "rollout/repetition_frac"
	garbledKey  = "rollout/garbled_frac"
)
