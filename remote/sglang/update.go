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
	"furlong/weightsync"
)

// Update reads a version, holds it against its manifest, and gives it to all servers, lost ones included. Those that don't say afterwards that they serve it get no more work;
// it is an error if none does. The engine must be paused.
func (e *Engine) Update(ctx context.Context, w rl.Weights) error {
	if err := e.update(ctx, w); err != nil {
		e.count(func(s *Stats) { s.Refused++ })
		return fmt.Errorf("rollout servers: update to version %v: %w", w.Version(), err)
	}
	e.count(func(s *Stats) { s.Updates++ })
	return nil
}

func (e *Engine) update(ctx context.Context, w rl.Weights) error {
	e.mu.Lock()
	paused, old, state := e.paused, e.version, e.state
	e.mu.Unlock()
	if !paused {
		return errors.New("the engine is running, want it paused")
	}
	e.lookAfter(ctx)
	p, err := e.receive(ctx, w)
	if err != nil {
		return err
	}
	if p.folder, err = e.folder(p); err != nil {
		return err
	}
	e.announce(p)
	told, errs := e.giveAll(ctx, p)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if !slices.Contains(errs, nil) {
		return e.refuse(ctx, old, state, errs)
	}
	e.settle(p, errs, told)
	return nil
}

// giveAll gives all servers a version. While none is there to take it, because their processes die, it waits for one as long as servers may be away.
func (e *Engine) giveAll(ctx context.Context, p *parcel) ([]rl.Attestation, []error) {
	for end, pause := time.Now().Add(e.cfg.Wait), firstDelay; ; pause = min(2*pause, time.Second) {
		told := make([]rl.Attestation, len(e.servers))
		errs := each(e.servers, func(s *server) (err error) {
			told[e.indexOf(s)], err = e.giveTo(ctx, s, p)
			return err
		})
		hope := false
		for _, err := range errs {
			hope = hope || err != nil && passing(err)
		}
		if slices.Contains(errs, nil) || !hope || ctx.Err() != nil || time.Now().After(end) {
			return told, errs
		}
		e.bereave(errs)
		_ = sleep(ctx, min(pause, time.Until(end)))
	}
}

// bereave notes that no server was there for an update.
func (e *Engine) bereave(errs []error) {
	for i, err := range errs {
		s := e.servers[i]
		e.lose(s, err, !passing(err), 0)
		e.mu.Lock()
		e.sayAway(s, err)
		e.mu.Unlock()
	}
}

func (e *Engine) indexOf(s *server) int {
	for i := range e.servers {
		if e.servers[i] == s {
			return i
		}
	}
	return -1
}

// A parcel is a version on its way to the servers.
type parcel struct {
	version rl.Version
	label   string
	man     *weightsync.Manifest
	tensors []weightsync.Tensor // nil once none is to travel any more
	folder  string              // checkpoint of the version, "" if no server wants one
}

// receive reads a version whole and checks it. It must be no delta. It takes the place of the one before, which no server can be given from then on.
func (e *Engine) receive(ctx context.Context, w rl.Weights) (*parcel, error) {
	raw, err := w.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	before := e.kept
	e.kept = nil
	e.mu.Unlock()
	p := &parcel{version: w.Version(), label: label(w.Version()), man: m, tensors: before.room(m)}
	_, err = weightsync.Take(ctx, w, p.tensors, weightsync.Held{})
	return p, err
}

// room returns tensors for a version, in the memory of the one before where they are of one size. p may be nil.
func (p *parcel) room(m *weightsync.Manifest) []weightsync.Tensor {
	out := make([]weightsync.Tensor, len(m.Tensors))
	for i, t := range m.Tensors {
		out[i] = weightsync.Tensor{Info: t.Info}
		if p != nil && i < len(p.tensors) && len(p.tensors[i].Mem) == t.Bytes {
			out[i].Mem = p.tensors[i].Mem
			continue
		}
		out[i].Mem = make([]byte, t.Bytes)
	}
	return out
}

// push gives a server a version. A lost one must first obey.
func (e *Engine) push(ctx context.Context, s *server, p *parcel) error {
	e.mu.Lock()
	down := s.down != nil
	e.mu.Unlock()
	if down {
		if err := e.hold(ctx, s); err != nil {
			return err
		}
	}
	if err := e.flush(ctx, s, p.label); err != nil {
		return err
	}
	var err error
	switch by := e.transport(s); {
	case by == stream && p.tensors != nil:
		err = e.stream(ctx, s, p)
	case by == disk && p.folder != "":
		err = e.load(ctx, s, p)
	default:
		return fmt.Errorf("it gets weights by %s now, and version %v was not made ready for that", by, p.version)
	}
	if err != nil && passing(err) { // had it said no, it would have what it had
		e.doubt(s, true)
	}
	return err
}

// lostPatience is how long an update waits for a server that was lost before.
const lostPatience = 5 * time.Second

// hold pauses a lost server.
func (e *Engine) hold(ctx context.Context, s *server) error {
	short, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	err := e.wire.post(short, s.url, "/pause_generation", sglang.Pause{Mode: e.mode()}, nil)
	e.mu.Lock()
	s.held = err == nil
	e.mu.Unlock()
	return err
}

// settle notes which servers serve the new version. Those that refused it serve the old one, or nobody knows what.
func (e *Engine) settle(p *parcel, errs []error, told []rl.Attestation) {
	e.serve(p, agreed(errs, told))
	for i, s := range e.servers {
		if errs[i] == nil {
			e.back(s)
			continue
		}
		e.log.Error("rollout server refused an update", "url", s.url, "version", p.version.String(), "why", errs[i].Error())
		e.lose(s, fmt.Errorf("%w: it did not take version %v: %w", errStale, p.version, errs[i]), true, mostDelay)
	}
}

// announce makes a version known: samples may have it as soon as a server does, and those before it stay known.
func (e *Engine) announce(p *parcel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = maps.Clone(e.given)
	e.given[p.label] = p.version
}

// serve makes a version the one that is served. What servers refused before says nothing of it.
func (e *Engine) serve(p *parcel, a rl.Attestation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.version, e.state, e.told, e.kept = p.version, p.man.State, a, p
	streamed := false
	for _, s := range e.servers {
		s.refusal = 0
		streamed = streamed || e.transportOf(s) == stream
	}
	if !streamed {
		p.tensors = nil // the folder has them
	}
}

// refuse ends an update that no server took. Servers that still say the old version go on with it.
func (e *Engine) refuse(ctx context.Context, old rl.Version, state rl.Digest, errs []error) error {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for i, err := range each(e.servers, func(s *server) error { return e.holds(short, s, old, state) }) {
		if err != nil && old != 0 {
			e.lose(e.servers[i], err, errors.Is(err, errStale), 0)
		}
	}
	return errors.Join(errs...)
}
