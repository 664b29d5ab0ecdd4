package dsv4

import (
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// A site is the hyper-connection around one sub-layer. Rows of fn: S for the collapse, S for the output, S*S for the mix.
type site struct {
	name            string
	fn, base, scale *tensor.Param // [S*(2+S), S*D], [S*(2+S)], [3]
}

func (s *site) maps(c *ops.Ctx, x *tensor.Tensor, p kernels.HyperParams) ops.Maps {
	m := ops.HyperMap(c, x, s.fn, s.base, s.scale, true, p)
	if c.Watch != nil {
		c.See(s.name+".pre", m.Pre)
		c.See(s.name+".post", m.Post)
		c.See(s.name+".comb", m.Comb)
	}
	return m
}
