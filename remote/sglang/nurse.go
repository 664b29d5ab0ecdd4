package sglang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// nurse looks after servers until ctx ends: whether lost ones are back, and whether those that have work live.
func (e *Engine) nurse(ctx context.Context) {
	for ctx.Err() == nil {
		e.mu.Lock()
		s, pause := e.patient()
		changed := e.changed
		look, halt := context.WithCancel(ctx)
		if s != nil {
			s.halt = halt
			e.visits.Add(1)
		}
		e.mu.Unlock()
		if s == nil {
			halt()
			_ = waitFor(ctx, changed, pause)
			continue
		}
		go func() {
			defer e.visits.Done()
			defer halt()
			e.visit(look, s)
		}()
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
		if s.looking || e.paused || e.givenUp(s) || s.down == nil && s.requests == 0 {
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

// visitPatience is how long a server may take to answer a look.
const visitPatience = 30 * time.Second

// visit looks at a server.
func (e *Engine) visit(ctx context.Context, s *server) {
	e.mu.Lock()
	lost := s.down != nil
	e.mu.Unlock()
	var err error
	if lost {
		err = e.revive(ctx, s)
	} else {
		err = e.alive(ctx, s)
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

// alive asks a server that has work for a sign of life.
func (e *Engine) alive(ctx context.Context, s *server) error {
	short, cancel := context.WithTimeout(ctx, visitPatience)
	defer cancel()
	return e.wire.get(short, s.url, "/health_generate", nil)
}

// still notes that a lost server is not back.
func (e *Engine) still(s *server, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.delay = min(max(2*s.delay, firstDelay), mostDelay)
	if s.refusal > 0 {
		s.delay = e.again << (s.refusal - 1)
	}
	s.again, s.down = time.Now().Add(s.delay), err
	e.sayAway(s, err)
	if e.givenUp(s) {
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

// prove has a server show that it holds the right weights, goes on, and generates. One that holds others goes on with nothing.
func (e *Engine) prove(ctx context.Context, s *server) error {
	short, cancel := context.WithTimeout(ctx, visitPatience)
	defer cancel()
	e.mu.Lock()
	v, state := e.version, e.state
	e.mu.Unlock()
	if err := e.holds(short, s, v, state); err != nil {
		return err
	}
	if err := e.wire.post(short, s.url, "/continue_generation", struct{}{}, nil); err != nil {
		return err
	}
	return e.wire.get(short, s.url, "/health_generate", nil)
}

// holds asks a server whether it serves a version: under its label, and, where the server attests weights, in the very bytes.
func (e *Engine) holds(ctx context.Context, s *server, v rl.Version, state rl.Digest) error {
	var m sglang.ModelInfo
	if err := e.wire.either(ctx, s.url, "/model_info", "/get_model_info", &m); err != nil {
		return err
	}
	want, attests := label(v), e.attests(s)
	switch {
	case m.WeightVersion != want:
		return fmt.Errorf("%w: weight_version is %q, want %q", errStale, m.WeightVersion, want)
	case m.Attested == nil && attests:
		return fmt.Errorf("%w: it attests nothing any more", errStale)
	case m.Attested != nil && m.Attested.State != state.String():
		return fmt.Errorf("%w: it attests state %.64s, want %v", errStale, m.Attested.State, state)
	}
	return nil
}
