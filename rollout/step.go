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
		e.takeAll(l)
	}
}

// takeAll takes what a lane computed. A request that fails on the way is in flight no more.
func (e *Engine) takeAll(l *lane) {
	e.takeScores(l.scores)
	for _, r := range l.through {
		if e.flight[r.ask.ID] == r {
			e.finish(r, rl.StopLength)
		}
	}
	for i, r := range l.ends {
		if e.flight[r.ask.ID] != r {
			continue
		}
		if l.told != nil && r.tells() {
			r.sample.Told = append(r.sample.Told, l.told[i])
		}
		e.take(r, l.next[i], l.lp[i], l.drawn[i])
	}
}

// takeScores looks at what was scored: those of one request lie together.
func (e *Engine) takeScores(all []scored) {
	e.stats.ScoredTokens += len(all)
	for lo := 0; lo < len(all); {
		r, hi := all[lo].r, lo+1
		for hi < len(all) && all[hi].r == r {
			hi++
		}
		if err := r.checkScores(hi - lo); err != nil {
			e.failOne(r, err)
		}
		lo = hi
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
			r.sample.CachedTokens = min(o.Known, len(r.sample.Prompt.Tokens))
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
	s.Label(e.version, 1)
	why, err := r.stop(token)
	switch {
	case err != nil:
		e.failOne(r, fmt.Errorf("response token %d: %w", len(s.Response)-1, err))
	case why == rl.Unfinished:
		e.sched.Append(s.Request)
	default:
		e.finish(r, why)
	}
}

// stop tells everybody who wants to know of the response's last token, and returns why the response ends with it, if it does.
func (r *request) stop(token int32) (rl.Stop, error) {
	done, end, err := r.tell(token)
	switch {
	case err != nil:
		return rl.Unfinished, err
	case done:
		return rl.StopText, nil
	case slices.Contains(r.ask.Sampling.StopIDs, token):
		return rl.StopToken, nil
	case end:
		return rl.StopText, nil
	case len(r.tokens) == r.limit:
		return rl.StopLength, nil
	}
	return rl.Unfinished, nil
}

// tell tells constraint and watcher of a token. They are not ours: a panic of theirs fails their own sample.
func (r *request) tell(token int32) (done, end bool, err error) {
	if done, err = r.hear(token); err != nil {
		return false, false, err
	}
	if watch := r.ask.Watch; watch != nil {
		if err := guard(func() { end = watch(r.sample) }); err != nil {
			return false, false, fmt.Errorf("watcher: %w", err)
		}
	}
	return done, end, nil
}

// hear tells shaper and constraint of a token.
func (r *request) hear(token int32) (done bool, err error) {
	if r.shaper != nil {
		r.shaper.Took(token)
	}
	if c := r.ask.Constraint; c != nil {
		if err := guard(func() { c.Accept(token); done = c.Done() }); err != nil {
			return false, fmt.Errorf("constraint: %w", err)
		}
	}
	return done, nil
}
