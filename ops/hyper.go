package ops

import (
	"furlong/kernels"
	"furlong/tensor"
)

// Maps are a site's hyper-connection maps: how streams collapse into the sub-layer's input, and how its output and the old
// streams mix into the new ones.
type Maps struct {
	Pre  *tensor.Tensor // [T, S]
	Post *tensor.Tensor // [T, S], nil at the last collapse
	Comb *tensor.Tensor // [T, S, S], first index the source; nil at the last collapse
}

// HyperMap returns the maps of a site from streams x [T, S, D]. With mix false only Pre is made.
func HyperMap(c *Ctx, x *tensor.Tensor, fn, base, scale *tensor.Param, mix bool, p kernels.HyperParams) Maps {
	t, s := x.Shape[0], x.Shape[1]
	z := Linear(c, Reshape(c, x, t, s*x.Shape[2]), fn)
	m := Maps{Pre: c.New(t, s)}
	if mix {
		m.Post, m.Comb = c.New(t, s), c.New(t, s, s)
	}
	c.K.HyperMap(m.Pre, m.Post, m.Comb, z, x, base.Value, scale.Value, p)
	if c.tape != nil {
		c.record("hyper_map", func() {
			c.K.HyperMapBackward(c.Grad(z), c.Grad(x), paramGrad(base), paramGrad(scale),
				c.Grad(m.Pre), c.gradOrNil(m.Post), c.gradOrNil(m.Comb), z, x, base.Value, scale.Value, p)
		}, m.Pre, m.Post, m.Comb)
	}
	return m
}

func (c *Ctx) gradOrNil(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return c.Grad(t)
}

// Collapse returns the streams' weighted sum: [T, S, D] and [T, S] to [T, D].
func Collapse(c *Ctx, x, pre *tensor.Tensor) *tensor.Tensor {
	y := c.New(x.Shape[0], x.Shape[2])
	c.K.Collapse(y, x, pre)
	if c.tape != nil {
		c.record("collapse", func() { c.K.CollapseBackward(c.Grad(x), c.Grad(pre), c.Grad(y), x, pre) }, y)
	}
	return y
}

// Expand returns the new streams: the sub-layer's output o [T, D] put back by m.Post, plus the old streams x mixed by m.Comb.
func Expand(c *Ctx, x, o *tensor.Tensor, m Maps) *tensor.Tensor {
	y := c.New(x.Shape...)
	c.K.Expand(y, x, o, m.Post, m.Comb)
	if c.tape != nil {
		c.record("expand", func() {
			c.K.ExpandBackward(c.Grad(x), c.Grad(o), c.Grad(m.Post), c.Grad(m.Comb), c.Grad(y), x, o, m.Post, m.Comb)
		}, y)
	}
	return y
}
