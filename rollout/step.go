package rollout

import (
	"fmt"
	"runtime/debug"
	"slices"

	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout/sched"
	"furlong/tensor"
)

// A pass is the memory of one forward pass, kept for the next.
type pass struct {
	in    ops.Tokens
	seqs  []*kv.Sequence
	ends  []*request // whose next token is drawn
	rows  []int32    // of the tokens before it: [R]
	next  []int32    // [R]
	drawn []drawn    // [R]
	scale []float32  // [R]
}

// drawn is what came of drawing a token, besides the token.
type drawn struct {
	trunc float32 // logprob under the truncated distribution
	err   error
}

// step runs one pass.
func (e *Engine) step() {
	plan := e.sched.Next()
	e.note(plan)
	e.lay(plan)
	if e.pass.in.Len() == 0 {
		return
	}
	var lp []float32
	err := e.guard(func() { lp = e.compute() })
	if err != nil {
		e.fail(err)
		return
	}
	e.sched.Done()
	for _, c := range plan.Decode {
		e.pages.Advance(&e.flight[c.ID].seq, c.To, nil)
	}
	for _, c := range plan.Prefill {
		r := e.flight[c.ID]
		e.pages.Advance(&r.seq, c.To, r.tokens)
	}
	for i, r := range e.pass.ends {
		e.take(r, i, lp[i])
	}
}

// note counts what a plan says.
func (e *Engine) note(plan sched.Plan) {
	for _, o := range plan.Start {
		e.stats.CachedTokens += o.Known
		if r := e.flight[o.ID]; !r.begun {
			r.begun, r.sample.CachedTokens = true, o.Known
		}
	}
	e.stats.Retracted += len(plan.Evict)
	e.stats.DecodeTokens += len(plan.Decode)
	e.stats.PrefillTokens += plan.Len() - len(plan.Decode)
	if plan.Len() > 0 {
		e.stats.Passes++
	}
}

// lay lays a plan's tokens end to end.
func (e *Engine) lay(plan sched.Plan) {
	p := &e.pass
	p.in = ops.Tokens{ID: p.in.ID[:0], Seq: p.in.Seq[:0], Pos: p.in.Pos[:0]}
	p.seqs, p.ends, p.rows = p.seqs[:0], p.ends[:0], p.rows[:0]
	for _, chunks := range [][]sched.Chunk{plan.Decode, plan.Prefill} {
		for _, c := range chunks {
			e.layChunk(c)
		}
	}
}

func (e *Engine) layChunk(c sched.Chunk) {
	p, r := &e.pass, e.flight[c.ID]
	for pos := c.From; pos < c.To; pos++ {
		p.in.ID = append(p.in.ID, r.tokens[pos])
		p.in.Seq = append(p.in.Seq, int32(len(p.seqs)))
		p.in.Pos = append(p.in.Pos, int32(pos))
	}
	p.seqs = append(p.seqs, &r.seq)
	if c.Last {
		p.ends = append(p.ends, r)
		p.rows = append(p.rows, int32(p.in.Len()-1))
	}
}

// compute runs the model over the pass, draws the next tokens, and returns their logprobs.
func (e *Engine) compute() []float32 {
	p, c := &e.pass, e.ctx
	c.Mem.Reset()
	e.layer = -1
	e.pages.Bind(p.seqs)
	x := model.Forward(c, e.m, &p.in, e.store, false) // [T, S, D]
	e.layer = e.layers
	if len(p.ends) == 0 {
		return nil
	}
	return e.choose(e.logits(x))
}

func (e *Engine) store(layer int) kv.Store {
	e.layer = layer
	return e.pages.Store(layer)
}

// logits returns the logits of the wanted rows of streams x: [R, V].
func (e *Engine) logits(x *tensor.Tensor) *tensor.Tensor {
	t := x.Shape[0]
	y := ops.Gather(e.ctx, x.View(t, x.Len()/t), e.pass.rows) // [R, S*D]
	shape := append([]int{len(e.pass.rows)}, x.Shape[1:]...)
	return ops.Linear(e.ctx, e.m.Final(e.ctx, y.View(shape...)), e.m.Head())
}

// take adds token i of the pass to its request, which then goes on or ends.
func (e *Engine) take(r *request, i int, lp float32) {
	p, s := &e.pass, r.sample
	if err := p.drawn[i].err; err != nil {
		e.failOne(r, fmt.Errorf("response token %d: %w", len(s.Response), err))
		return
	}
	token := p.next[i]
	r.tokens = append(r.tokens, token)
	s.Response = append(s.Response, token)
	s.LogProbs = append(s.LogProbs, lp)
	if r.trunc {
		s.TruncLogProbs = append(s.TruncLogProbs, p.drawn[i].trunc)
	}
	if n := len(s.Versions); n > 0 && s.Versions[n-1].Version == e.version {
		s.Versions[n-1].Tokens++
	} else {
		s.Versions = append(s.Versions, rl.Span{Version: e.version, Tokens: 1})
	}
	switch {
	case slices.Contains(s.Sampling.StopIDs, token):
		e.end(r, rl.StopToken)
	case len(r.tokens) == r.limit:
		e.end(r, rl.StopLength)
	default:
		e.sched.Append(s.Request)
	}
}

// end finishes a request and lets the cache learn all that was computed for it.
func (e *Engine) end(r *request, why rl.Stop) {
	e.pages.Advance(&r.seq, r.seq.Len(), r.tokens)
	e.finish(r, why)
}

// guard runs mathematics, where a mistake panics, and turns that into an error.
func (e *Engine) guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v\n%s", e.place(), r, debug.Stack())
		}
	}()
	f()
	return nil
}

// place names what the pass was at.
func (e *Engine) place() string {
	switch {
	case e.layer < 0:
		return "embedding"
	case e.layer == e.layers:
		return "head"
	}
	return fmt.Sprintf("layer %d", e.layer)
}
