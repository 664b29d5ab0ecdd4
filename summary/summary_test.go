package summary

import (
	"math"
	"strings"
	"testing"

	"furlong/metrics"
)

func rows(rewards ...float64) []metrics.Row {
	var out []metrics.Row
	for i, r := range rewards {
		out = append(out, metrics.Row{Kind: metrics.Cycle, Cycle: i + 1, Attempt: 1, Values: map[string]float64{
			"rollout/raw_reward": r, "perf/step_time": 2, "perf/train_time": 1.5, "train/tokens": float64(10 * (i + 1)),
			"train/logp_diff/mean": 0.1, "train/logp_diff/max": r,
		}})
	}
	return out
}

func TestOf(t *testing.T) {
	s := Of(rows(0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
	if s.Cycles != 6 || s.Seconds != 12 || s.Phases["train"] != 9 {
		t.Errorf("got %+v, want 6 cycles, 12 s, 9 s of training", s)
	}
	r := s.Reward
	if math.Abs(r.FirstThird-0.15) > 1e-12 || math.Abs(r.LastThird-0.55) > 1e-12 || math.Abs(r.Slope-0.1) > 1e-12 {
		t.Errorf("reward %+v, want 0.15, 0.55, slope 0.1", r)
	}
	if math.Abs(s.Gap.MeanAbs-0.1) > 1e-12 || s.Gap.MaxAbs != 0.6 {
		t.Errorf("gap %+v, want 0.1 and 0.6", s.Gap)
	}
}

// A cycle that a resumed run wrote again counts once, as the later attempt has it.
func TestRepeatedCycles(t *testing.T) {
	all := rows(0, 0, 0)
	again := rows(0, 0, 0.9)[2]
	again.Attempt = 2
	s := Of(append(all, again))
	if s.Cycles != 3 || s.Reward.LastThird != 0.9 {
		t.Errorf("got %d cycles, last third %v, want 3 and 0.9", s.Cycles, s.Reward.LastThird)
	}
}

func TestPrint(t *testing.T) {
	s := Of(rows(0.5))
	s.Eval = &Eval{Before: map[string]float64{"pass@1": 0.3}, After: map[string]float64{"pass@1": 0.6, "truncated_ratio": 0.01},
		Diff: map[string]any{"pass@1": 0.3, "pass@1_ci95": [2]float64{0.2, 0.4}}}
	var b strings.Builder
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"difference +0.300 [+0.200, +0.400]", "1 in 2 s", "held-out truncated", "0.010 after"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("table has no %q:\n%s", want, &b)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	if s := Of(nil); s.Cycles != 0 || s.Reward != nil || s.Gap != nil {
		t.Errorf("no rows give %+v", s)
	}
}
