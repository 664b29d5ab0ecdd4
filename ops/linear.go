package ops

import (
	"furlong/quant"
	"furlong/tensor"
)

// Linear returns x·wᵀ: [T, K] to [T, N]. If w rounds, x is rounded first; its gradient passes straight through that, and w's is of the
// rounded x.
func Linear(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor {
	return GroupedLinear(c, x, w, 1)
}

// GroupedLinear returns the product of x with a block-diagonal weight: [T, G*K] to [T, G*N], w [G*N, K]. It
// rounds as Linear does.
func GroupedLinear(c *Ctx, x *tensor.Tensor, w *tensor.Param, groups int) *tensor.Tensor {
	y := c.New(x.Rows(), w.Value.Shape[0])
	in := operand(c, x, w)
	c.K.Linear(y, in, w.Value, groups)
	if c.tape != nil {
		c.record("linear", c.inTurn(func() {
			c.K.LinearBackward(c.sum(x), paramGrad(w), c.Grad(y), in, w.Value, groups)
		}, w), y)
	}
	return y
}

// ExpertLinear returns x·w[e]ᵀ for the rows of each expert e: [R, K] to [R, N], w [E, N, K], rows off[e] up to off[e+1].
// It rounds as Linear does.
func ExpertLinear(c *Ctx, x *tensor.Tensor, w *tensor.Param, off []int32) *tensor.Tensor {
	y := c.New(x.Rows(), w.Value.Shape[1])
	in := operand(c, x, w)
	c.K.ExpertLinear(y, in, w.Value, off)
	if c.tape != nil {
		c.record("expert_linear", c.inTurn(func() {
			c.K.ExpertLinearBackward(c.sum(x), paramGrad(w), c.Grad(y), in, w.Value, off)
		}, w), y)
	}
	return y
}

// operand returns what a product with w reads of x: x itself, or x rounded. A tape keeps that, so weights that read the same x share it.
func operand(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor {
	if !w.Rounds {
		return x
	}
	if c.tape != nil && c.tape.rounded[x] != nil {
		return c.tape.rounded[x]
	}
	y := c.New(x.Shape...)
	c.K.Round(y, x, x.Dim(), quant.ActivationE4M3.Cols)
	if c.tape != nil {
		c.tape.rounded[x] = y
	}
	return y
}

// Join returns rows [a | b]: [T, A] and [T, B] to [T, A+B].
func Join(c *Ctx, a, b *tensor.Tensor) *tensor.Tensor {
	y := c.New(a.Rows(), a.Dim()+b.Dim())
	c.K.Join(y, a, b)
	if c.tape != nil {
		c.record("join", func() { c.K.JoinBackward(c.sum(a), c.sum(b), c.Grad(y)) }, y)
	}
	return y
}
