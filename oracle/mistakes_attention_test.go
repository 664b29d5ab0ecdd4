package oracle

import (
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func attentionMistakes() []mistake {
	return []mistake{
		{name: "no sink", k: sinks{exact, func(float64) float64 { return math.Inf(-1) }}, at: 17, error: 4.9},
		{name: "sink scaled like a key", k: sinks{exact, func(s float64) float64 { return s / math.Sqrt(32) }}, at: 17, error: 3.2},
		{name: "sliding window one longer", cfg: func(c *dsv4.Config) { c.Window++ }, at: 17, error: 4.1},
		{name: "sliding window one shorter", cfg: func(c *dsv4.Config) { c.Window-- }, at: 17, error: 6.1},
		{name: "no norm on each query head", k: headNorms{exact}, at: 17, error: 3.4},
		{name: "no norm on the query latent", k: &latentNorms{right: exact}, at: 17, error: 4.5},
		{name: "heads grouped by turns", k: headGroups{exact}, at: 17, error: 6.7},
	}
}

// sinks changes the sinks of all heads.
type sinks struct {
	*right
	as func(sink float64) float64
}

func (k sinks) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.right.Attend(o, lse, q, each(sink, k.as), heads, views...)
}

// headNorms leaves queries as they are.
type headNorms struct{ *right }

func (k headNorms) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if w == nil {
		k.Copy(y, x)
		return
	}
	k.right.RMSNorm(y, x, w, dim, eps)
}

// latentNorms leaves the query latent as it is: the first norm of 32 channels after one of 64.
type latentNorms struct {
	*right
	last int
}

func (k *latentNorms) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if k.last == 64 && dim == 32 {
		k.Copy(y, x)
	} else {
		k.right.RMSNorm(y, x, w, dim, eps)
	}
	k.last = dim
}

// headGroups gives head h to output group h modulo groups, not heads in runs.
type headGroups struct{ *right }

func (k headGroups) Linear(y, x, w *tensor.Tensor, groups int) {
	if groups == 1 {
		k.right.Linear(y, x, w, groups)
		return
	}
	const heads, dim = 4, 32
	z := tensor.New(dtype.F64, x.Shape...)
	for t := range x.Rows() {
		for h := range heads {
			to := h%groups*heads/groups + h/groups
			copy(z.F64()[(t*heads+to)*dim:][:dim], x.F64()[(t*heads+h)*dim:][:dim])
		}
	}
	k.right.Linear(y, z, w, groups)
}

// each returns f of every element.
func each(x *tensor.Tensor, f func(float64) float64) *tensor.Tensor {
	y := x.Clone()
	for i, v := range x.F64() {
		y.F64()[i] = f(v)
	}
	return y
}
