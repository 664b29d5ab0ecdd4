package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"furlong/orchestrator"
)

// struck is furlong train that sends itself signals at a step of its loop. Before the flags stand the step, as in "save 6", how long after the
// step has begun, and the signal: "kill", "int", "term", or "int,int" for one after the other.
func struck() {
	s, err := parseStrike(os.Args[1:4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	e := newEnv(os.Args[4:], os.Stdin, os.Stdout, os.Stderr)
	e.name = "train"
	os.Exit(attend(e, s.train))
}

// A strike is what strikes a run, and where.
type strike struct {
	orchestrator.Watcher
	step    string
	after   time.Duration
	signals []os.Signal
	taken   <-chan struct{} // closed when the first signal that can be taken in was
}

var signalNames = map[string]os.Signal{"kill": os.Kill, "int": os.Interrupt, "term": syscall.SIGTERM}

func parseStrike(args []string) (*strike, error) {
	after, err := time.ParseDuration(args[1])
	if err != nil {
		return nil, err
	}
	s := &strike{step: args[0], after: after}
	for name := range strings.SplitSeq(args[2], ",") {
		sig, ok := signalNames[name]
		if !ok {
			return nil, fmt.Errorf("signal is %q", name)
		}
		s.signals = append(s.signals, sig)
	}
	return s, nil
}

// train is what furlong train does, with s watching.
func (s *strike) train(ctx context.Context, e *env) int {
	f := newTrainFlags()
	set := f.set("train", trainPurpose)
	if code, ok := e.parse(set); !ok {
		return code
	}
	p, err := loadPolicy(f.model, e.log)
	if err != nil {
		return e.fail(err)
	}
	k, closeK := backend(f.model.Backend, f.model.Threads)
	defer closeK()
	j := &job{env: e, f: f, set: set, policy: p}
	if err := j.assemble(ctx, k); err != nil {
		return e.fail(err)
	}
	if err := errors.Join(j.depart(), j.open()); err != nil {
		return e.fail(err)
	}
	j.wire()
	s.Watcher, j.loop.Watch, s.taken = j.loop.Watch, s, ctx.Done()
	return e.fail(j.end(ctx, j.carryOut(ctx)))
}

// Phase strikes when the step has come. A kill comes from beside while the step goes on; the loop stands still while other signals are taken in.
func (s *strike) Phase(a orchestrator.Action) {
	s.Watcher.Phase(a)
	if a.String() != s.step {
		return
	}
	if s.signals[0] == os.Kill && s.after > 0 {
		go s.send(os.Kill)
		return
	}
	for _, sig := range s.signals {
		s.send(sig)
		<-s.taken
		time.Sleep(50 * time.Millisecond) // until all that it ends has heard of it
	}
	if len(s.signals) > 1 {
		time.Sleep(time.Minute) // the second one ends the process
	}
}

func (s *strike) send(sig os.Signal) {
	time.Sleep(s.after)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(sig)
	}
	if err != nil {
		panic("process " + strconv.Itoa(os.Getpid()) + ": " + err.Error())
	}
}
