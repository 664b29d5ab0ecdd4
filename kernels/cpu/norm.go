package cpu

import (
	"fmt"

	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Work of one element of the norm.
const normCost = 8

// rowsInCache is how many rows are taken through all steps of a kernel before the next ones.
const rowsInCache = 16

// RMSNorm sets y = (x*rho)*w; see [furlong/kernels.Norm].
func (b *Backend) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if !b.whole(dim) || !single(w) {
		b.Backend.RMSNorm(y, x, w, dim, eps)
		return
	}
	runs := normRuns("rms norm", x, w, dim)
	scale := either(b.isa.takes(dim), asm.ScaleRowsWide, asm.ScaleRows)
	want("rms norm", "y", y, x.Shape[0], wide(x))
	out, in, weight := y.F32(), x.F32(), values(w)
	b.each(runs, dim*normCost, func(lo, hi int, s *scratch) {
		rho, weight := s.f32(rowsInCache), weightOrOnes(weight, dim, s)
		for r := lo; r < hi; r += rowsInCache {
			n := min(rowsInCache, hi-r)
			asm.Rho(&rho[0], part(in, r*dim, n*dim), n, dim, float32(eps))
			scale(part(out, r*dim, n*dim), &in[r*dim], &weight[0], &rho[0], n, dim)
		}
	})
}

// weightOrOnes returns w, or ones if there is no w: a product with 1 changes no bit.
func weightOrOnes(w []float32, dim int, s *scratch) []float32 {
	if w == nil {
		return s.ones(dim)
	}
	return w
}

// RMSNormBackward adds to dx row by row and to dw column by column; see [furlong/kernels.Norm].
func (b *Backend) RMSNormBackward(dx, dw, dy, x, w *tensor.Tensor, dim int, eps float64) {
	if !b.whole(dim) || !single(w) {
		b.Backend.RMSNormBackward(dx, dw, dy, x, w, dim, eps)
		return
	}
	const kernel = "rms norm backward"
	runs := normRuns(kernel, x, w, dim)
	want(kernel, "dy", dy, x.Shape[0], wide(x))
	wantMaybe(kernel, "dx", dx, x.Shape[0], wide(x))
	if dw != nil {
		wantLen(kernel, "dw", dw.Len(), dim)
	}
	out, in, weight, gx, gw := dy.F32(), x.F32(), values(w), values(dx), b.sums(dw)
	grad := either(takeFresh(dx), asm.NormGradFirst, asm.NormGrad)
	m := b.borrow()
	defer b.give(m)
	rho := m.f32(runs)
	b.each(runs, 2*dim*normCost, func(lo, hi int, s *scratch) {
		weight := weightOrOnes(weight, dim, s)
		for r := lo; r < hi; r += rowsInCache {
			n := min(rowsInCache, hi-r)
			asm.Rho(&rho[r], part(in, r*dim, n*dim), n, dim, float32(eps))
			if gx != nil {
				grad(part(gx, r*dim, n*dim), part(out, r*dim, n*dim), &in[r*dim], &weight[0], &rho[r], n, dim)
			}
		}
	})
	if gw != nil {
		b.columns(runs, dim, func(r, n, lo, cols int) {
			at := r*dim + lo
			asm.NormWeights(&gw[lo], &out[at], &in[at], &rho[r], n, cols, dim)
		})
	}
}

// columns runs body over dim columns of n rows in pieces of whole vectors, whose chains go over all rows: for each piece
// n rows from row r on, and so on.
func (b *Backend) columns(n, dim int, body func(r, n, lo, cols int)) {
	const (
		line = 16   // columns
		most = 2048 // rows of one call
	)
	b.eachColumn(dim, line, n*normCost, func(lo, hi int, _ *scratch) {
		for r := 0; r < n; r += most {
			body(r, min(most, n-r), lo, hi-lo)
		}
	})
}

// normRuns returns how many runs of dim x holds.
func normRuns(kernel string, x, w *tensor.Tensor, dim int) int {
	if w != nil {
		wantLen(kernel, "w", w.Len(), dim)
	}
	if wide(x)%dim != 0 {
		panic(fmt.Sprintf("%s: x is %s, want runs of %d", kernel, dims(x.Shape), dim))
	}
	return x.Len() / dim
}
