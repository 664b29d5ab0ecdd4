package paritytest

import (
	"math"

	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// root returns the root mean square of x.
func root(x []float32) float32 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return float32(math.Sqrt(sum/float64(len(x)) + 1e-6))
}

// bf16 returns v rounded to bfloat16.
func bf16(v float32) float32 { return dtype.FromBF16(dtype.ToBF16(v)) }

// coarse rounds numbers to bfloat16.
func coarse(_ dsv4.Config, v []float32) {
	for i := range v {
		v[i] = bf16(v[i])
	}
}

func rounded(x *tensor.Tensor) *tensor.Tensor {
	y := x.Clone()
	if x.Type != dtype.BF16 {
		coarse(dsv4.Config{}, y.F32())
	}
	return y
}

func inner(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

func rowOf(x *tensor.Tensor, r int) []float32 {
	n := x.Len() / x.Shape[0]
	return x.F32()[r*n:][:n]
}

// rootSoftplus returns sqrt(softplus(logit)), what an expert's weight is made of.
func rootSoftplus(logit float32) float64 { return math.Sqrt(math.Log1p(math.Exp(float64(logit)))) }

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

func clamped(x, limit float64) float64 { return min(max(x, -limit), limit) }
