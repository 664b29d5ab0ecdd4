package kerneltest

import (
	"furlong/kernels"
	"furlong/tensor"
)

// sixteenCalls have rows of whole vectors of sixteen, and of two to eight of them, for backends that take those with functions of their own.
func sixteenCalls(g gen, k kernels.Backend) []call {
	var calls []call
	for _, s := range [][2]int{{1, 16}, {2, 48}, {9, 32}, {16, 64}, {21, 112}, {33, 128}} {
		rows, dim := s[0], s[1]
		calls = append(calls, hyperMap(g, rows, 4, dim, 20, 1), hyperMapBackward(g, rows, 4, dim, 3, 1), lastMap(g, rows, 4, dim), lastMapBackward(g, rows, 4, dim))
		calls = append(calls, streamCalls(g, rows, 4, dim)...)
		for _, w := range []*tensor.Tensor{nil, g.normal(1, rows)} {
			gu := g.normal(2, rows, 2*dim)
			calls = append(calls, swiglu(gu, w, 1.5), swigluBackward(g, gu, w, 1.5))
		}
		x, w := g.normal(1, rows, dim), g.normal(1, dim)
		calls = append(calls, rmsNorm(x, w, dim), rmsNormBackward(g, x, w, dim))
		for reach := 1; reach <= 6; reach++ { // so many rows near a query, and some far ones: all rests of fours
			a := newAttention(g, rows, 3+rows%3, dim, reach, 5, 0.5)
			calls = append(calls, a.forward(), a.backward(g, k), a.keeping(), a.kept(g, k))
		}
		calls = append(calls, indexTopK(g, rows, 4, dim, 9, 3, 0.5))
	}
	return calls
}
