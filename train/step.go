package train

import (
	"context"
	"fmt"
	"math"

	"furlong/rl"
	"furlong/train/loss"
)

// Step takes one optimizer step on b: advantages, micro-batches, clip, update. Samples judged invalid (or, for a policy loss, not judged)
// do not train and are counted. TrainLogProbs of a sample that was not scored are those of this step's own forward pass, which
// for the first step on it is the same thing.
func (e *Engine) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	samples, excluded := e.trainable(b)
	samples, err := answered(samples)
	if err != nil {
		return nil, err
	}
	if e.ref != nil {
		if err := e.scoreReference(ctx, samples); err != nil {
			return nil, err
		}
	}
	e.advantages(samples)
	e.load.reset()
	sums, err := e.gradients(ctx, samples)
	if err != nil {
		e.opt.ZeroGrad()
		return nil, err
	}
	stats := e.update(sums)
	stats["train/excluded_samples"] = float64(excluded)
	report(stats, sums, e.cfg.Loss)
	diagnose(stats, samples)
	e.load.report(stats)
	return stats, nil
}

// trainable returns the samples that may train, and how many may not.
func (e *Engine) trainable(b *rl.Batch) (out []*rl.Sample, excluded int) {
	for _, s := range b.Samples {
		judged := s.Verdict == rl.Right || s.Verdict == rl.Wrong
		if judged || (e.supervised() && s.Verdict == rl.Ungraded) {
			out = append(out, s)
		} else {
			excluded++
		}
	}
	return out, excluded
}

func (e *Engine) supervised() bool { return e.cfg.Loss.Type == "sft_loss" }

func (e *Engine) scoreReference(ctx context.Context, samples []*rl.Sample) error {
	var missing []*rl.Sample
	for _, s := range samples {
		if s.RefLogProbs == nil {
			missing = append(missing, s)
		}
	}
	return e.score(ctx, e.ref, missing, func(s *rl.Sample, lp, _ []float32) { s.RefLogProbs = clone(lp) })
}

// advantages fills each sample's Advantage from its group's rewards.
func (e *Engine) advantages(samples []*rl.Sample) {
	if e.supervised() {
		return
	}
	groups := map[int64][]*rl.Sample{}
	for _, s := range samples {
		groups[s.Prompt.Group] = append(groups[s.Prompt.Group], s)
	}
	for _, g := range groups {
		rewards := make([]float64, len(g))
		for i, s := range g {
			rewards[i] = s.Reward
		}
		for i, a := range e.cfg.Loss.Advantages(rewards) {
			g[i].Advantage = a
		}
	}
}

// gradients runs all micro-batches forward and backward and returns the batch's sums. Gradients add up in the parameters.
func (e *Engine) gradients(ctx context.Context, samples []*rl.Sample) (*loss.Sums, error) {
	lengths := make([]int, len(samples))
	for i, s := range samples {
		lengths[i] = len(s.Response)
	}
	weight := map[*rl.Sample]float64{}
	for i, w := range e.cfg.Loss.Weights(lengths, e.cfg.MaxLength) {
		weight[samples[i]] = w
	}
	sums := &loss.Sums{}
	for i, p := range passes(samples, e.cfg.MaxTokens) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.micro(p, weight, sums); err != nil {
			return nil, fmt.Errorf("micro-batch %d: %w", i, err)
		}
	}
	return sums, nil
}

// micro runs one micro-batch forward and backward.
func (e *Engine) micro(p pass, weight map[*rl.Sample]float64, sums *loss.Sums) (err error) {
	defer e.guard("step", &err)
	c := e.ctx().Taped()
	c.Watch = e.load.watch
	lpT, entT := e.forward(c, e.actor, p)
	lp, ent, dlp, dent := lpT.F32(), entT.F32(), c.Grad(lpT).F32(), c.Grad(entT).F32()
	p.each(func(s *rl.Sample, lo, hi int) {
		t := loss.Tokens{
			New: lp[lo:hi], Rollout: s.LogProbs, Ref: s.RefLogProbs, Entropy: ent[lo:hi],
			Advantage: s.Advantage, Weight: weight[s],
		}
		if s.TrainLogProbs == nil {
			s.TrainLogProbs, s.Entropy = clone(t.New), clone(t.Entropy)
		}
		t.Old = s.TrainLogProbs
		if e.supervised() {
			e.cfg.Loss.Supervised(t, dlp[lo:hi], dent[lo:hi], sums)
		} else {
			e.cfg.Loss.Policy(t, dlp[lo:hi], dent[lo:hi], sums)
		}
	})
	c.Unwind()
	return nil
}

// update moves the weights, unless the loss or the gradient is not finite: then the step is skipped and the weights stay.
func (e *Engine) update(sums *loss.Sums) rl.Stats {
	lr := e.cfg.Optim.Rate(e.opt.Steps(), e.cfg.Planned)
	stats := rl.Stats{"train/lr-pg_0": lr, "train/skipped_steps": 0}
	norm := math.NaN()
	if sums.Finite() {
		norm = e.opt.Step(lr)
	}
	e.opt.ZeroGrad()
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		stats["train/skipped_steps"] = 1
	} else {
		e.prepare()
	}
	stats["train/grad_norm"] = norm
	stats["train/step"] = float64(e.opt.Steps())
	return stats
}
