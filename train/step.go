package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"furlong/ops"
	"furlong/rl"
	"furlong/train/loss"
)

// Step takes the optimizer steps of b, one unless Config.Steps says more: advantages of the whole batch, then for each step micro-batches, clip, update. Samples judged invalid (or, for a policy loss, not judged)
// and samples without a token that trains do not train, shift no baseline and are counted; where no sample is left the step is skipped, which
// is counted too. A step after which a weight is not finite is an error: the engine is of no use any more. TrainLogProbs of a sample that was not scored are those of this step's own forward pass, which
// for the first step on it is the same thing.
func (e *Engine) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	samples, err := e.trainable(b)
	if err != nil {
		return nil, err
	}
	excluded := float64(len(b.Samples) - len(samples))
	if len(samples) == 0 {
		return e.nothing(excluded), nil
	}
	defer func() { e.known = nil }()
	if err := e.prepareCycle(ctx, samples); err != nil {
		return nil, err
	}
	e.lanes.reset()
	stats, err := e.takeSteps(ctx, b, samples)
	if err != nil {
		e.opt.ZeroGrad()
		return nil, err
	}
	stats["train/excluded_samples"] = excluded
	diagnose(stats, samples)
	e.reportEstimate(stats, samples)
	e.mismatch(stats, samples)
	e.load = e.lanes.load()
	e.load.report(stats)
	e.lanes.agreement().report(stats)
	return stats, nil
}

// nothing returns the figures of a step for which there was no sample: nothing has moved, and means of no tokens are left out.
func (e *Engine) nothing(excluded float64) rl.Stats {
	return rl.Stats{
		"train/lr-pg_0": e.rate(), "train/step": float64(e.opt.Steps()), "train/skipped_steps": float64(e.cfg.Steps),
		"train/excluded_samples": excluded, "train/samples": 0, "train/tokens": 0,
	}
}

// trainable returns the samples that may train.
func (e *Engine) trainable(b *rl.Batch) ([]*rl.Sample, error) {
	var judged []*rl.Sample
	for _, s := range b.Samples {
		if s.Verdict == rl.Right || s.Verdict == rl.Wrong || (e.supervised() && s.Verdict == rl.Ungraded) {
			judged = append(judged, s)
		}
	}
	out, err := answered(judged)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(s *rl.Sample) bool { return lengthOf(s) == 0 })
	if err := e.recorded(out); err != nil {
		return nil, err
	}
	return out, e.comparable(out)
}

// comparable says which sample lacks the rollout engine's logprobs, if the loss needs them.
func (e *Engine) comparable(samples []*rl.Sample) error {
	flag := e.cfg.Loss.NeedsRollout()
	for _, s := range samples {
		if s.LogProbs == nil && flag != "" {
			return fmt.Errorf("prompt %s, sample %d: no rollout logprobs, which %s needs", s.Prompt.ID, s.Index, flag)
		}
	}
	return nil
}

func (e *Engine) supervised() bool { return e.cfg.Loss.Type == "sft_loss" }

// unreferenced returns the samples that the reference has not scored.
func unreferenced(samples []*rl.Sample) (missing []*rl.Sample) {
	for _, s := range samples {
		if s.RefLogProbs == nil {
			missing = append(missing, s)
		}
	}
	return missing
}

// gradients runs a step's samples forward, those that can pull at a weight backward as well, and returns the step's sums. Gradients add up in the
// parameters.
func (e *Engine) gradients(ctx context.Context, samples []*rl.Sample) (*loss.Sums, error) {
	loud, silent := e.audible(samples)
	return e.pull(ctx, samples, loud, silent)
}

// pull is gradients with samples parted into those that go backward and those that don't.
func (e *Engine) pull(ctx context.Context, samples, loud, silent []*rl.Sample) (*loss.Sums, error) {
	ld, err := e.newLedger(ctx, samples)
	if err != nil {
		return nil, err
	}
	return e.fill(ctx, ld, loud, silent)
}

// fill enters samples in a ledger.
func (e *Engine) fill(ctx context.Context, ld *ledger, loud, silent []*rl.Sample) (*loss.Sums, error) {
	if err := e.listen(ctx, silent, ld); err != nil {
		return nil, err
	}
	err := e.lanes.run(ctx, "step", loud, e.cfg.MaxTokens, func(l *lane, turn *ops.Turn, p pass) { e.micro(l, turn, p, ld) })
	ld.close()
	return &ld.sums, err
}

// weights returns what each token of each sample counts in the loss.
func (e *Engine) weights(samples []*rl.Sample) []float64 {
	lengths := make([]int, len(samples))
	for i, s := range samples {
		lengths[i] = lengthOf(s)
	}
	return e.cfg.Loss.Weights(lengths, e.cfg.MaxLength)
}

// micro runs one micro-batch forward and backward. The ledger is written in the order of the micro-batches.
func (e *Engine) micro(l *lane, turn *ops.Turn, p pass, ld *ledger) {
	c := l.ctx().Taped()
	c.Turn = turn
	e.watchChoices(c, l, p)
	lpT, entT := e.forward(c, e.actor, p)
	lp, ent, dlp, dent := lpT.F32(), entT.F32(), c.Grad(lpT).F32(), c.Grad(entT).F32()
	turn.Do(ld, func() {
		p.each(func(s *rl.Sample, lo, hi int) { ld.enter(s, lp[lo:hi], ent[lo:hi], dlp[lo:hi], dent[lo:hi]) })
	})
	c.Unwind()
}

// lose adds the loss of a sample's tokens to sums, and sets the gradients of their logprobs and entropies.
func (e *Engine) lose(s *rl.Sample, t loss.Tokens, dlp, dent []float32, sums *loss.Sums) {
	t.Old, t.Rollout, t.Ref, t.Advantage = unmasked(s, s.TrainLogProbs), unmasked(s, s.LogProbs), unmasked(s, s.RefLogProbs), s.Advantage
	some, someEnt := unmasked(s, dlp), unmasked(s, dent)
	if e.supervised() {
		e.cfg.Loss.Supervised(t, some, someEnt, sums)
	} else {
		e.cfg.Loss.Policy(t, some, someEnt, sums)
	}
	spreadTo(s, dlp, some)
	spreadTo(s, dent, someEnt)
}

// rate returns the learning rate of the next step.
func (e *Engine) rate() float64 { return e.cfg.Optim.Rate(e.opt.Steps(), e.cfg.planned()) }

// update moves the weights, unless the loss or the gradient is not finite: then the step is skipped and the weights stay.
func (e *Engine) update(sums *loss.Sums) rl.Stats {
	lr := e.rate()
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
