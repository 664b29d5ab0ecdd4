package kerneltest

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

func moeCalls(g gen) []call {
	var calls []call
	for _, s := range [][3]int{{1, 1, 1}, {2, 4, 2}, {3, 7, 3}, {5, 8, 2}, {13, 33, 6}, {64, 16, 4}, {0, 4, 2}} {
		for _, spread := range []float64{1, 40} {
			logits, choice := g.normal(spread, s[0], s[1]), g.ints(s[0]*s[2], s[1]) // some tokens name an expert twice
			calls = append(calls, topExperts(logits, nil, s[2]), topExperts(logits, g.normal(1, s[1]), s[2]))
			calls = append(calls, routeWeights(logits, choice, s[2]), routeWeightsBackward(g, logits, choice, s[2]))
		}
		calls = append(calls, slotCalls(g, s[0], s[2], 1+2*s[1])...)
	}
	for _, s := range [][2]int{{1, 1}, {2, 7}, {3, 8}, {5, 9}, {13, 33}, {64, 40}, {0, 8}} {
		for _, limit := range []float64{0, 1.5} {
			for _, w := range []*tensor.Tensor{nil, g.normal(1, s[0])} {
				gu := g.normal(2, s[0], 2*s[1])
				calls = append(calls, swiglu(gu, w, limit), swigluBackward(g, gu, w, limit))
			}
		}
	}
	return calls
}

// topExperts puts the choice into an output.
func topExperts(logits, bias *tensor.Tensor, keep int) call {
	rows := logits.Shape[0]
	x := rowwise("logits", logits)
	x.free = bias == nil
	return call{
		name: fmt.Sprintf("TopExperts %d of %v, bias %v", keep, logits, bias != nil), rows: rows,
		in:  optional([]operand{x}, "bias", bias),
		out: []operand{{name: "choice", Tensor: tensor.New(dtype.F32, rows, keep), rows: true, free: true}},
		run: func(k kernels.Backend, a args) {
			choice := make([]int32, a.out[0].Shape[0]*keep)
			k.TopExperts(choice, a.in[0], nth(a.in, 1), keep)
			for i, e := range choice {
				a.out[0].F32()[i] = float32(e)
			}
		},
	}
}

func routeWeights(logits *tensor.Tensor, choice []int32, keep int) call {
	x := rowwise("logits", logits)
	x.free = true
	return call{
		name: fmt.Sprintf("RouteWeights %d of %v", keep, logits), rows: logits.Shape[0],
		in:  []operand{x},
		out: []operand{rowwise("w", tensor.New(dtype.F32, logits.Shape[0], keep))},
		run: func(k kernels.Backend, a args) {
			k.RouteWeights(a.out[0], a.in[0], choice[a.lo*keep:a.hi*keep], 1.5)
		},
	}
}

func routeWeightsBackward(g gen, logits *tensor.Tensor, choice []int32, keep int) call {
	rows := logits.Shape[0]
	return call{
		name: fmt.Sprintf("RouteWeightsBackward %d of %v", keep, logits), rows: rows,
		in:   []operand{rowwise("dw", g.normal(1, rows, keep)), rowwise("logits", logits)},
		grad: []operand{rowwise("logits", g.normal(1, logits.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.RouteWeightsBackward(a.grad[0], a.in[0], a.in[1], choice[a.lo*keep:a.hi*keep], 1.5)
		},
	}
}

// slotCalls scatter over all rows, so they can't be cut.
func slotCalls(g gen, rows, keep, dim int) []call {
	at := g.order(rows * keep)
	tokens, slots := whole("x", g.normal(1, rows, dim)), whole("x", g.normal(1, rows*keep, dim))
	size := fmt.Sprintf("%v and %v", tokens, slots)
	return []call{
		{
			name: "Dispatch " + size, rows: rows, uncut: true, in: []operand{tokens}, out: []operand{slots},
			run: func(k kernels.Backend, a args) { k.Dispatch(a.out[0], a.in[0], at, keep) },
		},
		{
			name: "Combine " + size, rows: rows, uncut: true, in: []operand{slots}, grad: []operand{whole("y", g.normal(1, rows, dim))},
			run: func(k kernels.Backend, a args) {
				if a.grad[0] != nil { // it is an output
					k.Combine(a.grad[0], a.in[0], at, keep)
				}
			},
		},
		{
			name: "DispatchAdd " + size, rows: rows, uncut: true, in: []operand{tokens}, grad: []operand{whole("y", g.normal(1, rows*keep, dim))},
			run: func(k kernels.Backend, a args) {
				if a.grad[0] != nil {
					k.DispatchAdd(a.grad[0], a.in[0], at, keep)
				}
			},
		},
	}
}

func swiglu(gu, w *tensor.Tensor, limit float64) call {
	rows := gu.Shape[0]
	c := call{
		name: fmt.Sprintf("SwiGLU %v, weights %v, limit %v", gu, w != nil, limit), rows: rows,
		in:  []operand{rowwise("gu", gu)},
		out: []operand{rowwise("y", tensor.New(dtype.F32, rows, gu.Dim()/2))},
		run: func(k kernels.Backend, a args) { k.SwiGLU(a.out[0], a.in[0], nth(a.in, 1), limit) },
	}
	if w != nil {
		c.in = append(c.in, rowwise("w", w))
	}
	return c
}

func swigluBackward(g gen, gu, w *tensor.Tensor, limit float64) call {
	rows := gu.Shape[0]
	c := call{
		name: fmt.Sprintf("SwiGLUBackward %v, weights %v, limit %v", gu, w != nil, limit), rows: rows,
		in:   []operand{rowwise("dy", g.normal(1, rows, gu.Dim()/2)), rowwise("gu", gu)},
		grad: []operand{rowwise("gu", g.normal(1, gu.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.SwiGLUBackward(a.grad[0], nth(a.grad, 1), a.in[0], a.in[1], nth(a.in, 2), limit)
		},
	}
	if w != nil {
		c.in = append(c.in, rowwise("w", w))
		c.grad = append(c.grad, rowwise("w", g.normal(1, rows)))
	}
	return c
}
