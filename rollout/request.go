package rollout

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"furlong/kv"
	"furlong/rl"
	"furlong/rollout/sample"
)

// A request is one sample in the making. It belongs to the loop.
type request struct {
	call   *call
	ask    rl.Request
	sample *rl.Sample
	tokens []int32 // prompt and response
	limit  int     // tokens at which it ends
	over   rl.Stop // why nothing is to be drawn after what was begun
	scale  float32 // of the logits: the inverse temperature
	seq    kv.Sequence
	trunc  bool           // a truncated distribution is drawn from
	shaper *sample.Shaper // of logits, nil for none
	lost   bool           // its pages went, and it waits to be computed again
}

// request checks q against everything that does not depend on what is in flight.
func (e *Engine) request(c *call, q rl.Request) (*request, error) {
	if q.Prompt == nil {
		return nil, fmt.Errorf("request %d has no prompt", q.ID)
	}
	s := &rl.Sample{Request: q.ID, Prompt: q.Prompt, Index: q.Index}
	if err := e.valid(q); err != nil {
		return nil, named(s, err)
	}
	s = q.Begin()
	n, limit := len(q.Prompt.Tokens), e.cfg.Context
	if q.Sampling.MaxTokens < limit-n {
		limit = n + q.Sampling.MaxTokens
	}
	r := &request{
		call:   c,
		ask:    q,
		sample: s,
		tokens: s.Tokens(),
		limit:  limit,
		scale:  q.Sampling.InvTemperature(),
		trunc:  sample.Truncates(q.Sampling),
		shaper: sample.NewShaper(q.Sampling, q.Constraint, q.Prompt.Tokens),
	}
	if err := e.goesOn(r); err != nil {
		return nil, named(s, err)
	}
	e.kept.begin(s, q.Report)
	return r, nil
}

// goesOn checks what was begun of r, and whether that is all.
func (e *Engine) goesOn(r *request) error {
	response := r.sample.Response
	n := len(response)
	if n == 0 {
		return nil
	}
	if err := e.inVocab("token %d of what is begun", n, func(i int) int32 { return response[i] }); err != nil {
		return err
	}
	if r.trunc && len(r.sample.TruncLogProbs) != n {
		return fmt.Errorf("%d tokens are begun with %d truncated logprobs, want %d", n, len(r.sample.TruncLogProbs), n)
	}
	switch {
	case slices.Contains(r.ask.Sampling.StopIDs, response[n-1]):
		r.over = rl.StopToken
	case len(r.tokens) >= r.limit:
		r.over = rl.StopLength
	}
	return e.kept.fits(r.sample)
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
	return errors.Join(e.validReport(q.Report, len(tokens)), q.CheckBegun())
}

// validReport reports the first thing that is wrong with what is asked about a prompt of n tokens and its response.
func (e *Engine) validReport(r rl.Report, n int) error {
	switch {
	case r.Tail < 0 || r.Tail >= n:
		return fmt.Errorf("%d tokens of the prompt are to be scored, want 0 to %d: all but the first", r.Tail, n-1)
	case r.Top < 0 || r.Top > e.m.Vocab():
		return fmt.Errorf("the likeliest %d tokens are asked for, want 0 to %d", r.Top, e.m.Vocab())
	case r.Experts && e.kept.routes == nil:
		return errors.New("its experts are asked for, want --enable-return-routed-experts")
	case r.Entries && e.kept.entries == nil:
		return errors.New("the entries that it reads are asked for, but this engine does not keep them")
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
