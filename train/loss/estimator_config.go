package loss

import (
	"fmt"
	"math"
)

// Estimation says what advantages are made of besides rewards.
type Estimation struct {
	Whiten      bool    `flag:"normalize-advantages" help:"bring the advantages of all tokens of a cycle to mean 0 and variance 1"`
	RewardKL    float64 `flag:"kl-coef" help:"reinforce_plus_plus, reinforce_plus_plus_baseline, rloo, ppo: weight of the KL against the reference policy in the reward; --kl-loss-coef is its weight in the loss, and only one may be set"`
	Gamma       float64 `flag:"gamma" help:"reinforce_plus_plus, ppo: what a reward one token later counts"`
	Lambda      float64 `flag:"lambd" help:"ppo: how much later values count in advantages; 1 trusts the rewards alone, 0 the critic's next value"`
	ValueClip   float64 `flag:"value-clip" help:"ppo: how far the critic's value may move in a cycle before its gradient stops"`
	Distill     bool    `flag:"use-opd" help:"on-policy distillation: take from each token's advantage how much likelier the policy holds it than the teacher of --opd-teacher-load"`
	DistillCoef float64 `flag:"opd-kl-coef" help:"weight of that, per nat"`
	CovRatio    float64 `flag:"clip-cov-ratio" help:"share of a step's tokens that lose their policy term, drawn from those whose advantage and logprob vary together most; 0 is off. With one step a cycle it costs one more forward pass"`
	CovLow      float64 `flag:"clip-cov-lb" help:"tokens are drawn from those with a covariance above this"`
	CovHigh     float64 `flag:"clip-cov-ub" help:"and below this"`
}

func defaultEstimation() Estimation {
	return Estimation{Gamma: 1, Lambda: 1, ValueClip: 0.2, DistillCoef: 1, CovLow: 1, CovHigh: 5}
}

// NeedsReference returns the flag for which there must be a reference policy, or "".
func (c Config) NeedsReference() string {
	switch {
	case c.Type == "sft_loss":
		return ""
	case c.UseKL:
		return "--use-kl-loss"
	case c.Est.RewardKL != 0:
		return "--kl-coef"
	}
	return ""
}

// NeedsOld says whether advantages, or what a step spares, depend on the trainer's logprobs before the first step, so that it must have scored
// the cycle's samples first.
func (c Config) NeedsOld() bool {
	return c.Type != "sft_loss" && (c.Est.RewardKL != 0 || c.Est.Distill || c.Est.CovRatio != 0)
}

// HasCritic says whether there is a critic to train.
func (c Config) HasCritic() bool { return c.Type != "sft_loss" && c.Estimator == PPO }

// grouped says whether an estimator compares a reward with its group's.
func (c Config) grouped() bool { return c.Estimator != Reinforce && c.Estimator != PPO }

// divided says whether an estimator divides by its group's spread, unless told not to.
func (c Config) divided() bool {
	return c.Estimator == GRPO || c.Estimator == GSPO || c.Estimator == CISPO
}

// estimation reports what is wrong with the settings of advantages, and which contradict each other.
func (c Config) estimation(bad func(format string, args ...any), oneOf func(flag, got, allowed string)) {
	e := c.Est
	oneOf("advantage-estimator", c.Estimator, estimators)
	share := func(flag string, v float64) {
		if !(v >= 0 && v <= 1) {
			bad("--%s is %v, want from 0 to 1", flag, v)
		}
	}
	share("gamma", e.Gamma)
	share("lambd", e.Lambda)
	share("clip-cov-ratio", e.CovRatio)
	notNegative := func(flag string, v float64) {
		if !(v >= 0) || math.IsInf(v, 0) {
			bad("--%s is %v, want 0 or more", flag, v)
		}
	}
	notNegative("kl-coef", e.RewardKL)
	notNegative("value-clip", e.ValueClip)
	notNegative("opd-kl-coef", e.DistillCoef)
	if !(e.CovLow < e.CovHigh) {
		bad("--clip-cov-lb is %v and --clip-cov-ub %v, want the first below the second", e.CovLow, e.CovHigh)
	}
	if c.Type == "sft_loss" {
		c.withoutAdvantages(bad)
		return
	}
	c.contradictions(bad)
}

// withoutAdvantages reports what asks for more models than supervised training has.
func (c Config) withoutAdvantages(bad func(format string, args ...any)) {
	if c.Est.RewardKL != 0 {
		bad("--kl-coef is %v with --loss-type sft_loss, which has no rewards: want 0", c.Est.RewardKL)
	}
	if c.Est.Distill {
		bad("--use-opd is given with --loss-type sft_loss, which has no advantages: want it without")
	}
}

func (c Config) contradictions(bad func(format string, args ...any)) {
	e := c.Est
	if e.RewardKL != 0 && c.KLCoef != 0 {
		bad("--kl-coef is %v and --kl-loss-coef %v: the KL goes into the reward or into the loss, want one of them 0", e.RewardKL, c.KLCoef)
	}
	if e.RewardKL != 0 && c.divided() {
		bad("--kl-coef is %v with --advantage-estimator %s, whose advantages are of rewards alone: want --use-kl-loss --kl-loss-coef", e.RewardKL, c.Estimator)
	}
	if (c.Estimator == Reinforce || c.Estimator == Baseline) && !e.Whiten {
		bad("--advantage-estimator %s needs --normalize-advantages: nothing else scales its advantages", c.Estimator)
	}
	if c.NoNormalize && c.Estimator == RLOO {
		bad("--disable-rewards-normalization contradicts --advantage-estimator rloo, which is its baseline: want another estimator, or the baseline")
	}
	if c.EpsClipC != 0 && c.Estimator == CISPO {
		bad("--eps-clip-c is %v with --advantage-estimator cispo, which stops no gradient: want 0", c.EpsClipC)
	}
}

// idleEstimation names the flags of estimators that are not used.
func (c Config) idleEstimation(add func(is bool, why string, flags ...string)) {
	supervised := c.Type == "sft_loss"
	add(supervised, "--loss-type is sft_loss", "normalize-advantages", "kl-coef", "gamma", "lambd", "value-clip", "use-opd", "opd-kl-coef", "clip-cov-ratio", "clip-cov-lb", "clip-cov-ub")
	why := "--advantage-estimator is " + c.Estimator
	add(c.grouped(), why, "gamma")
	add(c.Estimator != PPO, why, "lambd", "value-clip")
	add(!c.grouped(), why+", which compares with no group", "disable-rewards-normalization")
	add(!c.divided(), why+", which divides by no group's spread", "disable-grpo-std-normalization")
	add(!c.Est.Distill, "--use-opd is not given", "opd-kl-coef")
	add(c.Est.CovRatio == 0, "--clip-cov-ratio is 0", "clip-cov-lb", "clip-cov-ub")
}

// Warnings returns what is allowed, and most likely not meant. moves says whether the ratio of new to old policy can be other than 1.
func (c Config) Warnings(moves bool) []string {
	var out []string
	if wide := max(c.EpsClip, c.EpsClipHigh); moves && c.Type != "sft_loss" && c.Estimator == GSPO && wide >= 0.01 {
		out = append(out, fmt.Sprintf("--eps-clip is %v and --eps-clip-high %v: the ratio of a whole response by token moves by thousandths, so this clips nothing; gspo is published with 3e-4 and 4e-4", c.EpsClip, c.EpsClipHigh))
	}
	return out
}
