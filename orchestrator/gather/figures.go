package gather

import (
	"time"

	"furlong/rl"
)

// look takes in the age of a group that was looked at.
func (t *tallied) look(age int) {
	t.looked++
	t.ages += age
	t.oldest = max(t.oldest, age)
}

// stats adds what has been seen on the way to a batch.
func (t *tallied) stats(out rl.Stats) rl.Stats {
	if out == nil {
		out = rl.Stats{}
	}
	if t.graded > 0 {
		out["rollout/group_acceptance"] = float64(t.kept) / float64(t.graded)
	}
	for reason, n := range t.filtered {
		out["rollout/dynamic_filter/drop_"+reason] = float64(n)
	}
	out["rollout/surplus_discarded_tokens"] = float64(t.surplus)
	out["rollout/discarded_exceptions"] = float64(t.exceptions)
	return out
}

// asyncStats returns the figures of the fully asynchronous loop as a batch has been taken out of a queue.
func (s *stock) asyncStats(queue int, served rl.Version) rl.Stats {
	const pre = "rollout/fully_async/"
	sum, most := 0, 0
	for _, g := range s.ready {
		a := age(g, served)
		sum, most = sum+a, max(most, a)
	}
	return rl.Stats{
		pre + "queue_size": float64(queue), pre + "aborted_groups_filtered": float64(s.seen.aborted), pre + "stale_groups_filtered": float64(s.seen.stale),
		pre + "avg_staleness": mean(s.seen.ages, s.seen.looked), pre + "max_staleness": float64(s.seen.oldest),
		pre + "buffer_avg_staleness": mean(sum, len(s.ready)), pre + "buffer_max_staleness": float64(most),
	}
}

func mean(sum, n int) float64 { return float64(sum) / float64(max(1, n)) }

// An Interval is a stretch of time.
type Interval struct{ From, To time.Time }

// busy remembers when something was in flight.
type busy struct {
	since time.Time // the zero time: nothing is
	spans []Interval
}

func (b *busy) up(t time.Time) {
	if b.since.IsZero() {
		b.since = t
	}
}

func (b *busy) down(t time.Time) {
	if !b.since.IsZero() {
		b.spans = append(b.spans, Interval{b.since, t})
		b.since = time.Time{}
	}
}

// Busy returns when something was in flight since it was last asked, up to now.
func (g *Gatherer) Busy(now time.Time) []Interval {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.busy.spans
	g.busy.spans = nil
	if !g.busy.since.IsZero() {
		out = append(out, Interval{g.busy.since, now})
		g.busy.since = now
	}
	return out
}
