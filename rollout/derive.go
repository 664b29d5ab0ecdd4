package rollout

import (
	"fmt"
	"sync/atomic"

	"furlong/kernels"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// A derivation makes the layouts of weights while they come: of a weight in rows behind the bytes that have just been placed, which are still in
// the processor's cache, of others as soon as all their tensors are there. It may work on bytes that turn out to be damaged: then the
// update is refused, and nobody reads what came of them.
type derivation struct {
	k    kernels.Backend
	all  []*derived
	part map[string]*derived // by the names of tensors
}

// A derived is the layout of one weight. Calls for its codes and for its scales may come at the same time; only the last of them derives.
type derived struct {
	p     *tensor.Param
	waits atomic.Int32 // for so many tensors
	grows bool
	begun bool
	hash  weightsync.Hasher // of what has grown
	sum   rl.Digest         // of the layout
	done  bool
	err   error
}

// derivationOf returns a derivation of all layouts of ps.
func derivationOf(k kernels.Backend, ps []*tensor.Param) *derivation {
	d := &derivation{k: k, part: map[string]*derived{}}
	for _, p := range ps {
		if !p.Product {
			continue
		}
		tensors := weightsync.Flatten([]*tensor.Param{p})
		one := &derived{p: p}
		one.waits.Store(int32(len(tensors)))
		for _, t := range tensors {
			d.part[t.Name] = one
		}
		d.all = append(d.all, one)
	}
	return d
}

// follow is a weightsync.Follower.
func (d *derivation) follow(name string, n int) {
	one := d.part[name]
	if one == nil {
		return
	}
	v := one.p.Value
	if grower, ok := d.k.(kernels.Grower); ok && !v.Quantised() {
		if one.attempt(func() { one.grow(grower, n) }); one.grows {
			return
		}
	}
	all := len(v.Mem)
	if name != one.p.Name {
		all = len(v.Scale.Mem)
	}
	if n == all && one.waits.Add(-1) == 0 {
		one.attempt(func() { one.prepare(d.k) })
	}
}

// attempt runs f unless something failed before.
func (o *derived) attempt(f func()) {
	if o.err == nil {
		o.err = guard(f)
	}
}

// grow derives what follows from the first n bytes.
func (o *derived) grow(k kernels.Grower, n int) {
	v := o.p.Value
	if n == 0 || !o.begun {
		_, o.grows = k.Grow(v, 0)
		o.begun, o.done = true, false
		o.hash.Reset()
	}
	if !o.grows || n == 0 {
		return
	}
	fresh, _ := k.Grow(v, n/v.Type.Bytes(1))
	o.hash.Write(fresh)
	if n == len(v.Mem) {
		o.sum, o.done = o.hash.Sum(), true
	}
}

func (o *derived) prepare(k kernels.Backend) {
	k.Prepare(o.p.Value)
	o.done = true
	if l := o.p.Value.Layout; l != nil {
		o.sum = weightsync.LayoutDigest(l)
	}
}

// end returns the layouts' digests by the names of their weights, or the first error.
func (d *derivation) end() (map[string]rl.Digest, error) {
	layouts := make(map[string]rl.Digest, len(d.all))
	for _, o := range d.all {
		switch {
		case o.err != nil:
			return nil, fmt.Errorf("%s: its layout: %w", o.p.Name, o.err)
		case !o.done:
			return nil, fmt.Errorf("%s: its layout was not derived", o.p.Name)
		}
		layouts[o.p.Name] = o.sum
	}
	return layouts, nil
}

// derive makes the layouts of ps anew from their values.
func (e *Engine) derive(ps []*tensor.Param) error {
	at := ""
	err := guard(func() {
		for _, p := range ps {
			if at = p.Name; p.Product {
				e.k.Prepare(p.Value)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("%s: its layout: %w", at, err)
	}
	return nil
}
