package sglang

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	paused, old := e.paused, e.version
	e.mu.Unlock()
	if !paused {
		return errors.New("the engine is running, want it paused")
	}
	p, err := receive(ctx, w)
	if err != nil {
		return err
	}
	if p.folder, err = e.folder(p); err != nil {
		return err
	}
	e.announce(p)
	told := make([]rl.Attestation, len(e.servers))
	errs := each(e.servers, func(s *server) error {
		err := e.push(ctx, s, p)
		if err == nil {
			told[e.indexOf(s)], err = e.confirm(ctx, s, p)
		}
		return err
	})
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return e.settle(ctx, p, old, errs, told)
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
	tensors []weightsync.Tensor
	folder  string // checkpoint of the version, "" if no server wants one
}

// receive reads a version whole and checks it. It must be no delta.
func receive(ctx context.Context, w rl.Weights) (*parcel, error) {
	raw, err := w.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	p := &parcel{version: w.Version(), label: label(w.Version()), man: m, tensors: make([]weightsync.Tensor, len(m.Tensors))}
	for i, t := range m.Tensors {
		p.tensors[i] = weightsync.Tensor{Info: t.Info, Mem: make([]byte, t.Bytes)}
	}
	_, err = weightsync.Take(ctx, w, p.tensors, weightsync.Held{})
	return p, err
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
	if e.transport(s) == stream {
		return e.stream(ctx, s, p)
	}
	return e.load(ctx, s, p)
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
func (e *Engine) settle(ctx context.Context, p *parcel, old rl.Version, errs []error, told []rl.Attestation) error {
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
		}
	}
	if good == 0 {
		return e.refuse(ctx, old, errs)
	}
	e.serve(p, agreed(errs, told))
	for i, s := range e.servers {
		if errs[i] == nil {
			e.back(s)
			continue
		}
		e.log.Error("rollout server refused an update", "url", s.url, "version", p.version.String(), "why", errs[i].Error())
		e.lose(s, fmt.Errorf("%w: it did not take version %v: %w", errStale, p.version, errs[i]), true, mostDelay)
	}
	return nil
}

// announce makes a version known: samples may have it as soon as a server does, and those before it stay known.
func (e *Engine) announce(p *parcel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = maps.Clone(e.given)
	e.given[p.label] = p.version
}

// serve makes a version the one that is served.
func (e *Engine) serve(p *parcel, a rl.Attestation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.version, e.told = p.version, a
}

// refuse ends an update that no server took. Servers that still say the old version go on with it.
func (e *Engine) refuse(ctx context.Context, old rl.Version, errs []error) error {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for i, err := range each(e.servers, func(s *server) error { return e.holds(short, s, label(old)) }) {
		if err != nil && old != 0 {
			e.lose(e.servers[i], err, errors.Is(err, errStale), 0)
		}
	}
	return errors.Join(errs...)
}
