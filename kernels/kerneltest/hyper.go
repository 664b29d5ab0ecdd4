package kerneltest

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

func hyperCalls(g gen) []call {
	var calls []call
	for _, s := range [][3]int{{1, 4, 1}, {2, 4, 8}, {3, 2, 7}, {5, 4, 33}, {7, 3, 16}, {8, 1, 9}, {13, 5, 21}, {64, 4, 40}, {0, 4, 8}} {
		calls = append(calls, hyperMap(g, s[0], s[1], s[2], 20, 1), hyperMap(g, s[0], s[1], s[2], 1, 30))
		calls = append(calls, hyperMapBackward(g, s[0], s[1], s[2], 20, 1), hyperMapBackward(g, s[0], s[1], s[2], 2, 10))
		calls = append(calls, lastMap(g, s[0], s[1], s[2]), lastMapBackward(g, s[0], s[1], s[2]))
		calls = append(calls, streamCalls(g, s[0], s[1], s[2])...)
	}
	return calls
}

// site returns z, x, base and scale of a map with sums many numbers a token and scales scales. Logits are normal numbers times spread.
func site(g gen, rows, streams, dim, numbers, scales int, spread float64) []operand {
	x := rowwise("x", g.normal(1, rows, streams, dim))
	x.free = true // any width has a mean
	return []operand{rowwise("z", g.normal(spread, rows, numbers)), x, whole("base", g.normal(1, numbers)), whole("scale", g.normal(1, scales))}
}

// gradients returns operands of the shapes of list that gradients are added to.
func gradients(g gen, list []operand) []operand {
	var grads []operand
	for _, x := range list {
		x.Tensor, x.free = g.normal(1, x.Shape...), false
		grads = append(grads, x)
	}
	return grads
}

func hyperMap(g gen, rows, streams, dim, iters int, spread float64) call {
	p := kernels.HyperParams{Iters: iters, Eps: 1e-6, NormEps: 1e-6}
	return call{
		name: fmt.Sprintf("HyperMap %d tokens, %d streams of %d, %d rounds", rows, streams, dim, iters), rows: rows,
		in: site(g, rows, streams, dim, streams*(2+streams), 3, spread),
		out: []operand{
			rowwise("pre", tensor.New(dtype.F32, rows, streams)), rowwise("post", tensor.New(dtype.F32, rows, streams)),
			rowwise("comb", tensor.New(dtype.F32, rows, streams, streams)),
		},
		run: func(k kernels.Backend, a args) {
			k.HyperMap(a.out[0], a.out[1], a.out[2], a.in[0], a.in[1], a.in[2], a.in[3], p)
		},
	}
}

func hyperMapBackward(g gen, rows, streams, dim, iters int, spread float64) call {
	p := kernels.HyperParams{Iters: iters, Eps: 1e-6, NormEps: 1e-6}
	in := site(g, rows, streams, dim, streams*(2+streams), 3, spread)
	c := call{
		name: fmt.Sprintf("HyperMapBackward %d tokens, %d streams of %d, %d rounds", rows, streams, dim, iters), rows: rows,
		grad: gradients(g, in),
		run: func(k kernels.Backend, a args) {
			k.HyperMapBackward(a.grad[0], a.grad[1], a.grad[2], a.grad[3], a.in[4], a.in[5], a.in[6], a.in[0], a.in[1], a.in[2], a.in[3], p)
		},
	}
	c.in = append(in, rowwise("dpre", g.normal(1, rows, streams)), rowwise("dpost", g.normal(1, rows, streams)),
		rowwise("dcomb", g.normal(1, rows, streams, streams)))
	c.in[1].free = false // dx has its width
	return c
}

func lastMap(g gen, rows, streams, dim int) call {
	p := kernels.HyperParams{Eps: 1e-6, NormEps: 1e-6}
	return call{
		name: fmt.Sprintf("HyperMap of the last collapse, %d tokens, %d streams of %d", rows, streams, dim), rows: rows,
		in:  site(g, rows, streams, dim, streams, 1, 1),
		out: []operand{rowwise("pre", tensor.New(dtype.F32, rows, streams))},
		run: func(k kernels.Backend, a args) {
			k.HyperMap(a.out[0], nil, nil, a.in[0], a.in[1], a.in[2], a.in[3], p)
		},
	}
}

func lastMapBackward(g gen, rows, streams, dim int) call {
	p := kernels.HyperParams{Eps: 1e-6, NormEps: 1e-6}
	in := site(g, rows, streams, dim, streams, 1, 1)
	c := call{
		name: fmt.Sprintf("HyperMapBackward of the last collapse, %d tokens, %d streams of %d", rows, streams, dim), rows: rows,
		grad: gradients(g, in),
		run: func(k kernels.Backend, a args) {
			k.HyperMapBackward(a.grad[0], a.grad[1], a.grad[2], a.grad[3], a.in[4], nil, nil, a.in[0], a.in[1], a.in[2], a.in[3], p)
		},
	}
	c.in = append(in, rowwise("dpre", g.normal(1, rows, streams)))
	c.in[1].free = false
	return c
}

func streamCalls(g gen, rows, streams, dim int) []call {
	size := fmt.Sprintf("%d tokens, %d streams of %d", rows, streams, dim)
	x, o, pre := rowwise("x", g.normal(1, rows, streams, dim)), rowwise("o", g.normal(1, rows, dim)), rowwise("pre", g.normal(1, rows, streams))
	post, comb := rowwise("post", g.normal(1, rows, streams)), rowwise("comb", g.normal(1, rows, streams, streams))
	y := rowwise("y", tensor.New(dtype.F32, rows, dim))
	mixed := rowwise("y", tensor.New(dtype.F32, rows, streams, dim))
	dy, dMixed := rowwise("dy", g.normal(1, rows, dim)), rowwise("dy", g.normal(1, rows, streams, dim))
	return []call{
		{
			name: "Collapse " + size, rows: rows, in: []operand{x, pre}, out: []operand{y},
			run: func(k kernels.Backend, a args) { k.Collapse(a.out[0], a.in[0], a.in[1]) },
		},
		{
			name: "CollapseBackward " + size, rows: rows, in: []operand{dy, x, pre}, grad: gradients(g, []operand{x, pre}),
			run: func(k kernels.Backend, a args) {
				k.CollapseBackward(a.grad[0], a.grad[1], a.in[0], a.in[1], a.in[2])
			},
		},
		{
			name: "Expand " + size, rows: rows, in: []operand{x, o, post, comb}, out: []operand{mixed},
			run: func(k kernels.Backend, a args) { k.Expand(a.out[0], a.in[0], a.in[1], a.in[2], a.in[3]) },
		},
		{
			name: "ExpandBackward " + size, rows: rows, in: []operand{dMixed, x, o, post, comb}, grad: gradients(g, []operand{x, o, post, comb}),
			run: func(k kernels.Backend, a args) {
				k.ExpandBackward(a.grad[0], a.grad[1], a.grad[2], a.grad[3], a.in[0], a.in[1], a.in[2], a.in[3], a.in[4])
			},
		},
	}
}
