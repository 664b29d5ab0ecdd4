package sglang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// Generate yields the samples in the order in which they come. What servers failed at is drawn anew; the first error that is the request's own ends it.
func (e *Engine) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		flights, err := e.admit(reqs)
		if err != nil {
			yield(nil, err)
			return
		}
		defer e.release(reqs)
		inner, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		came, room := make(chan drawn, len(reqs)), make(chan struct{}, e.room())
		for i, r := range reqs {
			all.Go(func() {
				defer enter(inner, room, flights[i])()
				s, err := e.draw(inner, r, flights[i])
				came <- drawn{s, err}
			})
		}
		e.deliver(came, len(reqs), yield)
	}
}

// room is how many requests the servers can have in hand together. More that looked for a server would wake each other for nothing whenever one gets free.
func (e *Engine) room() int { return len(e.servers) * e.cfg.Concurrency }

// enter waits for a place among those that look for a server or have one, and returns what gives it back. What is to end needs no place for that.
func enter(ctx context.Context, room chan struct{}, f *flight) (leave func()) {
	select {
	case room <- struct{}{}:
		return func() { <-room }
	case <-ctx.Done():
	case <-f.end:
	}
	return func() {}
}

// drawn is what became of a request.
type drawn struct {
	sample *rl.Sample
	err    error
}

// deliver hands out n samples, or what came before the first error.
func (e *Engine) deliver(came <-chan drawn, n int, yield func(*rl.Sample, error) bool) {
	for range n {
		d := <-came
		if d.err == nil {
			e.count(func(s *Stats) { s.Samples++ })
		}
		if !yield(d.sample, d.err) || d.err != nil {
			return
		}
	}
}

// admit notes the requests as in flight, or refuses them all.
func (e *Engine) admit(reqs []rl.Request) ([]*flight, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.version == 0 {
		return nil, errors.New("rollout servers have no weights, want an update first")
	}
	now, flights := map[int64]bool{}, make([]*flight, len(reqs))
	for i, r := range reqs {
		if now[r.ID] || e.flying[r.ID] != nil {
			return nil, fmt.Errorf("request %d is in flight already", r.ID)
		}
		if err := e.check(r); err != nil {
			return nil, fmt.Errorf("request %d: %w", r.ID, err)
		}
		now[r.ID], flights[i] = true, newFlight()
	}
	for i, r := range reqs {
		e.flying[r.ID] = flights[i]
	}
	e.stats.Requests += len(reqs)
	return flights, nil
}

// release forgets the requests.
func (e *Engine) release(reqs []rl.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range reqs {
		delete(e.flying, r.ID)
	}
}

// draw gets a request's sample: from the first server that gives one. Each goes on from what was begun.
func (e *Engine) draw(ctx context.Context, r rl.Request, f *flight) (*rl.Sample, error) {
	if s := over(r); s != nil {
		return s, nil
	}
	busy, waited := firstDelay, time.Duration(0)
	for failures := 0; ; {
		s, err := e.take(ctx, r, f)
		switch {
		case errors.Is(err, errTold):
			return asBegun(r), nil
		case err != nil:
			return nil, fmt.Errorf("request %d: %w", r.ID, err)
		}
		life := e.lifeOf(s)
		sample, err := e.attempt(ctx, s, r, f)
		e.give(s, r)
		switch {
		case err == nil:
			return sample, nil
		case f.told() && ctx.Err() == nil:
			return e.lack(s, r, err), nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", rl.ErrAborted, context.Cause(ctx))
		case refused(err):
			return nil, fmt.Errorf("request %d: %s: %w", r.ID, s.url, err)
		case full(err) && waited < e.cfg.Wait:
			e.rest(s, busy)
			busy, waited = min(2*busy, mostDelay), waited+busy
			continue
		}
		if failures++; failures > e.cfg.Retries {
			return nil, fmt.Errorf("request %d failed %d times (--rollout-retries), at last at %s: %w", r.ID, failures, s.url, err)
		}
		e.blame(s, life, err)
	}
}

// lifeOf returns how often a server was lost so far.
func (e *Engine) lifeOf(s *server) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.losses
}

// blame notes that a server failed at a sample, which is drawn anew. What was sent before the server was lost the last time says nothing of it now.
func (e *Engine) blame(s *server, life int, err error) {
	e.count(func(c *Stats) { c.Again++ })
	switch stale := errors.Is(err, errStale); {
	case e.lifeOf(s) != life:
	case errors.Is(err, errBad), errors.Is(err, rl.ErrBroken):
		e.lose(s, err, false, time.Second) // it may be well otherwise; another server goes first
	default:
		e.lose(s, err, stale, 0)
	}
}

// refused reports whether a server called a request wrong, which no other attempt changes.
func refused(err error) bool {
	s := status(err)
	return s >= 400 && s < 500 && s != http.StatusTooManyRequests && s != http.StatusRequestTimeout
}

// full reports whether a server has no room now.
func full(err error) bool {
	s := status(err)
	return s == http.StatusServiceUnavailable || s == http.StatusTooManyRequests
}

// attempt sends a request to a server, under a name that it never had, and reads the answer.
func (e *Engine) attempt(ctx context.Context, s *server, r rl.Request, f *flight) (*rl.Sample, error) {
	e.mu.Lock()
	e.tries++
	x := &reading{r: r, rid: fmt.Sprintf("%s-%d-%d-%d-%d", e.name, r.Prompt.Group, r.Index, r.ID, e.tries), sent: e.version, shape: e.opt.Routes}
	salt, number, starts := s.salt, e.tries, s.found.Starts
	strange, process := s.strange, s.found.Process
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.live[number] = end
	e.mu.Unlock()
	x.a = &sglang.Answer{}
	stop := e.insist(inner, s, x.rid, f, end)
	by, err := e.wire.ask(inner, s.url, "/generate", ask(r, x.rid, salt, starts), x.a)
	stop()
	e.mu.Lock()
	delete(s.live, number)
	e.mu.Unlock()
	if err != nil {
		return nil, e.disown(ctx, s, x.rid, err)
	}
	e.mu.Lock()
	x.given = e.given // an update may have come in between
	unproved := s.strange != strange
	e.mu.Unlock()
	switch {
	case unproved:
		return nil, errUnproved
	case by != process && by != "" && process != "":
		return nil, errOther
	}
	sample, err := x.sample()
	if x.stray {
		e.strayed(s, sample)
	}
	return sample, err
}

// errUnproved is of an answer that came of a server which was found to hold other weights after it was asked: it may be of weights that the server was given again, and that
// nobody had looked at yet.
var errUnproved = fmt.Errorf("%w: they were found while the request was there, so what it was drawn under is not known", errStale)

// errOther is of an answer by another process than the one that was given the weights: whatever it calls its own, they have to be proved first.
var errOther = fmt.Errorf("%w: another process answers than the one that was given the last ones", errStale)

// strayed counts responses that ended where the request did not say that they end. The first is a line.
func (e *Engine) strayed(s *server, a *rl.Sample) {
	n := 0
	e.count(func(c *Stats) { c.Strays++; n = c.Strays })
	if n == 1 {
		e.log.Warn("a server ends responses at a token that is no stop id of the request", "url", s.url, "token", a.Response[len(a.Response)-1])
	}
}

// disown makes sure that a request whose answer did not come whole does not go on at its server: the server must say that it ended it, or be gone. It
// returns why the attempt failed.
func (e *Engine) disown(ctx context.Context, s *server, rid string, why error) error {
	if status(why) != 0 || unreached(why) {
		return why // it has ended, or never began
	}
	e.count(func(c *Stats) { c.Aborts++ })
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	err := e.wire.post(short, s.url, "/abort_request", sglang.Abort{RID: rid}, nil)
	for broken(err) && sleep(short, firstDelay) == nil { // a connection from before the server died says nothing of the server
		err = e.wire.post(short, s.url, "/abort_request", sglang.Abort{RID: rid}, nil)
	}
	_, cut := errors.AsType[cutError](why)
	switch {
	case err == nil, unreached(err), errors.Is(err, io.EOF):
		return why
	case cut:
		return &statusError{"/generate", http.StatusConflict, fmt.Sprintf("the answer broke off (%v), and the server does not confirm that the request ended: %v", why, err)}
	}
	return errors.Join(why, err)
}

// broken reports whether a connection ended that had been there.
func broken(err error) bool {
	_, gone := errors.AsType[goneError](err)
	return gone && !unreached(err) && !errors.Is(err, io.EOF) && !errors.Is(err, context.DeadlineExceeded)
}

// abortPatience is how long a server may take to confirm an abort.
const abortPatience = 5 * time.Second
