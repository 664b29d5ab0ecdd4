package ops

import (
	"furlong/kernels"
	"furlong/tensor"
)

// RoPE returns x with the last channels of every run of dim turned by r, backwards if inverse: [T, H*dim] to the same. Only the backward pass of
// the op that made x may still read it: without a tape it is turned where it lies.
func RoPE(c *Ctx, x *tensor.Tensor, r Rotation, dim int, inverse bool) *tensor.Tensor {
	if c.tape == nil {
		return RoPEOver(c, x, r, dim, inverse)
	}
	return rope(c, c.New(x.Shape...), x, r, dim, inverse)
}

// RoPEOver is RoPE for an op whose backward pass does not read x either: it is always turned where it lies.
func RoPEOver(c *Ctx, x *tensor.Tensor, r Rotation, dim int, inverse bool) *tensor.Tensor {
	return rope(c, c.over(x), x, r, dim, inverse)
}

func rope(c *Ctx, y, x *tensor.Tensor, r Rotation, dim int, inverse bool) *tensor.Tensor {
	c.K.RoPE(y, x, r.Cos, r.Sin, dim, inverse)
	if c.tape != nil {
		c.record("rope", func() {
			dy := c.Grad(y)
			c.K.RoPEBackward(c.passOn(x, y), dy, r.Cos, r.Sin, dim, inverse)
		}, y)
	}
	return y
}

// Attend returns the attention of q [T, H*D] over the rows of all views and the sink [H]: [T, H*D].
func Attend(c *Ctx, q *tensor.Tensor, sink *tensor.Param, heads int, views ...View) *tensor.Tensor {
	o, lse := c.New(q.Shape...), c.New(q.Rows(), heads)
	k := kernels.KeeperOf(c.K)
	kept := c.kept(k, q, heads, views)
	k.AttendKeeping(o, lse, kept, q, sink.Value, heads, views...)
	if c.tape != nil {
		c.record("attend", c.inTurn(func() {
			dpool := make([]*tensor.Tensor, len(views))
			for i, v := range views {
				dpool[i] = c.sum(v.Pool)
			}
			k.AttendBackwardKept(c.sum(q), paramGrad(sink), dpool, c.Grad(o), o, lse, kept, q, sink.Value, heads, views...)
		}, sink), o)
	}
	return o
}

// kept returns memory for the scores that k wants to keep for the backward pass, nil if there is none or k keeps nothing.
func (c *Ctx) kept(k kernels.Keeper, q *tensor.Tensor, heads int, views []View) *tensor.Tensor {
	if c.tape == nil {
		return nil
	}
	if n := k.Keeps(q, heads, views...); n > 0 {
		return c.New(n)
	}
	return nil
}

// IndexTopK returns keys cut to the k rows each query scores highest. The choice has no gradient.
func IndexTopK(c *Ctx, q, w *tensor.Tensor, heads int, keys View, k int) View {
	return c.K.IndexTopK(q, w, heads, keys, k)
}

// Pool returns one pooled row for each window of own: [C, D]. For overlapping windows prev holds each window's predecessor.
func Pool(c *Ctx, bias *tensor.Param, overlap bool, prev, own View) *tensor.Tensor {
	d := own.Pool.Dim() / 2
	if overlap {
		d /= 2
	}
	y := c.New(len(own.Lo), d)
	c.K.Pool(y, bias.Value, overlap, prev, own)
	if c.tape != nil {
		c.record("pool", c.inTurn(func() {
			c.K.PoolBackward(c.sum(own.Pool), paramGrad(bias), c.Grad(y), bias.Value, overlap, prev, own)
		}, bias), y)
	}
	return y
}
