package sglang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// A server is one of the servers, and what it has in hand. All but url and found are guarded by the engine's lock.
type server struct {
	url   string
	found Found

	tokens   int // outstanding: prompts, and the responses that they may get
	requests int
	prompts  map[*rl.Prompt]int // that are there now

	down    error // why it gets no work; nil while it does
	stale   bool  // it holds other weights, so nothing but an update brings it back
	again   time.Time
	delay   time.Duration
	looking bool // somebody finds out how it is
	held    bool // it was paused for an update
	salt    string
	seen    time.Time           // when it was last known to be well
	misses  int                 // looks in a row to which it said nothing good
	live    map[int]func(error) // ends the requests that are there, by number
}

func newServer(f Found) *server {
	return &server{url: f.URL, found: f, prompts: map[*rl.Prompt]int{}, live: map[int]func(error){}, seen: time.Now()}
}

// How long a server that failed is left alone: from the first to the longest.
const (
	firstDelay = 50 * time.Millisecond
	mostDelay  = 30 * time.Second
)

// budget is what a request may cost.
func budget(r rl.Request) int { return len(r.Prompt.Tokens) + r.Sampling.MaxTokens }

// choose returns the server with the fewest tokens outstanding, where a prompt that is there already costs nothing; nil if none can take a request. The lock is held.
func (e *Engine) choose(r rl.Request, now time.Time) *server {
	var able []*server
	for _, s := range e.servers {
		if s.down == nil && s.requests < e.cfg.Concurrency && !now.Before(s.again) {
			able = append(able, s)
		}
	}
	if e.paused || len(able) == 0 {
		return nil
	}
	cost := func(s *server) int {
		if s.prompts[r.Prompt] > 0 {
			return s.tokens
		}
		return s.tokens + len(r.Prompt.Tokens)
	}
	return slices.MinFunc(able, func(a, b *server) int {
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(a.requests, b.requests))
	})
}

// take waits until a server can have a request, and books it there. A request that is told to end waits no longer.
func (e *Engine) take(ctx context.Context, r rl.Request, f *flight) (*server, error) {
	for {
		e.mu.Lock()
		if f.told() {
			e.mu.Unlock()
			return nil, errTold
		}
		s := e.choose(r, time.Now())
		if s != nil {
			s.tokens += budget(r)
			s.requests++
			s.prompts[r.Prompt]++
			e.mu.Unlock()
			return s, nil
		}
		err, changed, pause := e.hopeless(), e.changed, e.soonest()
		e.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := waitFor(ctx, changed, pause); err != nil {
			return nil, err
		}
	}
}

// waitFor waits until something changed, or some time is over.
func waitFor(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", rl.ErrAborted, context.Cause(ctx))
	}
	return nil
}

// soonest returns how long to wait before looking again at servers that rest. The lock is held.
func (e *Engine) soonest() time.Duration {
	d := time.Second
	for _, s := range e.servers {
		if until := time.Until(s.again); s.down == nil && until > 0 {
			d = min(d, until)
		}
	}
	return d
}

// hopeless says why nobody will take a request any more: all servers hold other weights, or all were away for too long. The lock is held.
func (e *Engine) hopeless() error {
	var why []error
	stale := 0
	for _, s := range e.servers {
		if s.down == nil {
			return nil
		}
		why = append(why, fmt.Errorf("%s: %w", s.url, s.down))
		if s.stale {
			stale++
		}
	}
	if stale == len(e.servers) || !e.since.IsZero() && time.Since(e.since) > e.cfg.Wait {
		return fmt.Errorf("no rollout server can be used: %w", errors.Join(why...))
	}
	return nil
}

// give takes a request off a server's books.
func (e *Engine) give(s *server, r rl.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.tokens -= budget(r)
	s.requests--
	if s.prompts[r.Prompt]--; s.prompts[r.Prompt] == 0 {
		delete(s.prompts, r.Prompt)
	}
	e.wake()
}

// lose gives a server no more work until it has shown that it can. after is when it may be asked first.
func (e *Engine) lose(s *server, why error, stale bool, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := s.down == nil
	if s.down, s.stale, s.again = why, s.stale || stale, time.Now().Add(after); !first {
		return
	}
	s.delay = firstDelay
	e.stats.Lost++
	if stale {
		e.stats.Stale++
	}
	if e.since.IsZero() && !slices.ContainsFunc(e.servers, func(s *server) bool { return s.down == nil }) {
		e.since = time.Now()
	}
	e.log.Warn("rollout server lost", "url", s.url, "why", why.Error(), "requests", s.requests)
	e.wake()
}

// back brings a server back.
func (e *Engine) back(s *server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.misses, s.seen = 0, time.Now(); s.down == nil {
		return
	}
	s.down, s.stale, s.again, s.delay, e.since = nil, false, time.Time{}, 0, time.Time{}
	e.stats.Back++
	e.log.Info("rollout server is back", "url", s.url)
	e.wake()
}

// rest sends a server no request for a while: it has no room.
func (e *Engine) rest(s *server, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.again = time.Now().Add(d)
	e.stats.Busy++
}

// nurse looks after servers until ctx ends: whether lost ones are back, and whether those that have work live.
func (e *Engine) nurse(ctx context.Context) {
	var visits sync.WaitGroup
	defer visits.Wait()
	for ctx.Err() == nil {
		e.mu.Lock()
		s, pause := e.patient()
		changed := e.changed
		e.mu.Unlock()
		if s != nil {
			visits.Go(func() { e.visit(ctx, s) })
			continue
		}
		_ = waitFor(ctx, changed, pause)
	}
}

// patient returns a server that is to be looked at now, or how long there will be none. The lock is held.
func (e *Engine) patient() (*server, time.Duration) {
	pause := time.Minute
	for _, s := range e.servers {
		at := s.again
		if s.down == nil {
			at = s.seen.Add(e.look)
		}
		if s.looking || e.paused || s.stale || s.down == nil && s.requests == 0 {
			continue
		}
		until := time.Until(at)
		if until <= 0 {
			s.looking = true
			return s, 0
		}
		pause = min(pause, until)
	}
	return nil, pause
}

// visit looks at a server.
func (e *Engine) visit(ctx context.Context, s *server) {
	short, cancel := context.WithTimeout(ctx, mostDelay)
	defer cancel()
	e.mu.Lock()
	lost := s.down != nil
	e.mu.Unlock()
	var err error
	if lost {
		err = e.prove(short, s)
	} else {
		err = e.wire.get(short, s.url, "/health_generate", nil)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		e.back(s)
	case lost:
		e.still(s, err)
	default:
		e.miss(s, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.looking = false
	e.wake() // nurses must see when the next look is due
}

// still notes that a lost server is not back.
func (e *Engine) still(s *server, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.delay = min(max(2*s.delay, firstDelay), mostDelay)
	s.again = time.Now().Add(s.delay)
	if s.down = err; errors.Is(err, errStale) && !s.stale {
		s.stale = true
		e.stats.Stale++
		e.log.Warn("rollout server holds other weights", "url", s.url, "why", err.Error())
		e.wake()
	}
}

// mostMisses is how often in a row a server that has work may not answer.
const mostMisses = 2

// errSilent says that a server has work and shows no life.
var errSilent = errors.New("it does not answer")

// miss notes that a server with work said nothing good. After some times it is lost, and what it has is taken from it.
func (e *Engine) miss(s *server, err error) {
	e.mu.Lock()
	s.misses++
	s.seen = time.Now()
	lost := s.misses >= mostMisses && s.down == nil
	var ends []func(error)
	if lost {
		ends = slices.Collect(maps.Values(s.live))
	}
	e.mu.Unlock()
	if !lost {
		return
	}
	e.lose(s, fmt.Errorf("%w: %w", errSilent, err), false, time.Second)
	for _, end := range ends {
		end(errSilent)
	}
}

// errStale says that a server holds other weights than it was given last.
var errStale = errors.New("other weights")

// prove has a server show that it goes on, holds the right weights, and generates.
func (e *Engine) prove(ctx context.Context, s *server) error {
	if err := e.wire.post(ctx, s.url, "/continue_generation", struct{}{}, nil); err != nil {
		return err
	}
	if err := e.holds(ctx, s, label(e.Version())); err != nil {
		return err
	}
	return e.wire.get(ctx, s.url, "/health_generate", nil)
}

// holds asks a server whether it serves the weights of a label.
func (e *Engine) holds(ctx context.Context, s *server, want string) error {
	var m sglang.ModelInfo
	if err := e.wire.either(ctx, s.url, "/model_info", "/get_model_info", &m); err != nil {
		return err
	}
	if m.WeightVersion != want {
		return fmt.Errorf("%w: weight_version is %q, want %q", errStale, m.WeightVersion, want)
	}
	return nil
}
