package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// A pair is a forward kernel with its backward one. in holds the inputs that have gradients.
type pair struct {
	name     string
	in       []*tensor.Tensor
	forward  func() []*tensor.Tensor
	backward func(d, dy []*tensor.Tensor) // adds to d, one for each of in
}

// random returns an F64 tensor of normal numbers times scale.
func random(r *rand.Rand, scale float64, shape ...int) *tensor.Tensor {
	x := tensor.New(dtype.F64, shape...)
	for i := range x.F64() {
		x.F64()[i] = scale * r.NormFloat64()
	}
	return x
}

func empty(shape ...int) *tensor.Tensor { return tensor.New(dtype.F64, shape...) }

func one(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x} }

// view is a View over rows given query by query.
func view(pool *tensor.Tensor, rows ...[]int32) kernels.View {
	v := kernels.View{Pool: pool}
	for _, r := range rows {
		v.Lo = append(v.Lo, int32(len(v.Rows)))
		v.Rows = append(v.Rows, r...)
		v.Hi = append(v.Hi, int32(len(v.Rows)))
	}
	return v
}

// TestGradients compares each backward kernel with differences of its forward kernel in float64, along one random direction for each input.
// The five-point difference is right to about 1e-11 here; the limit is ten times that.
func TestGradients(t *testing.T) {
	const limit = 1e-10
	r := rand.New(rand.NewPCG(3, 4))
	k := New[float64]()
	var pairs []pair
	for _, group := range []func(*rand.Rand, *Backend[float64]) []pair{linearPairs, normPairs, attentionPairs, hyperPairs, moePairs, headPairs} {
		pairs = append(pairs, group(r, k)...)
	}
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			var dy, d, before []*tensor.Tensor
			for _, y := range p.forward() {
				dy = append(dy, random(r, 1, y.Shape...))
			}
			for _, x := range p.in {
				d = append(d, random(r, 1, x.Shape...))
				before = append(before, d[len(d)-1].Clone())
			}
			p.backward(d, dy)
			for i, x := range p.in {
				v := random(r, 1, x.Shape...)
				var got, size float64
				for j, w := range v.F64() {
					got += w * (d[i].F64()[j] - before[i].F64()[j])
					size += math.Abs(w * (d[i].F64()[j] - before[i].F64()[j]))
				}
				want := slopeAlong(p, dy, x.F64(), v.F64())
				if e := math.Abs(got-want) / size; !(e < limit) {
					t.Errorf("input %d: gradient along v is %v, want %v: relative error %.1e", i, got, want, e)
				}
			}
		})
	}
}

// slopeAlong returns the derivative of the sum of dy*y when x moves along v.
func slopeAlong(p pair, dy []*tensor.Tensor, x, v []float64) float64 {
	const h = 3e-4
	start := append([]float64(nil), x...)
	loss := func(step float64) (sum float64) {
		for i := range x {
			x[i] = start[i] + step*h*v[i]
		}
		for i, y := range p.forward() {
			for j, g := range dy[i].F64() {
				sum += g * y.F64()[j]
			}
		}
		copy(x, start)
		return sum
	}
	return (8*(loss(1)-loss(-1)) - (loss(2) - loss(-2))) / (12 * h)
}

func linearPairs(r *rand.Rand, k *Backend[float64]) []pair {
	x, w := random(r, 1, 5, 6), random(r, 1, 8, 3)
	ex, ew, off := random(r, 1, 5, 3), random(r, 1, 3, 4, 3), []int32{0, 2, 2, 5}
	a, b := random(r, 1, 3, 2), random(r, 1, 3, 4)
	return []pair{
		{"linear", []*tensor.Tensor{x, w}, func() []*tensor.Tensor {
			y := empty(5, 8)
			k.Prepare(w)
			k.Linear(y, x, w, 2)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.LinearBackward(d[0], d[1], dy[0], x, w, 2) }},
		{"expert linear", []*tensor.Tensor{ex, ew}, func() []*tensor.Tensor {
			y := empty(5, 4)
			k.Prepare(ew)
			k.ExpertLinear(y, ex, ew, off)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.ExpertLinearBackward(d[0], d[1], dy[0], ex, ew, off) }},
		{"join", []*tensor.Tensor{a, b}, func() []*tensor.Tensor {
			y := empty(3, 6)
			k.Join(y, a, b)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.JoinBackward(d[0], d[1], dy[0]) }},
	}
}

func normPairs(r *rand.Rand, k *Backend[float64]) []pair {
	x, w := random(r, 1, 4, 9), random(r, 1, 9)
	h := random(r, 1, 2, 15)
	cos, sin := empty(3, 2), empty(3, 2)
	k.Angles(cos, sin, []int32{0, 7, 1000}, []float32{1, 0.25})
	q := random(r, 1, 3, 2*7)
	pairs := []pair{
		{"rms norm", []*tensor.Tensor{x, w}, func() []*tensor.Tensor {
			y := empty(4, 9)
			k.RMSNorm(y, x, w, 9, 0.1)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.RMSNormBackward(d[0], d[1], dy[0], x, w, 9, 0.1) }},
		{"rms norm of heads", one(h), func() []*tensor.Tensor {
			y := empty(2, 15)
			k.RMSNorm(y, h, nil, 5, 1e-6)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.RMSNormBackward(d[0], nil, dy[0], h, nil, 5, 1e-6) }},
	}
	for name, inverse := range map[string]bool{"rope": false, "rope inverse": true} {
		pairs = append(pairs, pair{name, one(q), func() []*tensor.Tensor {
			y := empty(3, 14)
			k.RoPE(y, q, cos, sin, 7, inverse)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.RoPEBackward(d[0], dy[0], cos, sin, 7, inverse) }})
	}
	return pairs
}

func attentionPairs(r *rand.Rand, k *Backend[float64]) []pair {
	const heads, dim = 2, 5
	q, sink, near, far := random(r, 2, 4, heads*dim), random(r, 1, heads), random(r, 1, 6, dim), random(r, 1, 3, dim)
	views := []kernels.View{
		view(near, []int32{0}, []int32{0, 1}, []int32{5, 1, 2}, []int32{1, 2, 3}),
		view(far, nil, []int32{2}, []int32{2, 0}, nil),
	}
	attend := func() (o, lse *tensor.Tensor) {
		o, lse = empty(4, heads*dim), empty(4, heads)
		k.Attend(o, lse, q, sink, heads, views...)
		return o, lse
	}
	pairs := []pair{{"attend", []*tensor.Tensor{q, sink, near, far}, func() []*tensor.Tensor {
		o, _ := attend()
		return one(o)
	}, func(d, dy []*tensor.Tensor) {
		o, lse := attend()
		k.AttendBackward(d[0], d[1], []*tensor.Tensor{d[2], d[3]}, dy[0], o, lse, q, sink, heads, views...)
	}}}

	raw, bias := random(r, 2, 7, 2*3), random(r, 1, 3, 3)
	plain := view(raw, []int32{0, 1, 2}, []int32{3, 6, 5})
	wide, wideBias := random(r, 2, 7, 4*3), random(r, 1, 3, 2*3)
	prev, own := view(wide, nil, []int32{0, 1, 2}), view(wide, []int32{0, 1, 2}, []int32{3, 6, 5})
	return append(pairs,
		pair{"pool", []*tensor.Tensor{raw, bias}, func() []*tensor.Tensor {
			y := empty(2, 3)
			k.Pool(y, bias, false, kernels.View{}, plain)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.PoolBackward(d[0], d[1], dy[0], bias, false, kernels.View{}, plain) }},
		pair{"pool with overlap", []*tensor.Tensor{wide, wideBias}, func() []*tensor.Tensor {
			y := empty(2, 3)
			k.Pool(y, wideBias, true, prev, own)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.PoolBackward(d[0], d[1], dy[0], wideBias, true, prev, own) }})
}

func hyperPairs(r *rand.Rand, k *Backend[float64]) []pair {
	const rows, s, dim = 3, 4, 5
	p := kernels.HyperParams{Iters: 20, Eps: 1e-3, NormEps: 1e-2}
	x, o := random(r, 1, rows, s, dim), random(r, 1, rows, dim)
	z, base, scale := random(r, 1, rows, s*(2+s)), random(r, 1, s*(2+s)), random(r, 1, 3)
	lastZ, lastBase, lastScale := random(r, 1, rows, s), random(r, 1, s), random(r, 1, 1)
	pre, post, comb := random(r, 1, rows, s), random(r, 1, rows, s), random(r, 1, rows, s, s)
	return []pair{
		{"hyper map", []*tensor.Tensor{z, x, base, scale}, func() []*tensor.Tensor {
			y := []*tensor.Tensor{empty(rows, s), empty(rows, s), empty(rows, s, s)}
			k.HyperMap(y[0], y[1], y[2], z, x, base, scale, p)
			return y
		}, func(d, dy []*tensor.Tensor) {
			k.HyperMapBackward(d[0], d[1], d[2], d[3], dy[0], dy[1], dy[2], z, x, base, scale, p)
		}},
		{"hyper map of the last collapse", []*tensor.Tensor{lastZ, x, lastBase, lastScale}, func() []*tensor.Tensor {
			y := empty(rows, s)
			k.HyperMap(y, nil, nil, lastZ, x, lastBase, lastScale, p)
			return one(y)
		}, func(d, dy []*tensor.Tensor) {
			k.HyperMapBackward(d[0], d[1], d[2], d[3], dy[0], nil, nil, lastZ, x, lastBase, lastScale, p)
		}},
		{"collapse", []*tensor.Tensor{x, pre}, func() []*tensor.Tensor {
			y := empty(rows, dim)
			k.Collapse(y, x, pre)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.CollapseBackward(d[0], d[1], dy[0], x, pre) }},
		{"expand", []*tensor.Tensor{x, o, post, comb}, func() []*tensor.Tensor {
			y := empty(rows, s, dim)
			k.Expand(y, x, o, post, comb)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.ExpandBackward(d[0], d[1], d[2], d[3], dy[0], x, o, post, comb) }},
	}
}

func moePairs(r *rand.Rand, k *Backend[float64]) []pair {
	logits, choice := random(r, 3, 3, 6), []int32{5, 5, 1, 0, 2, 4, 3, 1, 0}
	logits.F64()[0], logits.F64()[8] = 25, 19
	x, slots, rows := random(r, 1, 3, 4), random(r, 1, 6, 4), []int32{4, 0, 1, 5, 2, 3}
	gu, w := random(r, 2, 3, 2*5), random(r, 1, 3)
	for i, v := range []float64{3, 0.9, -3, 0.99, -0.5, 2, -2, 0.3, 0.9, -0.9} { // both sides of each clamp
		gu.F64()[i] = v
	}
	pairs := []pair{
		{"route weights", one(logits), func() []*tensor.Tensor {
			y := empty(3, 3)
			k.RouteWeights(y, logits, choice, 1.5)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.RouteWeightsBackward(d[0], dy[0], logits, choice, 1.5) }},
		{"dispatch", one(x), func() []*tensor.Tensor {
			y := empty(6, 4)
			k.Dispatch(y, x, rows, 2)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.Combine(d[0], dy[0], rows, 2) }},
		{"combine", one(slots), func() []*tensor.Tensor {
			y := empty(3, 4)
			k.Combine(y, slots, rows, 2)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.DispatchAdd(d[0], dy[0], rows, 2) }},
		{"swiglu without weights", one(gu), func() []*tensor.Tensor {
			y := empty(3, 5)
			k.SwiGLU(y, gu, nil, 0)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.SwiGLUBackward(d[0], nil, dy[0], gu, nil, 0) }},
	}
	return append(pairs, pair{"swiglu", []*tensor.Tensor{gu, w}, func() []*tensor.Tensor {
		y := empty(3, 5)
		k.SwiGLU(y, gu, w, 1)
		return one(y)
	}, func(d, dy []*tensor.Tensor) { k.SwiGLUBackward(d[0], d[1], dy[0], gu, w, 1) }})
}

func headPairs(r *rand.Rand, k *Backend[float64]) []pair {
	table, ids := random(r, 1, 7, 3), []int32{2, 6, 2, 0}
	x, rows := random(r, 1, 4, 3), []int32{3, 1, 1}
	logits, next, scale := random(r, 2, 3, 11), []int32{4, 0, 10}, []float32{1, 0.5, 2}
	logProb := func() (lp, entropy, lse *tensor.Tensor) {
		lp, entropy, lse = empty(3), empty(3), empty(3)
		k.LogProb(lp, entropy, lse, logits, next, scale)
		return lp, entropy, lse
	}
	return []pair{
		{"embed", one(table), func() []*tensor.Tensor {
			y := empty(4, 2, 3)
			k.Embed(y, table, ids)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.EmbedBackward(d[0], dy[0], ids) }},
		{"gather", one(x), func() []*tensor.Tensor {
			y := empty(3, 3)
			k.Gather(y, x, rows)
			return one(y)
		}, func(d, dy []*tensor.Tensor) { k.GatherBackward(d[0], dy[0], rows) }},
		{"logprob and entropy", one(logits), func() []*tensor.Tensor {
			lp, entropy, _ := logProb()
			return []*tensor.Tensor{lp, entropy}
		}, func(d, dy []*tensor.Tensor) {
			_, entropy, lse := logProb()
			g := empty(3, 11) // this one overwrites
			k.LogProbBackward(g, dy[0], dy[1], entropy, lse, logits, next, scale)
			k.Add(d[0], d[0], g)
		}},
	}
}
