package main

import (
	"errors"
	"fmt"
	"time"

	"furlong/config"
	"furlong/orchestrator"
	"furlong/rollout"
)

// checkGather reports what the loop and the engines say of drawing samples that does not go together.
func (t *together) checkGather() error {
	f := t.f
	var errs []error
	if f.loop.Loop != orchestrator.Synchronous && f.line.Layout.Colocate {
		errs = append(errs, fmt.Errorf("--colocate with --loop %s: devices that generate and train in turn can't do both at once, want --loop %s, or --rollout-num-nodes", f.loop.Loop, orchestrator.Synchronous))
	}
	if f.loop.Loop != orchestrator.FullyAsync {
		return errors.Join(errs...)
	}
	if f.rollout.UpdateMode == rollout.Abort.String() {
		errs = append(errs, errors.New("--pause-generation-mode is abort with --loop fully-async, where samples are in flight at every update, want retract or in_place"))
	}
	if f.debug.trainOnly() {
		errs = append(errs, fmt.Errorf("--loop fully-async with recorded rollouts, which have an order, want --loop %s or %s", orchestrator.Synchronous, orchestrator.OneStepOff))
	}
	return errors.Join(errs...)
}

// loops holds the two ways in which a launch line names the loop against each other.
type loops struct {
	f   *trainFlags
	set *config.Set
}

// Validate reports --fully-async, or its --no- form, beside a --loop of the same line that says something else.
func (l *loops) Validate() error {
	named := l.set.Values()["loop"]
	for _, x := range l.set.Expansions() {
		async := x.Flag == "fully-async"
		if (async || x.Flag == "no-fully-async") && x.Origin == named.Origin && async != (l.f.loop.Loop == orchestrator.FullyAsync) {
			return fmt.Errorf("--%s and --loop %s contradict each other, want one of them", x.Flag, l.f.loop.Loop)
		}
	}
	return nil
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
	if l.Loop == orchestrator.FullyAsync {
		m.add("--loop fully-async draws without end and takes groups as they come: --async-max-concurrent-samples says how many are in flight", "over-sampling-batch-size", "over-sampling-policy")
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
