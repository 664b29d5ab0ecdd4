package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"furlong/api/sglang"
	"furlong/checkpoint/intake"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tensor"
	"furlong/weightsync"
)

// A session is an update that is open, and how it is to be taken up.
type session struct {
	*intake.Session
	manner
	begun time.Time
}

// A manner is what calls ask for besides weights. Of several in a session the last label counts; one that wants samples aborted, or the cache kept, is
// enough.
type manner struct {
	label *string // nil: what is served keeps its label
	abort bool    // samples in flight end
	keep  bool    // the attention state of samples in flight is kept
	from  string  // where weights came from, as figures call it
}

// add joins what another call asks for.
func (m *manner) add(n manner) {
	if n.label != nil {
		m.label = n.label
	}
	m.abort, m.keep, m.from = m.abort || n.abort, m.keep || n.keep, n.from
}

// mode returns what becomes of samples in flight. An emptied cache has nothing for those that hold pages of it: they are computed again.
func (m manner) mode() rollout.Mode {
	switch {
	case m.abort:
		return rollout.Abort
	case m.keep:
		return rollout.InPlace
	}
	return rollout.Retract
}

// mannerOf returns the manner of a body's fields.
func mannerOf(from string, label *string, abort bool, flush *bool) manner {
	return manner{label, abort, flush != nil && !*flush, from}
}

// selected refuses a selector of weights that are not here.
func selected(selector string) error {
	switch selector {
	case "", "all", "target":
		return nil
	case "draft":
		return errors.New(`selector is "draft", but there is no draft model, want target or all`)
	}
	return fmt.Errorf("selector is %.50q, want target or all", selector)
}

func (s *Server) beginUpdate(w http.ResponseWriter, r *http.Request) {
	var b sglang.BeginUpdate
	if !s.readAny(w, r, &b) {
		return
	}
	s.inTurn(w, r, func(context.Context) (string, error) {
		if err := selected(b.Selector); err != nil {
			return "", err
		}
		return s.begin()
	})
}

// begin opens a session.
func (s *Server) begin() (string, error) {
	if s.updates.session != nil {
		return "", errors.New("a session is open already, and stays so: /end_weight_update ends it")
	}
	s.updates.session = s.newSession()
	return fmt.Sprintf("a session is open; weights %q are served until it has ended well", s.served()), nil
}

func (s *Server) newSession() *session {
	return &session{Session: s.parts.Weights.Model.Begin(intake.Options{Strict: s.cfg.StrictSessions}), begun: s.now()}
}

func (s *Server) endUpdate(w http.ResponseWriter, r *http.Request) {
	if !s.readAny(w, r, &struct{}{}) {
		return
	}
	s.inTurn(w, r, s.end)
}

var errNoSession = errors.New("no session is open: /begin_weight_update opens one")

// end closes the session that is open.
func (s *Server) end(ctx context.Context) (string, error) {
	x := s.updates.session
	if x == nil {
		return "", errNoSession
	}
	s.updates.session = nil
	if x.Empty() {
		x.Abort()
		if x.label != nil {
			s.relabel(*x.label)
		}
		return fmt.Sprintf("no weights came: %q are served on as they were", s.served()), nil
	}
	return s.take(ctx, x)
}

// postProcess is begin, end or both for older callers. Where buckets are taken without a session, ending none is no mistake.
func (s *Server) postProcess(w http.ResponseWriter, r *http.Request) {
	var p sglang.PostProcess
	if !s.readAny(w, r, &p) {
		return
	}
	s.inTurn(w, r, func(ctx context.Context) (message string, err error) {
		message = "nothing was asked for"
		if p.Restore {
			if message, err = s.begin(); err != nil {
				return "", err
			}
		}
		switch {
		case !p.Quantize:
			return message, nil
		case s.updates.session == nil && !s.cfg.StrictSessions:
			return "no session is open: each call was one", nil
		}
		return s.end(ctx)
	})
}

// bucket takes up what put puts into a session: the one that is open, or, if calls may come without, one of its own.
func (s *Server) bucket(ctx context.Context, m manner, put func(*intake.Session) error) (string, error) {
	x := s.updates.session
	if x == nil {
		if s.cfg.StrictSessions {
			return "", errNoSession
		}
		x = s.newSession()
		x.add(m)
		if err := put(x.Session); err != nil {
			return "", s.servedOn(err)
		}
		return s.take(ctx, x)
	}
	if err := put(x.Session); err != nil {
		return "", fmt.Errorf("%w; the session cannot end well any more, and weights %q are served on", err, s.served())
	}
	x.add(m)
	return "the session has " + x.Report().String(), nil
}

// servedOn adds to an error that nothing has changed.
func (s *Server) servedOn(err error) error {
	return fmt.Errorf("%w; weights %q are served on", err, s.served())
}

// take ends a session: the engine takes up what came, or serves on. The label changes with the weights.
func (s *Server) take(ctx context.Context, x *session) (string, error) {
	held, err := s.held(ctx, x.Session)
	if err != nil {
		return "", s.servedOn(err)
	}
	v, label := s.nextVersion(), s.served()
	if x.label != nil {
		label = *x.label
	}
	w, err := x.End(v, held)
	if err != nil {
		return "", s.servedOn(err)
	}
	s.labels.set(v, label)
	// Who has sent everything may leave: the update is taken up or refused as a whole all the same.
	if err := s.engine.UpdateWith(context.WithoutCancel(ctx), w, rollout.UpdateOptions{Mode: x.mode()}); err != nil {
		s.labels.drop(v)
		return "", s.servedOn(err)
	}
	s.health.mend()
	s.series.updated(x.from, s.now().Sub(x.begun))
	return fmt.Sprintf("weights %q are served: %v; state %v", label, x.Report(), s.engine.Attestation().State), nil
}

// held returns what the engine holds, if the session needs it.
func (s *Server) held(ctx context.Context, x *intake.Session) (h intake.Held, err error) {
	if x.Whole() {
		return h, nil
	}
	k, err := s.keeper()
	if err != nil {
		return h, err
	}
	h.Version = s.engine.Version()
	err = k.Look(ctx, func(ps []*tensor.Param) { h.Sums = weightsync.SumsOf(bare(ps)) })
	return h, err
}

// bare returns parameters over the same memory, without what is derived from them.
func bare(ps []*tensor.Param) []*tensor.Param {
	out := make([]*tensor.Param, len(ps))
	for i, p := range ps {
		twin, v := *p, *p.Value
		v.Layout = nil
		twin.Value = &v
		out[i] = &twin
	}
	return out
}

// nextVersion returns a version that no weights ever had here.
func (s *Server) nextVersion() rl.Version {
	u := &s.updates
	at := s.engine.Version()
	u.last = rl.NewVersion(at.Epoch(), max(at.Count(), u.last.Count())+1)
	return u.last
}

// relabel calls the weights that are served by another name.
func (s *Server) relabel(label string) { s.labels.set(s.engine.Version(), label) }
