package suspect

import (
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

// configured is a model that a mistake can be made in.
type configured interface {
	model.Model
	Config() dsv4.Config
}

// A shell is a model that keeps account of where its pass is. Kernels are told nothing but operands: by the boundary that came last they know what they
// are called for.
type shell struct {
	configured
	at   *pass
	over ops.Watch // nil for none
}

// Embed begins a pass.
func (s *shell) Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor {
	s.at.layer, s.at.last = -1, ""
	return s.configured.Embed(s.watched(c), in)
}

// Block runs block i.
func (s *shell) Block(c *ops.Ctx, i int, in *ops.Tokens, st kv.Store, x *ops.Streams) *ops.Streams {
	s.at.layer, s.at.last, s.at.ids = i, "", in.ID
	return s.configured.Block(s.watched(c), i, in, st, x)
}

// Final ends the blocks. What follows it, the head, is outside them, too.
func (s *shell) Final(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor {
	s.at.layer, s.at.last = -1, ""
	return s.configured.Final(s.watched(c), x)
}

// watched returns a context whose watch sees what c's sees, after the mistake wrote over it.
func (s *shell) watched(c *ops.Ctx) *ops.Ctx {
	d := *c
	d.Watch = func(layer int, name string, t *tensor.Tensor, choice []int32) {
		if s.over != nil {
			s.over(layer, name, t, choice)
		}
		if c.Watch != nil {
			c.Watch(layer, name, t, choice)
		}
		s.at.last = name
	}
	return &d
}
