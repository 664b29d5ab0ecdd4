package sglang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// mostRefusals is how often in a row a server may refuse the version that is served. What it refuses thrice it will refuse again.
const mostRefusals = 3

// givenUp reports whether nothing but the next update can bring a server back: it holds other weights, and can't be given the right ones. The lock is held.
func (e *Engine) givenUp(s *server) bool {
	return s.stale && s.down != nil && (e.kept == nil || s.refusal >= mostRefusals)
}

// revive has a lost server prove that it can be used. One that holds other weights, as a process does that was started anew, is given those that the others serve.
func (e *Engine) revive(ctx context.Context, s *server) error {
	err := e.prove(ctx, s)
	if err == nil {
		return e.meetAgain(ctx, s)
	}
	if !errors.Is(err, errStale) {
		return err
	}
	p := e.suspect(s, err)
	if p == nil {
		return err
	}
	long, cancel := context.WithTimeout(ctx, e.cfg.Wait)
	defer cancel()
	if err = e.heal(long, s, p); err != nil && ctx.Err() == nil && !passing(err) {
		e.refuses(s, p, err)
	}
	return err
}

// suspect notes that a server holds other weights, and returns the version that it is to be given; nil if there is none here.
func (e *Engine) suspect(s *server, why error) *parcel {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.down = why
	if !s.stale {
		s.stale = true
		s.strange++
		e.stats.Stale++
	}
	e.log.Warn("rollout server holds other weights", "url", s.url, "why", why.Error(), "given_again", e.kept != nil)
	return e.kept
}

// refuses notes that a server does not take the version that is served.
func (e *Engine) refuses(s *server, p *parcel, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.refusal++
	e.log.Error("rollout server did not take the weights again", "url", s.url, "version", p.version.String(), "why", why.Error(), "refusals", s.refusal, "at_most", mostRefusals)
}

// heal gives a server the version that is served. It counts as back when it attests that version and has generated a token. One that has refused it goes on with what it had before,
// for it may serve others; one of which nobody knows what it holds now stays paused.
func (e *Engine) heal(ctx context.Context, s *server, p *parcel) error {
	began := time.Now()
	if err := e.meetAgain(ctx, s); err != nil {
		return err
	}
	a, err := e.giveTo(ctx, s, p)
	if e.doubts(s) {
		e.strand(s, err)
		return err
	}
	if on := e.goOn(ctx, s); err == nil {
		err = on
	}
	if err == nil {
		err = e.alive(ctx, s)
	}
	if err == nil {
		e.healed(s, p, a, time.Since(began))
	}
	return err
}

// doubts reports whether nobody knows what a server holds: it was given weights, and did not prove them.
func (e *Engine) doubts(s *server) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.doubt
}

// strand ends the requests that are at a server which stays paused: they would wait there.
func (e *Engine) strand(s *server, why error) {
	e.log.Warn("rollout server stays paused: what it holds is not proved", "url", s.url, "why", why.Error())
	e.mu.Lock()
	ends := slices.Collect(maps.Values(s.live))
	e.mu.Unlock()
	for _, end := range ends {
		end(errUnproved)
	}
}

// meetAgain gets to know a server that may be another process than before, with other flags.
func (e *Engine) meetAgain(ctx context.Context, s *server) error {
	f, err := e.wire.look(ctx, s.url)
	if err != nil {
		return err
	}
	e.mu.Lock()
	was := s.found
	e.mu.Unlock()
	if err := errors.Join(e.usable(f), lesser(was, f)); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.found = f
	return nil
}

// lesser reports what a server can't do any more of what the engine has told others of it.
func lesser(was, is Found) error {
	switch {
	case was.Attests && !is.Attests:
		return fmt.Errorf("%s: it attested its weights before and does not now", is.URL)
	case was.Seeds && !is.Seeds:
		return fmt.Errorf("%s: seeds decided what it draws before and don't now", is.URL)
	case was.Starts && !is.Starts:
		return fmt.Errorf("%s: it could be told where a response began before and can't be now", is.URL)
	}
	return nil
}

// giveTo gives a server a version and has it confirm that it serves it.
func (e *Engine) giveTo(ctx context.Context, s *server, p *parcel) (a rl.Attestation, err error) {
	if err = e.push(ctx, s, p); err != nil {
		return a, err
	}
	a, err = e.confirm(ctx, s, p)
	e.doubt(s, err != nil)
	return a, err
}

// doubt notes whether nobody knows what a server holds.
func (e *Engine) doubt(s *server, doubt bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.doubt = doubt
}

// goOn has a server go on that was paused, even if ctx has ended: it may serve others.
func (e *Engine) goOn(ctx context.Context, s *server) error {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostPatience)
	defer cancel()
	err := e.wire.post(short, s.url, "/continue_generation", sglang.Continue{}, nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	s.held = false
	return err
}

// healed notes that a server serves the version again, and what all of them attest together.
func (e *Engine) healed(s *server, p *parcel, a rl.Attestation, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Mended++
	before := e.told
	e.told = agreed(make([]error, 2), []rl.Attestation{before, a})
	e.log.Info("rollout server has the weights again", "url", s.url, "version", p.version.String(), "state", a.State.String(), "attested", a.Version != 0,
		"bytes", p.man.Bytes(), "took", took.Round(time.Millisecond).String())
	if before.Effective != e.told.Effective {
		e.log.Warn("a server that was given the weights again derives other layouts of them than before: logprobs may differ in their last bits", "url", s.url)
	}
}

// passing reports whether an error may be over by itself: nobody answered, an answer broke off or came too late, or it says that something inside broke.
func passing(err error) bool {
	if s := status(err); s != 0 {
		return s >= 500 || s == http.StatusTooManyRequests || s == http.StatusRequestTimeout
	}
	_, cut := errors.AsType[cutError](err)
	_, gone := errors.AsType[goneError](err)
	return cut || gone || errors.Is(err, context.DeadlineExceeded)
}
