package paritytest

import (
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// clamps are the ways to clamp SwiGLU's operands wrongly.
var clamps = []struct {
	name    string
	product func(gate, up, limit float64) float64
}{
	{"gate clamped below too", func(g, u, l float64) float64 { return silu(clamped(g, l)) * clamped(u, l) }},
	{"up never clamped", func(g, u, l float64) float64 { return silu(min(g, l)) * u }},
	{"up clamped above only", func(g, u, l float64) float64 { return silu(min(g, l)) * min(u, l) }},
	{"gate never clamped", func(g, u, l float64) float64 { return silu(g) * clamped(u, l) }},
	{"clamped after the product", func(g, u, l float64) float64 { return clamped(silu(g)*u, l) }},
}

func expertMistakes() []Mistake {
	var all []Mistake
	for _, c := range clamps {
		all = append(all,
			Mistake{Name: c.name, Trap: "T8", op: each("expert_mid"), kernels: gated(false, c.product)},
			Mistake{Name: c.name + ", in the shared expert alone", Trap: "T8", op: each("shared_mid"), kernels: gated(true, c.product)})
	}
	return append(all, []Mistake{
		{Name: "no SwiGLU clamp", Trap: "T8", op: each("expert_mid"), config: func(c *dsv4.Config) { c.Limit, c.LimitShared = 0, 0 }},
		{Name: "shared expert not clamped", Trap: "T8", op: each("shared_mid"), config: func(c *dsv4.Config) { c.LimitShared = 0 }},
		{Name: "routed experts not clamped", Trap: "T8", op: each("expert_mid"), config: func(c *dsv4.Config) { c.Limit = 0 }},
		{Name: "gate and up in each other's place", Trap: "odd", op: each("expert_mid"), kernels: gated(false, func(g, u, l float64) float64 { return silu(min(u, l)) * clamped(g, l) })},
		{Name: "tanh instead of the sigmoid", Trap: "odd", op: each("expert_mid"), kernels: gated(false, func(g, u, l float64) float64 {
			g = min(g, l)
			return g * (silu(2*g)/max(2*g, 1e-9)*2 - 1) * clamped(u, l)
		})},
		{Name: "weights after the experts, in bfloat16", Trap: "T9", op: each("expert_mid"), kernels: func(k part) kernels.Backend { return &lateWeights{part: k} }},
		{Name: "duplicate experts overwritten", Trap: "T3", op: routed("mlp_out", hash), kernels: func(k part) kernels.Backend { return &overwritten{part: k} }},
		{Name: "routed factor on the shared expert too", Trap: "odd", op: each("mlp_out"), kernels: func(k part) kernels.Backend {
			return combined{k, func(y []float32, c dsv4.Config) { times(y, float32(c.RoutedFactor)) }}
		}},
		{Name: "shared expert left out", Trap: "odd", op: each("mlp_out"), kernels: func(k part) kernels.Backend { return combined{k, func(y []float32, _ dsv4.Config) { clear(y) }} }},
		{Name: "shared expert added twice", Trap: "odd", op: each("mlp_out"), kernels: func(k part) kernels.Backend { return combined{k, func(y []float32, _ dsv4.Config) { times(y, 2) }} }},
		{Name: "one neuron of the shared expert dead", Trap: "odd", op: each("shared_mid"), kernels: func(k part) kernels.Backend { return dead{k} }},
	}...)
}

// gates computes SwiGLU's product otherwise, in all experts or in the shared one alone.
type gates struct {
	part
	shared  bool
	product func(gate, up, limit float64) float64
}

func gated(shared bool, product func(gate, up, limit float64) float64) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return gates{k, shared, product} }
}

func (k gates) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	if k.shared && w != nil {
		k.Backend.SwiGLU(y, gu, w, limit)
		return
	}
	f := y.Dim()
	for r := range y.Rows() {
		for i := range f {
			v := k.product(float64(rowOf(gu, r)[i]), float64(rowOf(gu, r)[f+i]), limit)
			if w != nil {
				v *= float64(w.F32()[r])
			}
			rowOf(y, r)[i] = float32(v)
		}
	}
}

// lateWeights multiplies experts' outputs by their weights, in bfloat16, instead of what goes into their last product.
type lateWeights struct {
	part
	w *tensor.Tensor // rows in the order of experts
}

func (k *lateWeights) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	if w != nil {
		k.w = rounded(w)
	}
	k.Backend.SwiGLU(y, gu, nil, limit)
}

func (k *lateWeights) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	k.Backend.ExpertLinear(y, x, w, off)
	if k.at.follows("expert_mid") {
		for r, by := range k.w.F32() {
			times(rowOf(y, r), by)
		}
	}
}

// overwritten keeps of two slots of a token that name one expert only the second.
type overwritten struct {
	part
	choice []int32
}

func (k *overwritten) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.choice = append([]int32(nil), choice...)
	k.Backend.RouteWeights(w, logits, choice, factor)
}

func (k *overwritten) Combine(y, x *tensor.Tensor, rows []int32, n int) {
	x = x.Clone()
	for i, e := range k.choice {
		for j := i + 1; j%n != 0; j++ {
			if k.choice[j] == e {
				clear(rowOf(x, int(rows[i])))
			}
		}
	}
	k.Backend.Combine(y, x, rows, n)
}

// combined changes the shared expert's output before the others' are added.
type combined struct {
	part
	change func(shared []float32, c dsv4.Config)
}

func (k combined) Combine(y, x *tensor.Tensor, rows []int32, n int) {
	if !k.at.follows("shared_out") {
		k.Backend.Combine(y, x, rows, n)
		return
	}
	k.change(y.F32(), k.at.Config)
	k.Backend.Combine(y, x, rows, n)
}

func times(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// dead clears one channel of the shared expert.
type dead struct{ part }

func (k dead) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	k.Backend.SwiGLU(y, gu, w, limit)
	if w == nil {
		for r := range y.Rows() {
			rowOf(y, r)[3] = 0
		}
	}
}
