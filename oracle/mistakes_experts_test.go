package oracle

import (
	"math"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func expertMistakes() []mistake {
	clamp := func(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
	return []mistake{
		{name: "no SwiGLU clamp", cfg: func(c *dsv4.Config) { c.Limit, c.LimitShared = 0, 0 }, at: 17, error: 6.8},
		{name: "shared expert not clamped", cfg: func(c *dsv4.Config) { c.LimitShared = 0 }, at: 17, error: 4.2},
		{name: "only the shared expert clamped", cfg: func(c *dsv4.Config) { c.Limit = 0 }, at: 17, error: 6.8},
		{name: "gate clamped below too", k: gated{exact, func(g, u, l float64) float64 { return silu(clamp(g, -l, l)) * clamp(u, -l, l) }}, at: 17, error: 1.9},
		{name: "up never clamped", k: gated{exact, func(g, u, l float64) float64 { return silu(min(g, l)) * u }}, at: 17, error: 5.1},
		{name: "up clamped above only", k: gated{exact, func(g, u, l float64) float64 { return silu(min(g, l)) * min(u, l) }}, at: 17, error: 5.2},
		{name: "clamped after the product", k: gated{exact, func(g, u, l float64) float64 { return clamp(silu(g)*u, -l, l) }}, at: 17, error: 5},
		{name: "no correction bias in the choice", k: unbiased{exact}, at: 17, error: 2.6, shows: []string{"logits", "router choices"}},
		{name: "correction bias left in the weight", k: &weighed{right: exact, biased: true}, at: 17, error: 0.9},
		{name: "weights not normalised", k: &weighed{right: exact, plain: true}, at: 17, error: 5.1},
		{name: "no routed factor", cfg: func(c *dsv4.Config) { c.RoutedFactor = 1 }, at: 17, error: 5.2},
		{name: "routed factor on the shared expert too", k: factored{exact}, at: 17, error: 4.1},
		{name: "table layers routed by score", k: &hashless{right: exact}, at: 17, error: 8.5, shows: []string{"logits", "router choices"}},
		{name: "table layers counted from 1", k: &hashless{right: exact, keep: 2}, at: 17, error: 5.2, shows: []string{"logits", "router choices"}},
		{name: "logits in bfloat16", k: coarseLogits{exact}, at: 17, error: 0.015},
	}
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// gated computes SwiGLU's product otherwise.
type gated struct {
	*right
	product func(gate, up, limit float64) float64
}

func (k gated) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	f := y.Dim()
	for i := range y.F64() {
		at := i/f*2*f + i%f
		y.F64()[i] = k.product(gu.F64()[at], gu.F64()[at+f], limit)
		if w != nil {
			y.F64()[i] *= w.F64()[i/f]
		}
	}
}

// unbiased chooses by score alone.
type unbiased struct{ *right }

func (k unbiased) TopExperts(choice []int32, logits, _ *tensor.Tensor, n int) {
	k.right.TopExperts(choice, logits, nil, n)
}

// weighed makes the chosen experts' weights otherwise.
type weighed struct {
	*right
	biased, plain bool
	bias          *tensor.Tensor // of the choice just made
}

func (k *weighed) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	k.bias = bias
	k.right.TopExperts(choice, logits, bias, n)
}

func (k *weighed) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	n, sum := w.Dim(), 0.0
	for i, e := range choice {
		s := ref.RootSoftplus(logits.F64()[i/n*logits.Dim()+int(e)])
		if k.biased && k.bias != nil {
			s += k.bias.F64()[e]
		}
		w.F64()[i] = s * factor
		if sum += s; i%n == n-1 {
			if !k.plain {
				times(w.Slice(i/n, i/n+1), 1/sum)
			}
			sum = 0
		}
	}
	k.bias = nil
}

// factored multiplies the shared expert by the routed factor as well.
type factored struct{ *right }

func (k factored) Combine(y, x *tensor.Tensor, rows []int32, n int) {
	times(y, 1.5)
	k.right.Combine(y, x, rows, n)
}

// hashless routes by score where the table should, but in the first keep layers.
type hashless struct {
	*right
	keep, layer int
	scored      bool // this layer's experts were chosen by score
}

func (k *hashless) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	k.scored = true
	k.right.TopExperts(choice, logits, bias, n)
}

func (k *hashless) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	if !k.scored && k.layer >= k.keep {
		k.right.TopExperts(choice, logits, nil, w.Dim())
	}
	k.right.RouteWeights(w, logits, choice, factor)
	k.scored = false
	k.layer++
}

// coarseLogits rounds logits to bfloat16.
type coarseLogits struct{ *right }

func (k coarseLogits) Linear(y, x, w *tensor.Tensor, groups int) {
	k.right.Linear(y, x, w, groups)
	if w.Shape[0] == 97 && w.Type == dtype.F64 {
		coarsen(y)
	}
}
