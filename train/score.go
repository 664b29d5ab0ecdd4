package train

import (
	"context"
	"errors"
	"fmt"

	"furlong/model"
	"furlong/ops"
	"furlong/rl"
)

// Score fills TrainLogProbs and Entropy of every sample under the actor, and RefLogProbs where there is a reference.
func (e *Engine) Score(ctx context.Context, samples []*rl.Sample) error {
	samples, err := answered(samples)
	if err != nil {
		return err
	}
	if e.records() {
		for _, s := range samples { // an earlier scoring's choices are not those of this one
			s.TrainLogProbs, s.Entropy, s.TrainExperts = nil, nil, nil
		}
	}
	if err := e.recorded(samples); err != nil {
		return err
	}
	if err := e.scoreActor(ctx, samples); err != nil || e.ref == nil {
		return err
	}
	return e.scoreReference(ctx, samples)
}

// scoreActor fills TrainLogProbs and Entropy.
func (e *Engine) scoreActor(ctx context.Context, samples []*rl.Sample) error {
	begin := func(c *ops.Ctx, p pass) { e.replayOf(c, p, nil) }
	return e.score(ctx, e.actor, samples, begin, func(s *rl.Sample, lp, ent []float32) {
		s.TrainLogProbs, s.Entropy = clone(lp), clone(ent)
	})
}

// scoreReference fills RefLogProbs. The reference makes its own choices.
func (e *Engine) scoreReference(ctx context.Context, samples []*rl.Sample) error {
	begin := func(*ops.Ctx, pass) {}
	return e.score(ctx, e.ref, samples, begin, func(s *rl.Sample, lp, _ []float32) { s.RefLogProbs = clone(lp) })
}

func (e *Engine) score(ctx context.Context, m model.Model, samples []*rl.Sample, begin func(*ops.Ctx, pass), put func(s *rl.Sample, lp, ent []float32)) error {
	return e.lanes.run(ctx, "score", samples, e.cfg.MaxTokens, func(l *lane, _ *ops.Turn, p pass) {
		c := l.ctx()
		begin(c, p)
		lp, ent := e.forward(c, m, p)
		p.each(func(s *rl.Sample, lo, hi int) { put(s, lp.F32()[lo:hi], ent.F32()[lo:hi]) })
	})
}

// answered returns the samples that have a response. A prompt without tokens has nothing to condition on and is refused, as is a
// sample with too many or too few figures.
func answered(samples []*rl.Sample) ([]*rl.Sample, error) {
	var out []*rl.Sample
	for _, s := range samples {
		if err := complete(s); err != nil {
			return nil, fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
		if len(s.Response) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// complete says what of s is missing or too much.
func complete(s *rl.Sample) error {
	if len(s.Prompt.Tokens) == 0 {
		return errors.New("the prompt has no tokens, want at least one")
	}
	for _, f := range []struct {
		name string
		x    []float32
	}{{"rollout logprobs", s.LogProbs}, {"trainer logprobs", s.TrainLogProbs}, {"reference logprobs", s.RefLogProbs}, {"entropies", s.Entropy}} {
		if f.x != nil && len(f.x) != len(s.Response) {
			return fmt.Errorf("%d %s for %d response tokens", len(f.x), f.name, len(s.Response))
		}
	}
	if s.LossMask != nil && len(s.LossMask) != len(s.Response) {
		return fmt.Errorf("its mask says of %d tokens whether they train, and the response has %d", len(s.LossMask), len(s.Response))
	}
	if (s.TrainLogProbs == nil) != (s.Entropy == nil) {
		return errors.New("trainer logprobs and entropies: one is there and not the other")
	}
	return nil
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }
