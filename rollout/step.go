package rollout

import (
	"fmt"
	"slices"

	"furlong/rl"
	"furlong/rollout/sched"
)

// step runs one pass.
func (e *Engine) step() {
	plan := e.sched.Next()
	e.note(plan)
	e.lanes.lay(plan, e.flight)
	if len(e.lanes.busy) == 0 {
		return
	}
	if err := e.lanes.run(); err != nil {
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
	for _, l := range e.lanes.busy {
		for i, r := range l.ends {
			e.take(r, l.next[i], l.lp[i], l.drawn[i])
		}
	}
}

// note counts what a plan says.
func (e *Engine) note(plan sched.Plan) {
	for _, o := range plan.Start {
		e.stats.CachedTokens += o.Known
		r := e.flight[o.ID]
		if r.lost {
			r.lost = false
			e.stats.Lost--
			r.sample.Retractions++
		} else {
			r.sample.CachedTokens = o.Known
		}
	}
	for _, id := range plan.Evict {
		e.lost(id)
	}
	e.stats.DecodeTokens += len(plan.Decode)
	e.stats.PrefillTokens += plan.Len() - len(plan.Decode)
	if plan.Len() > 0 {
		e.stats.Passes++
	}
}

// take adds a token that was drawn to its request, which then goes on or ends.
func (e *Engine) take(r *request, token int32, lp float32, d drawn) {
	s := r.sample
	if d.err != nil {
		e.failOne(r, fmt.Errorf("response token %d: %w", len(s.Response), d.err))
		return
	}
	e.stats.DrawnTokens++
	r.tokens = append(r.tokens, token)
	s.Response = append(s.Response, token)
	s.LogProbs = append(s.LogProbs, lp)
	if r.trunc {
		s.TruncLogProbs = append(s.TruncLogProbs, d.trunc)
	}
	if n := len(s.Versions); n > 0 && s.Versions[n-1].Version == e.version {
		s.Versions[n-1].Tokens++
	} else {
		s.Versions = append(s.Versions, rl.Span{Version: e.version, Tokens: 1})
	}
	switch {
	case slices.Contains(s.Sampling.StopIDs, token):
		e.finish(r, rl.StopToken)
	case len(r.tokens) == r.limit:
		e.finish(r, rl.StopLength)
	default:
		e.sched.Append(s.Request)
	}
}
