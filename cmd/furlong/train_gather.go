package main

import (
	"errors"
	"fmt"
	"time"

	"furlong/orchestrator"
	"furlong/rollout"
)

// checkGather reports what the loop and the engines say of drawing samples that does not go together.
func (t *together) checkGather() error {
	f := t.f
	if f.loop.Loop != orchestrator.FullyAsync {
		return nil
	}
	var errs []error
	if f.rollout.UpdateMode == rollout.Abort.String() {
		errs = append(errs, errors.New("--pause-generation-mode is abort with --loop fully-async, where samples are in flight at every update, want retract or in_place"))
	}
	if f.debug.trainOnly() {
		errs = append(errs, fmt.Errorf("--loop fully-async with recorded rollouts, which have an order, want --loop %s or %s", orchestrator.Synchronous, orchestrator.OneStepOff))
	}
	return errors.Join(errs...)
}

// idleGather adds what changes nothing about which groups are drawn and trained on.
func (t *together) idleGather(m idle) {
	l := t.f.loop
	if l.Loop != orchestrator.FullyAsync {
		m.add("it belongs to --loop fully-async", "async-data-buffer-capacity-factor", "async-max-concurrent-samples", "rollout-submission-granularity")
		if l.Bound < 0 {
			m.add("there is no --max-weight-staleness", "async-unused-samples-handler")
		}
	}
	filtered := l.Filter != "" && l.Filter != "none"
	if !filtered {
		m.add("there is no --dynamic-sampling-filter-path", "max-resample-rounds")
	}
	if !filtered && l.OverSampling <= l.Batch && l.Loop != orchestrator.FullyAsync {
		m.add("no more is drawn than a batch holds", "over-sampling-policy")
	}
}

// unheededGather adds what does nothing in a loop, and is in published command lines all the same.
func (t *together) unheededGather(m idle) {
	if t.f.loop.Loop != orchestrator.FullyAsync {
		m.add("weights change when no sample is in flight: this loop waits for the batch", "pause-generation-mode")
	}
}

// gathers ties what fetches samples to the run.
func (j *job) gathers(l *orchestrator.Loop) {
	l.After, l.Watches = time.After, j.local != nil
	l.Advise = func(what string) { j.log.Warn("rollout", "what", what) }
}

