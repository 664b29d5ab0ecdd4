package dsv4

import (
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// A site is the hyper-connection around one sub-layer. Rows of fn: S for the collapse, S for the output, S*S for the mix.
type site struct {
	post, comb, collapsed string        // names under which results are seen
	fn, base, scale       *tensor.Param // [S*(2+S), S*D], [S*(2+S)], [3]
}

// enter returns the site's maps for streams x [T, S, D], and x collapsed to the sub-layer's input [T, D].
func (s *site) enter(c *ops.Ctx, x *tensor.Tensor, p kernels.HyperParams) (ops.Maps, *tensor.Tensor) {
	m := ops.HyperMap(c, x, s.fn, s.base, s.scale, true, p)
	h := ops.Collapse(c, x, m.Pre)
	c.See(s.post, m.Post)
	c.See(s.comb, m.Comb)
	c.See(s.collapsed, h)
	return m, h
}
