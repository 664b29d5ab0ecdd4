package rollout

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"

	"furlong/kv"
	"furlong/rl"
	"furlong/rollout/sample"
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

// A request is one sample in the making. It belongs to the loop.
type request struct {
	call   *call
	ask    rl.Request
	sample *rl.Sample
	tokens []int32 // prompt and response
	limit  int     // tokens at which it ends
	scale  float32 // of the logits: the inverse temperature
	seq    kv.Sequence
	trunc  bool           // a truncated distribution is drawn from
	shaper *sample.Shaper // of logits, nil for none
	lost   bool           // its pages went, and it waits to be computed again
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

// request checks q against everything that does not depend on what is in flight.
func (e *Engine) request(c *call, q rl.Request) (*request, error) {
	if q.Prompt == nil {
		return nil, fmt.Errorf("request %d has no prompt", q.ID)
	}
	s := &rl.Sample{Request: q.ID, Prompt: q.Prompt, Index: q.Index, Sampling: q.Sampling}
	if err := e.valid(q); err != nil {
		return nil, named(s, err)
	}
	n, limit := len(q.Prompt.Tokens), e.cfg.Context
	if q.Sampling.MaxTokens < limit-n {
		limit = n + q.Sampling.MaxTokens
	}
	return &request{
		call:   c,
		ask:    q,
		sample: s,
		tokens: slices.Clone(q.Prompt.Tokens),
		limit:  limit,
		scale:  q.Sampling.InvTemperature(),
		trunc:  sample.Truncates(q.Sampling),
		shaper: sample.NewShaper(q.Sampling, q.Constraint, q.Prompt.Tokens),
	}, nil
}

// valid reports the first thing that is wrong with q.
func (e *Engine) valid(q rl.Request) error {
	tokens, s := q.Prompt.Tokens, q.Sampling
	most := e.cfg.Context - 1
	if s.MaxTokens == 0 { // its prompt is computed, and nothing is drawn
		s.MaxTokens, most = 1, e.cfg.Context
	}
	if err := sample.Validate(s, sample.Wire); err != nil {
		return err
	}
	if len(tokens) == 0 {
		return errors.New("the prompt has no tokens, want at least 1")
	}
	if len(tokens) > most {
		return fmt.Errorf("the prompt has %d tokens, want at most %d: --context-length is %d", len(tokens), most, e.cfg.Context)
	}
	if err := e.inVocab("token %d of the prompt", len(tokens), func(i int) int32 { return tokens[i] }); err != nil {
		return err
	}
	if err := e.inVocab("token %d of logit_bias", len(s.Bias), func(i int) int32 { return s.Bias[i].Token }); err != nil {
		return err
	}
	return e.validReport(q.Report, len(tokens))
}

// validReport reports the first thing that is wrong with what is asked about a prompt of n tokens and its response.
func (e *Engine) validReport(r rl.Report, n int) error {
	switch {
	case r.Tail < 0 || r.Tail >= n:
		return fmt.Errorf("%d tokens of the prompt are to be scored, want 0 to %d: all but the first", r.Tail, n-1)
	case r.Top < 0 || r.Top > e.m.Vocab():
		return fmt.Errorf("the likeliest %d tokens are asked for, want 0 to %d", r.Top, e.m.Vocab())
	case r.Experts && e.choices == 0:
		return errors.New("its experts are asked for, want --enable-return-routed-experts")
	}
	return e.inVocab("token %d of those whose logprobs are asked for", len(r.Among), func(i int) int32 { return r.Among[i] })
}

// inVocab returns an error unless tokens 0 up to n of something are in the vocabulary.
func (e *Engine) inVocab(what string, n int, token func(i int) int32) error {
	for i := range n {
		if t := token(i); t < 0 || int(t) >= e.m.Vocab() {
			return fmt.Errorf(what+" is %d, want 0 to %d", i, t, e.m.Vocab()-1)
		}
	}
	return nil
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
		e.stats.PromptTokens += len(r.tokens)
	}
	return nil
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
	id, most := r.sample.Request, max(r.limit-1, len(r.tokens)) // of a response the last token is never computed
	if e.flight[id] != nil {
		return errors.New("its id is already in flight")
	}
	if !e.pages.Fits(most) {
		_, pages := e.pages.Count()
		return fmt.Errorf("it can grow to %d tokens, want at most the %d that all pages hold (--sglang-max-total-tokens)", most, pages.Total*e.stats.PageTokens)
	}
	err := e.sched.Add(sched.Seq{ID: id, Tokens: len(r.tokens), Most: most, Prompt: e.likeness(r), Shared: r.findable()})
	if err == nil {
		e.flight[id] = r
	}
	return err
}

// draws reports whether tokens are drawn for r.
func (r *request) draws() bool { return r.ask.Sampling.MaxTokens > 0 }

// named says which request an error is about.
func named(s *rl.Sample, err error) error {
	return fmt.Errorf("request %d (prompt %q, sample %d): %w", s.Request, s.Prompt.ID, s.Index, err)
}

// likenessTokens is how many tokens requests must begin with alike to wait for one another: what the scheduler finds worth waiting for.
const likenessTokens = 32

// likeness returns a number that requests share which begin alike in one space; 0 when they would not share rows either. Others may have it
// too.
func (e *Engine) likeness(r *request) uint64 {
	if e.cfg.NoSharing {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", r.ask.Space)
	for _, t := range r.tokens[:min(likenessTokens, len(r.tokens))] {
		h.Write([]byte{byte(t), byte(t >> 8), byte(t >> 16), byte(t >> 24)})
	}
	return h.Sum64() | 1
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

// finish delivers a request's sample, and lets the cache learn all that was computed for it.
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
	e.cutRoutes(r)
	r.call.out <- result{sample: r.sample}
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
	r.call.out <- result{err: named(r.sample, err)}
}
