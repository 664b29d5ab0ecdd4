package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"furlong/rl"
)

// all carries out specs and returns their answers in order, when all have ended. One failure is everybody's.
func (s *Server) all(ctx context.Context, specs []spec) ([]*answer, error) {
	g, err := s.start(specs, false)
	if err != nil {
		return nil, err
	}
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	out := make([]*answer, len(g.jobs))
	for i, j := range g.jobs {
		out[i] = j.snapshot()
		if f := out[i].finish; f.why == byAbort && f.status != 0 {
			return nil, refusal{f.status, f.text}
		}
	}
	return out, nil
}

// each carries out specs and calls tell with a snapshot of each as it begins, grows by every tokens (spec by spec, 0 for the server's default) and ends. The last snapshot of each
// has a finish; a failure of the engine is one with a status. Calls are in one goroutine; an error of tell ends everything and is returned. An error
// before the first call means that nothing was begun.
func (s *Server) each(ctx context.Context, specs []spec, every int, tell func(i int, a *answer) error) error {
	g, err := s.start(specs, true)
	if err != nil {
		return err
	}
	if every < 1 {
		every = int(s.every.Load())
	}
	ctx, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- g.run(ctx) }()
	err, ended := g.follow(every, over, tell)
	stop()
	if !ended {
		<-over
	}
	return err
}

// A group is the jobs of one request.
type group struct {
	s    *Server
	jobs []*job
	bell chan struct{} // nil when nobody follows
	sent []int         // tokens told of, by job; -1 when over
	reqs []rl.Request
}

// start registers the jobs of specs.
func (s *Server) start(specs []spec, followed bool) (*group, error) {
	if s.released() {
		return nil, refusal{http.StatusServiceUnavailable, "memory is released, want it resumed first (/resume_memory_occupation)"}
	}
	g := &group{s: s, jobs: make([]*job, len(specs)), sent: make([]int, len(specs))}
	if followed {
		g.bell = make(chan struct{}, 1)
	}
	now := s.now()
	for i := range specs {
		g.jobs[i] = &job{spec: specs[i], s: s, arrived: now, bell: g.bell, reader: s.newReader(&specs[i], followed)}
	}
	if err := s.jobs.enter(g.jobs); err != nil {
		return nil, err
	}
	if err := g.ask(); err != nil {
		s.jobs.leave(g.jobs)
		return nil, err
	}
	return g, nil
}

// run has the engine generate, and returns when all jobs have ended or one has failed. Then nobody knows them any more.
func (g *group) run(ctx context.Context) error {
	defer g.s.jobs.leave(g.jobs)
	byID := make(map[int64]*job, len(g.jobs))
	for _, j := range g.jobs {
		byID[j.id] = j
	}
	defer g.deadlines(ctx)()
	for smp, err := range g.s.engine.Generate(ctx, g.reqs) {
		if err != nil {
			return g.failed(ctx, err)
		}
		byID[smp.Request].close(smp)
	}
	return nil
}

// ask makes what the engine is asked.
func (g *group) ask() error {
	g.reqs = make([]rl.Request, len(g.jobs))
	var prompt *rl.Prompt
	for i, j := range g.jobs {
		if prompt == nil || j.index == 0 {
			prompt = &rl.Prompt{ID: j.rid, Tokens: j.prompt[:len(j.prompt)-j.begun]}
		}
		g.reqs[i] = rl.Request{ID: j.id, Prompt: prompt, Index: j.index, Sampling: j.sampling, Report: j.report, Space: j.space, Watch: j.watch}
		j.resume(&g.reqs[i])
		if j.grammar != nil {
			c, err := j.grammar()
			if err != nil {
				return bad("%w", err)
			}
			g.reqs[i].Constraint = c
		}
	}
	return nil
}

// failed notes what an error of the engine says about its health.
func (g *group) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, rl.ErrBroken):
		g.s.health.breakDown(err)
	}
	g.s.meter.failed.Add(int64(len(g.jobs)))
	return err
}

// deadlines ends jobs that take longer than may be. The function it returns ends the deadlines.
func (g *group) deadlines(ctx context.Context) (stop func()) {
	var timers []*time.Timer
	if d := g.s.cfg.WaitTime; d > 0 {
		timers = append(timers, time.AfterFunc(d, func() {
			g.cancel(ctx, http.StatusServiceUnavailable, fmt.Sprintf("no token within %v (--waiting-timeout)", d), func(j *job) bool { return j.waits() })
		}))
	}
	if d := g.s.cfg.RunTime; d > 0 {
		timers = append(timers, time.AfterFunc(d, func() {
			g.cancel(ctx, 0, fmt.Sprintf("not ready within %v (--running-timeout)", d), func(*job) bool { return true })
		}))
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}

// cancel aborts those jobs of a group that which picks.
func (g *group) cancel(ctx context.Context, fault int, message string, which func(*job) bool) {
	var ids []int64
	for _, j := range g.jobs {
		if which(j) {
			j.message.CompareAndSwap(nil, &message)
			j.fault.Store(int32(fault))
			j.stopped.Store(true)
			ids = append(ids, j.id)
		}
	}
	if len(ids) > 0 {
		_ = g.s.engine.Abort(ctx, ids...) // fails only when the request ends anyhow
	}
}

// waits reports whether a job has no token yet.
func (j *job) waits() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first.IsZero()
}

// follow tells of progress until all is over; ended reports whether over has spoken.
func (g *group) follow(every int, over <-chan error, tell func(int, *answer) error) (err error, ended bool) {
	for {
		select {
		case <-g.bell:
			if err := g.news(every, tell); err != nil {
				return err, false
			}
		case err := <-over:
			if err == nil {
				return g.news(every, tell), true
			}
			return g.obituary(err, tell), true
		}
	}
}

// news tells of every job that has grown enough, or ended.
func (g *group) news(every int, tell func(int, *answer) error) error {
	for i, j := range g.jobs {
		if g.sent[i] < 0 {
			continue
		}
		n, over := j.progress()
		if !over && (n == 0 || n-g.sent[i] < every && g.sent[i] > 0) {
			continue
		}
		a := j.snapshot()
		if g.sent[i] = len(a.tokens); a.finish != nil {
			g.sent[i] = -1
		}
		if err := tell(i, a); err != nil {
			return err
		}
	}
	return nil
}

// obituary tells of all jobs that an error has ended. An error before any token is the caller's alone.
func (g *group) obituary(err error, tell func(int, *answer) error) error {
	for i, j := range g.jobs {
		if g.sent[i] >= 0 {
			g.sent[i] = -1
			if err := tell(i, j.broken(err)); err != nil {
				return err
			}
		}
	}
	return nil
}
