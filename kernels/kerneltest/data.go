package kerneltest

import (
	"math"
	"math/rand/v2"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// A gen draws inputs; one seed gives one suite.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 2026))} }

// normal returns normal numbers times scale.
func (g gen) normal(scale float64, shape ...int) *tensor.Tensor {
	x := tensor.New(dtype.F32, shape...)
	for i := range x.F32() {
		x.F32()[i] = float32(scale * g.NormFloat64())
	}
	return x
}

// wild returns normal numbers among which one in ten is a zero of either sign, huge, tiny or subnormal.
func (g gen) wild(shape ...int) *tensor.Tensor {
	x := g.normal(1, shape...)
	odd := []float32{0, float32(math.Copysign(0, -1)), 1e18, -1e18, 1e-20, 1e-39, 0x1p-149}
	for i := range x.F32() {
		if g.IntN(10) == 0 {
			x.F32()[i] = odd[g.IntN(len(odd))]
		}
	}
	return x
}

// bf16 returns x rounded to bfloat16.
func bf16(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(dtype.BF16, x.Shape...)
	for i, v := range x.F32() {
		y.BF16()[i] = dtype.ToBF16(v)
	}
	return y
}

// widened returns the values of a bfloat16 tensor in float32.
func widened(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(dtype.F32, x.Shape...)
	for i, b := range x.BF16() {
		y.F32()[i] = dtype.FromBF16(b)
	}
	return y
}

// every returns float32 numbers of all exponents and signs, about n of them, infinities and a NaN at the end.
func every(n int) []float32 {
	var x []float32
	for b := uint64(0); b < 0x7f800000; b += 0x7f800000 / uint64(n/2) {
		v := math.Float32frombits(uint32(b))
		x = append(x, v, -v)
	}
	inf := float32(math.Inf(1))
	return append(x, inf, -inf, float32(math.NaN()))
}

// ints draws n numbers below limit.
func (g gen) ints(n, limit int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(g.IntN(limit))
	}
	return x
}

// order draws an order of n things.
func (g gen) order(n int) []int32 {
	x := make([]int32, n)
	for i, v := range g.Perm(n) {
		x[i] = int32(v)
	}
	return x
}

// sliding lets query t of several sequences read a window of up to reach rows. Sequences share a run of Rows each, rows lie in
// the pool as page says, and the pool has more rows than anyone reads.
func (g gen) sliding(queries, reach int) kernels.View {
	var v kernels.View
	for len(v.Lo) < queries {
		first := len(v.Rows)
		for range min(1+g.IntN(2*reach+1), queries-len(v.Lo)) {
			v.Rows = append(v.Rows, int32(len(v.Rows)))
			v.Lo = append(v.Lo, int32(max(first, len(v.Rows)-reach)))
			v.Hi = append(v.Hi, int32(len(v.Rows)))
		}
	}
	return v
}

// ragged lets each query read 0 to most rows of pool, in any order, with its own run of Rows.
func (g gen) ragged(queries, pool, most int) kernels.View {
	v := kernels.View{Rows: []int32{0}} // nobody's
	for range queries {
		v.Lo = append(v.Lo, int32(len(v.Rows)))
		if pool > 0 {
			v.Rows = append(v.Rows, g.order(pool)[:min(pool, g.IntN(most+1))]...)
		}
		v.Hi = append(v.Hi, int32(len(v.Rows)))
	}
	return v
}

// pool returns rows for v, and beside them a few more; NaN lies in every row that v doesn't read.
func (g gen) pool(v kernels.View, scale float64, rows, dim int) *tensor.Tensor {
	x, read := g.normal(scale, rows, dim), make([]bool, rows)
	for t := range v.Lo {
		for _, r := range v.At(t) {
			read[r] = true
		}
	}
	for i := range x.F32() {
		if !read[i/dim] {
			x.F32()[i] = float32(math.NaN())
		}
	}
	return x
}

// over returns queries lo up to hi of v, reading pool.
func over(v kernels.View, pool *tensor.Tensor, lo, hi int) kernels.View {
	return kernels.View{Pool: pool, Rows: v.Rows, Lo: v.Lo[lo:hi], Hi: v.Hi[lo:hi]}
}
