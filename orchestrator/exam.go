package orchestrator

import (
	"context"
	"fmt"
	"time"

	"furlong/rl"
)

// An exam is an evaluation that goes on beside the run.
type exam struct {
	cycle   int
	version rl.Version
	stop    context.CancelFunc
	done    chan struct{} // closed when it has ended
	err     error
	t0, t1  time.Time
}

// examine begins to evaluate the weights after cycle c on engines of their own. An interrupt does not end it: without its result a checkpoint would know a
// cycle that was never evaluated.
func (l *Loop) examine(ctx context.Context, c int) error {
	if l.pushed != l.trained {
		return fmt.Errorf("evaluation: weights of cycle %d serve, want those of cycle %d", l.pushed, l.trained)
	}
	evaluate, err := l.Examine(ctx, c, l.Train.Publish(l.version))
	if err != nil {
		return err
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	x := &exam{cycle: c, version: l.version, stop: stop, done: make(chan struct{}), t0: l.Clock()}
	l.exam = x
	l.wg.Go(func() {
		defer close(x.done)
		x.err = evaluate(beside)
		x.t1 = l.Clock()
	})
	return nil
}

// examined waits for the evaluation that goes on, if one does. The run has lost what it waited.
func (l *Loop) examined() error {
	x := l.exam
	if x == nil {
		return nil
	}
	t0 := l.Clock()
	<-x.done
	l.times["eval"] += l.Clock().Sub(t0).Seconds()
	l.exam = nil
	x.stop()
	if x.err != nil {
		return fmt.Errorf("evaluation after cycle %d: %w", x.cycle, x.err)
	}
	return l.Watch.Span(max(x.cycle, 1), "eval", "eval", x.t0, x.t1, x.version)
}

// dismiss ends an evaluation that nobody waits for any more.
func (l *Loop) dismiss() {
	if l.exam != nil {
		l.exam.stop()
		<-l.exam.done
	}
}
