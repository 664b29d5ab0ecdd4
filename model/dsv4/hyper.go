package dsv4

import (
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// A site is the hyper-connection around one sub-layer. Rows of fn: S for the collapse, S for the output, S*S for the mix.
type site struct {
	pre, post, comb, collapsed string        // names under which results are seen
	fn, base, scale            *tensor.Param // [S*(2+S), S*D], [S*(2+S)], [3]
}

// enter collapses streams x [T, S, D] to the sub-layer's input.
func (s *site) enter(c *ops.Ctx, x *tensor.Tensor, p kernels.HyperParams) *ops.Site {
	e := ops.Enter(c, x, s.fn, s.base, s.scale, true, p)
	c.See(s.pre, e.Pre)
	c.See(s.post, e.Post)
	c.See(s.comb, e.Comb)
	c.See(s.collapsed, e.In)
	return e
}
