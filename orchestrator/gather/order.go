package gather

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"furlong/rl"
)

// An order is what the engine is asked for of a group, and how it comes.
type order struct {
	reqs []rl.Request
	kept keepers
	came iter.Seq2[*rl.Sample, error]
}

// order returns what a group still needs. The lock is held.
func (g *Gatherer) order(x *Group) *order {
	o := &order{reqs: x.requests(g.run), kept: keepers{}}
	if x.cut {
		o.reqs = nil
	}
	x.aborted = false
	if g.parts.Watches {
		o.kept = keep(o.reqs)
	}
	return o
}

// alone asks the engine for one group.
func (g *Gatherer) alone(ctx context.Context, x *Group) *order {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.order(x)
	o.came = g.parts.Engine.Generate(ctx, o.reqs)
	return o
}

// share asks the engine for several groups by one call. Each gets its samples, or the call's error, by a channel with room for all of them, so that none waits for another.
func (g *Gatherer) share(ctx context.Context, orders []*order) {
	var all []rl.Request
	of := map[int64]*shared{}
	var parts []*shared
	for _, o := range orders {
		p := &shared{make(chan result, len(o.reqs)+1), len(o.reqs)}
		for _, q := range o.reqs {
			of[q.ID] = p
		}
		all, parts = append(all, o.reqs...), append(parts, p)
		o.came = results(p.out)
	}
	g.wg.Go(func() {
		var failed error
		for s, err := range g.parts.Engine.Generate(ctx, all) {
			if failed = err; err != nil {
				break
			}
			if p := of[s.Request]; p != nil && p.left > 0 { // what nobody asked for is missed where it should have come
				p.give(s)
			}
		}
		for _, p := range parts {
			p.end(failed)
		}
	})
}

// shared is one group's part of a call.
type shared struct {
	out  chan result
	left int // samples to come
}

// give passes a sample on, and ends after the last one.
func (p *shared) give(s *rl.Sample) {
	p.out <- result{sample: s}
	if p.left--; p.left == 0 {
		close(p.out)
	}
}

// end ends what is not over, as the call has.
func (p *shared) end(failed error) {
	if p.left == 0 && cap(p.out) > 1 {
		return // its last sample has
	}
	if failed != nil {
		p.out <- result{err: failed}
	}
	close(p.out)
}

// A result is a sample or what went wrong.
type result struct {
	sample *rl.Sample
	err    error
}

// results yields what comes, up to the first error.
func results(from <-chan result) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for r := range from {
			if !yield(r.sample, r.err) || r.err != nil {
				return
			}
		}
	}
}

// receive takes in the samples of an order. One that cannot be is left out, with all that its call had drawn of it: it is asked for again as it was.
func (g *Gatherer) receive(x *Group, o *order) error {
	came := 0
	var refused error
	for s, err := range o.came {
		if err != nil {
			return errors.Join(err, refused, g.rescue(x, o.kept))
		}
		delete(o.kept, s.Index)
		came++
		if err := o.refuses(x, s); err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		s.Text = g.parts.Decode(s.Response)
		if err := g.came(x, s); err != nil {
			return err
		}
	}
	if came != len(o.reqs) {
		return errors.Join(refused, fmt.Errorf("engine gave %d samples for %d requests", came, len(o.reqs)))
	}
	return refused
}

// refuses reports what keeps a sample from being the answer to what was asked for. That it belongs to the group and came once is looked at where it is taken in.
func (o *order) refuses(x *Group, s *rl.Sample) error {
	at := slices.IndexFunc(o.reqs, func(q rl.Request) bool { return q.Index == s.Index })
	if at < 0 || s.Prompt == nil {
		return nil
	}
	if err := o.reqs[at].CheckSample(s); err != nil {
		return fmt.Errorf("engine gave sample %d of prompt %s as what cannot be: %w", s.Index, x.Prompt.ID, err)
	}
	return nil
}

// keepers hold what is drawn of each sample of a group, by index, in case its call fails.
type keepers map[int]*rl.Sample

// keep has requests write down their tokens.
func keep(reqs []rl.Request) keepers {
	all := keepers{}
	for i, q := range reqs {
		own := q.Begin()
		own.Experts, own.Entries = nil, nil // what misses of them is computed again
		all[q.Index] = own
		reqs[i].Watch = func(s *rl.Sample) bool {
			note(own, s)
			return false
		}
	}
	return all
}

// note copies the last token of s.
func note(own, s *rl.Sample) {
	last := len(s.Response) - 1
	own.Response, own.LogProbs = append(own.Response, s.Response[last]), append(own.LogProbs, s.LogProbs[last])
	if len(s.TruncLogProbs) > last {
		own.TruncLogProbs = append(own.TruncLogProbs, s.TruncLogProbs[last])
	}
	if len(s.Told) > last {
		own.Told = append(own.Told, s.Told[last])
	}
	if n := len(own.PromptLogProbs); n == 0 {
		own.PromptLogProbs, own.PromptTold = slices.Clone(s.PromptLogProbs), slices.Clone(s.PromptTold)
	}
	own.Label(s.Versions[len(s.Versions)-1].Version, 1)
	own.Retractions = s.Retractions
}
