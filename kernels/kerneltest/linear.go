package kerneltest

import (
	"fmt"
	"math"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// linearSizes are T, groups, N and K: every N up to 40, odd K, every T of the tiles.
func linearSizes() [][4]int {
	var sizes [][4]int
	rows := []int{1, 2, 3, 5, 7, 8, 13, 64}
	for n := 1; n <= 40; n++ {
		sizes = append(sizes, [4]int{rows[n%len(rows)], 1, n, 15 + 2*n})
	}
	for _, t := range append(rows, 0) {
		sizes = append(sizes, [4]int{t, 1, 17, 257}, [4]int{t, 3, 5, 33}, [4]int{t, 1, 33, 1})
	}
	return append(sizes, [4]int{13, 2, 16, 16}, [4]int{6, 4, 32, 64})
}

func linearCalls(g gen) []call {
	var calls []call
	for i, s := range linearSizes() {
		t, groups, n, k := s[0], s[1], s[2], s[3]
		w := g.normal(1, groups*n, k)
		if i%2 == 1 {
			w = bf16(w)
		}
		calls = append(calls, linear(g.normal(1, t, groups*k), w, groups), linearBackward(g, g.normal(1, t, groups*k), w, groups))
	}
	calls = append(calls, linear(g.wild(7, 50), g.wild(21, 50), 1), linearBackward(g, g.wild(7, 50), g.wild(21, 50), 1))
	for _, s := range [][4]int{{1, 1, 1, 5}, {13, 3, 18, 31}, {64, 5, 7, 20}, {30, 8, 16, 33}, {0, 2, 3, 4}} {
		w := g.normal(1, s[1], s[2], s[3])
		if s[0]%2 == 0 {
			w = bf16(w)
		}
		off := g.runs(s[0], s[1])
		calls = append(calls, expertLinear(g.normal(1, s[0], s[3]), w, off), expertLinearBackward(g, g.normal(1, s[0], s[3]), w, off))
	}
	return append(calls, rowCalls(g)...)
}

// runs cuts rows into n runs, some of them empty.
func (g gen) runs(rows, n int) []int32 {
	count := make([]int32, n)
	for range rows {
		count[(g.IntN(n)+g.IntN(n))/2]++
	}
	return offsets(count)
}

// offsets returns the sums of counts, from zero.
func offsets(count []int32) []int32 {
	off := make([]int32, len(count)+1)
	for e, c := range count {
		off[e+1] = off[e] + c
	}
	return off
}

// clip returns off for rows lo up to hi.
func clip(off []int32, lo, hi int) []int32 {
	part := make([]int32, len(off))
	for e, at := range off {
		part[e] = min(max(at, int32(lo)), int32(hi)) - int32(lo)
	}
	return part
}

func linear(x, w *tensor.Tensor, groups int) call {
	t, n := x.Shape[0], w.Shape[0]
	return call{
		name: fmt.Sprintf("Linear %v by %v in %d groups", x, w, groups), rows: t,
		in:  []operand{rowwise("x", x), whole("w", w)},
		out: []operand{rowwise("y", tensor.New(dtype.F32, t, n))},
		run: func(k kernels.Backend, a args) {
			k.Prepare(a.in[1])
			k.Linear(a.out[0], a.in[0], a.in[1], groups)
		},
	}
}

func linearBackward(g gen, x, w *tensor.Tensor, groups int) call {
	t, n := x.Shape[0], w.Shape[0]
	return call{
		name: fmt.Sprintf("LinearBackward %v by %v in %d groups", x, w, groups), rows: t,
		in:   []operand{rowwise("dy", g.normal(1, t, n)), rowwise("x", x), whole("w", w)},
		grad: []operand{rowwise("x", g.normal(1, x.Shape...)), whole("w", g.normal(1, w.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.Prepare(a.in[2])
			k.LinearBackward(a.grad[0], a.grad[1], a.in[0], a.in[1], a.in[2], groups)
		},
	}
}

func expertLinear(x, w *tensor.Tensor, off []int32) call {
	return call{
		name: fmt.Sprintf("ExpertLinear %v by %v, off %v", x, w, off), rows: x.Shape[0],
		in:  []operand{rowwise("x", x), whole("w", w)},
		out: []operand{rowwise("y", tensor.New(dtype.F32, x.Shape[0], w.Shape[1]))},
		run: func(k kernels.Backend, a args) {
			k.Prepare(a.in[1])
			k.ExpertLinear(a.out[0], a.in[0], a.in[1], clip(off, a.lo, a.hi))
		},
	}
}

func expertLinearBackward(g gen, x, w *tensor.Tensor, off []int32) call {
	return call{
		name: fmt.Sprintf("ExpertLinearBackward %v by %v, off %v", x, w, off), rows: x.Shape[0],
		in:   []operand{rowwise("dy", g.normal(1, x.Shape[0], w.Shape[1])), rowwise("x", x), whole("w", w)},
		grad: []operand{rowwise("x", g.normal(1, x.Shape...)), whole("w", g.normal(1, w.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.Prepare(a.in[2])
			k.ExpertLinearBackward(a.grad[0], a.grad[1], a.in[0], a.in[1], a.in[2], clip(off, a.lo, a.hi))
		},
	}
}

// rowCalls are the kernels that move and add rows of numbers.
func rowCalls(g gen) []call {
	var calls []call
	for _, s := range [][3]int{{1, 1, 1}, {5, 7, 3}, {13, 16, 40}, {0, 2, 2}} {
		t, m, n := s[0], s[1], s[2]
		a, b := g.wild(t, m), g.wild(t, m)
		calls = append(calls,
			call{
				name: fmt.Sprintf("Add %v", a), rows: t,
				in: []operand{rowwise("a", a), rowwise("b", b)}, out: []operand{rowwise("y", a)},
				run: func(k kernels.Backend, a args) { k.Add(a.out[0], a.in[0], a.in[1]) },
			},
			call{
				name: fmt.Sprintf("Copy %v", a), rows: t,
				in: []operand{rowwise("x", a)}, out: []operand{rowwise("y", a)},
				run: func(k kernels.Backend, a args) { k.Copy(a.out[0], a.in[0]) },
			},
			call{
				name: fmt.Sprintf("Join %v", s), rows: t,
				in: []operand{rowwise("a", a), rowwise("b", g.wild(t, n))}, out: []operand{rowwise("y", g.wild(t, m+n))},
				run: func(k kernels.Backend, a args) { k.Join(a.out[0], a.in[0], a.in[1]) },
			},
			call{
				name: fmt.Sprintf("JoinBackward %v", s), rows: t,
				in: []operand{rowwise("dy", g.wild(t, m+n))}, grad: []operand{rowwise("a", a), rowwise("b", g.wild(t, n))},
				run: func(k kernels.Backend, a args) { k.JoinBackward(a.grad[0], a.grad[1], a.in[0]) },
			})
	}
	return calls
}

// testFormats wants a BF16 weight to give the bits of its values in F32.
func testFormats(t reporter, k kernels.Backend) {
	g := newGen(11)
	for _, rows := range []int{1, 6, 33} {
		x, w := g.normal(1, rows, 45), bf16(g.normal(1, 37, 45))
		narrow, wide := linear(x, w, 1), linear(x, widened(w), 1)
		narrow.same(t, "BF16 against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)
		w = bf16(g.normal(1, 3, 10, 45))
		off := g.runs(rows, 3)
		narrow, wide = expertLinear(x, w, off), expertLinear(x, widened(w), off)
		narrow.same(t, "BF16 against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)
	}
}

// testNaN wants a NaN or an infinity in one row, or in one weight, to reach what is made of it and nothing else.
func testNaN(t reporter, k kernels.Backend) {
	g := newGen(12)
	const rows, n, dim = 9, 19, 21
	inf := float32(math.Inf(1))
	for _, v := range []float32{float32(math.NaN()), inf, -inf} {
		x, w := g.normal(1, rows, dim), g.normal(1, n, dim)
		clean := linear(x, w, 1).all(t, k).out[0].F32()
		badRow := x.Clone()
		badRow.F32()[4*dim+7] = v
		badWeight := w.Clone()
		badWeight.F32()[18*dim+20] = v
		x.F32()[2*dim+20] = 0 // times infinity
		dirtyRow, dirtyWeight := linear(badRow, w, 1).all(t, k).out[0].F32(), linear(x, badWeight, 1).all(t, k).out[0].F32()
		for i := range clean {
			if bad := dirtyRow[i]-dirtyRow[i] != 0; bad != (i/n == 4) || !bad && dirtyRow[i] != clean[i] {
				t.Errorf("%v in row 4 of x: y[%d, %d] is %v, was %v", v, i/n, i%n, dirtyRow[i], clean[i])
			}
			if bad := dirtyWeight[i]-dirtyWeight[i] != 0; bad != (i%n == 18) {
				t.Errorf("%v in row 18 of w: y[%d, %d] is %v, was %v", v, i/n, i%n, dirtyWeight[i], clean[i])
			}
		}
	}
}

// testTokensOfExperts cuts the tokens of a batch, not the sorted rows: each expert gets its first rows and then the others.
func testTokensOfExperts(t reporter, k kernels.Backend) {
	g := newGen(13)
	const tokens, experts, n, dim = 29, 4, 9, 17
	expert := g.ints(tokens, experts)
	x, dy, w := g.normal(1, tokens, dim), g.normal(1, tokens, n), g.normal(1, experts, n, dim)
	start := g.normal(1, experts, n, dim)
	backward := func(dw *tensor.Tensor, lo, hi int) {
		var rows, count []int32
		for e := range int32(experts) {
			before := len(rows)
			for i := lo; i < hi; i++ {
				if expert[i] == e {
					rows = append(rows, int32(i))
				}
			}
			count = append(count, int32(len(rows)-before))
		}
		xs, dys := tensor.New(dtype.F32, len(rows), dim), tensor.New(dtype.F32, len(rows), n)
		k.Gather(xs, x, rows)
		k.Gather(dys, dy, rows)
		k.ExpertLinearBackward(nil, dw, dys, xs, w, offsets(count))
	}
	k.Prepare(w)
	want := start.Clone()
	backward(want, 0, tokens)
	for _, at := range []int{1, 10, 28} {
		got := start.Clone()
		backward(got, 0, at)
		backward(got, at, tokens)
		sameBits(t, "ExpertLinearBackward", fmt.Sprintf("tokens cut at %d", at), "gradient of w", got, want)
	}
}

// testPrepare wants Prepare to be a function of the values, down to the layout's bytes, and a product to refuse a weight without it.
func testPrepare(t reporter, k kernels.Backend) {
	g := newGen(14)
	x := g.normal(1, 5, 30)
	weights := []*tensor.Tensor{g.normal(1, 18, 30), bf16(g.normal(1, 18, 30))}
	for _, f := range codeFormats {
		weights = append(weights, g.spoilt(g.coded(f, 2, 18, 30)))
	}
	for _, w := range weights {
		k.Prepare(w)
		layout := w.Layout
		for i := range w.Mem {
			w.Mem[i] ^= byte(i) & 0x41
		}
		if w.Quantised() {
			w.Scale = g.coded(quant.FormatOf(w), 2, 18, 30).Scale
		}
		k.Prepare(w)
		k.Prepare(w)
		got := tensor.New(dtype.F32, 5, 18)
		k.Linear(got, x, w, 1)
		sameBits(t, "Prepare", "after a change of values", "y", got, linear(x, w, 1).all(t, k).out[0])
		if w.Layout != layout {
			t.Errorf("Prepare of %v took new memory, want it to rebuild in what it has", w)
		}
		cold := w.Clone()
		k.Prepare(cold)
		if !slices.EqualFunc(layout.Memory(), cold.Layout.Memory(), slices.Equal) {
			t.Errorf("Prepare of %v after a change of values leaves other bytes than Prepare of a copy", w)
		}
	}
	w, experts, dw := g.normal(1, 18, 30), g.normal(1, 2, 9, 30), g.normal(1, 18, 30)
	for what, f := range map[string]func(){
		"Linear":               func() { k.Linear(g.normal(1, 5, 18), x, w, 1) },
		"LinearBackward":       func() { k.LinearBackward(x.Clone(), dw, g.normal(1, 5, 18), x, w, 1) },
		"ExpertLinear":         func() { k.ExpertLinear(g.normal(1, 5, 9), x, experts, []int32{0, 2, 5}) },
		"ExpertLinearBackward": func() { k.ExpertLinearBackward(x.Clone(), nil, g.normal(1, 5, 9), x, experts, []int32{0, 2, 5}) },
	} {
		wantUnprepared(t, what, f)
	}
}

// testZero wants every element gone, and nothing beside it touched, however much there is.
func testZero(t reporter, b kernels.Backend) {
	t.Helper()
	for _, n := range []int{0, 1, 63, 64, 65, 1 << 20} {
		whole := tensor.New(dtype.F32, n+2)
		x := whole.F32()
		for i := range x {
			x[i] = 1
		}
		b.Zero(whole.Slice(1, n+1))
		for i, v := range x {
			if (i > 0 && i <= n) != (v == 0) {
				t.Errorf("zero of %d elements: element %d is %v", n, i-1, v)
				break
			}
		}
	}
}
