package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// odd are the numbers that arithmetic treats apart.
var odd = []float32{
	float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 88.9, -87.4, 1, -1,
}

// numbers returns n numbers, of which some are odd if any may be.
func numbers(r *rand.Rand, n int, any bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 3)
		if any && r.IntN(40) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

// sameBits is same for numbers that are no tensor.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	same(t, what, tensor.Of(got, len(got)), tensor.Of(want, len(want)))
}

// needWide skips the test where there is no AVX-512.
func needWide(t *testing.T) {
	if best() != avx512 {
		t.Skip("no AVX-512 on this machine")
	}
}

// The gates of sixteen elements have the bits of two times eight.
func TestWideGates(t *testing.T) {
	needWide(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, dim := range []int{16, 48, 160} {
		for n := 1; n <= 3; n++ {
			for _, any := range []bool{false, true} {
				testWideGates(t, r, n, dim, any)
			}
		}
	}
}

func testWideGates(t *testing.T, r *rand.Rand, n, dim int, any bool) {
	gu, w, dy := numbers(r, 2*n*dim, any), numbers(r, n, any), numbers(r, n*dim, any)
	dgu, dw := numbers(r, 2*n*dim, any), numbers(r, n, any)
	for _, limit := range []float32{1.5, float32(math.Inf(1))} {
		run := func(gate func(y, gu, w *float32, rows, dim int, limit float32), grads ...func(dgu, dw, dy, gu, w *float32, rows, dim int, limit float32)) (all []float32) {
			y := make([]float32, n*dim)
			gate(&y[0], &gu[0], &w[0], n, dim, limit)
			for _, grad := range grads {
				d, s := slices.Clone(dgu), slices.Clone(dw)
				grad(&d[0], &s[0], &dy[0], &gu[0], &w[0], n, dim, limit)
				all = append(append(all, d...), s...)
			}
			return append(all, y...)
		}
		want := run(asm.SwiGLU, asm.SwiGLUGrad, asm.SwiGLUGradFirst)
		got := run(asm.SwiGLUWide, asm.SwiGLUGradWide, asm.SwiGLUGradFirstWide)
		sameBits(t, fmt.Sprintf("gates: %d rows of %d, limit %v", n, dim, limit), got, want)
	}
}

// Softmax and the gradient of scores by four rows have the bits of those by two, and leave alone what lies behind the rows.
func TestWideRows(t *testing.T) {
	needWide(t)
	r := rand.New(rand.NewPCG(11, 12))
	for n := range 40 {
		for range 5 {
			for _, any := range []bool{false, true} {
				testWideRows(t, r, n, any)
			}
		}
	}
}

func testWideRows(t *testing.T, r *rand.Rand, n int, any bool) {
	const stride = 4 * group
	x, dp, small := numbers(r, (n+n%2)*group, any), numbers(r, (n+n%2)*group, any), numbers(r, 3*group, any)
	if n%2 == 1 {
		copy(x[n*group:], x[(n-1)*group:n*group])
	}
	run := func(softmax func(e, m, z, s, sink *float32, n int), grad func(c, l, dp, lse, delta *float32, scale float32, n, stride int)) []float32 {
		e, c, sums := append(slices.Clone(x), 1), make([]float32, n*stride+1), make([]float32, 3*group)
		softmax(&e[0], &sums[0], &sums[group], &sums[2*group], &small[0], n)
		grad(&c[0], &x[:1][0], &dp[:1][0], &small[group], &small[2*group], 1.5, n, stride)
		return slices.Concat(e[:n*group], e[len(x):], c, sums)
	}
	x, dp = slices.Grow(x, 1), slices.Grow(dp, 1) // without rows there is no first number
	sameBits(t, fmt.Sprintf("%d rows", n), run(asm.SoftmaxWide, asm.AttendGradWide), run(asm.Softmax, asm.AttendGrad))
}

type (
	mapFunc     = func(pre, post, comb, z, rho, base, scale, tmp *float32, iters int, eps float32)
	mapGradFunc = func(ga, u, dz, drho, dpre, dpost, dcomb, z, rho, base, scale, tmp *float32, iters int, eps float32)
)

// The maps of sixteen tokens have the bits of two times eight.
func TestWideMaps(t *testing.T) {
	needWide(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, iters := range []int{1, 2, 20} {
		for range 5 {
			for _, any := range []bool{false, true} {
				testWideMaps(t, r, iters, any)
			}
		}
	}
}

func testWideMaps(t *testing.T, r *rand.Rand, iters int, any bool) {
	const tokens = 16
	z, rho, base, scale := numbers(r, tokens*mapWidth, any), numbers(r, tokens, any), numbers(r, mapWidth, false), numbers(r, 3, false)
	dpre, dpost, dcomb := numbers(r, tokens*numStreams, any), numbers(r, tokens*numStreams, any), numbers(r, tokens*combSize, any)
	dz := numbers(r, tokens*mapWidth, any)
	run := func(step int, f mapFunc, grad mapGradFunc) []float32 {
		tmp := make([]float32, mapMemory(step, iters))
		pre, post, comb := make([]float32, tokens*numStreams), make([]float32, tokens*numStreams), make([]float32, tokens*combSize)
		ga, u, to, drho := make([]float32, tokens*mapWidth), make([]float32, tokens*mapWidth), slices.Clone(dz), make([]float32, tokens)
		for n := 0; n < tokens; n += step {
			s, c, w := n*numStreams, n*combSize, n*mapWidth
			f(&pre[s], &post[s], &comb[c], &z[w], &rho[n], &base[0], &scale[0], &tmp[0], iters, 1e-6)
			grad(&ga[w], &u[w], &to[w], &drho[n], &dpre[s], &dpost[s], &dcomb[c], &z[w], &rho[n], &base[0], &scale[0], &tmp[0], iters, 1e-6)
		}
		return slices.Concat(pre, post, comb, ga, u, to, drho)
	}
	got, want := run(tokens, asm.HyperMapWide, asm.HyperMapGradWide), run(8, asm.HyperMap, asm.HyperMapGrad)
	sameBits(t, fmt.Sprintf("maps, %d rounds", iters), got, want)
}

// Groups of sixteen tokens, of eight and parts of them give what groups of eight give.
func TestGroupsOfTokens(t *testing.T) {
	needWide(t)
	r := rand.New(rand.NewPCG(9, 10))
	of := func(shape ...int) *tensor.Tensor {
		x := tensor.New(dtype.F32, shape...)
		copy(x.F32(), numbers(r, x.Len(), false))
		return x
	}
	narrow, wide := open(Options{Threads: 1}, avx2), open(Options{Threads: 1}, avx512)
	defer narrow.Close()
	defer wide.Close()
	p := kernels.HyperParams{Iters: 3, Eps: 1e-6, NormEps: 1e-6}
	for rows := 1; rows <= 40; rows++ {
		for _, full := range []bool{true, false} {
			z, x, base, scale := of(rows, mapWidth), of(rows, numStreams, 8), of(mapWidth), of(3)
			pre, post, comb := of(rows, numStreams), of(rows, numStreams), of(rows, combSize)
			if !full {
				z, base, scale, post, comb = of(rows, numStreams), of(numStreams), of(1), nil, nil
			}
			dz, dx, dbase, dscale := of(z.Shape...), of(x.Shape...), of(base.Len()), of(scale.Len())
			var got [2][]float32
			for i, b := range []*Backend{narrow, wide} {
				outs := []*tensor.Tensor{pre.Clone(), post, comb, dz.Clone(), dx.Clone(), dbase.Clone(), dscale.Clone()}
				if full {
					outs[1], outs[2] = post.Clone(), comb.Clone()
				}
				b.HyperMapBackward(outs[3], outs[4], outs[5], outs[6], pre, post, comb, z, x, base, scale, p)
				b.HyperMap(outs[0], outs[1], outs[2], z, x, base, scale, p)
				for _, o := range outs {
					if o != nil {
						got[i] = append(got[i], o.F32()...)
					}
				}
			}
			sameBits(t, fmt.Sprintf("%d tokens, full %v", rows, full), got[1], got[0])
		}
	}
}
