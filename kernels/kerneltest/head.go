package kerneltest

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

func headCalls(g gen) []call {
	var calls []call
	for _, s := range [][4]int{{1, 1, 1, 1}, {2, 4, 7, 5}, {5, 4, 8, 3}, {13, 2, 33, 20}, {64, 4, 16, 40}, {0, 4, 8, 3}} {
		rows, streams, dim, vocab := s[0], s[1], s[2], s[3]
		calls = append(calls, embed(g.normal(1, vocab, dim), g.ints(rows, vocab), streams))
		calls = append(calls, embed(bf16(g.normal(1, vocab, dim)), g.ints(rows, vocab), streams))
		calls = append(calls, embedBackward(g, rows, streams, dim, vocab))
		calls = append(calls, gatherCalls(g, rows, vocab, dim)...)
	}
	for _, s := range [][2]int{{1, 1}, {2, 7}, {3, 8}, {5, 9}, {7, 16}, {8, 33}, {13, 101}, {64, 257}, {0, 8}} {
		for _, spread := range []float64{1, 30} {
			calls = append(calls, logProbCalls(g, s[0], s[1], spread)...)
		}
	}
	return calls
}

// scales draws inverse temperatures; 1 is one in four.
func (g gen) scales(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = []float32{1, 0.5, 2, 1 / 0.7}[g.IntN(4)]
	}
	return x
}

func embed(table *tensor.Tensor, ids []int32, streams int) call {
	return call{
		name: fmt.Sprintf("Embed %d of %v in %d streams", len(ids), table, streams), rows: len(ids),
		in:  []operand{whole("table", table)},
		out: []operand{{name: "y", Tensor: tensor.New(dtype.F32, len(ids), streams, table.Dim()), rows: true, free: table.Dim() == 1}},
		run: func(k kernels.Backend, a args) { k.Embed(a.out[0], a.in[0], ids[a.lo:a.hi]) },
	}
}

func embedBackward(g gen, rows, streams, dim, vocab int) call {
	ids := g.ints(rows, vocab)
	return call{
		name: fmt.Sprintf("EmbedBackward %d of %d in %d streams of %d", rows, vocab, streams, dim), rows: rows,
		in:   []operand{{name: "dy", Tensor: g.normal(1, rows, streams, dim), rows: true, free: dim == 1}},
		grad: []operand{whole("table", g.normal(1, vocab, dim))},
		run: func(k kernels.Backend, a args) {
			k.EmbedBackward(a.grad[0], a.in[0], ids[a.lo:a.hi])
		},
	}
}

// gatherCalls are cut by the rows gathered; some are gathered twice.
func gatherCalls(g gen, rows, from, dim int) []call {
	at := g.ints(rows, from)
	size := fmt.Sprintf("%d of %d rows of %d", rows, from, dim)
	return []call{
		{
			name: "Gather " + size, rows: rows, in: []operand{whole("x", g.normal(1, from, dim))},
			out: []operand{rowwise("y", tensor.New(dtype.F32, rows, dim))},
			run: func(k kernels.Backend, a args) { k.Gather(a.out[0], a.in[0], at[a.lo:a.hi]) },
		},
		{
			name: "GatherBackward " + size, rows: rows, in: []operand{rowwise("dy", g.normal(1, rows, dim))},
			grad: []operand{whole("x", g.normal(1, from, dim))},
			run:  func(k kernels.Backend, a args) { k.GatherBackward(a.grad[0], a.in[0], at[a.lo:a.hi]) },
		},
	}
}

// logProbCalls are the forward kernel with and without entropy, and the backward one likewise, with logits of -Inf among the others.
func logProbCalls(g gen, rows, vocab int, spread float64) []call {
	x, next, scale := g.normal(spread, rows, vocab), g.ints(rows, vocab), g.scales(rows)
	for i := range x.F32() {
		if g.IntN(20) == 0 && int32(i%vocab) != next[i/vocab] {
			x.F32()[i] = float32(math.Inf(-1))
		}
	}
	logits := rowwise("logits", x)
	logits.free = true
	of := func(name string) operand { return rowwise(name, tensor.New(dtype.F32, rows)) }
	lp, entropy, lse := of("lp"), of("entropy"), of("lse")
	ref.New[float32]().LogProb(lp.Tensor, entropy.Tensor, lse.Tensor, x, next, scale)
	calls := []call{
		logProbOf(x, next, scale),
		{
			name: fmt.Sprintf("LogProb without entropy %v", x), rows: rows, in: []operand{logits}, out: []operand{lp, lse},
			run: func(k kernels.Backend, a args) {
				k.LogProb(a.out[0], nil, a.out[1], a.in[0], next[a.lo:a.hi], scale[a.lo:a.hi])
			},
		},
	}
	logits.free = false
	dlp, dent, out := rowwise("dlp", g.normal(1, rows)), rowwise("dentropy", g.normal(1, rows)), rowwise("dlogits", x)
	return append(calls,
		call{
			name: fmt.Sprintf("LogProbBackward %v", x), rows: rows, in: []operand{logits, dlp, dent, entropy, lse}, out: []operand{out},
			run: func(k kernels.Backend, a args) {
				k.LogProbBackward(a.out[0], a.in[1], a.in[2], a.in[3], a.in[4], a.in[0], next[a.lo:a.hi], scale[a.lo:a.hi])
			},
		},
		call{
			name: fmt.Sprintf("LogProbBackward without entropy %v", x), rows: rows, in: []operand{logits, dlp, lse}, out: []operand{out},
			run: func(k kernels.Backend, a args) {
				k.LogProbBackward(a.out[0], a.in[1], nil, nil, a.in[2], a.in[0], next[a.lo:a.hi], scale[a.lo:a.hi])
			},
		})
}

func logProbOf(x *tensor.Tensor, next []int32, scale []float32) call {
	logits := rowwise("logits", x)
	logits.free = true
	of := func(name string) operand { return rowwise(name, tensor.New(dtype.F32, x.Shape[0])) }
	return call{
		name: fmt.Sprintf("LogProb %v", x), rows: x.Shape[0],
		in: []operand{logits}, out: []operand{of("lp"), of("lse"), of("entropy")},
		run: func(k kernels.Backend, a args) {
			k.LogProb(a.out[0], a.out[2], a.out[1], a.in[0], next[a.lo:a.hi], scale[a.lo:a.hi])
		},
	}
}
