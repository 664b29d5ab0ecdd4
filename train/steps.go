package train

import (
	"context"
	"fmt"

	"furlong/rl"
)

// takeSteps takes the steps of a cycle and returns their figures as one.
func (e *Engine) takeSteps(ctx context.Context, b *rl.Batch, samples []*rl.Sample) (rl.Stats, error) {
	rests := e.cfg.Critic.Only > 0 && b.Cycle <= e.cfg.Critic.Only
	var all []rl.Stats
	for _, part := range e.parts(b, samples) {
		stats, err := e.takeStep(ctx, part, rests)
		if err != nil {
			return nil, err
		}
		all = append(all, stats)
	}
	return together(all), nil
}

// parts cuts a batch into its steps, in order. A sample that does not train takes its place in a step all the same, so that no other changes its own.
func (e *Engine) parts(b *rl.Batch, samples []*rl.Sample) [][]*rl.Sample {
	n, steps := len(b.Samples), e.cfg.Steps
	if steps == 1 {
		return [][]*rl.Sample{samples}
	}
	out := make([][]*rl.Sample, steps)
	for k, next := 0, samples; k < steps; k++ {
		for _, s := range b.Samples[n*k/steps : n*(k+1)/steps] {
			if len(next) > 0 && next[0] == s {
				out[k], next = append(out[k], s), next[1:]
			}
		}
	}
	return out
}

// takeStep takes one step, of the critic alone where the actor rests, and returns its figures.
func (e *Engine) takeStep(ctx context.Context, samples []*rl.Sample, rests bool) (rl.Stats, error) {
	if len(samples) == 0 {
		stats := e.nothing(0)
		stats["train/skipped_steps"] = 1
		return stats, nil
	}
	stats, err := e.stepActor(ctx, samples, rests)
	if err != nil || e.critic == nil {
		return stats, err
	}
	return stats, e.stepCritic(ctx, samples, stats)
}

// stepActor takes one step of the actor and returns its figures, or where it rests none but counts.
func (e *Engine) stepActor(ctx context.Context, samples []*rl.Sample, rests bool) (rl.Stats, error) {
	if rests {
		stats := e.nothing(0)
		stats["train/skipped_steps"], stats["train/samples"] = 0, float64(len(samples))
		for _, s := range samples {
			stats["train/tokens"] += float64(lengthOf(s))
		}
		return stats, nil
	}
	sums, err := e.gradients(ctx, samples)
	if err != nil {
		return nil, err
	}
	stats := e.update(sums)
	if stats["train/skipped_steps"] == 0 {
		if err := Finite(e.Params()); err != nil {
			return nil, fmt.Errorf("train: step %d has left a damaged weight: %w", e.opt.Steps(), err)
		}
	}
	report(stats, sums, e.cfg.Loss)
	return stats, nil
}

// summed are the figures of several steps that are counts; of the others the mean is taken.
var summed = map[string]bool{
	"train/skipped_steps": true, "train/tokens": true, "train/samples": true, "train/nonfinite_tokens": true, "train/rejected_tokens": true, "train/rejected_samples": true,
}

// together returns the figures of a cycle's steps: counts summed, the number of the step and the rates of the last one, and means of what the steps say that have it.
func together(all []rl.Stats) rl.Stats {
	last := all[len(all)-1]
	if len(all) == 1 {
		return last
	}
	out, n := rl.Stats{}, map[string]float64{}
	for _, stats := range all {
		for name, v := range stats {
			out[name] += v
			n[name]++
		}
	}
	for name := range out {
		if !summed[name] {
			out[name] /= n[name]
		}
	}
	for _, name := range []string{"train/step", "train/lr-pg_0", "train/lr-pg_1"} {
		if v, ok := last[name]; ok {
			out[name] = v
		}
	}
	out["train/steps_taken"] = float64(len(all)) - out["train/skipped_steps"]
	return out
}
