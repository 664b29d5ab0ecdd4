package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"furlong/kernels"
	"furlong/orchestrator"
	"furlong/rl"
)

// draw goes through the cycles after a checkpoint as a resumed run does, with a folder of its own for what it saves.
func (r *replaying) draw(ctx context.Context, k kernels.Backend, from string) (err error) {
	if r.grades, err = grader(r.f.reward); err != nil {
		return err
	}
	if r.source, err = r.prompts(ctx); err != nil {
		return err
	}
	if r.roll, err = r.newRollout(ctx, k); err != nil {
		return err
	}
	defer r.leave()
	dir, err := os.MkdirTemp("", "furlong-replay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := r.f.loop
	c.Sampling, c.Report = r.f.sample.sampling(r.policy.tok), r.told()
	c.ExitAfter, c.SaveEvery, c.Async, c.Sentinel = r.Cycle, 0, false, ""
	loop := &orchestrator.Loop{
		Config: c, Rollout: r.roll, Train: r.actor, Prompts: r.source, Grade: r.grade, Decode: r.policy.tok.Decode,
		Watch: &replayWatch{r: r}, Clock: time.Now, Dir: dir, From: from,
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- r.generate(beside) }()
	defer func() { stop(); <-done }()
	if _, err := loop.Load(ctx); err != nil {
		return err
	}
	return loop.Run(ctx)
}

// A replayWatch holds the cycles of a loop against those of the run.
type replayWatch struct {
	r    *replaying
	last *replayedCycle // whose weights are not published yet
}

// Phase says nothing.
func (w *replayWatch) Phase(orchestrator.Action) {}

// Span says nothing.
func (w *replayWatch) Span(int, string, string, time.Time, time.Time, rl.Version) error { return nil }

// Updated takes the state of the weights after the last cycle.
func (w *replayWatch) Updated(u *orchestrator.Update) error {
	if w.last != nil && u.Err == nil && u.Cycle == w.last.cycle {
		w.last.state = u.State.String()
	}
	return w.flush()
}

// Cycle takes a cycle. What it is held against is complete with the push after it, if there is one.
func (w *replayWatch) Cycle(c *orchestrator.Report) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.last = &replayedCycle{cycle: c.Cycle, rollouts: w.r.rolloutsOf(c.Cycle), stats: c.Stats, samples: c.Samples, drawn: true}
	if w.r.f.loop.NoPush || c.Cycle%w.r.f.loop.PushEvery != 0 && c.Cycle != w.r.Cycle {
		return w.flush()
	}
	return nil
}

func (w *replayWatch) flush() error {
	if w.last == nil {
		return nil
	}
	c := *w.last
	w.last = nil
	if err := w.r.hold(c); err != nil {
		return fmt.Errorf("cycle %d: %w", c.cycle, err)
	}
	return nil
}
