package cpu

import (
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Work of one element of a plain row kernel, in multiply-adds: it waits for memory.
const elementCost = 6

// add sets y = a + b, with the elements beyond whole vectors in Go.
func add(y, a, b []float32) {
	n := len(y) &^ 7
	if n > 0 {
		asm.Add(&y[0], part(a, 0, n), part(b, 0, n), n)
	}
	for i := n; i < len(y); i++ {
		y[i] = a[i] + b[i]
	}
}

// Add sets y = a + b; see [furlong/kernels.Linear].
func (b *Backend) Add(y, p, q *tensor.Tensor) {
	if !b.isa.simd() {
		b.Backend.Add(y, p, q)
		return
	}
	want("add", "a", p, y.Shape[0], wide(y))
	want("add", "b", q, y.Shape[0], wide(y))
	out, in, other := y.F32(), p.F32(), q.F32()
	b.eachElement(len(out), elementCost, func(lo, hi int, _ *scratch) { add(out[lo:hi], in[lo:hi], other[lo:hi]) })
}

// Zero sets every element of y to 0, each core those of the rows that it will add to.
func (b *Backend) Zero(y *tensor.Tensor) {
	out := y.F32()
	b.eachElement(len(out), elementCost/4, func(lo, hi int, _ *scratch) { clear(out[lo:hi]) })
}

// Copy sets y = x; see [furlong/kernels.Linear].
func (b *Backend) Copy(y, x *tensor.Tensor) {
	want("copy", "y", y, x.Shape[0], wide(x))
	out, in := y.F32(), x.F32()
	b.eachElement(len(out), elementCost/2, func(lo, hi int, _ *scratch) { copy(out[lo:hi], in[lo:hi]) })
}

// Join sets each row of y to [p | q]; see [furlong/kernels.Linear].
func (b *Backend) Join(y, p, q *tensor.Tensor) {
	rows, m, n := joinDims("join", y, p, q)
	out, in, other := y.F32(), p.F32(), q.F32()
	b.each(rows, (m+n)*elementCost/2, func(lo, hi int, _ *scratch) {
		for t := lo; t < hi; t++ {
			copy(out[t*(m+n):][:m], in[t*m:])
			copy(out[t*(m+n)+m:][:n], other[t*n:])
		}
	})
}

// JoinBackward adds the two parts of dy to dp and dq; see [furlong/kernels.Linear].
func (b *Backend) JoinBackward(dp, dq, dy *tensor.Tensor) {
	if !b.isa.simd() || dp == nil || dq == nil {
		b.Backend.JoinBackward(dp, dq, dy)
		return
	}
	rows, m, n := joinDims("join backward", dy, dp, dq)
	in, p, q, firstP, firstQ := dy.F32(), dp.F32(), dq.F32(), takeFresh(dp), takeFresh(dq)
	b.each(rows, (m+n)*elementCost, func(lo, hi int, _ *scratch) {
		for t := lo; t < hi; t++ {
			if firstP {
				clear(p[t*m:][:m])
			}
			if firstQ {
				clear(q[t*n:][:n])
			}
			add(p[t*m:][:m], p[t*m:][:m], in[t*(m+n):][:m])
			add(q[t*n:][:n], q[t*n:][:n], in[t*(m+n)+m:][:n])
		}
	})
}

// joinDims returns T, A and B of y [T, A+B].
func joinDims(kernel string, y, p, q *tensor.Tensor) (rows, m, n int) {
	rows, m, n = y.Shape[0], wide(p), wide(q)
	want(kernel, "a", p, rows, m)
	want(kernel, "b", q, rows, n)
	want(kernel, "y", y, rows, m+n)
	return rows, m, n
}
