package train

import (
	"context"

	"furlong/rl"
	"furlong/train/loss"
)

// meanWeight returns the mean by which the importance weights of the step are divided, 0 where they are not. It is of all the step's samples, so those
// that the trainer has not scored are scored first, by the weights that the step begins with: the same logprobs as the step's own forward pass would give.
func (e *Engine) meanWeight(ctx context.Context, samples []*rl.Sample) (float64, error) {
	if !e.cfg.Loss.NeedsBatch() {
		return 0, nil
	}
	var missing []*rl.Sample
	for _, s := range samples {
		if s.TrainLogProbs == nil {
			missing = append(missing, s)
		}
	}
	if err := e.scoreActor(ctx, missing); err != nil {
		return 0, err
	}
	return e.cfg.Loss.MeanWeight(e.scored(samples)), nil
}

// scored returns what the loss compares of samples that the trainer has scored.
func (e *Engine) scored(samples []*rl.Sample) []loss.Tokens {
	out := make([]loss.Tokens, len(samples))
	for i, w := range e.weights(samples) {
		out[i] = loss.Tokens{Old: unmasked(samples[i], samples[i].TrainLogProbs), Rollout: unmasked(samples[i], samples[i].LogProbs), Weight: w}
	}
	return out
}

// mismatch writes how the trainer's and the rollout engine's policies differ over the whole step, out of logprobs that both have given already.
func (e *Engine) mismatch(stats rl.Stats, samples []*rl.Sample) {
	if e.supervised() {
		return
	}
	batch := e.scored(samples)
	for name, v := range e.cfg.Loss.Mismatch(batch) {
		stats["train/mis_"+name] = v
	}
	ratios(stats, e.cfg.Loss, batch)
}
