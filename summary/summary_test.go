package summary

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
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

// What comes after the last cycle counts too: a run of one cycle saves once, and that is not in its row.
func TestRest(t *testing.T) {
	s := Of(rows(0.1, 0.2))
	s.AddRest(map[string]float64{"perf/save_model_time": 3, "perf/eval_time": 0.5, "perf/wait_time": 100})
	if s.Seconds != 7.5 || s.Phases["save"] != 3 || s.Phases["eval"] != 0.5 || s.Phases["train"] != 3 {
		t.Errorf("got %v s, phases %v, want 7.5 s, of which save 3, eval 0.5, train 3", s.Seconds, s.Phases)
	}
}

func TestPrint(t *testing.T) {
	s := Of(rows(0.5))
	s.Eval = &Eval{
		Before: map[string]float64{"pass@1": 0.3}, After: map[string]float64{"pass@1": 0.6, "truncated_ratio": 0.01},
		Diff: map[string]any{"pass@1": 0.3, "pass@1_ci95": [2]float64{0.2, 0.4}},
	}
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

// A token that one engine holds for impossible, or a step that was skipped for a NaN, must not cost the run its closing table.
func TestGapsThatAreNoNumber(t *testing.T) {
	all := rows(0.5, 0.5, 0.5, 0.5)
	all[1].Values["train/logp_diff/mean"] = math.Inf(1)
	all[1].Values["train/logp_diff/max"] = math.Inf(1)
	all[2].Values["train/logp_diff/mean"] = math.NaN()
	all[3].Values = map[string]float64{"train/skipped_steps": 1, "reward/invalid_samples": 8} // nothing to train on
	s := Of(all)
	if g := *s.Gap; g.NotFinite != 2 || math.Abs(g.MeanAbs-0.1) > 1e-12 || g.MaxAbs != 0.5 {
		t.Errorf("gap is %+v, want 0.1 and 0.5 without 2 cycles", g)
	}
	if s.Cycles != 4 || s.Skipped != 1 || s.Invalid != 8 {
		t.Errorf("%d cycles, %v skipped, %v invalid, want 4, 1, 8", s.Cycles, s.Skipped, s.Invalid)
	}
	raw, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(raw), `"cycles_not_finite":2`) {
		t.Errorf("as JSON: %s, %v, want 2 cycles that are not finite", raw, err)
	}
	var b strings.Builder
	if err := s.Print(&b); err != nil || !strings.Contains(b.String(), "0.5 largest, without 2 cycles in which it is no number\n") {
		t.Errorf("table, with %v, does not say what is left out:\n%s", err, &b)
	}
}

// The mean is over tokens, so a long cycle counts more than a short one.
func TestGapIsAMeanOverTokens(t *testing.T) {
	all := rows(0, 0)
	all[0].Values["train/tokens"], all[1].Values["train/tokens"] = 10, 30
	all[1].Values["train/logp_diff/mean"] = 0.5
	if g := Of(all).Gap; math.Abs(g.MeanAbs-0.4) > 1e-12 {
		t.Errorf("gap is %v, want 0.4", g.MeanAbs)
	}
}

// Few cycles have thirds too, and evaluation rows are no cycles.
func TestShortRuns(t *testing.T) {
	for n, want := range map[int]Reward{1: {1, 1, 0}, 2: {1, 2, 1}, 3: {1, 3, 1}, 5: {1, 5, 1}} {
		var rewards []float64
		for i := range n {
			rewards = append(rewards, float64(i+1))
		}
		all := append(rows(rewards...), metrics.Row{Kind: metrics.Eval, Attempt: 1, Values: map[string]float64{"rollout/raw_reward": 9}})
		if s := Of(all); *s.Reward != want || s.Cycles != n {
			t.Errorf("%d cycles: %+v over %d, want %+v", n, *s.Reward, s.Cycles, want)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	if s := Of(nil); s.Cycles != 0 || s.Reward != nil || s.Gap != nil {
		t.Errorf("no rows give %+v", s)
	}
}

func ExampleSummary_Print() {
	s := Summary{Cycles: 300, Seconds: 1250, Reward: &Reward{0.31, 0.78, 0.002}, Gap: &Gap{MeanAbs: 0.0123, MaxAbs: 1.5}, Skipped: 1, Invalid: 2}
	if err := s.Print(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// cycles                          300 in 1250 s
	// training reward                 0.310 first third, 0.780 last third, slope +0.00200 a cycle
	// gap of trainer and rollout      0.0123 nats mean, 1.5 largest
	// skipped steps, invalid samples  1, 2
}
