package ops

import "furlong/tensor"

// Linear returns x·wᵀ: [T, K] to [T, N].
func Linear(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor {
	return GroupedLinear(c, x, w, 1)
}

// GroupedLinear returns the product of x with a block-diagonal weight: [T, G*K] to [T, G*N], w [G*N, K].
func GroupedLinear(c *Ctx, x *tensor.Tensor, w *tensor.Param, groups int) *tensor.Tensor {
	y := c.New(x.Rows(), w.Value.Shape[0])
	c.K.Linear(y, x, w.Value, groups)
	if c.tape != nil {
		c.record("linear", func() { c.K.LinearBackward(c.Grad(x), paramGrad(w), c.Grad(y), x, w.Value, groups) }, y)
	}
	return y
}

// ExpertLinear returns x·w[e]ᵀ for the rows of each expert e: [R, K] to [R, N], w [E, N, K], rows off[e] up to off[e+1].
func ExpertLinear(c *Ctx, x *tensor.Tensor, w *tensor.Param, off []int32) *tensor.Tensor {
	y := c.New(x.Rows(), w.Value.Shape[1])
	c.K.ExpertLinear(y, x, w.Value, off)
	if c.tape != nil {
		c.record("expert_linear", func() { c.K.ExpertLinearBackward(c.Grad(x), paramGrad(w), c.Grad(y), x, w.Value, off) }, y)
	}
	return y
}

// Join returns rows [a | b]: [T, A] and [T, B] to [T, A+B].
func Join(c *Ctx, a, b *tensor.Tensor) *tensor.Tensor {
	y := c.New(a.Rows(), a.Dim()+b.Dim())
	c.K.Join(y, a, b)
	if c.tape != nil {
		c.record("join", func() { c.K.JoinBackward(c.Grad(a), c.Grad(b), c.Grad(y)) }, y)
	}
	return y
}
