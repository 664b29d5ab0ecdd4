package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furlong/rl"
)

// Pause lets the pass that runs end and begins no other. Requests may still be made; they wait.
func (e *Engine) Pause(ctx context.Context) error { return e.PauseWith(ctx, InPlace) }

// PauseWith pauses, and says what becomes of samples in flight: with InPlace they keep what they hold, with Retract those that run give back
// their pages and wait, in their order and before all that come later, with Abort all end with what they have. Pausing a paused engine does
// that again.
func (e *Engine) PauseWith(ctx context.Context, mode Mode) error {
	return e.do(ctx, func() {
		e.paused = true
		switch mode {
		case Abort:
			e.abortAll()
		case Retract:
			e.retract()
		case InPlace:
		}
	})
}

// Resume ends a pause.
func (e *Engine) Resume(ctx context.Context) error {
	return e.do(ctx, func() { e.paused = false })
}

// Ping returns when the loop has taken notice: it lives, and the pass it was at has ended.
func (e *Engine) Ping(ctx context.Context) error { return e.do(ctx, func() {}) }

// AbortAll ends all requests, as Abort does those that are named.
func (e *Engine) AbortAll(ctx context.Context) error { return e.do(ctx, e.abortAll) }

// Abort ends requests by their ids, also while the engine is paused. Their samples are yielded as far as they came, with rl.StopAbort. Ids that are not in
// flight are ignored: they may just have finished.
func (e *Engine) Abort(ctx context.Context, ids ...int64) error {
	return e.do(ctx, func() {
		for _, id := range ids {
			if r := e.flight[id]; r != nil {
				e.finish(r, rl.StopAbort)
			}
		}
	})
}

func (e *Engine) abortAll() {
	for _, id := range slices.Sorted(maps.Keys(e.flight)) {
		e.finish(e.flight[id], rl.StopAbort)
	}
}

// Retract takes the pages of all samples in flight; they are computed again when the engine goes on.
func (e *Engine) Retract(ctx context.Context) error { return e.do(ctx, e.retract) }

func (e *Engine) retract() {
	for _, id := range e.sched.Retract() {
		e.lost(id)
	}
}

// lost counts what a request lost with its pages.
func (e *Engine) lost(id int64) {
	r := e.flight[id]
	r.lost = true
	e.stats.Lost++
	e.stats.Retracted++
	e.stats.RetractedPromptTokens += len(r.sample.Prompt.Tokens)
	e.stats.RetractedResponseTokens += len(r.sample.Response)
}

// Flush empties the prefix cache. It is refused while samples hold pages; samples that wait hold none.
func (e *Engine) Flush(ctx context.Context) (err error) {
	refused := e.do(ctx, func() { err = e.flush("flush") })
	return errors.Join(refused, err)
}

func (e *Engine) flush(what string) error {
	if n := e.sched.Running(); n > 0 {
		return fmt.Errorf("rollout: %s while %d samples hold pages, want none", what, n)
	}
	if c := e.pages.Cache(); c != nil {
		c.Flush()
	}
	return nil
}

// Release empties the prefix cache and gives the memory of attention state back. It is refused while samples hold pages. Until Restore no pass
// runs and requests wait; weights can be updated meanwhile. Releasing twice is the same as once.
func (e *Engine) Release(ctx context.Context) (err error) {
	refused := e.do(ctx, func() {
		if err = e.flush("release of attention state"); err == nil && !e.released {
			e.pages.Drop()
			e.released = true
		}
	})
	return errors.Join(refused, err)
}

// Restore makes attention state again after Release, and does nothing to an engine that has it.
func (e *Engine) Restore(ctx context.Context) error {
	return e.do(ctx, func() {
		if e.released {
			e.pages.Make()
			e.released = false
		}
	})
}
