package orchestrator

import (
	"time"

	"furlong/orchestrator/gather"
	"furlong/rl"
)

// timeSplit writes where the trainer's time went: the parts add up to the whole.
func timeSplit(stats, times rl.Stats, whole float64) {
	wait := times["wait"]
	stats["perf/step_time"] = whole
	stats["perf/train_wait_time"], stats["perf/wait_time_ratio"] = wait, wait/max(whole, 1e-9)
	stats["perf/reward_wait_time"] = min(wait, stats["perf/reward_time"])
	stats["perf/rollout_wait_time"] = wait - stats["perf/reward_wait_time"]
	stats["perf/train_time"], stats["perf/actor_train_time"] = times["train"], times["train"]
	other := whole - wait
	for _, part := range []string{"train", "update_weights", "eval", "save_model"} {
		stats["perf/"+part+"_time"] = times[part]
		other -= times[part]
	}
	stats["perf/other_time"] = max(0, other)
	if times["train"] > 0 {
		stats["perf/actor_train_tok_per_s"] = (stats["rollout/tokens"] + stats["rollout/prompt_tokens"]) / times["train"]
	}
}

// timers name what a step's seconds are booked under.
var timers = map[Kind]string{Push: "update_weights", Await: "wait", Sync: "wait", Train: "train", Save: "save_model", Eval: "eval", Examine: "eval", Park: "wait"}

// spent books the time of a step.
func (l *Loop) spent(k Kind, t0, t1 time.Time) {
	name, ok := timers[k]
	if ok {
		l.times[name] += t1.Sub(t0).Seconds()
	}
	if ok && name != "wait" {
		l.work = append(l.work, gather.Interval{From: t0, To: t1})
	}
}

// overlapped writes when the rollout engine was at work in a cycle: the figures, and where samples are drawn all the while, the spans.
func (l *Loop) overlapped(cycle gather.Interval) error {
	drawn := l.gather.Busy(cycle.To)
	seconds := overlap(l.report.Stats, drawn, l.work, cycle)
	l.work = nil
	if l.Config.Loop != FullyAsync {
		return nil
	}
	l.report.Stats["perf/rollout_time"] = seconds
	if seconds > 0 {
		l.report.Stats["perf/tokens_per_gpu_per_sec"] = l.report.Stats["rollout/tokens"] / seconds
	}
	for _, d := range drawn {
		if err := l.Watch.Span(l.report.Cycle, "rollout", "generate", d.From, d.To, l.version); err != nil {
			return err
		}
	}
	return nil
}

// overlap writes how much of the cycle the two engines were at work at once, and how much of it either stood still. It returns the seconds in which samples
// were drawn.
func overlap(stats rl.Stats, rollout, trainer []gather.Interval, cycle gather.Interval) (drawn float64) {
	worked, both := 0.0, 0.0
	for _, r := range rollout {
		drawn += shared(r, cycle)
		for _, t := range trainer {
			both += shared(gather.Interval{From: later(r.From, t.From), To: earlier(r.To, t.To)}, cycle)
		}
	}
	for _, t := range trainer {
		worked += shared(t, cycle)
	}
	whole := max(cycle.To.Sub(cycle.From).Seconds(), 1e-9)
	stats["perf/overlap_ratio"] = both / max(drawn, 1e-9)
	stats["perf/bubble_ratio"] = max(0, 1-(drawn+worked)/(2*whole))
	return drawn
}

// shared returns how many seconds two intervals have in common.
func shared(a, b gather.Interval) float64 {
	return max(0, earlier(a.To, b.To).Sub(later(a.From, b.From)).Seconds())
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
