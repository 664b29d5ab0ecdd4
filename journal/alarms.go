package journal

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"furlong/metrics"
	"furlong/metrics/disk"
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
		if m := s["train/logp_diff/max"]; fresh(s) && m != 0 {
			return fmt.Sprintf("trainer and rollout engine differ by %.3g nats on a token though both hold the same weights", m)
		}
		return ""
	}},
	{mixedGap, "warning", func(s rl.Stats) string {
		if m := s["train/logp_diff/mean"]; m > mixedLimit {
			return fmt.Sprintf("trainer and rollout engine differ by %.3g nats a token on average, want at most %v: more than rounding to their formats explains in a model that was trained for it", m, mixedLimit)
		}
		return ""
	}},
	{"nonfinite", "error", nonfinite},
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

// nonfinite says whose logprobs are no numbers, and what that points to.
func nonfinite(s rl.Stats) string {
	n := s["train/nonfinite_tokens"]
	if n <= 0 {
		return ""
	}
	text := []string{fmt.Sprintf("%.0f tokens have a logprob that is not finite", n)}
	for _, of := range []struct{ who, points string }{
		{"rollout", "the rollout engine says so: its weights or its attention state overflow or are damaged; furlong parity --self rollout shows which"},
		{"trainer", "the trainer says so: a step has gone too far (see train/grad_norm of the cycles before) or its state is damaged; go on from a checkpoint with a smaller --lr"},
		{"reference", "the reference says so, which does not change in a run: it is damaged or is no model of these tokens; furlong inspect --compare reads it again"},
	} {
		if k := s["train/nonfinite_tokens/"+of.who]; k > 0 {
			text = append(text, fmt.Sprintf("of %.0f %s", k, of.points))
		}
	}
	return strings.Join(text, "; ")
}

// The alarms of what the gap does from cycle to cycle.
var (
	gapDrift = watch{id: "gap-drift", severity: "warning"}
	gapJump  = watch{id: "gap-jump", severity: "warning"}
)

// alarms writes what has begun or ceased to look wrong.
func (j *Journal) alarms(r *orchestrator.Report) error {
	why := sync.OnceValue(func() string { return j.cause(r) })
	for _, w := range watches {
		if w.id == equalGap && j.Mixed || w.id == mixedGap && !j.Mixed {
			continue
		}
		ask := why
		if w.id != equalGap && w.id != mixedGap {
			ask = nil
		}
		if err := j.raise(w, r.Cycle, w.look(r.Stats), ask); err != nil {
			return err
		}
	}
	drift, jump := j.gap().see(r.Stats)
	if !j.Mixed && fresh(r.Stats) {
		drift, jump = "", "" // any gap at all is the alarm of equal formats
	}
	return errors.Join(j.raise(gapDrift, r.Cycle, drift, why), j.raise(gapJump, r.Cycle, jump, why))
}

func (j *Journal) gap() *gapWatch {
	if j.watched == nil {
		j.watched = newGapWatch()
	}
	return j.watched
}

// raise writes that something has begun to look wrong, in words, or with no words that it has ceased to. why, if there is one, is asked for the cause of what
// begins.
func (j *Journal) raise(w watch, cycle int, text string, why func() string) error {
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
		return j.Dir.WriteAlarm(a)
	}
	if why != nil {
		if cause := why(); cause != "" {
			a.Text += ". " + cause
		}
	}
	j.Log.Warn("alarm", "id", w.id, "cycle", cycle, "text", a.Text)
	return j.Dir.WriteAlarm(a)
}

// Recall brings the journal to where it was after a cycle of an earlier start of the run: what the gap had done by then, and which alarms stood. A run
// that goes on neither forgets its level nor tells again what it has told.
func (j *Journal) Recall(cycle int) error {
	rows, _, err := metrics.ReadRows(filepath.Join(j.Dir.Path(), run.RowsFile))
	if err != nil {
		return err
	}
	rows, _ = metrics.Merge(rows)
	for _, r := range rows {
		if r.Kind == metrics.Cycle && r.Cycle <= cycle {
			j.gap().see(r.Values)
		}
	}
	told, _, err := disk.ReadLines(filepath.Join(j.Dir.Path(), run.AlarmsFile), run.ParseAlarm)
	j.raised = map[string]bool{}
	for _, a := range told {
		if a.Cycle <= cycle {
			j.raised[a.ID] = a.Kind == run.Raised
		}
	}
	return err
}
