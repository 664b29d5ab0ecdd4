package sft

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furlong/rl"
)

// Config says how long and on how much a model is trained. The zero value is not usable; start from Default.
type Config struct {
	Steps      int `flag:"num-steps" help:"optimizer steps"`
	Batch      int `flag:"global-batch-size" help:"samples of a step"`
	MaxSkipped int `flag:"max-skipped-steps" help:"steps skipped in a row (loss or gradient not finite) after which training stops"`
}

// Default returns the settings of the recipe tiny-arithmetic.
func Default() Config { return Config{Steps: 1500, Batch: 128, MaxSkipped: 3} }

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		flag string
		v    int
	}{{"num-steps", c.Steps}, {"global-batch-size", c.Batch}, {"max-skipped-steps", c.MaxSkipped}} {
		if f.v < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least 1", f.flag, f.v))
		}
	}
	return errors.Join(errs...)
}

// Run trains engine on examples, over and over, for c.Steps steps, and tells report of each.
func Run(ctx context.Context, c Config, engine rl.TrainEngine, examples iter.Seq[*rl.Sample], report func(step int, s rl.Stats) error) error {
	next, stop := iter.Pull(endless(examples))
	defer stop()
	skipped := 0
	for step := range c.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &rl.Batch{Cycle: step + 1}
		for range c.Batch {
			s, ok := next()
			if !ok {
				return errors.New("there is no example to train on")
			}
			b.Samples = append(b.Samples, s)
		}
		stats, err := engine.Step(ctx, b)
		if err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		if err := report(step+1, stats); err != nil {
			return err
		}
		if skipped = consecutive(skipped, stats); skipped >= c.MaxSkipped {
			return fmt.Errorf("step %d: %d steps in a row were skipped, for want of a finite loss and gradient or of a response to learn (--max-skipped-steps)", step+1, skipped)
		}
	}
	return nil
}

func consecutive(n int, stats rl.Stats) int {
	if stats["train/skipped_steps"] == 0 {
		return 0
	}
	return n + 1
}

// endless goes through examples again and again. It ends only if there are none. A sample must not carry what an earlier
// pass found out about it.
func endless(examples iter.Seq[*rl.Sample]) iter.Seq[*rl.Sample] {
	return func(yield func(*rl.Sample) bool) {
		for {
			empty := true
			for s := range examples {
				empty = false
				s.TrainLogProbs, s.Entropy = nil, nil
				if !yield(s) {
					return
				}
			}
			if empty {
				return
			}
		}
	}
}
