package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

var errScrambled = errors.New("rollout: the weights were overwritten with noise")

// Sums returns the digests of every weight, buffer and table that the engine serves, and of what was derived from them. It reads the memory that
// passes read, while they go on.
func (e *Engine) Sums(ctx context.Context) (weightsync.Sums, error) {
	done, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return weightsync.SumsOf(e.m.Params()), nil
}

// Compare names what differs from want, which Sums returned here or elsewhere, or weightsync.SumsOf for weights that no engine holds.
func (e *Engine) Compare(ctx context.Context, want weightsync.Sums) error {
	got, err := e.Sums(ctx)
	if err != nil {
		return err
	}
	if err := got.Diff(want); err != nil {
		return fmt.Errorf("rollout: version %v: %w", e.Version(), err)
	}
	return nil
}

// Scramble overwrites every weight, scale, buffer and table with noise, and all that was derived from them, so that what an update leaves out
// shows. The engine then has no version, and refuses to serve until a good update. Samples in flight fail.
func (e *Engine) Scramble(ctx context.Context, seed uint64) error {
	done, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = e.do(ctx, func() {
		e.fail(errScrambled)
		if c := e.pages.Cache(); c != nil {
			c.Flush()
		}
		e.version = 0
		r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
		scramble(r, e.m.Params())
		scramble(r, e.staged)
	})
	if err != nil {
		return err
	}
	e.held, e.sums = weightsync.Held{}, nil
	e.attest(rl.Attestation{})
	return nil
}

// scramble fills all memory of ps with noise.
func scramble(r *rand.ChaCha8, ps []*tensor.Param) {
	noise := func(b []byte) { _, _ = r.Read(b) } // it never fails
	for _, p := range ps {
		noise(p.Value.Mem)
		if p.Value.Quantised() {
			noise(p.Value.Scale.Mem)
		}
		if p.Value.Layout == nil {
			continue
		}
		for _, part := range p.Value.Layout.Memory() { // which only Prepare writes otherwise
			noise(part)
		}
	}
}
