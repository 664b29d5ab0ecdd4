package ops

import "furlong/tensor"

// RMSNorm returns x over its root mean square, times w: runs of len(w) elements.
func RMSNorm(c *Ctx, x *tensor.Tensor, w *tensor.Param, eps float64) *tensor.Tensor {
	return rmsNorm(c, x, w, w.Value.Len(), eps)
}

// HeadNorm is RMSNorm without a weight, over runs of dim elements.
func HeadNorm(c *Ctx, x *tensor.Tensor, dim int, eps float64) *tensor.Tensor {
	return rmsNorm(c, x, nil, dim, eps)
}

func rmsNorm(c *Ctx, x *tensor.Tensor, w *tensor.Param, dim int, eps float64) *tensor.Tensor {
	y := c.New(x.Shape...)
	c.K.RMSNorm(y, x, value(w), dim, eps)
	if c.tape != nil {
		c.record("rms_norm", c.inTurn(func() {
			c.K.RMSNormBackward(c.sum(x), paramGrad(w), c.Grad(y), x, value(w), dim, eps)
		}, w), y)
	}
	return y
}
