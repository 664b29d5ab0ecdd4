package ops

import "furlong/tensor"

// A Plan says where each token's slots lie once they are sorted by expert: slot j of token t is row Rows[t*K+j], and
// expert e has rows Off[e] up to Off[e+1], in token order.
type Plan struct {
	K    int
	Rows []int32 // [T*K]
	Off  []int32 // [E+1]
}

// NewPlan sorts choice [T*K] by expert, stably.
func NewPlan(choice []int32, k, experts int) Plan {
	off := make([]int32, experts+1)
	for _, e := range choice {
		off[e+1]++
	}
	for e := range experts {
		off[e+1] += off[e]
	}
	next, rows := append([]int32(nil), off...), make([]int32, len(choice))
	for i, e := range choice {
		rows[i] = next[e]
		next[e]++
	}
	return Plan{K: k, Rows: rows, Off: off}
}

// RouteWeights returns the weight of each slot [T, K] from the router's logits [T, E].
func RouteWeights(c *Ctx, logits *tensor.Tensor, choice []int32, k int, factor float64) *tensor.Tensor {
	w := c.New(logits.Rows(), k)
	c.K.RouteWeights(w, logits, choice, factor)
	if c.tape != nil {
		c.record("route_weights", func() { c.K.RouteWeightsBackward(c.sum(logits), c.Grad(w), logits, choice, factor) }, w)
	}
	return w
}

// Dispatch returns x's rows in plan order, once for each slot: [T, D] to [T*K, D].
func Dispatch(c *Ctx, x *tensor.Tensor, p Plan) *tensor.Tensor {
	y := c.New(len(p.Rows), x.Dim())
	c.K.Dispatch(y, x, p.Rows, p.K)
	if c.tape != nil {
		c.record("dispatch", func() { c.K.Combine(c.sum(x), c.Grad(y), p.Rows, p.K) }, y)
	}
	return y
}

// DispatchWeights returns the slots' weights w [T, K] in plan order [T*K].
func DispatchWeights(c *Ctx, w *tensor.Tensor, p Plan) *tensor.Tensor {
	flat := Reshape(c, w, len(p.Rows), 1)
	y := c.New(len(p.Rows), 1)
	c.K.Dispatch(y, flat, p.Rows, 1)
	if c.tape != nil {
		c.record("dispatch_weights", func() { c.K.Combine(c.Grad(flat), c.Grad(y), p.Rows, 1) }, y)
	}
	return y
}

// Combine returns base [T, D] plus, for each token, the sum of its slots' rows of x [T*K, D]. That is in base's own memory: nobody else may read
// base, nor may the backward pass of the op that made it.
func Combine(c *Ctx, base, x *tensor.Tensor, p Plan) *tensor.Tensor {
	y := c.over(base)
	c.K.Combine(y, x, p.Rows, p.K)
	if c.tape != nil {
		c.record("combine", func() {
			if dx := c.sum(x); dx.Fresh {
				c.K.Dispatch(dx, c.Grad(y), p.Rows, p.K) // a plan names every row once
				dx.Fresh = false
			} else {
				c.K.DispatchAdd(dx, c.Grad(y), p.Rows, p.K)
			}
			c.handOn(base, y)
		}, y)
	}
	return y
}

// SwiGLU returns silu(gate)*up with the clamps of the model, times w row by row: [R, 2F] to [R, F]. w is nil for 1.
func SwiGLU(c *Ctx, gu, w *tensor.Tensor, limit float64) *tensor.Tensor {
	y := c.New(gu.Rows(), gu.Dim()/2)
	c.K.SwiGLU(y, gu, w, limit)
	if c.tape != nil {
		c.record("swiglu", func() { c.K.SwiGLUBackward(c.sum(gu), c.gradOrNil(w), c.Grad(y), gu, w, limit) }, y)
	}
	return y
}
