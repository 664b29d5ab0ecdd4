package rollout

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// UpdateOptions say how an update is taken up.
type UpdateOptions struct {
	Mode       Mode // what becomes of samples in flight
	CheckEqual bool // derive everything a second time into fresh memory, and compare
}

// Update takes up new weights as the engine's settings say. See UpdateWith.
func (e *Engine) Update(ctx context.Context, w rl.Weights) error {
	return e.UpdateWith(ctx, w, UpdateOptions{Mode: e.cfg.mode(), CheckEqual: e.cfg.CheckUpdates})
}

// UpdateWith takes up new weights. While the engine goes on under the old ones they are read, compared with their manifest, and everything is derived
// from them that products read. Then, between two passes, they take the old ones' place, a canary is computed, and the version changes. What
// is wrong anywhere on this way is an error that names it, and the old version serves on.
func (e *Engine) UpdateWith(ctx context.Context, w rl.Weights, o UpdateOptions) error {
	done, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := e.update(ctx, w, o); err != nil {
		e.Refuse()
		return fmt.Errorf("rollout: update to version %v: %w", w.Version(), err)
	}
	return nil
}

// hold waits until nobody else changes or reads the weights from outside of the loop.
func (e *Engine) hold(ctx context.Context) (done func(), err error) {
	select {
	case e.updating <- struct{}{}:
		return func() { <-e.updating }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Refuse counts an update that was refused before the engine saw it, as by [weightsync.Receive] when its manifest is damaged.
func (e *Engine) Refuse() { e.refused.Add(1) }

func (e *Engine) update(ctx context.Context, w rl.Weights, o UpdateOptions) error {
	a, sums, err := e.stage(ctx, w)
	if err != nil {
		return err
	}
	if o.CheckEqual {
		if err := e.cold(); err != nil {
			return err
		}
		a.Cold = true
	}
	gone := e.do(ctx, func() { a.Canary, err = e.flip(a.Version, o.Mode) })
	if err := errors.Join(gone, err); err != nil {
		return err
	}
	e.held, e.sums = weightsync.Held{Version: a.Version, State: a.State}, sums
	e.attest(a)
	return nil
}

// stage reads w into the weights that wait, checks it, and derives from them. The engine serves meanwhile.
func (e *Engine) stage(ctx context.Context, w rl.Weights) (rl.Attestation, weightsync.Sums, error) {
	if w.Version() == 0 {
		return rl.Attestation{}, nil, errors.New("version 0 is no version")
	}
	if e.staged == nil {
		e.staged = twins(e.m.Params())
	}
	held := e.held
	held.Tensors = weightsync.Flatten(e.m.Params())
	d := derivationOf(e.k, e.staged)
	s, err := weightsync.TakeWith(ctx, w, weightsync.Flatten(e.staged), held, d.follow)
	if err != nil {
		return rl.Attestation{}, nil, err
	}
	layouts, err := d.end()
	if err != nil {
		return rl.Attestation{}, nil, err
	}
	m := s.Manifest()
	sums := m.Sums().WithLayouts(layouts)
	return rl.Attestation{Version: m.Version, State: m.State, Effective: sums.Effective(), Tensors: len(m.Tensors), Bytes: m.Bytes()}, sums, nil
}

// twins returns parameters like ps with values of their own, and without layouts.
func twins(ps []*tensor.Param) []*tensor.Param {
	out := make([]*tensor.Param, len(ps))
	for i, p := range ps {
		twin := *p
		twin.Value, twin.Grad = p.Value.Clone(), nil
		out[i] = &twin
	}
	return out
}

// cold derives the staged weights' layouts a second time, in memory that never held others, and compares.
func (e *Engine) cold() error {
	var wrong []string
	for _, p := range e.staged {
		if !p.Product {
			continue
		}
		fresh := *p
		fresh.Value = p.Value.Clone()
		if err := e.derive([]*tensor.Param{&fresh}); err != nil {
			return err
		}
		if !sameLayout(p.Value, fresh.Value) {
			wrong = append(wrong, p.Name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: what was derived differs from a fresh derivation (%d weights do)", wrong[0], len(wrong))
	}
	return nil
}

func sameLayout(a, b *tensor.Tensor) bool {
	if a.Layout == nil || b.Layout == nil {
		return a.Layout == nil && b.Layout == nil
	}
	return weightsync.LayoutDigest(a.Layout) == weightsync.LayoutDigest(b.Layout)
}

// flip puts the staged weights into the model, and takes them out again if they compute nonsense. Only the loop calls it.
func (e *Engine) flip(v rl.Version, mode Mode) ([]float32, error) {
	e.exchange()
	lp, err := e.canary()
	if err != nil {
		e.exchange()
		return nil, err
	}
	e.turn(mode)
	e.version = v
	e.stats.Updates++
	return lp, nil
}

// exchange swaps the model's weights, layouts and all, with the staged ones.
func (e *Engine) exchange() {
	for i, p := range e.m.Params() {
		*p.Value, *e.staged[i].Value = *e.staged[i].Value, *p.Value
	}
}

// attest makes visible what was attested.
func (e *Engine) attest(a rl.Attestation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attested = a
}

// Attestation says what the engine serves since the last update.
func (e *Engine) Attestation() rl.Attestation {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.attested
}

// guard runs mathematics, where a mistake panics, and turns that into an error.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	f()
	return nil
}

var (
	_ rl.Attester        = (*Engine)(nil)
	_ weightsync.Refuser = (*Engine)(nil)
)
