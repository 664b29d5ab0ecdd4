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
		{func(c *Config) { c.Estimator = "gspo" }, `--advantage-estimator is "gspo", want one of: grpo`},
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
	c := Config{EpsClip: -1, EpsClipHigh: -1, EpsClipC: .5, KLCoef: 1, PerToken: true, Agg: "sum"}
	err := c.Validate()
	for _, flag := range []string{
		"--loss-type", "--advantage-estimator", "--kl-loss-type", "--loss-agg is", "--eps-clip is", "--eps-clip-high", "--eps-clip-c",
		"--kl-loss-coef", "--tis-clip", "--calculate-per-token-loss",
	} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("nothing is said about %s: %v", flag, err)
		}
	}
}
