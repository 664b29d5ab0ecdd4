package sched

import (
	"math/rand/v2"
	"testing"
)

// Random sequences, limits and removals: every sequence that stays gets all its tokens, each computed once after the last time it
// began, the oldest that runs moves in every pass, and no page is lost.
func TestRandomLoads(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := newCounter(2+r.IntN(20), 1+r.IntN(6))
		m.common = r.IntN(40)
		d := &crowd{t: t, m: m, r: r, done: map[int64]int{}, left: map[int64]int{}}
		d.cfg = Config{MaxRunning: 1 + r.IntN(6), MaxPrefill: 1 + r.IntN(20)}
		d.s = New(d.cfg, m)
		d.live(120)
	}
}

type crowd struct {
	t    *testing.T
	s    *Scheduler
	m    *counter
	r    *rand.Rand
	cfg  Config
	next int64
	done map[int64]int // tokens computed
	left map[int64]int // tokens still to say
}

func (d *crowd) live(passes int) {
	for range passes {
		for d.r.IntN(3) == 0 {
			d.add()
		}
		if d.r.IntN(12) == 0 {
			d.removeOne()
		}
		if d.r.IntN(40) == 0 {
			for _, id := range d.s.Retract() {
				d.done[id] = 0
			}
		}
		d.pass()
	}
	for n := 0; len(d.left) > 0; n++ {
		d.pass()
		if n > 5000 {
			d.t.Fatalf("%d sequences never end", len(d.left))
		}
	}
	if d.s.Running()+d.s.Queued() > 0 || d.m.free() != d.m.pages {
		d.t.Fatalf("at the end %d run, %d wait, %d of %d pages are free", d.s.Running(), d.s.Queued(), d.m.free(), d.m.pages)
	}
}

func (d *crowd) add() {
	d.next++
	prompt, more := 1+d.r.IntN(25), 1+d.r.IntN(12)
	err := d.s.Add(Seq{ID: d.next, Tokens: prompt, Most: prompt + more - 1, Prompt: uint64(d.r.IntN(4)), Shared: prompt - 1})
	if fits := d.m.Fits(prompt + more - 1); (err == nil) != fits {
		d.t.Fatalf("Add of %d+%d tokens: %v, though fits is %v", prompt, more, err, fits)
	}
	if err == nil {
		d.m.tokens[d.next], d.m.known[d.next], d.left[d.next] = prompt, d.r.IntN(30), more
	}
}

func (d *crowd) removeOne() {
	for id := range d.left {
		d.s.Remove(id)
		delete(d.left, id)
		return
	}
}

func (d *crowd) pass() {
	oldest := int64(-1)
	if d.s.Running() > 0 {
		oldest = d.s.running[0].ID
	}
	p := d.s.Next()
	if d.s.Running() > d.cfg.MaxRunning {
		d.t.Fatalf("%d run, want at most %d", d.s.Running(), d.cfg.MaxRunning)
	}
	for _, id := range p.Evict {
		d.done[id] = 0
	}
	for _, o := range p.Start {
		d.done[o.ID] = o.Known
	}
	prompts, moved := 0, oldest < 0
	for _, c := range append(append([]Chunk(nil), p.Decode...), p.Prefill...) {
		if c.From != d.done[c.ID] || c.To > d.m.tokens[c.ID] || c.From >= c.To || c.Last != (c.To == d.m.tokens[c.ID]) {
			d.t.Fatalf("chunk %+v of a sequence with %d of %d tokens done", c, d.done[c.ID], d.m.tokens[c.ID])
		}
		d.done[c.ID] = c.To
		moved = moved || c.ID == oldest
	}
	for _, c := range p.Prefill {
		prompts += c.To - c.From
	}
	if prompts > d.cfg.MaxPrefill || !moved {
		d.t.Fatalf("%d prompt tokens, want at most %d; the oldest moved: %v", prompts, d.cfg.MaxPrefill, moved)
	}
	d.s.Done()
	d.answer(p)
}

func (d *crowd) answer(p Plan) {
	for _, c := range append(append([]Chunk(nil), p.Decode...), p.Prefill...) {
		switch {
		case !c.Last:
		case d.left[c.ID] == 1:
			d.s.Remove(c.ID)
			delete(d.left, c.ID)
		default:
			d.left[c.ID]--
			d.s.Append(c.ID)
			d.m.tokens[c.ID]++
		}
	}
}
