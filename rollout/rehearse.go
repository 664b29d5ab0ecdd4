package rollout

import (
	"context"
	"errors"
	"fmt"

	"furlong/rl"
	"furlong/weightsync"
)

// Rehearse proves that updates reach everything, before there is anything to lose. It takes up what publish gives and notes the digests of every
// weight, scale, buffer and table, and of all that is derived from them: in a new engine, those of a cold load. Then it overwrites all of them
// with noise and takes up publish's weights again, and once more, since there are two sets. After each update the digests must be those
// noted. The engine is left with noise and without a version: it serves after its next update. The returned digests are the noted ones.
func (e *Engine) Rehearse(ctx context.Context, publish func() rl.Weights) (weightsync.Sums, error) {
	if err := e.Update(ctx, publish()); err != nil {
		return nil, err
	}
	want, err := e.Sums(ctx)
	if err != nil {
		return nil, err
	}
	if got := e.Attestation().State; got != want.State() {
		return nil, fmt.Errorf("rollout: rehearsal: attested is state %v, but the weights in memory are %v", got, want.State())
	}
	if err := e.noise(ctx, want); err != nil {
		return nil, err
	}
	for _, set := range []string{"first", "second"} {
		if err := e.Update(ctx, publish()); err != nil {
			return nil, fmt.Errorf("over noise, %s set of weights: %w", set, err)
		}
		if err := e.Compare(ctx, want); err != nil {
			return nil, fmt.Errorf("an update over noise leaves some of it, %s set of weights: %w", set, err)
		}
	}
	return want, e.noise(ctx, want)
}

// noise scrambles, and makes sure that a comparison sees it.
func (e *Engine) noise(ctx context.Context, had weightsync.Sums) error {
	if err := e.Scramble(ctx, uint64(len(had))); err != nil {
		return err
	}
	if e.Compare(ctx, had) == nil {
		return errors.New("rollout: rehearsal: noise compares equal with the weights: the comparison shows nothing")
	}
	return nil
}
