package cpu

import (
	"fmt"

	"furlong/tensor"
)

// Linear sets y = x·wᵀ; see [furlong/kernels.Linear].
func (b *Backend) Linear(y, x, w *tensor.Tensor, groups int) {
	p := of("linear", w)
	t, n, k := linearShape(y, x, w, groups)
	j := b.job()
	for g := range groups {
		j.products = append(j.products, forward(y.F32()[g*n:], groups*n, x.F32()[g*k:], groups*k, p.operand(0, g*n), t, n, k))
	}
	b.do(j)
}

// LinearBackward adds the gradients of Linear; see [furlong/kernels.Linear].
func (b *Backend) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	of("linear", w)
	t, n, k := linearShape(dy, x, w, groups)
	j := b.job()
	for g := range groups {
		m := matrices{dy: dy.F32()[g*n:], ys: groups * n, x: x.F32()[g*k:], xs: groups * k, t: t, n: n, k: k}
		if dx != nil {
			want("linear", "dx", dx, t, groups*k)
			j.products = append(j.products, m.inputs(dx.F32()[g*k:], rowsOf(w, g*n*k, k)))
		}
		if dw != nil {
			want("linear", "dw", dw, groups*n, k)
			j.products = append(j.products, m.weights(dw.F32()[g*n*k:]))
		}
	}
	b.do(j)
}

// linearShape checks shapes and returns tokens, columns and depth of one group.
func linearShape(y, x, w *tensor.Tensor, groups int) (t, n, k int) {
	_, rows, k := shape(w)
	if groups < 1 || rows%groups != 0 {
		panic(fmt.Sprintf("linear: %d groups of %d rows, want a divisor", groups, rows))
	}
	t = x.Shape[0]
	want("linear", "x", x, t, groups*k)
	want("linear", "y", y, t, rows)
	return t, rows / groups, k
}

// ExpertLinear sets y = x·wᵀ with the weight of each row's expert; see [furlong/kernels.Linear].
func (b *Backend) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	p := of("expert linear", w)
	e, n, k := expertShape(y, x, w, off)
	j := b.job()
	for e := range e {
		lo, rows := int(off[e]), int(off[e+1]-off[e])
		if rows > 0 {
			j.products = append(j.products, forward(y.F32()[lo*n:], n, x.F32()[lo*k:], k, p.operand(e, 0), rows, n, k))
		}
	}
	b.do(j)
}

// ExpertLinearBackward adds the gradients of ExpertLinear; see [furlong/kernels.Linear].
func (b *Backend) ExpertLinearBackward(dx, dw, dy, x, w *tensor.Tensor, off []int32) {
	of("expert linear", w)
	e, n, k := expertShape(dy, x, w, off)
	j := b.job()
	for e := range e {
		lo, rows := int(off[e]), int(off[e+1]-off[e])
		if rows == 0 {
			continue
		}
		m := matrices{dy: dy.F32()[lo*n:], ys: n, x: x.F32()[lo*k:], xs: k, t: rows, n: n, k: k}
		if dx != nil {
			want("expert linear", "dx", dx, x.Shape[0], k)
			j.products = append(j.products, m.inputs(dx.F32()[lo*k:], rowsOf(w, e*n*k, k)))
		}
		if dw != nil {
			wantLen("expert linear", "dw", dw.Len(), w.Len())
			j.products = append(j.products, m.weights(dw.F32()[e*n*k:]))
		}
	}
	b.do(j)
}

// expertShape checks shapes and returns experts, columns and depth.
func expertShape(y, x, w *tensor.Tensor, off []int32) (e, n, k int) {
	e, n, k = shape(w)
	wantLen("expert linear", "off", len(off), e+1)
	want("expert linear", "x", x, int(off[e]), k)
	want("expert linear", "y", y, int(off[e]), n)
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

// inputs is dx += dy·w.
func (m *matrices) inputs(dx []float32, w operand) product {
	return product{c: dx, cs: m.xs, a: m.dy, as: m.ys, ak: 1, b: w, m: m.t, n: m.k, k: m.n, add: true}
}

// weights is dw += dyᵀ·x, each chain going on from dw.
func (m *matrices) weights(dw []float32) product {
	return product{c: dw, cs: m.k, a: m.dy, as: 1, ak: m.ys, b: operand{rows: m.x, ld: m.xs}, m: m.n, n: m.k, k: m.t, from: true}
}
