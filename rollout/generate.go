package rollout

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furlong/rl"
	"furlong/rollout/sched"
)

// A call is one Generate. Its channel has room for everything it can get, so the loop never waits for a reader.
type call struct {
	out chan result
}

type result struct {
	sample *rl.Sample
	err    error
}

// An ending is a result on its way to a call.
type ending struct {
	to *call
	result
}

// Generate submits reqs and yields their samples in the order in which they finish. When ctx is done, or the caller stops
// asking, or one request fails, the others are aborted and their pages are free before it returns.
func (e *Engine) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		c, err := e.submit(ctx, reqs)
		if err != nil {
			yield(nil, err)
			return
		}
		got := 0
		defer func() {
			if got < len(reqs) {
				e.abandon(context.WithoutCancel(ctx), c)
			}
		}()
		for ; got < len(reqs); got++ {
			r := c.wait(ctx)
			if !yield(r.sample, r.err) || r.err != nil {
				return
			}
		}
	}
}

// wait returns the next result, or the end of ctx, which comes first when both are there.
func (c *call) wait(ctx context.Context) result {
	select {
	case r := <-c.out:
		if ctx.Err() == nil {
			return r
		}
	case <-ctx.Done():
	}
	return result{err: context.Cause(ctx)}
}

// submit checks all requests and hands them to the loop, or none.
func (e *Engine) submit(ctx context.Context, reqs []rl.Request) (*call, error) {
	c := &call{make(chan result, len(reqs))}
	rs := make([]*request, len(reqs))
	for i, q := range reqs {
		r, err := e.request(c, q)
		if err != nil {
			return nil, err
		}
		rs[i] = r
	}
	var refused error
	if err := e.do(ctx, func() { refused = e.admit(rs) }); err != nil {
		return nil, err
	}
	return c, refused
}

// admit takes all requests into flight, or none.
func (e *Engine) admit(rs []*request) error {
	if e.version == 0 {
		return errors.New("rollout: there are no weights yet, want an update first")
	}
	if err := e.crowded(len(rs)); err != nil {
		return err
	}
	for i, r := range rs {
		if err := e.enter(r); err != nil {
			for _, r := range rs[:i] {
				e.drop(r)
			}
			return named(r.sample, err)
		}
	}
	for _, r := range rs {
		e.stats.Requests++
		e.stats.PromptTokens += len(r.sample.Prompt.Tokens)
		e.resume(r)
	}
	return nil
}

// resume tells shaper and constraint what was begun of a request, which may have been all.
func (e *Engine) resume(r *request) {
	for i, token := range r.sample.Response {
		done, err := r.hear(token)
		switch {
		case err != nil:
			e.failOne(r, fmt.Errorf("response token %d, which was begun: %w", i, err))
			return
		case done && i == len(r.sample.Response)-1:
			r.over = rl.StopText
		}
	}
	if r.over != rl.Unfinished {
		e.finish(r, r.over)
	}
}

// crowded refuses n more requests if too many would then wait. Who has a place at once doesn't wait, and a paused engine has no places.
func (e *Engine) crowded(n int) error {
	if e.cfg.MaxQueued == 0 {
		return nil
	}
	places := 0
	if e.serving() {
		places = e.cfg.MaxRunning - e.sched.Running()
	}
	if wait := e.sched.Queued() + n - places; wait > e.cfg.MaxQueued {
		return fmt.Errorf("rollout: with %d more requests %d would wait, want at most %d (--max-queued-requests): %w", n, wait, e.cfg.MaxQueued, rl.ErrFull)
	}
	return nil
}

// enter takes one request into flight.
func (e *Engine) enter(r *request) error {
	id, n, most := r.sample.Request, len(r.tokens), max(r.limit-1, len(r.tokens)) // of a response the last token is never computed
	if r.over != rl.Unfinished {
		n, most = 1, 1 // nothing is computed
	}
	if e.flight[id] != nil {
		return errors.New("its id is already in flight")
	}
	if !e.pages.Fits(most) {
		_, pages := e.pages.Count()
		return fmt.Errorf("it can grow to %d tokens, want at most the %d that all pages hold (--sglang-max-total-tokens)", most, pages.Total*e.stats.PageTokens)
	}
	err := e.sched.Add(sched.Seq{ID: id, Tokens: n, Most: most, Prompt: e.likeness(r), Shared: r.findable()})
	if err == nil {
		e.flight[id] = r
	}
	return err
}

// drop takes a request out of flight.
func (e *Engine) drop(r *request) {
	e.sched.Remove(r.sample.Request)
	if r.lost {
		e.stats.Lost--
	}
	delete(e.flight, r.sample.Request)
}

// abandon aborts what is left of a call.
func (e *Engine) abandon(ctx context.Context, c *call) {
	// The loop answers between two passes, or has stopped and dropped everything.
	_ = e.do(ctx, func() {
		for _, r := range e.flight {
			if r.call == c {
				e.drop(r)
				e.stats.Aborted++
			}
		}
	})
}

// finish ends a request with its sample, and lets the cache learn all that was computed for it.
func (e *Engine) finish(r *request, why rl.Stop) {
	if why == rl.StopAbort {
		e.stats.Aborted++
	} else {
		e.stats.Finished++
	}
	if n := r.seq.Len(); n > 0 {
		e.pages.Advance(&r.seq, n, r.tokens)
	}
	r.sample.Stop = why
	e.drop(r)
	e.ended = append(e.ended, ending{r.call, result{sample: r.sample}})
}

// fail ends all requests in flight with an error.
func (e *Engine) fail(err error) {
	for _, r := range e.flight {
		e.failOne(r, err)
	}
}

func (e *Engine) failOne(r *request, err error) {
	e.stats.Failed++
	e.drop(r)
	e.ended = append(e.ended, ending{r.call, result{err: named(r.sample, err)}})
}
