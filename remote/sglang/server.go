package sglang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furlong/rl"
)

// A server is one of the servers, and what it has in hand. All but url is guarded by the engine's lock.
type server struct {
	url   string
	found Found

	tokens   int // outstanding: prompts, and the responses that they may get
	requests int
	prompts  map[*rl.Prompt]int // that are there now

	down    error // why it gets no work; nil while it does
	stale   bool  // it holds other weights: it must be given the right ones
	doubt   bool  // it was given weights and did not prove them: it must not go on
	strange int   // times that it was found to hold other weights
	refusal int   // times in a row that it did not take the version that is served
	again   time.Time
	delay   time.Duration
	lost    time.Time // when it was lost
	losses  int
	looking bool               // somebody finds out how it is
	halt    context.CancelFunc // ends that look; nil before the first
	held    bool               // it was paused for an update
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
	mostDelay  = 5 * time.Second
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

// hopeless says why nobody will take a request any more: no server can be given the right weights, or all were away for too long. The lock is held.
func (e *Engine) hopeless() error {
	var why []error
	given := 0
	for _, s := range e.servers {
		if s.down == nil {
			return nil
		}
		why = append(why, fmt.Errorf("%s: %w", s.url, s.down))
		if e.givenUp(s) {
			given++
		}
	}
	if given == len(e.servers) {
		return fmt.Errorf("no rollout server can be used: %w", errors.Join(why...))
	}
	if !e.since.IsZero() && time.Since(e.since) > e.cfg.Wait {
		return fmt.Errorf("no rollout server can be used, for more than %v (--rollout-wait): %w", e.cfg.Wait, errors.Join(why...))
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
	now, first := time.Now(), s.down == nil
	if stale && !s.stale {
		s.strange++
	}
	if s.down, s.stale, s.again = why, s.stale || stale, now.Add(after); !first {
		return
	}
	s.delay, s.lost, s.losses = firstDelay, now, s.losses+1
	e.stats.Lost++
	if stale {
		e.stats.Stale++
	}
	e.log.Warn("rollout server lost", "url", s.url, "why", why.Error(), "requests", s.requests)
	if e.since.IsZero() && !slices.ContainsFunc(e.servers, func(s *server) bool { return s.down == nil }) {
		e.since, e.said = now, now
		e.log.Warn("no rollout server can be used: who needs one waits", "servers", len(e.servers), "at_most", e.cfg.Wait.String())
	}
	e.wake()
}

// back brings a server back.
func (e *Engine) back(s *server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if s.misses, s.seen = 0, now; s.down == nil {
		return
	}
	if !e.since.IsZero() {
		e.stats.Away += now.Sub(e.since)
	}
	s.down, s.stale, s.doubt, s.refusal, s.again, s.delay, e.since = nil, false, false, 0, time.Time{}, 0, time.Time{}
	e.stats.Back++
	e.log.Info("rollout server is back", "url", s.url, "away", now.Sub(s.lost).Round(time.Millisecond).String())
	e.wake()
}

// sayEvery is how often is said that nobody is there.
const sayEvery = 30 * time.Second

// sayAway says that no server can be used yet, if that was not said a moment ago. The lock is held.
func (e *Engine) sayAway(s *server, why error) {
	now := time.Now()
	if e.since.IsZero() || now.Sub(e.said) < sayEvery {
		return
	}
	e.said = now
	e.log.Warn("still no rollout server can be used", "url", s.url, "why", why.Error(), "away", now.Sub(e.since).Round(time.Second).String(), "at_most", e.cfg.Wait.String())
}

// rest sends a server no request for a while: it has no room.
func (e *Engine) rest(s *server, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.again = time.Now().Add(d)
	e.stats.Busy++
}
