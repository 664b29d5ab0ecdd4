package kerneltest

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// An attention is the inputs of Attend: two views over two pools, as the model has them.
type attention struct {
	heads, dim int
	q, sink    *tensor.Tensor
	near, far  kernels.View
	window     *tensor.Tensor
	entries    *tensor.Tensor
}

func newAttention(g gen, rows, heads, dim, reach, entries int, scale float64) attention {
	a := attention{heads: heads, dim: dim, q: g.normal(scale, rows, heads*dim), sink: g.normal(1, heads)}
	a.near, a.far = g.sliding(rows, reach), g.ragged(rows, entries, 2*reach)
	a.window = g.pool(a.near, scale, rows+3, dim)
	a.entries = g.pool(a.far, scale, entries, dim)
	return a
}

func (x attention) String() string {
	return fmt.Sprintf("%v in %d heads over %v and %v", x.q, x.heads, x.window, x.entries)
}

func (x attention) views(window, entries *tensor.Tensor, lo, hi int) []kernels.View {
	return []kernels.View{over(x.near, window, lo, hi), over(x.far, entries, lo, hi)}
}

func (x attention) forward() call {
	return call{
		name: "Attend " + x.String(), rows: x.q.Shape[0],
		in:  []operand{rowwise("q", x.q), whole("sink", x.sink), whole("window", x.window), whole("entries", x.entries)},
		out: []operand{rowwise("o", x.q), rowwise("lse", tensor.New(dtype.F32, x.q.Shape[0], x.heads))},
		run: func(k kernels.Backend, a args) {
			k.Attend(a.out[0], a.out[1], a.in[0], a.in[1], x.heads, x.views(a.in[2], a.in[3], a.lo, a.hi)...)
		},
	}
}

// backward takes o and lse from k's own forward pass.
func (x attention) backward(g gen, k kernels.Backend) call {
	rows := x.q.Shape[0]
	o, lse := tensor.New(dtype.F32, x.q.Shape...), tensor.New(dtype.F32, rows, x.heads)
	k.Attend(o, lse, x.q, x.sink, x.heads, x.views(x.window, x.entries, 0, rows)...)
	return call{
		name: "AttendBackward " + x.String(), rows: rows,
		in: []operand{
			rowwise("do", g.normal(1, x.q.Shape...)), rowwise("o", o), rowwise("lse", lse), rowwise("q", x.q), whole("sink", x.sink),
			whole("window", x.window), whole("entries", x.entries),
		},
		grad: []operand{
			rowwise("q", g.normal(1, x.q.Shape...)), whole("sink", g.normal(1, x.heads)),
			whole("window", g.normal(1, x.window.Shape...)), whole("entries", g.normal(1, x.entries.Shape...)),
		},
		run: func(k kernels.Backend, a args) {
			k.AttendBackward(a.grad[0], a.grad[1], a.grad[2:], a.in[0], a.in[1], a.in[2], a.in[3], a.in[4], x.heads,
				x.views(a.in[5], a.in[6], a.lo, a.hi)...)
		},
	}
}

// keeping is forward through a [kernels.Keeper].
func (x attention) keeping() call {
	c := x.forward()
	c.name = "AttendKeeping " + x.String()
	c.run = func(k kernels.Backend, a args) {
		views := x.views(a.in[2], a.in[3], a.lo, a.hi)
		keeper, kept := x.room(k, a.in[0], views)
		keeper.AttendKeeping(a.out[0], a.out[1], kept, a.in[0], a.in[1], x.heads, views...)
	}
	return c
}

// kept is backward after a forward pass that kept what it liked.
func (x attention) kept(g gen, k kernels.Backend) call {
	c := x.backward(g, k)
	c.name = "AttendBackwardKept " + x.String()
	c.run = func(k kernels.Backend, a args) {
		views := x.views(a.in[5], a.in[6], a.lo, a.hi)
		keeper, kept := x.room(k, a.in[3], views)
		o, lse := tensor.New(dtype.F32, a.in[1].Shape...), tensor.New(dtype.F32, a.in[2].Shape...)
		keeper.AttendKeeping(o, lse, kept, a.in[3], a.in[4], x.heads, views...)
		keeper.AttendBackwardKept(a.grad[0], a.grad[1], a.grad[2:], a.in[0], a.in[1], a.in[2], kept, a.in[3], a.in[4], x.heads, views...)
	}
	return c
}

// room returns memory for what k keeps, which holds no number yet.
func (x attention) room(k kernels.Backend, q *tensor.Tensor, views []kernels.View) (kernels.Keeper, *tensor.Tensor) {
	keeper := kernels.KeeperOf(k)
	n := keeper.Keeps(q, x.heads, views...)
	if n == 0 {
		return keeper, nil
	}
	kept := tensor.New(dtype.F32, n)
	for i := range kept.F32() {
		kept.F32()[i] = float32(math.NaN())
	}
	return keeper, kept
}

// attentionShapes are rows, heads, channels, reach and entries.
var attentionShapes = [][5]int{{1, 1, 1, 1, 0}, {2, 1, 7, 3, 2}, {3, 2, 8, 4, 1}, {5, 3, 9, 2, 4}, {7, 2, 16, 5, 9}, {8, 4, 24, 8, 3}, {13, 3, 33, 6, 20}, {64, 2, 80, 16, 40}, {0, 2, 8, 2, 1}}

// keeperCalls are attention's with what a [kernels.Keeper] keeps between them.
func keeperCalls(g gen, k kernels.Backend) []call {
	var calls []call
	for _, s := range append(attentionShapes, [5]int{6, 8, 16, 3, 2}, [5]int{3, 4, 8, 200, 90}) { // two whole groups of heads, and many rows
		x := newAttention(g, s[0], s[1], s[2], s[3], s[4], 0.5)
		calls = append(calls, x.keeping(), x.kept(g, k))
	}
	return calls
}

func attentionCalls(g gen, k kernels.Backend) []call {
	var calls []call
	for _, s := range attentionShapes {
		for _, scale := range []float64{0.5, 8} { // 8: some exponentials are zero
			x := newAttention(g, s[0], s[1], s[2], s[3], s[4], scale)
			calls = append(calls, x.forward(), x.backward(g, k))
			calls = append(calls, indexTopK(g, s[0], s[1], s[2], s[4]+3, 1+s[3]/2, scale))
		}
	}
	return calls
}

// testBlind has every third query see no rows at all.
func testBlind(t reporter, k kernels.Backend) {
	g := newGen(79)
	x := newAttention(g, 9, 5, 16, 3, 4, 0.5)
	for i := 0; i < 9; i += 3 {
		x.near.Hi[i], x.far.Hi[i] = x.near.Lo[i], x.far.Lo[i]
	}
	for _, c := range []call{x.forward(), x.backward(g, k), x.keeping(), x.kept(g, k)} {
		c.check(t, k)
	}
}

// indexTopK puts the rows chosen into an output: rows of the pool, then -1.
func indexTopK(g gen, rows, heads, dim, entries, keep int, scale float64) call {
	v := g.ragged(rows, entries, 2*keep+1)
	return call{
		name: fmt.Sprintf("IndexTopK %d of %d for %d queries, %d heads of %d", keep, entries, rows, heads, dim), rows: rows,
		in: []operand{
			rowwise("q", g.normal(scale, rows, heads*dim)), rowwise("w", g.normal(1, rows, heads)),
			whole("keys", g.pool(v, scale, entries, dim)),
		},
		out: []operand{{name: "choice", Tensor: tensor.New(dtype.F32, rows, keep), rows: true, free: true}},
		run: func(k kernels.Backend, a args) {
			got := k.IndexTopK(a.in[0], a.in[1], heads, over(v, a.in[2], a.lo, a.hi), keep)
			writeChoice(a.out[0], got)
		},
	}
}

// writeChoice sets row t of y to the rows that query t of v reads, then -1.
func writeChoice(y *tensor.Tensor, v kernels.View) {
	if len(v.Lo) != y.Shape[0] || len(v.Hi) != y.Shape[0] {
		panic(fmt.Sprintf("index top k: %d and %d queries, want %d", len(v.Lo), len(v.Hi), y.Shape[0]))
	}
	for t := range v.Lo {
		row := y.F32()[t*y.Dim():][:y.Dim()]
		for j := range row {
			row[j] = -1
		}
		for j, r := range v.At(t) {
			row[j] = float32(r)
		}
	}
}

// testTies wants the earlier of equal rows, and the places of a row in the pool not to count.
func testTies(t reporter, k kernels.Backend) {
	keys := tensor.Of([]float32{1, 1, -1, 2, -2, 1}, 6, 1)
	q := tensor.Of([]float32{1}, 1, 1)
	for _, tt := range []struct {
		rows []int32
		keep int
		want string
	}{
		{[]int32{0, 1, 2, 3, 4, 5}, 2, "[0 3]"},
		{[]int32{5, 1, 0, 3}, 3, "[5 1 3]"},
		{[]int32{4, 2, 0}, 2, "[4 0]"},
		{[]int32{4, 2}, 1, "[4]"},
		{[]int32{4, 2}, 2, "[4 2]"},
		{nil, 2, "[]"},
	} {
		v := kernels.View{Pool: keys, Rows: tt.rows, Lo: []int32{0}, Hi: []int32{int32(len(tt.rows))}}
		got := k.IndexTopK(q, q, 1, v, tt.keep)
		if s := fmt.Sprint(got.At(0)); s != tt.want {
			t.Errorf("IndexTopK %d of rows %v keeps %v, want %v", tt.keep, tt.rows, s, tt.want)
		}
		if got.Pool != keys {
			t.Errorf("IndexTopK returns a view over another pool")
		}
	}
	choice := make([]int32, 3)
	k.TopExperts(choice, tensor.Of([]float32{1, 3, 1, 3, 1}, 1, 5), nil, 3)
	if got, want := fmt.Sprint(choice), "[1 3 0]"; got != want {
		t.Errorf("TopExperts of equal logits is %v, want %v", got, want)
	}
}
