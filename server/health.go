package server

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"furlong/rl"
)

// health is what a server knows of its own. The zero value is that of one that has not begun.
type health struct {
	proved   atomic.Bool  // a token was drawn
	draining atomic.Bool  // it is about to end
	beat     atomic.Int64 // when the loop last answered, Unix nanoseconds
	fault    atomic.Pointer[error]
}

// breakDown notes that the weights compute nonsense, until mend.
func (h *health) breakDown(err error) { h.fault.Store(&err) }

// mend forgets a break-down: there are other weights.
func (h *health) mend() { h.fault.Store(nil) }

func (s *Server) healthRoutes() []route {
	return []route{
		{"GET", "/health", open, s.healthy},
		{"GET", "/health_generate", open, s.healthGenerate},
		{"GET|POST", "/ping", open, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }},
	}
}

// ailment returns why this server should not be sent requests, nil for no reason.
func (s *Server) ailment() error {
	h := &s.health
	fault := h.fault.Load()
	age := s.now().Sub(time.Unix(0, h.beat.Load()))
	switch {
	case h.draining.Load():
		return refusal{http.StatusServiceUnavailable, "server is about to end"}
	case fault != nil:
		return refusal{http.StatusServiceUnavailable, (*fault).Error()}
	case !h.proved.Load():
		return refusal{http.StatusServiceUnavailable, "server is starting: no token was drawn yet"}
	case age > s.cfg.HealthTime:
		return refusal{http.StatusServiceUnavailable, fmt.Sprintf("engine has not answered for %v", age.Round(time.Millisecond))}
	}
	return nil
}

// healthy answers GET /health: whether the engine works, without asking it to.
func (s *Server) healthy(w http.ResponseWriter, r *http.Request) {
	if err := s.ailment(); err != nil {
		s.unwell(w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) unwell(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	text(w, http.StatusServiceUnavailable, "%v", err)
}

// healthGenerate answers GET /health_generate: it asks for a token, and any token that anybody gets since will do.
func (s *Server) healthGenerate(w http.ResponseWriter, r *http.Request) {
	err := s.ailment()
	if err == nil {
		err = s.pulse(r.Context())
	}
	if err != nil {
		s.unwell(w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// pulseEvery is how often a probe looks whether somebody else got a token.
const pulseEvery = 5 * time.Millisecond

// pulse returns nil when the engine has drawn a token since the call, or is paused and lives.
func (s *Server) pulse(ctx context.Context) error {
	st, before := s.engine.Stats(), s.meter.outputs.Load()
	switch {
	case s.released():
		return refusal{http.StatusServiceUnavailable, "memory is released"}
	case st.Paused:
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, s.cfg.HealthTime)
	defer stop()
	over := make(chan error, 1)
	go func() { over <- s.probe(ctx) }()
	look := time.NewTicker(pulseEvery)
	defer look.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-look.C:
			if s.meter.outputs.Load() != before || s.engine.Stats().Paused {
				stop()
				<-over
				return nil
			}
		}
	}
}

// probe draws one token after token 0.
func (s *Server) probe(ctx context.Context) error {
	_, err := s.all(ctx, []spec{{
		rid: "health-" + newRID(), prompt: []int32{0}, sampling: rl.Sampling{TopP: 1, MaxTokens: 1}, quiet: true,
	}})
	return err
}

// prove draws the first token, trying again until it works.
func (s *Server) prove(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.probe(ctx)
		if err == nil {
			s.health.proved.Store(true)
			return
		}
		if ctx.Err() == nil {
			s.log.Error("engine draws no token", "error", err.Error())
			pause(ctx, time.Second)
		}
	}
}

// heartbeat asks the loop for a sign of life, again and again.
func (s *Server) heartbeat(ctx context.Context) {
	for ctx.Err() == nil {
		if s.engine.Ping(ctx) == nil {
			s.health.beat.Store(s.now().UnixNano())
		}
		pause(ctx, min(time.Second, s.cfg.HealthTime/4))
	}
}

// pause waits, or returns when ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
