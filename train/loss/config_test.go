package loss

import (
	"math"
	"strings"
	"testing"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.Type = "ppo" }, `--loss-type is "ppo", want one of: policy_loss sft_loss`},
		{func(c *Config) { c.Estimator = "reinforce" }, `--advantage-estimator is "reinforce", want one of: grpo gspo cispo rloo reinforce_plus_plus reinforce_plus_plus_baseline ppo`},
		{func(c *Config) { c.Est.Gamma = 1.5 }, "--gamma is 1.5, want from 0 to 1"},
		{func(c *Config) { c.Est.Lambda = nan }, "--lambd is NaN, want from 0 to 1"},
		{func(c *Config) { c.Est.CovRatio = -1 }, "--clip-cov-ratio is -1, want from 0 to 1"},
		{func(c *Config) { c.Est.CovLow = 5 }, "--clip-cov-lb is 5 and --clip-cov-ub 5, want the first below the second"},
		{func(c *Config) { c.Est.CovHigh = nan }, "--clip-cov-ub NaN"},
		{func(c *Config) { c.Est.ValueClip = -1 }, "--value-clip is -1, want 0 or more"},
		{func(c *Config) { c.Est.DistillCoef = nan }, "--opd-kl-coef is NaN, want 0 or more"},
		{func(c *Config) { c.Estimator, c.Est.RewardKL = RLOO, math.Inf(1) }, "--kl-coef is +Inf, want 0 or more"},
		{func(c *Config) { c.Est.RewardKL = 0.1 }, "--kl-coef is 0.1 with --advantage-estimator grpo, whose advantages are of rewards alone: want --use-kl-loss"},
		{func(c *Config) { c.Estimator, c.Est.RewardKL, c.UseKL, c.KLCoef = RLOO, .1, true, .2 }, "--kl-coef is 0.1 and --kl-loss-coef 0.2"},
		{func(c *Config) { c.Estimator = Reinforce }, "--advantage-estimator reinforce_plus_plus needs --normalize-advantages"},
		{func(c *Config) { c.Estimator = Baseline }, "--advantage-estimator reinforce_plus_plus_baseline needs --normalize-advantages"},
		{func(c *Config) { c.Estimator, c.NoNormalize = RLOO, true }, "--disable-rewards-normalization contradicts --advantage-estimator rloo"},
		{func(c *Config) { c.Estimator, c.EpsClipC = CISPO, 3 }, "--eps-clip-c is 3 with --advantage-estimator cispo"},
		{func(c *Config) { c.Type, c.Est.Distill = "sft_loss", true }, "--use-opd is given with --loss-type sft_loss"},
		{func(c *Config) { c.Type, c.Est.RewardKL = "sft_loss", 1 }, "--kl-coef is 1 with --loss-type sft_loss"},
		{func(c *Config) { c.KLType = "k4" }, `--kl-loss-type is "k4", want one of: k1 k2 k3 low_var_kl`},
		{func(c *Config) { c.Agg = "mean" }, `--loss-agg is "mean", want one of: traj-mean token-mean`},
		{func(c *Config) { c.EpsClip = 1 }, "--eps-clip is 1, want from 0 up to, not including, 1"},
		{func(c *Config) { c.EpsClip = nan }, "--eps-clip is NaN"},
		{func(c *Config) { c.EpsClipHigh = -.1 }, "--eps-clip-high is -0.1, want 0 or more"},
		{func(c *Config) { c.EpsClipHigh = nan }, "--eps-clip-high is NaN"},
		{func(c *Config) { c.EpsClipC = 1 }, "--eps-clip-c is 1, want 0 (off) or more than 1"},
		{func(c *Config) { c.EpsClipC = nan }, "--eps-clip-c is NaN"},
		{func(c *Config) { c.Entropy = nan }, "--entropy-coef is NaN"},
		{func(c *Config) { c.KLCoef = 0.1 }, "--kl-loss-coef is 0.1 without --use-kl-loss"},
		{func(c *Config) { c.UseKL, c.KLCoef = true, -1 }, "--kl-loss-coef is -1, want 0 or more"},
		{func(c *Config) { c.UseKL, c.KLCoef = true, nan }, "--kl-loss-coef is NaN"},
		{func(c *Config) { c.TISLow = 3 }, "--tis-clip-low is 3 and --tis-clip 2, want 0 <= low <= high"},
		{func(c *Config) { c.TISClip = 0 }, "--tis-clip-low is 0 and --tis-clip 0, want 0 <= low <= high and high above 0"},
		{func(c *Config) { c.TISClip = nan }, "--tis-clip NaN"},
		{func(c *Config) { c.PerToken, c.Agg = true, SeqSum }, "--calculate-per-token-loss contradicts --loss-agg seq-mean-token-sum"},
		{func(c *Config) { c.Type, c.UseKL = "sft_loss", true }, "--loss-type sft_loss has neither KL nor entropy: --use-kl-loss is true"},
		{func(c *Config) { c.Type, c.Entropy = "sft_loss", 1 }, "--entropy-coef 1, want false and 0"},
	} {
		c := Default()
		tt.spoil(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("one fault makes several complaints:\n%v", err)
		}
	}
}

// Everything that is wrong comes at once, also from the zero value.
func TestValidateReportsAll(t *testing.T) {
	c := Config{Est: Estimation{Gamma: -1, Lambda: 2, ValueClip: -1, RewardKL: -1, DistillCoef: -1, CovRatio: 2}, EpsClip: -1, EpsClipHigh: -1, EpsClipC: .5, KLCoef: 1, PerToken: true, Agg: "sum"}
	err := c.Validate()
	for _, flag := range []string{
		"--loss-type", "--advantage-estimator", "--kl-loss-type", "--loss-agg is", "--eps-clip is", "--eps-clip-high", "--eps-clip-c",
		"--kl-loss-coef", "--tis-clip", "--calculate-per-token-loss", "--gamma", "--lambd", "--value-clip", "--kl-coef is", "--opd-kl-coef", "--clip-cov-ratio", "--clip-cov-lb",
	} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("nothing is said about %s: %v", flag, err)
		}
	}
}

// What an estimator does not use is named, with the reason; what it uses is not.
func TestIdleEstimators(t *testing.T) {
	for _, tt := range []struct {
		estimator  string
		idle, used []string
	}{
		{GRPO, []string{"gamma", "lambd", "value-clip", "opd-kl-coef", "clip-cov-lb", "clip-cov-ub"}, []string{"disable-grpo-std-normalization", "disable-rewards-normalization"}},
		{CISPO, []string{"gamma", "lambd"}, []string{"disable-grpo-std-normalization"}},
		{RLOO, []string{"gamma", "disable-grpo-std-normalization"}, []string{"kl-coef"}},
		{Reinforce, []string{"lambd", "disable-rewards-normalization", "disable-grpo-std-normalization"}, []string{"gamma"}},
		{Baseline, []string{"gamma", "disable-grpo-std-normalization"}, []string{"disable-rewards-normalization"}},
		{PPO, []string{"disable-rewards-normalization", "disable-grpo-std-normalization"}, []string{"gamma", "lambd", "value-clip"}},
	} {
		c := Default()
		c.Estimator = tt.estimator
		idle := c.Idle()
		for _, f := range tt.idle {
			if idle[f] == "" {
				t.Errorf("%s: --%s is not named", tt.estimator, f)
			}
		}
		for _, f := range tt.used {
			if idle[f] != "" {
				t.Errorf("%s: --%s is said to change nothing: %s", tt.estimator, f, idle[f])
			}
		}
	}
	c := Default()
	c.Estimator, c.Est.RewardKL, c.Est.Distill, c.Est.CovRatio = RLOO, 0.1, true, 0.1
	if idle := c.Idle(); idle["kl-loss-type"] != "" || idle["use-unbiased-kl"] == "" || idle["opd-kl-coef"] != "" || idle["clip-cov-lb"] != "" {
		t.Errorf("idle flags are %v", idle)
	}
}

// Clips that are right for tokens are far too wide for whole responses; where the ratio is 1 none matters.
func TestWarnsOfWideClips(t *testing.T) {
	narrow, wide, tokens := Default(), Default(), Default()
	narrow.Estimator, narrow.EpsClip, narrow.EpsClipHigh = GSPO, 3e-4, 4e-4
	wide.Estimator = GSPO
	for _, tt := range []struct {
		c     Config
		moves bool
		want  int
	}{{narrow, true, 0}, {wide, true, 1}, {wide, false, 0}, {tokens, true, 0}} {
		if got := tt.c.Warnings(tt.moves); len(got) != tt.want {
			t.Errorf("%s with clips %v and %v, moves %v: warnings %q, want %d", tt.c.Estimator, tt.c.EpsClip, tt.c.EpsClipHigh, tt.moves, got, tt.want)
		}
	}
}
