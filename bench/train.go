package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"furlong/rl"
	"furlong/train"
)

// score measures the trainer's logprobs of a batch.
func (b *bencher) score(ctx context.Context, s Shape) error {
	return b.trainer(ctx, Score, s, 1, func(e *train.Engine, batch []*rl.Sample) error { return e.Score(ctx, batch) })
}

// train measures one optimizer step.
func (b *bencher) train(ctx context.Context, s Shape) error {
	return b.trainer(ctx, Train, s, 3, func(e *train.Engine, batch []*rl.Sample) error { return step(ctx, e, batch) })
}

// trainer measures f on batches of a shape. What f does takes at the least so many times the arithmetic of a forward pass.
func (b *bencher) trainer(ctx context.Context, name string, s Shape, times float64, f func(*train.Engine, []*rl.Sample) error) error {
	b.begin()
	b.meter.open()
	e, err := b.engine()
	if err != nil {
		return err
	}
	all, err := b.against(ctx, fmt.Sprint(name, " ", s), func() (time.Duration, error) {
		batch := b.samples(s)
		start := time.Now()
		err := f(e, batch)
		return time.Since(start), err
	})
	if err != nil {
		return err
	}
	b.add(newResult(name, s.String(), s.Tokens(), 1, all, b.cost.passes(s, times)))
	return nil
}

// engine returns a trainer of a new model, with the settings of the reference recipe but for two: routers are trained, and rewards
// are taken for advantages, so that a sample that is alone has one too.
func (b *bencher) engine() (*train.Engine, error) {
	cfg := train.Default()
	cfg.FreezeGate, cfg.Recompute, cfg.Loss.NoNormalize = false, b.cfg.Recompute, true
	return train.New(cfg, b.model(), nil, b.o.Backend, train.Files{})
}

// step takes one optimizer step, which must not be skipped.
func step(ctx context.Context, e *train.Engine, batch []*rl.Sample) error {
	stats, err := e.Step(ctx, &rl.Batch{Samples: batch})
	if err != nil {
		return err
	}
	if stats["train/skipped_steps"] != 0 {
		return fmt.Errorf("the trainer skipped the step, its gradient norm is %v", stats["train/grad_norm"])
	}
	return nil
}

// samples returns a batch, every second answer right. A sequence is one token of prompt and Length of response, of which the
// last is not run: so Length tokens are, and each has a successor to score.
func (b *bencher) samples(s Shape) []*rl.Sample {
	out := make([]*rl.Sample, s.Batch)
	for i := range out {
		out[i] = &rl.Sample{
			Prompt: &rl.Prompt{Tokens: b.ids(1)}, Index: i, Sampling: rl.DefaultSampling(),
			Response: b.ids(s.Length), LogProbs: make([]float32, s.Length), Reward: -1, Verdict: rl.Wrong,
		}
		for t := range out[i].LogProbs {
			out[i].LogProbs[t] = -float32(math.Log(float64(b.shape.Vocab)))
		}
		if i%2 == 0 {
			out[i].Reward, out[i].Verdict = 1, rl.Right
		}
	}
	return out
}
