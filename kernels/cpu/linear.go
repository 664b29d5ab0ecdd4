package cpu

import (
	"fmt"

	"furlong/tensor"
)

// Linear sets y = x·wᵀ; see [furlong/kernels.Linear].
func (b *Backend) Linear(y, x, w *tensor.Tensor, groups int) {
	p := of("linear", w)
	t, n, k := linearShape("linear", y, x, w, groups)
	if t == 0 {
		return
	}
	var j *job
	for g := range groups {
		q := forward(y.F32()[g*n:], groups*n, x.F32()[g*k:], groups*k, p.operand(0, g*n), t, n, k)
		if !q.atOnce(b.isa, groups*q.work()) {
			j = b.put(j, q)
		}
	}
	b.do(j)
}

// LinearBackward adds the gradients of Linear; see [furlong/kernels.Linear].
func (b *Backend) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	const kernel = "linear backward"
	of(kernel, w)
	t, n, k := linearShape(kernel, dy, x, w, groups)
	wantMaybe(kernel, "dx", dx, t, groups*k)
	wantMaybe(kernel, "dw", dw, groups*n, k)
	first := takeFresh(dx)
	b.sums(dw)
	if t == 0 {
		return
	}
	j := b.job()
	for g := range groups {
		m := matrices{dy: dy.F32()[g*n:], ys: groups * n, x: x.F32()[g*k:], xs: groups * k, t: t, n: n, k: k}
		if dx != nil {
			j.products = append(j.products, m.inputs(dx.F32()[g*k:], rowsOf(w, g*n*k, k), first))
		}
		if dw != nil {
			j.products = append(j.products, m.weights(dw.F32()[g*n*k:]))
		}
	}
	b.do(j)
}

// linearShape checks shapes and returns tokens, columns and depth of one group.
func linearShape(kernel string, y, x, w *tensor.Tensor, groups int) (t, n, k int) {
	if len(w.Shape) != 2 || groups < 1 || w.Shape[0]%groups != 0 {
		panic(fmt.Sprintf("%s: w is %s, want [%d*N, K]", kernel, dims(w.Shape), groups))
	}
	t, n, k = x.Shape[0], w.Shape[0]/groups, w.Shape[1]
	want(kernel, "x", x, t, groups*k)
	want(kernel, "y", y, t, groups*n)
	return t, n, k
}

// ExpertLinear sets y = x·wᵀ with the weight of each row's expert; see [furlong/kernels.Linear].
func (b *Backend) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	p := of("expert linear", w)
	e, n, k := expertShape("expert linear", y, x, w, off)
	var j *job
	for e := range e {
		lo, rows := int(off[e]), int(off[e+1]-off[e])
		if rows == 0 {
			continue
		}
		q := forward(y.F32()[lo*n:], n, x.F32()[lo*k:], k, p.operand(e, 0), rows, n, k)
		if !q.atOnce(b.isa, x.Len()*n) {
			j = b.put(j, q)
		}
	}
	b.do(j)
}

// ExpertLinearBackward adds the gradients of ExpertLinear; see [furlong/kernels.Linear].
func (b *Backend) ExpertLinearBackward(dx, dw, dy, x, w *tensor.Tensor, off []int32) {
	const kernel = "expert linear backward"
	of(kernel, w)
	e, n, k := expertShape(kernel, dy, x, w, off)
	wantMaybe(kernel, "dx", dx, x.Shape[0], k)
	wantMaybe(kernel, "dw", dw, e, n*k)
	j, first := b.job(), takeFresh(dx)
	b.sums(dw)
	for e := range e {
		lo, rows := int(off[e]), int(off[e+1]-off[e])
		if rows == 0 {
			continue
		}
		m := matrices{dy: dy.F32()[lo*n:], ys: n, x: x.F32()[lo*k:], xs: k, t: rows, n: n, k: k}
		if dx != nil {
			j.products = append(j.products, m.inputs(dx.F32()[lo*k:], rowsOf(w, e*n*k, k), first))
		}
		if dw != nil {
			j.products = append(j.products, m.weights(dw.F32()[e*n*k:]))
		}
	}
	b.do(j)
}

// expertShape checks shapes, and that off cuts the rows into a run for each expert. It returns experts, columns and depth.
func expertShape(kernel string, y, x, w *tensor.Tensor, off []int32) (e, n, k int) {
	if len(w.Shape) != 3 {
		panic(fmt.Sprintf("%s: w is %s, want [E, N, K]", kernel, dims(w.Shape)))
	}
	e, n, k = w.Shape[0], w.Shape[1], w.Shape[2]
	wantLen(kernel, "off", len(off), e+1)
	if off[0] != 0 || int(off[e]) != x.Shape[0] {
		panic(fmt.Sprintf("%s: off runs from %d to %d, want 0 to %d", kernel, off[0], off[e], x.Shape[0]))
	}
	want(kernel, "x", x, x.Shape[0], k)
	want(kernel, "y", y, x.Shape[0], n)
	return e, n, k
}

// forward is y [t, n] = x [t, k] times panels.
func forward(y []float32, ys int, x []float32, xs int, w operand, t, n, k int) product {
	return product{c: y, cs: ys, a: x, as: xs, ak: 1, b: w, m: t, n: n, k: k}
}

// matrices are the operands of the two backward products: dy [t, n] and x [t, k], their rows ys and xs apart.
type matrices struct {
	dy, x   []float32
	ys, xs  int
	t, n, k int
}

// inputs is dx += dy·w, or dx = dy·w of a first gradient.
func (m *matrices) inputs(dx []float32, w operand, first bool) product {
	return product{c: dx, cs: m.xs, a: m.dy, as: m.ys, ak: 1, b: w, m: m.t, n: m.k, k: m.n, add: !first}
}

// weights is dw += dyᵀ·x, each chain going on from dw.
func (m *matrices) weights(dw []float32) product {
	return product{c: dw, cs: m.k, a: m.dy, as: 1, ak: m.ys, b: operand{rows: m.x, ld: m.xs}, m: m.n, n: m.k, k: m.t, from: true}
}
