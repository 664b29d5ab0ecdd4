package sched

import (
	"fmt"
	"slices"
)

// Next returns what the next pass computes. Its slices are valid until the next call. It must be followed by Done, and then by Append or Remove
// for each sequence whose Last chunk was computed.
func (s *Scheduler) Next() Plan {
	s.plan = Plan{Decode: s.plan.Decode[:0], Prefill: s.plan.Prefill[:0], Start: s.plan.Start[:0], Evict: s.plan.Evict[:0]}
	left := s.goOn(s.cfg.MaxPrefill)
	s.full = s.full && len(s.running) > 0
	if !s.full {
		s.admit(left)
	}
	return s.plan
}

// goOn plans the running sequences, oldest first: that is also the order in which they get pages. It returns what is left for prompts.
func (s *Scheduler) goOn(left int) int {
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		want := 1
		if q.pending() > 1 {
			want = min(q.pending(), left)
		}
		if want == 0 || !s.grow(q, want) {
			continue
		}
		if c := s.add(q); c.To-c.From > 1 || !c.Last {
			left -= c.To - c.From
		}
	}
	return left
}

// grow makes room for want tokens of q, or for some of them. Younger sequences give way until there is room for one, in the end q itself.
func (s *Scheduler) grow(q *seq, want int) bool {
	for {
		q.room = s.mem.Grow(q.ID, q.done+want)
		if q.room > q.done {
			return true
		}
		if len(s.running) == 1 {
			panic(fmt.Sprintf("sched: sequence %d is alone and has no room for token %d, though %d fit", q.ID, q.done, max(q.Most, q.Tokens)))
		}
		last := s.running[len(s.running)-1]
		s.plan.Evict = append(s.plan.Evict, s.giveWay())
		s.full = true
		if last == q {
			return false
		}
	}
}

// giveWay sends the youngest running sequence back to the queue.
func (s *Scheduler) giveWay() int64 {
	q := s.running[len(s.running)-1]
	s.running = s.running[:len(s.running)-1]
	s.mem.Close(q.ID)
	q.done = 0
	s.queue = insert(s.queue, q)
	return q.ID
}

// add plans the tokens of q that have room.
func (s *Scheduler) add(q *seq) Chunk {
	c := Chunk{ID: q.ID, From: q.done, To: q.room, Last: q.room == q.Tokens}
	if c.Last && c.To-c.From == 1 {
		s.plan.Decode = append(s.plan.Decode, c)
	} else {
		s.plan.Prefill = append(s.plan.Prefill, c)
	}
	return c
}

// worthWaiting is how many tokens one sequence must be about to compute for another that the other waits for them.
const worthWaiting = 32

// admit starts sequences from the queue, in order, while the pass and the pages have room. A sequence that waits for another's tokens keeps
// a place, so that no later one takes it.
func (s *Scheduler) admit(left int) {
	s.leaders = s.leaders[:0]
	for _, q := range s.running {
		s.lead(q)
	}
	held := 0
	for i := 0; i < len(s.queue) && left > 0 && len(s.running)+held < s.cfg.MaxRunning; {
		q := s.queue[i]
		if s.waits(q) {
			held++
			i++
			continue
		}
		if !s.start(q, left) {
			return
		}
		s.queue = slices.Delete(s.queue, i, i+1)
		c := s.add(q)
		left -= c.To - c.From
		s.lead(q)
	}
}

// lead remembers that q computes tokens which others may begin with. For its last token alone nobody need wait.
func (s *Scheduler) lead(q *seq) {
	if q.Prompt != 0 && q.pending() > 1 {
		s.leaders = append(s.leaders, q)
	}
}

// waits reports whether q waits for a leader: for many tokens, or for all that it can take from others.
func (s *Scheduler) waits(q *seq) bool {
	for _, l := range s.leaders {
		if l.Prompt != q.Prompt || l.done >= q.Shared {
			continue
		}
		common := min(q.Shared, s.mem.Common(q.ID, l.ID))
		if more := common - l.done; more >= worthWaiting || more > 0 && common == q.Shared {
			return true
		}
	}
	return false
}

// start opens q and makes room for its first tokens, if there is room for all of them and for the next.
func (s *Scheduler) start(q *seq, left int) bool {
	known, ok := s.mem.Open(q.ID, min(q.Tokens+1, max(q.Most, q.Tokens)))
	if !ok {
		return false
	}
	q.done = known
	q.room = s.mem.Grow(q.ID, known+min(q.pending(), left))
	if q.room == q.done {
		s.mem.Close(q.ID)
		q.done = 0
		return false
	}
	s.running = insert(s.running, q)
	s.plan.Start = append(s.plan.Start, Opened{q.ID, known})
	return true
}
