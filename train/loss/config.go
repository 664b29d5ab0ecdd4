package loss

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config says which loss is trained.
type Config struct {
	Type string `flag:"loss-type" help:"policy_loss, or sft_loss (maximum likelihood of the responses)"`

	Estimator   string  `flag:"advantage-estimator" help:"where advantages come from: grpo (reward against its group, over the group's spread), gspo (the same, with the ratio of the whole response), cispo (the same, with the ratio as a bounded weight), rloo (reward against the mean of its group's others), reinforce_plus_plus (sum of rewards to come), reinforce_plus_plus_baseline (reward against its group's mean), ppo (a critic)"`
	NoStd       bool    `flag:"disable-grpo-std-normalization" help:"do not divide a group's advantages by their standard deviation"`
	NoNormalize bool    `flag:"disable-rewards-normalization" help:"use raw rewards as advantages"`
	EpsClip     float64 `flag:"eps-clip" help:"how far the ratio may fall below 1 before its gradient stops"`
	EpsClipHigh float64 `flag:"eps-clip-high" help:"how far the ratio may rise above 1 before its gradient stops"`
	EpsClipC    float64 `flag:"eps-clip-c" help:"dual clip: bound of the loss for negative advantages, above 1; 0 is off"`
	Entropy     float64 `flag:"entropy-coef" help:"reward for entropy, per nat"`
	Est         Estimation

	UseKL    bool    `flag:"use-kl-loss" help:"measure the KL against the reference policy, and add it to the loss times --kl-loss-coef"`
	KLCoef   float64 `flag:"kl-loss-coef" help:"weight of the KL in the loss"`
	KLType   string  `flag:"kl-loss-type" help:"estimator: k1, k2, k3, low_var_kl"`
	Unbiased bool    `flag:"use-unbiased-kl" help:"weigh the KL by the ratio of new to old policy"`

	IS         string  `flag:"is-correction" help:"what is done about samples coming from the rollout engine's policy: none, tis (capped weight of each token), icepop (no policy term outside the caps), mis (as --tis-level, --tis-mode and --use-rs say), auto (tis, or none with --no-use-tis)"`
	UseTIS     bool    `flag:"use-tis" help:"weigh each token by the trainer's probability over the rollout engine's, capped"`
	TISClip    float64 `flag:"tis-clip" help:"tis, icepop: upper cap of that weight"`
	TISLow     float64 `flag:"tis-clip-low" help:"tis, icepop: lower cap of that weight"`
	MIS        MIS
	UseRollout bool    `flag:"use-rollout-logprobs" help:"compare the step's policy with the rollout engine's logprobs instead of the trainer's; the gap is measured all the same"`
	Measure    bool    `flag:"get-mismatch-metrics" help:"log what --is-correction mis would do, without doing it"`
	UseOPSM    bool    `flag:"use-opsm" help:"no policy term for wrong answers whose tokens have become too unlikely since they were sampled"`
	OPSMDelta  float64 `flag:"opsm-delta" help:"how much less likely, in nats a token, that is"`

	Agg      string `flag:"loss-agg" help:"traj-mean, token-mean, seq-mean-token-sum, seq-mean-token-mean, seq-mean-token-sum-norm"`
	PerToken bool   `flag:"calculate-per-token-loss" help:"same as --loss-agg token-mean"`
}

// Default returns GRPO with the asymmetric clip and the importance cap.
func Default() Config {
	return Config{
		Type: "policy_loss", Estimator: GRPO, Est: defaultEstimation(), EpsClip: 0.2, EpsClipHigh: 0.28, KLType: "low_var_kl",
		IS: "auto", UseTIS: true, TISClip: 2, MIS: defaultMIS(), OPSMDelta: 1e-4, Agg: TrajMean,
	}
}

// Silent says whether a sample of these advantages has no gradient, whatever the policy says of it: there is nothing in the loss but the policy term, and that is a
// multiple of the advantage. tokens are the advantages of its tokens, nil where all have advantage.
func (c Config) Silent(advantage float64, tokens []float64) bool {
	if c.Type != "policy_loss" || c.Entropy != 0 || c.UseKL && c.KLCoef != 0 {
		return false
	}
	if tokens == nil {
		return advantage == 0
	}
	return !slices.ContainsFunc(tokens, func(a float64) bool { return a != 0 })
}

// The ways to weigh tokens.
const (
	TrajMean    = "traj-mean"               // mean over samples of the mean over tokens
	TokenMean   = "token-mean"              // mean over all tokens of the batch
	SeqSum      = "seq-mean-token-sum"      // mean over samples of the sum over tokens
	SeqMean     = "seq-mean-token-mean"     // as traj-mean
	SeqSumNorm  = "seq-mean-token-sum-norm" // as seq-mean-token-sum, over the longest response allowed
	klTypes     = "k1 k2 k3 low_var_kl"
	corrections = "auto none tis icepop mis"
	aggregators = TrajMean + " " + TokenMean + " " + SeqSum + " " + SeqMean + " " + SeqSumNorm
)

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	oneOf := func(flag, got, allowed string) {
		if !slices.Contains(strings.Fields(allowed), got) {
			bad("--%s is %q, want one of: %s", flag, got, allowed)
		}
	}
	oneOf("loss-type", c.Type, "policy_loss sft_loss")
	oneOf("kl-loss-type", c.KLType, klTypes)
	oneOf("loss-agg", c.Agg, aggregators)
	oneOf("is-correction", c.IS, corrections)
	// Conditions say what is right, so that a NaN is wrong.
	if !(c.EpsClip >= 0 && c.EpsClip < 1) {
		bad("--eps-clip is %v, want from 0 up to, not including, 1", c.EpsClip)
	}
	if !(c.EpsClipHigh >= 0) {
		bad("--eps-clip-high is %v, want 0 or more", c.EpsClipHigh)
	}
	if !(c.EpsClipC == 0 || c.EpsClipC > 1) {
		bad("--eps-clip-c is %v, want 0 (off) or more than 1", c.EpsClipC)
	}
	if !finite(c.Entropy) {
		bad("--entropy-coef is %v, want a number", c.Entropy)
	}
	if !(c.KLCoef >= 0) || math.IsInf(c.KLCoef, 0) {
		bad("--kl-loss-coef is %v, want 0 or more", c.KLCoef)
	}
	if c.KLCoef != 0 && !c.UseKL {
		bad("--kl-loss-coef is %v without --use-kl-loss: set both or neither", c.KLCoef)
	}
	if !(c.TISLow >= 0 && c.TISClip >= c.TISLow && c.TISClip > 0) {
		bad("--tis-clip-low is %v and --tis-clip %v, want 0 <= low <= high and high above 0", c.TISLow, c.TISClip)
	}
	c.estimation(bad, oneOf)
	c.corrections(bad, oneOf)
	if c.Type == "sft_loss" && (c.UseKL || c.Entropy != 0) {
		bad("--loss-type sft_loss has neither KL nor entropy: --use-kl-loss is %v and --entropy-coef %v, want false and 0", c.UseKL, c.Entropy)
	}
	if c.PerToken && c.Agg != TokenMean && c.Agg != TrajMean {
		bad("--calculate-per-token-loss contradicts --loss-agg %s", c.Agg)
	}
	return errors.Join(errs...)
}

// Idle returns the flags that change nothing as c stands, and why.
func (c Config) Idle() map[string]string {
	idle := map[string]string{}
	add := func(is bool, why string, flags ...string) {
		for _, f := range flags {
			if is && idle[f] == "" {
				idle[f] = why
			}
		}
	}
	add(c.Type == "sft_loss", "--loss-type is sft_loss", "advantage-estimator", "disable-grpo-std-normalization", "disable-rewards-normalization",
		"eps-clip", "eps-clip-high", "eps-clip-c", "kl-loss-type", "use-unbiased-kl")
	add(c.Type == "sft_loss", "--loss-type is sft_loss", correctionFlags...)
	add(c.NoNormalize, "--disable-rewards-normalization is given", "disable-grpo-std-normalization")
	c.idleEstimation(add)
	add(!c.UseKL && c.Est.RewardKL == 0, "--use-kl-loss is not given", "kl-loss-type")
	add(!c.UseKL, "--use-kl-loss is not given", "use-unbiased-kl")
	add(!c.UseKL && c.KLCoef == 0, "--use-kl-loss is not given", "kl-loss-coef") // any other weight is a contradiction, which Validate reports
	c.idleCorrections(add)
	add(c.PerToken && c.Agg == TrajMean, "--calculate-per-token-loss is given", "loss-agg")
	return idle
}

// agg returns the aggregation asked for, by either flag.
func (c Config) agg() string {
	if c.PerToken {
		return TokenMean
	}
	return c.Agg
}
