package cpu

import (
	"fmt"
	"math"

	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Work of one element of SwiGLU: an exponential and a division.
const gateCost = 40

// SwiGLU sets y = silu(gate)*up*w; see [furlong/kernels.MoE].
func (b *Backend) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	rows, dim := gatedDims("swiglu", gu, w)
	if !b.whole(dim) {
		b.Backend.SwiGLU(y, gu, w, limit)
		return
	}
	want("swiglu", "y", y, rows, dim)
	out, in, scale := y.F32(), gu.F32(), values(w)
	gated := either(b.isa.takes(dim), asm.SwiGLUWide, asm.SwiGLU)
	b.eachShort(rows, dim*gateCost, func(lo, hi int, s *scratch) {
		n := hi - lo
		gated(part(out, lo*dim, n*dim), part(in, 2*lo*dim, 2*n*dim), &rowScales(scale, lo, n, s)[0], n, dim, bound(limit))
	})
}

// SwiGLUBackward adds to dgu and dw; see [furlong/kernels.MoE].
func (b *Backend) SwiGLUBackward(dgu, dw, dy, gu, w *tensor.Tensor, limit float64) {
	const kernel = "swiglu backward"
	rows, dim := gatedDims(kernel, gu, w)
	if !b.whole(dim) || dgu == nil {
		b.Backend.SwiGLUBackward(dgu, dw, dy, gu, w, limit)
		return
	}
	want(kernel, "dy", dy, rows, dim)
	want(kernel, "dgu", dgu, rows, 2*dim)
	if dw != nil {
		wantLen(kernel, "dw", dw.Len(), rows)
	}
	gg, gw, out, in, scale := dgu.F32(), b.sums(dw), dy.F32(), gu.F32(), values(w)
	first := takeFresh(dgu)
	grad := either(first, asm.SwiGLUGradFirst, asm.SwiGLUGrad)
	if b.isa.takes(dim) {
		grad = either(first, asm.SwiGLUGradFirstWide, asm.SwiGLUGradWide)
	}
	b.eachShort(rows, 2*dim*gateCost, func(lo, hi int, s *scratch) {
		n := hi - lo
		dots := s.f32(n) // nobody wants them without dw
		if gw != nil {
			dots = gw[lo:hi]
		}
		grad(part(gg, 2*lo*dim, 2*n*dim), &dots[0], part(out, lo*dim, n*dim), part(in, 2*lo*dim, 2*n*dim),
			&rowScales(scale, lo, n, s)[0], n, dim, bound(limit))
	})
}

// rowScales returns rows lo up to lo+n of w, ones if there is no w.
func rowScales(w []float32, lo, n int, s *scratch) []float32 {
	if w == nil {
		return s.ones(n)
	}
	return w[lo : lo+n]
}

// bound returns the limit of the clamps, infinity for none.
func bound(limit float64) float32 {
	if limit > 0 {
		return float32(limit)
	}
	return float32(math.Inf(1))
}

// gatedDims returns R and F of gu [R, 2F].
func gatedDims(kernel string, gu, w *tensor.Tensor) (rows, dim int) {
	if wide(gu)%2 != 0 {
		panic(fmt.Sprintf("%s: gu is %s, want [R, 2F]", kernel, dims(gu.Shape)))
	}
	if w != nil {
		wantLen(kernel, "w", w.Len(), gu.Shape[0])
	}
	return gu.Shape[0], wide(gu) / 2
}
