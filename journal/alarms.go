package journal

import (
	"fmt"
	"math"

	"furlong/metrics/run"
	"furlong/orchestrator"
	"furlong/rl"
)

var nan = float32(math.NaN())

// A watch is something that can look wrong in a cycle.
type watch struct {
	id, severity string
	// look returns what is wrong in words, or "".
	look func(s rl.Stats) string
}

// The alarms of the gap between the engines: the one where they hold the same formats, the other where they don't.
const (
	equalGap   = "gap"
	mixedGap   = "mixed-gap"
	mixedLimit = 0.1 // nats; a BF16 actor of DeepSeek-V4-Flash and FP8 rollout of it differ by 0.09
)

var watches = []watch{
	{equalGap, "error", func(s rl.Stats) string {
		// Where samples are as fresh as the trainer, their logprobs must be the same bits.
		age, known := s["rollout/staleness/max"]
		fresh := known && age == 0 && s["rollout/staleness/steps"] == 0
		if m := s["train/logp_diff/max"]; fresh && m != 0 {
			return fmt.Sprintf("trainer and rollout engine differ by %.3g nats on a token though both hold the same weights: one of them has stale or damaged state", m)
		}
		return ""
	}},
	{mixedGap, "warning", func(s rl.Stats) string {
		if m := s["train/logp_diff/mean"]; m > mixedLimit {
			return fmt.Sprintf("trainer and rollout engine differ by %.3g nats a token on average, want at most %v: more than rounding to their formats explains in a model that was trained for it", m, mixedLimit)
		}
		return ""
	}},
	{"nonfinite", "error", func(s rl.Stats) string {
		if n := s["train/nonfinite_tokens"]; n > 0 {
			return fmt.Sprintf("%.0f tokens have a logprob that is not finite", n)
		}
		return ""
	}},
	{"skipped", "error", func(s rl.Stats) string {
		switch {
		case s["train/skipped_steps"] == 0:
			return ""
		case s["train/samples"] == 0:
			return "the optimizer step was skipped: there was no sample to train on"
		}
		return "the optimizer step was skipped: its loss or gradient was not finite"
	}},
	{"invalid", "warning", func(s rl.Stats) string {
		if share := s["reward/invalid"]; share > 0.05 {
			return fmt.Sprintf("%.0f %% of the samples could not be graded; they do not train", 100*share)
		}
		return ""
	}},
	{"truncated", "warning", func(s rl.Stats) string {
		if share := s["rollout/truncated_ratio"]; share > 0.25 {
			return fmt.Sprintf("%.0f %% of the responses were cut at the length limit", 100*share)
		}
		return ""
	}},
	{"no-signal", "warning", func(s rl.Stats) string {
		if s["rollout/zero_std/ratio"] == 1 {
			return fmt.Sprintf("all members of every group got the same reward (mean %.3g): there is nothing to learn from", s["rollout/raw_reward"])
		}
		return ""
	}},
	{"flat-loss", "warning", func(s rl.Stats) string {
		flat, varies := s["rollout/zero_std/ratio"]
		if norm, known := s["train/grad_norm"]; known && varies && norm == 0 && flat < 1 {
			return "rewards vary and the gradient is 0: nothing is trained"
		}
		return ""
	}},
}

// alarms writes what has begun or ceased to look wrong.
func (j *Journal) alarms(r *orchestrator.Report) error {
	for _, w := range watches {
		if w.id == equalGap && j.Mixed || w.id == mixedGap && !j.Mixed {
			continue
		}
		if err := j.raise(w, r.Cycle, w.look(r.Stats)); err != nil {
			return err
		}
	}
	return nil
}

// raise writes that something has begun to look wrong, in words, or with no words that it has ceased to.
func (j *Journal) raise(w watch, cycle int, text string) error {
	if j.raised == nil {
		j.raised = map[string]bool{}
	}
	if (text != "") == j.raised[w.id] {
		return nil
	}
	j.raised[w.id] = text != ""
	a := run.Alarm{Kind: run.Raised, ID: w.id, Severity: w.severity, Cycle: cycle, Text: text}
	if text == "" {
		a.Kind, a.Text = run.Cleared, "no longer so"
	} else {
		j.Log.Warn("alarm", "id", w.id, "cycle", cycle, "text", text)
	}
	return j.Dir.WriteAlarm(a)
}
