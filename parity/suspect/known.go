package suspect

import (
	"fmt"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/tensor"
)

// All returns the library, in order of computation within a layer.
func All() []diverge.Suspect {
	var all []diverge.Suspect
	for _, some := range [][]known{mixers(), norms(), rotations(), compressors(), indexers(), attention(), projections(), routers(), experts(), formats(), heads()} {
		for _, k := range some {
			all = append(all, k)
		}
	}
	return all
}

type config = dsv4.Config

// A known is one mistake. It implements diverge.Suspect.
type known struct {
	name, says string
	ops        []string

	when    func(c config) bool           // whether it can be made in such a model; nil for any
	needs   func(j taps.Judge) bool       // whether it changes anything in such a judge; nil where that is not known
	kernels func(k part) kernels.Backend  // computes otherwise
	over    func(at *pass) ops.Watch      // writes over what comes out of an op, before it is compared
	judge   func(j *taps.Judge, at *pass) // changes what else a judge is
}

// Name returns a short name.
func (k known) Name() string { return k.name }

// Says completes "the other side ...".
func (k known) Says() string { return k.says }

// Ops returns the boundaries at which the mistake can show first.
func (k known) Ops() []string { return k.ops }

// Plant returns a judge that makes the mistake, and false where the model has no place for it.
func (k known) Plant(j taps.Judge) (taps.Judge, bool) {
	m, ok := j.Model.(configured)
	if !ok || k.when != nil && !k.when(m.Config()) || k.needs != nil && !k.needs(j) {
		return j, false
	}
	at := newPass(j, m.Config())
	if k.kernels != nil {
		j.Backend = k.kernels(part{j.Backend, at})
	}
	if k.judge != nil {
		k.judge(&j, at)
	}
	s := &shell{configured: m, at: at}
	if k.over != nil {
		s.over = k.over(at)
	}
	j.Model = s
	return j, true
}

// A part is a backend of which some kernels compute otherwise.
type part struct {
	kernels.Backend
	at *pass
}

// A pass is where the judge's pass is.
type pass struct {
	dsv4.Config
	layer  int    // -1 outside the blocks
	last   string // the boundary that came out last in this layer; "" at its beginning
	k      kernels.Backend
	ids    []int32
	params []*tensor.Param

	main, compress []float32
}

func newPass(j taps.Judge, c dsv4.Config) *pass {
	at := &pass{Config: c, layer: -1, k: j.Backend, params: j.Model.Params()}
	at.main, at.compress = c.Frequencies()
	return at
}

// weight returns a weight of the layer, nil if it has none of that name.
func (p *pass) weight(name string) *tensor.Tensor {
	name = fmt.Sprintf("model.layers.%d.%s", p.layer, name)
	for _, w := range p.params {
		if w.Name == name {
			return w.Value
		}
	}
	return nil
}

// after reports whether the boundary that came out last is one of these.
func (p *pass) after(names ...string) bool {
	return slices.Contains(names, p.last)
}

// inside reports whether the pass is in a block.
func (p *pass) inside() bool { return p.layer >= 0 }

func (p *pass) attends(kinds ...dsv4.AttentionKind) bool {
	return p.inside() && slices.Contains(kinds, p.Layers[p.layer].Attention)
}

// rate returns how many tokens an entry of the layer stands for.
func (p *pass) rate() int {
	if p.attends(dsv4.C4) {
		return p.RateC4
	}
	return p.RateC128
}
