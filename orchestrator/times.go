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
var timers = map[Kind]string{Push: "update_weights", Await: "wait", Sync: "wait", Train: "train", Save: "save_model", Eval: "eval", Park: "wait"}

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

// overlap writes how much of the cycle the two engines were at work at once, and how much of it either stood still.
func overlap(stats rl.Stats, rollout, trainer []gather.Interval, cycle gather.Interval) {
	drawn, worked, both := 0.0, 0.0, 0.0
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
