package kerneltest

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// moved returns rows at[i] of a larger pool for row i of x; NaN lies between them.
func moved(g gen, x *tensor.Tensor, at []int32, rows int) *tensor.Tensor {
	y := g.pool(kernels.View{}, 1, rows, x.Dim())
	for i, to := range at {
		copy(y.F32()[int(to)*x.Dim():][:x.Dim()], x.F32()[i*x.Dim():][:x.Dim()])
	}
	return y
}

// back undoes moved.
func back(y *tensor.Tensor, at []int32) *tensor.Tensor {
	x := tensor.New(dtype.F32, len(at), y.Dim())
	for i, from := range at {
		copy(x.F32()[i*x.Dim():][:x.Dim()], y.F32()[int(from)*x.Dim():][:x.Dim()])
	}
	return x
}

// sent returns v with every row r named at[r].
func sent(v kernels.View, at []int32) kernels.View {
	rows := make([]int32, len(v.Rows))
	for i, r := range v.Rows {
		rows[i] = at[r]
	}
	v.Rows = rows
	return v
}

// testPages moves the rows of pools to other places, and wants the same bits at the new ones.
func testPages(t reporter, k kernels.Backend) {
	g := newGen(31)
	for _, heads := range []int{1, 3} {
		x := newAttention(g, 37, heads, 20, 6, 15, 1)
		at, far := g.order(50)[:x.window.Shape[0]], g.order(15)
		y := x
		y.near, y.window = sent(x.near, at), moved(g, x.window, at, 50)
		y.far, y.entries = sent(x.far, far), moved(g, x.entries, far, 15)
		forward := x.forward()
		forward.same(t, "in other pages", y.forward().all(t, k), forward.all(t, k), 0, 37)

		same := newGen(32)
		backward := x.backward(same, k)
		elsewhere := y.backward(newGen(32), k)
		elsewhere.grad[2] = whole("window", moved(g, backward.grad[2].Tensor, at, 50))
		elsewhere.grad[3] = whole("entries", moved(g, backward.grad[3].Tensor, far, 15))
		elsewhere.grad[0], elsewhere.grad[1], elsewhere.in[0] = backward.grad[0], backward.grad[1], backward.in[0]
		got := elsewhere.all(t, k)
		got.grad[2], got.grad[3] = back(got.grad[2], at), back(got.grad[3], far)
		backward.same(t, "in other pages", got, backward.all(t, k), 0, 37)
		testIndexPages(t, k, g, heads)
	}
	testPoolPages(t, k, g)
}

func testIndexPages(t reporter, k kernels.Backend, g gen, heads int) {
	t.Helper()
	q, w, v := g.normal(1, 20, heads*8), g.normal(1, 20, heads), g.ragged(20, 30, 25)
	keys, at := g.pool(v, 1, 30, 8), g.order(40)[:30]
	want := k.IndexTopK(q, w, heads, over(v, keys, 0, 20), 5)
	got := k.IndexTopK(q, w, heads, over(sent(v, at), moved(g, keys, at, 40), 0, 20), 5)
	for i := range 20 {
		a, b := got.At(i), want.At(i)
		if len(a) != len(b) {
			t.Errorf("IndexTopK in other pages: query %d keeps %d rows, want %d", i, len(a), len(b))
			continue
		}
		for j, r := range b {
			if a[j] != at[r] {
				t.Errorf("IndexTopK in other pages: query %d keeps row %d, want %d", i, a[j], at[r])
			}
		}
	}
}

func testPoolPages(t reporter, k kernels.Backend, g gen) {
	t.Helper()
	for _, overlap := range []bool{false, true} {
		x := newPooling(g, 7, 4, 19, overlap, 1)
		at := g.order(44)[:x.raw.Shape[0]]
		y := x
		y.own, y.prev, y.raw = sent(x.own, at), sent(x.prev, at), moved(g, x.raw, at, 44)
		forward, backward := x.forward(), x.backward(g)
		forward.same(t, "in other pages", y.forward().all(t, k), forward.all(t, k), 0, 7)
		elsewhere := y.backward(g)
		elsewhere.in[0], elsewhere.grad[1] = backward.in[0], backward.grad[1]
		elsewhere.grad[0] = whole("raw", moved(g, backward.grad[0].Tensor, at, 44))
		got := elsewhere.all(t, k)
		got.grad[0] = back(got.grad[0], at)
		backward.same(t, "in other pages", got, backward.all(t, k), 0, 7)
	}
}
