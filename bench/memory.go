package bench

import (
	"context"
	"errors"
	"fmt"

	"furlong/rl"
)

// memory runs cycles as the loop does: the trainer's weights go to the rollout engine, that answers prompts, the trainer takes a step. What is
// held after each cycle must not grow.
func (b *bencher) memory(ctx context.Context) error {
	b.begin()
	batch := 16
	s, err := b.sampler(ctx, batch, b.cfg.Prompt+b.cfg.New)
	if err != nil {
		return err
	}
	return errors.Join(b.cycles(ctx, s, batch), s.stop())
}

func (b *bencher) cycles(ctx context.Context, s *sampler, batch int) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	for i := range b.cfg.Cycles {
		clearPeak()
		if err := s.e.Update(ctx, e.Publish(rl.NewVersion(0, i+2))); err != nil {
			return err
		}
		if _, _, err := s.answer(ctx, s.prompts(batch, b.cfg.Prompt), b.cfg.New, false); err != nil {
			return err
		}
		if err := step(ctx, e, b.samples(Shape{batch, b.cfg.Prompt + b.cfg.New})); err != nil {
			return err
		}
		b.keep(i + 1)
	}
	return nil
}

// keep notes what is held after a cycle, once garbage is gone.
func (b *bencher) keep(cycle int) {
	peak := memory().peak
	clearPeak()
	b.rep.Memory = append(b.rep.Memory, Held{Cycle: cycle, Resident: memory().now, Peak: peak})
	b.tick(fmt.Sprint("cycle ", cycle))
}
