package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"furlong/checkpoint/intake"
	"furlong/door"
	"furlong/rollout"
	"furlong/server"
)

func runServe(ctx context.Context, e *env) int {
	f := newServeFlags()
	if code, ok := e.parse(f.set()); !ok {
		return code
	}
	f.what.Model, f.what.Tokenizer = modelDir(f.what.Model), modelDir(f.what.Tokenizer)
	return e.fail(e.serve(ctx, f))
}

// serve answers requests until ctx is done. Then it lets samples in flight end, for a while; that is no failure.
func (e *env) serve(ctx context.Context, f *serveFlags) error {
	w := f.where
	if err := forget(w.PortFile); err != nil {
		return err
	}
	d, err := door.Open(net.JoinHostPort(w.Host, strconv.Itoa(w.Port)), w.Cert, w.Key, e.log)
	if err != nil {
		return err
	}
	defer d.Close()
	load, err := e.load(ctx, f)
	if err != nil {
		return err
	}
	defer load.close()
	parts, err := load.parts(f, d.Addr(), e.log)
	if err != nil {
		return err
	}
	s, err := server.New(f.server, load.engine, parts)
	if err != nil {
		return err
	}
	defer background(ctx, s.Run)()
	d.Show(s.Handler())
	if err := e.announce(d.Address(), w.PortFile); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-d.Ended():
		return d.Shut(ctx)
	case err := <-load.ended:
		load.ended <- err
		return fmt.Errorf("engine: %w", err)
	}
	return e.drain(context.WithoutCancel(ctx), s, d, w.Drain)
}

// background runs f until the function that it returns is called, whatever becomes of ctx.
func background(ctx context.Context, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); _ = f(ctx) }() // it ends because it is told to
	return func() { cancel(); <-done }
}

// forget removes the address that an earlier server left in a file: who waits for the file to appear would ask there. What is no plain file stays.
func forget(file string) error {
	if about, err := os.Lstat(file); err != nil || !about.Mode().IsRegular() {
		return nil //nolint:nilerr // there is none; if it can't be written, announce says so
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--port-file: an earlier server's address is there: %w", err)
	}
	return nil
}

// announce says where requests are answered: in a line that scripts can read, and in a file if there is to be one, which appears whole.
func (e *env) announce(address, file string) error {
	if file != "" {
		if err := os.WriteFile(file+".part", []byte(address+"\n"), 0o644); err != nil {
			return fmt.Errorf("--port-file: %w", err)
		}
		if err := os.Rename(file+".part", file); err != nil {
			return fmt.Errorf("--port-file: %w", err)
		}
	}
	fmt.Fprintf(e.stderr, "furlong %s: listening on %s\n", e.name, address)
	return nil
}

// drain lets samples in flight end, says so to who asks for health, and closes the door.
func (e *env) drain(ctx context.Context, s *server.Server, d *door.Door, patience time.Duration) error {
	s.Drain()
	n := s.InFlight()
	e.log.Info("server ends", "in_flight", n, "patience", patience)
	wait, stop := context.WithTimeout(ctx, patience)
	defer stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for ; s.InFlight() > 0 && wait.Err() == nil; <-look.C {
		continue
	}
	if n := s.InFlight(); n > 0 {
		e.log.Warn("samples aborted", "in_flight", n)
		if err := s.Abort(ctx); err != nil {
			return err
		}
	}
	return d.Shut(ctx)
}

// A loaded is an engine at work and what it was loaded from.
type loaded struct {
	engine *rollout.Engine
	policy *policy
	held   *intake.Model // what the engine holds
	ended  chan error    // gets why the engine's loop ended
	stop   context.CancelFunc
	closeK func()
}

// load reads the model and sets an engine to work on it.
func (e *env) load(ctx context.Context, f *serveFlags) (*loaded, error) {
	line := e.follow("load", "steps", 3, f.talk)
	defer line.Finish()
	if err := f.own(); err != nil {
		return nil, err
	}
	line.Set(0, "reading weights")
	p, err := f.what.policy(f.rollout, e.log)
	if err != nil {
		return nil, err
	}
	if err := p.holds(f.rollout.Context); err != nil {
		return nil, err
	}
	line.Set(1, "making the engine")
	k, closeK := backend(f.what.Backend, f.what.Threads)
	m := p.twin(f.what.model())
	engine, err := rollout.New(f.rollout, m, k)
	if err != nil {
		closeK()
		return nil, err
	}
	held, err := intake.Describe(m.Params(), p.files.Layers, p.files.Experts)
	if err != nil {
		closeK()
		return nil, err
	}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &loaded{engine: engine, policy: p, held: held, ended: make(chan error, 1), stop: stop, closeK: closeK}
	go func() { l.ended <- engine.Run(inner) }()
	line.Set(2, "deriving layouts")
	if err := serveOnce(ctx, engine, p, formatOf(f.rollout)); err != nil {
		l.close()
		return nil, err
	}
	line.Set(3, "ready")
	return l, nil
}

// close ends the engine.
func (l *loaded) close() {
	l.stop()
	<-l.ended
	l.closeK()
}
