package train

import (
	"fmt"
	"slices"

	"furlong/ops"
	"furlong/rl"
)

// A replay holds the choices of a micro-batch against those that were recorded for its tokens, and puts these in their place where they are to be
// replayed. Layers ask it in every pass; recomputation asks again, and is told the same.
type replay struct {
	e      *Engine
	p      pass
	writes map[*rl.Sample]bool // whose choices in this pass are those that later passes replay
	agree  *agreement          // nil in a pass that is not counted
	told   [2]map[int]bool     // layers whose experts, and whose entries, have been counted
	rec    []int32             // what a token chose when it was drawn
}

// replayOf has the choices of a pass of the actor checked, counted in agree unless that is nil, and replayed.
func (e *Engine) replayOf(c *ops.Ctx, p pass, agree *agreement) *replay {
	r := &replay{e: e, p: p, writes: map[*rl.Sample]bool{}, agree: agree, told: [2]map[int]bool{{}, {}}}
	if e.records() {
		r.record()
	}
	if e.records() || slices.ContainsFunc(p.samples, func(s *rl.Sample) bool { return s.Experts != nil }) {
		c.ReplayRoutes = r.routes
	}
	if slices.ContainsFunc(p.samples, func(s *rl.Sample) bool { return s.Entries != nil }) {
		c.ReplayIndex = r.entries
	}
	return r
}

// records reports whether samples are to have the experts of the pass that gives their logprobs.
func (e *Engine) records() bool {
	return e.cfg.Replay.own() || e.cfg.Tell && e.chooses.routes != nil
}

// watchChoices counts the load of experts in a pass of a step, and what its choices have in common with recorded ones, which may be replayed.
func (e *Engine) watchChoices(c *ops.Ctx, l *lane, p pass) {
	r := e.replayOf(c, p, &l.agree)
	c.Routed = l.load.routed
	if c.ReplayRoutes != nil {
		c.Routed = func(layer int, choice []int32) {
			l.load.routed(layer, choice)
			r.routed(layer, choice)
		}
	}
	if c.ReplayIndex != nil {
		c.Indexed = r.indexed
	}
}

// record makes room for the choices of this pass, where it is the one that gives the sample's TrainLogProbs.
func (r *replay) record() {
	for _, s := range r.p.samples {
		if s.TrainLogProbs == nil {
			s.TrainExperts = r.e.chooses.routes.Like()
			s.TrainExperts.Rows = make([]byte, run(s)*s.TrainExperts.Layers*s.TrainExperts.RowBytes())
			r.writes[s] = true
		}
	}
}

// each calls f with each sample and the choices of its tokens, k a token.
func (r *replay) each(choice []int32, k int, f func(s *rl.Sample, choice []int32)) {
	for _, s := range r.p.samples {
		n := run(s) * k
		f(s, choice[:n])
		choice = choice[n:]
	}
}

// first reports whether a layer's choices of a kind have not been counted yet in this pass.
func (r *replay) first(kind, layer int) bool {
	had := r.told[kind][layer]
	r.told[kind][layer] = true
	return r.agree != nil && !had
}

// routes is an ops.Ctx's ReplayRoutes.
func (r *replay) routes(layer int, choice []int32) {
	var n *common
	if r.first(0, layer) {
		n = at(&r.agree.routes, layer)
	}
	r.each(choice, r.e.chooses.routes.Choices, func(s *rl.Sample, choice []int32) { r.route(s, layer, choice, n) })
}

func (r *replay) route(s *rl.Sample, layer int, all []int32, n *common) {
	for t, k := 0, r.e.chooses.routes.Choices; t*k < len(all); t++ {
		own := all[t*k:][:k]
		if r.writes[s] {
			s.TrainExperts.Set(t, layer, own)
		}
		if t < s.Experts.Len() {
			r.rec = s.Experts.At(r.rec[:0], t, layer)
			both := shared(own, r.rec)
			if n.add(both, k); both < k && r.e.chooses.hashed(layer) {
				panic(refusal{fmt.Errorf("prompt %s, sample %d: layer %d, token %d (id %d) went to experts %v when it was drawn, and the table sends it to %v: the engines hold different tables",
					s.Prompt.ID, s.Index, layer, t, s.Tokens()[t], r.rec, own)})
			}
			if r.e.cfg.Replay.Rollout {
				copy(own, r.rec)
			}
		}
		if r.e.cfg.Replay.own() && !r.writes[s] {
			r.rec = s.TrainExperts.At(r.rec[:0], t, layer)
			copy(own, r.rec)
		}
	}
}

// entries is an ops.Ctx's ReplayIndex.
func (r *replay) entries(layer int, choice []int32) {
	var n *common
	if r.first(1, layer) {
		n = at(&r.agree.entries, layer)
	}
	r.picked(layer, choice, func(own, rec []int32) {
		n.add(sharedAscending(own, rec), len(rec))
		if r.e.cfg.Replay.Entries {
			copy(own, rec)
		}
	})
}

// picked calls f with what each token reads in a layer and what it read when it was drawn, where it saw more than it read.
func (r *replay) picked(layer int, choice []int32, f func(own, rec []int32)) {
	k := r.e.chooses.entries.Most
	r.each(choice, k, func(s *rl.Sample, choice []int32) {
		if s.Entries == nil {
			return
		}
		rows, err := s.Entries.Rows[s.Entries.Place(layer)], error(nil)
		for t := range s.Entries.Tokens {
			if !s.Entries.Drops(t) {
				continue
			}
			if r.rec, rows, err = s.Entries.Unpack(r.rec[:0], t, rows); err != nil {
				panic(refusal{fmt.Errorf("prompt %s, sample %d: layer %d: %w", s.Prompt.ID, s.Index, layer, err)})
			}
			f(choice[t*k:][:k], r.rec)
		}
	})
}

// routed counts the experts that tokens went to in the end: an ops.Ctx's Routed.
func (r *replay) routed(layer int, choice []int32) {
	k := r.e.chooses.routes.Choices
	r.each(choice, k, func(s *rl.Sample, choice []int32) {
		for t := range s.Experts.Len() {
			r.rec = s.Experts.At(r.rec[:0], t, layer)
			r.agree.usedRoutes.add(shared(choice[t*k:][:k], r.rec), k)
		}
	})
}

// indexed counts the entries that tokens read in the end: an ops.Ctx's Indexed.
func (r *replay) indexed(layer int, choice []int32) {
	r.picked(layer, choice, func(used, rec []int32) { r.agree.usedEntries.add(sharedAscending(used, rec), len(rec)) })
}
