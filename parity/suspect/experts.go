package suspect

import (
	"math"

	"furlong/kernels"
	"furlong/tensor"
)

var atSum = []string{"mlp_out"}

func experts() []known {
	var list []known
	for _, p := range []struct {
		name, says string
		product    func(g, u, l float64) float64
	}{
		{"no SwiGLU clamp", "does not clamp what goes into SwiGLU, where swiglu_limit is for routed and shared experts alike", func(g, u, _ float64) float64 { return silu(g) * u }},
		{"gate clamped below too", "clamps the gate on both sides, where it is to be clamped above only", func(g, u, l float64) float64 { return silu(between(-l, g, l)) * between(-l, u, l) }},
		{"gate never clamped", "clamps the up half only, where the gate is to be clamped above, too", func(g, u, l float64) float64 { return silu(g) * between(-l, u, l) }},
		{"up never clamped", "clamps the gate only, where the up half is to be clamped on both sides, too", func(g, u, l float64) float64 { return silu(math.Min(g, l)) * u }},
		{"up clamped above only", "clamps the up half above only, where it is to be clamped on both sides", func(g, u, l float64) float64 { return silu(math.Min(g, l)) * math.Min(u, l) }},
		{"clamped after the product", "clamps SwiGLU's result, where gate and up are to be clamped before they are multiplied", func(g, u, l float64) float64 { return between(-l, silu(g)*u, l) }},
	} {
		list = append(list, clamping(p.name, p.says, false, p.product), clamping(p.name+" in the shared expert", "in the shared expert "+p.says, true, p.product))
	}
	return append(list, []known{
		{
			name: "experts weighed after the last product", ops: []string{"expert_mid"},
			says:    "multiplies the experts' outputs by their weights, where what goes into their last product is multiplied",
			kernels: func(k part) kernels.Backend { return unweighed{k} },
		},
		{
			name: "duplicate experts overwritten", ops: atSum,
			says:    "lets one of two slots of a token that name one expert overwrite the other, where both are to be added",
			kernels: func(k part) kernels.Backend { return &overwritten{part: k} },
		},
		adding("routed factor on the shared expert", "multiplies the shared expert's output by routed_scaling_factor, which is for routed experts alone", func(at *pass) float64 { return at.RoutedFactor }),
		adding("no shared expert", "leaves the shared expert out of the sum", func(*pass) float64 { return 0 }),
		adding("shared expert added twice", "adds the shared expert twice", func(*pass) float64 { return 2 }),
	}...)
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// gated makes SwiGLU's product otherwise, in routed experts or in the shared one, whose rows have no weights.
type gated struct {
	part
	shared  bool
	product func(gate, up, limit float64) float64
}

func clamping(name, says string, shared bool, product func(gate, up, limit float64) float64) known {
	k := known{
		name: name, says: says, ops: []string{"expert_mid"},
		when:    func(c config) bool { return c.Limit > 0 },
		kernels: func(k part) kernels.Backend { return gated{k, shared, product} },
	}
	if shared {
		k.ops, k.when = []string{"shared_mid"}, func(c config) bool { return c.LimitShared > 0 }
	}
	return k
}

// SwiGLU makes the product.
func (k gated) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	if k.shared != (w == nil) {
		k.Backend.SwiGLU(y, gu, w, limit)
		return
	}
	f := y.Dim()
	for i := range y.Len() {
		r, c := i/f, i%f
		v := k.product(get(gu, r*2*f+c), get(gu, r*2*f+f+c), limit)
		if w != nil {
			v *= get(w, r)
		}
		set(y, i, v)
	}
}

// unweighed leaves weights out of SwiGLU.
type unweighed struct{ part }

// SwiGLU makes the product.
func (k unweighed) SwiGLU(y, gu, _ *tensor.Tensor, limit float64) {
	k.Backend.SwiGLU(y, gu, nil, limit)
}

// overwritten adds only the last of a token's slots that name one expert.
type overwritten struct {
	part
	choice []int32
}

// RouteWeights weighs, and tells what was chosen.
func (k *overwritten) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.choice = choice
	k.Backend.RouteWeights(w, logits, choice, factor)
}

// Combine adds slots.
func (k *overwritten) Combine(y, x *tensor.Tensor, rows []int32, n int) {
	z := x.Clone()
	for i, e := range k.choice {
		for j := i + 1; j < i/n*n+n; j++ {
			if k.choice[j] == e {
				z.Slice(int(rows[i]), int(rows[i])+1).Zero()
			}
		}
	}
	k.Backend.Combine(y, z, rows, n)
}

// added multiplies the shared expert before the others are added to it.
type added struct {
	part
	by func(*pass) float64
}

func adding(name, says string, by func(*pass) float64) known {
	return known{name: name, says: says, ops: atSum, kernels: func(k part) kernels.Backend { return added{k, by} }}
}

// Combine adds slots to the shared expert's output.
func (k added) Combine(y, x *tensor.Tensor, rows []int32, n int) {
	remake(y, func(v float64) float64 { return v * k.by(k.at) })
	k.Backend.Combine(y, x, rows, n)
}
