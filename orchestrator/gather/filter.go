package gather

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"furlong/rl"
)

// A filterKind is what a dynamic sampling filter looks at.
type filterKind uint8

const (
	everything filterKind = iota
	nonzeroStd
	noAborted
	passRate
)

// A filter decides which groups train.
type filter struct {
	kind   filterKind
	lo, hi float64 // of passRate
}

// parseFilter reads a filter's name. Names of Python functions count by their last part.
func parseFilter(name string) (filter, error) {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case name == "" || name == "none":
		return filter{}, nil
	case strings.HasPrefix(name, "pass-rate:"):
		return parsePassRate(name)
	case last == "check_reward_nonzero_std":
		return filter{kind: nonzeroStd}, nil
	case last == "check_no_aborted":
		return filter{kind: noAborted}, nil
	}
	return filter{}, fmt.Errorf("--dynamic-sampling-filter-path is %q, want check_reward_nonzero_std, check_no_aborted, pass-rate:LO-HI or none", name)
}

func parsePassRate(name string) (filter, error) {
	from, to, ok := strings.Cut(strings.TrimPrefix(name, "pass-rate:"), "-")
	lo, e1 := strconv.ParseFloat(from, 64)
	hi, e2 := strconv.ParseFloat(to, 64)
	if !ok || e1 != nil || e2 != nil || !(lo >= 0 && hi <= 1 && lo <= hi) {
		return filter{}, fmt.Errorf("--dynamic-sampling-filter-path is %q, want pass-rate:LO-HI with 0 <= LO <= HI <= 1", name)
	}
	return filter{passRate, lo, hi}, nil
}

// reject returns why a group does not train, "" if it does. Samples without a verdict say nothing about it.
func (f filter) reject(group []*rl.Sample) string {
	judged := judged(group)
	switch {
	case f.kind == noAborted:
		for _, s := range group {
			if s.Stop == rl.StopAbort {
				return "group_has_aborted"
			}
		}
	case f.kind == everything:
	case len(judged) == 0:
		return "no_verdict"
	case f.kind == nonzeroStd && !(deviation(judged) > 1e-8):
		return fmt.Sprintf("zero_std_%.1f", judged[0].Reward)
	case f.kind == passRate:
		switch p := rate(judged); {
		case p < f.lo:
			return "pass_rate_low"
		case p > f.hi:
			return "pass_rate_high"
		}
	}
	return ""
}

func judged(group []*rl.Sample) (out []*rl.Sample) {
	for _, s := range group {
		if s.Verdict == rl.Right || s.Verdict == rl.Wrong {
			out = append(out, s)
		}
	}
	return out
}

// rate returns the share of right answers.
func rate(judged []*rl.Sample) float64 {
	right := 0
	for _, s := range judged {
		if s.Verdict == rl.Right {
			right++
		}
	}
	return float64(right) / float64(max(1, len(judged)))
}

// deviation returns the sample standard deviation of rewards, 0 for less than two.
func deviation(judged []*rl.Sample) float64 {
	if len(judged) < 2 {
		return 0
	}
	mean, sum := 0.0, 0.0
	for _, s := range judged {
		mean += s.Reward / float64(len(judged))
	}
	for _, s := range judged {
		sum += (s.Reward - mean) * (s.Reward - mean)
	}
	return math.Sqrt(sum / float64(len(judged)-1))
}
