package recorded

import (
	"context"

	"furlong/metrics/rollouts"
	"furlong/rl"
)

// A Recorder is a trainer that writes down what it is given, and has another train on it.
type Recorder struct {
	rl.TrainEngine
	Before rollouts.Path // batches as they came; empty for none
	After  rollouts.Path // with what the trainer found; empty for none
	Model  string        // what drew the samples, in words
	Origin rollouts.Origin
}

// Step writes the batch, passes it on, and writes it again.
func (r *Recorder) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	if r.Before != "" {
		came := make([]*rl.Sample, len(b.Samples))
		for i, s := range b.Samples {
			came[i] = rollouts.Untrained(s)
		}
		if err := rollouts.Write(r.Before.Of(b.Cycle), rollouts.Rollouts{Cycle: b.Cycle, Model: r.Model, Origin: r.Origin, Samples: came}); err != nil {
			return nil, err
		}
	}
	stats, err := r.TrainEngine.Step(ctx, b)
	if err != nil || r.After == "" {
		return stats, err
	}
	return stats, rollouts.Write(r.After.Of(b.Cycle), rollouts.Rollouts{Cycle: b.Cycle, Model: r.Model, Origin: r.Origin, Samples: b.Samples})
}

// Still is a trainer that takes no steps: its policy stays what it is.
type Still struct {
	Weights func(v rl.Version) rl.Weights
}

// Score finds nothing.
func (Still) Score(context.Context, []*rl.Sample) error { return nil }

// Step takes no step, and has no figures.
func (Still) Step(context.Context, *rl.Batch) (rl.Stats, error) { return rl.Stats{}, nil }

// Publish returns the policy.
func (s Still) Publish(v rl.Version) rl.Weights { return s.Weights(v) }

// Save has no state to save.
func (Still) Save(context.Context, string) error { return nil }

// Load has none to load.
func (Still) Load(context.Context, string) error { return nil }
