package loss

import (
	"math"
	"slices"
)

var (
	tisFlags = []string{"tis-clip", "tis-clip-low"}
	misFlags = []string{
		"tis-level", "tis-mode", "tis-upper-bound", "tis-lower-bound", "tis-batch-normalize",
		"use-rs", "rs-level", "rs-upper-bound", "rs-lower-bound", "rs-veto-threshold",
	}
	correctionFlags = slices.Concat([]string{"is-correction", "use-tis"}, tisFlags, misFlags,
		[]string{"use-rollout-logprobs", "get-mismatch-metrics", "use-opsm", "opsm-delta"})
)

// corrections reports what is wrong with the settings of train-against-rollout corrections, and which contradict each other.
func (c Config) corrections(bad func(format string, args ...any), oneOf func(flag, got, allowed string)) {
	c.MIS.validate(bad, oneOf)
	if !(c.OPSMDelta >= 0) || math.IsInf(c.OPSMDelta, 0) {
		bad("--opsm-delta is %v, want 0 or more", c.OPSMDelta)
	}
	m := c.Method()
	if m != "none" && m == c.IS && !c.UseTIS {
		bad("--is-correction %s contradicts --no-use-tis: want --use-tis with it, or --is-correction none", m)
	}
	if m == "icepop" && !(c.TISLow <= 1 && c.TISClip >= 1) {
		bad("--is-correction icepop masks what is outside --tis-clip-low %v and --tis-clip %v, want 1, the ratio on policy, between them", c.TISLow, c.TISClip)
	}
	if m != "none" && c.UseRollout {
		bad("--use-rollout-logprobs contradicts correction %s: there is nothing left to correct, want --is-correction none with it", m)
	}
}

// idleCorrections names the flags of corrections that are not made.
func (c Config) idleCorrections(add func(is bool, why string, flags ...string)) {
	m := c.Method()
	why := "--is-correction is " + m
	switch {
	case m == "none" && !c.UseTIS:
		why = "--use-tis is off"
	case m == "tis" && m != c.IS:
		why = "the correction is tis: --is-correction is auto"
	}
	add(m == c.IS && c.UseTIS, why, "use-tis")
	add(m == "none" || m == "mis", why, tisFlags...)
	add(m != "mis" && !c.Measure, why, misFlags...)
	add(m == "mis", "--is-correction mis logs them anyway", "get-mismatch-metrics")
	add(!c.UseOPSM, "--use-opsm is not given", "opsm-delta")
	c.MIS.idle(add)
}
