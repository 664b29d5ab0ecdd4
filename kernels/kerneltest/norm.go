package kerneltest

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

func normCalls(g gen) []call {
	var calls []call
	for _, s := range [][3]int{{1, 1, 1}, {2, 1, 7}, {3, 1, 8}, {5, 1, 9}, {64, 1, 33}, {8, 1, 257}, {13, 3, 21}, {7, 4, 80}, {0, 1, 8}} {
		rows, dim := s[0], s[2]
		for _, w := range []*tensor.Tensor{nil, g.normal(1, dim)} {
			for _, x := range []*tensor.Tensor{g.normal(1, rows, s[1]*dim), g.normal(1e-4, rows, s[1]*dim)} {
				calls = append(calls, rmsNorm(x, w, dim), rmsNormBackward(g, x, w, dim))
			}
		}
	}
	for _, s := range [][4]int{{1, 1, 2, 1}, {5, 1, 9, 4}, {13, 3, 20, 8}, {64, 2, 80, 8}, {7, 2, 33, 16}, {3, 1, 5, 0}, {0, 1, 4, 2}} {
		for _, inverse := range []bool{false, true} {
			calls = append(calls, rope(g, s[0], s[1], s[2], s[3], inverse)...)
		}
		calls = append(calls, angles(g, s[0], s[3]))
	}
	return calls
}

// optional appends w unless it is nil; the call finds it with last.
func optional(list []operand, name string, w *tensor.Tensor) []operand {
	if w == nil {
		return list
	}
	return append(list, whole(name, w))
}

// nth returns x[i], or nil behind the end.
func nth(x []*tensor.Tensor, i int) *tensor.Tensor {
	if i < len(x) {
		return x[i]
	}
	return nil
}

func rmsNorm(x, w *tensor.Tensor, dim int) call {
	return call{
		name: fmt.Sprintf("RMSNorm %v, weight %v", x, w != nil), rows: x.Shape[0],
		in:  optional([]operand{rowwise("x", x)}, "w", w),
		out: []operand{rowwise("y", x)},
		run: func(k kernels.Backend, a args) { k.RMSNorm(a.out[0], a.in[0], nth(a.in, 1), dim, 1e-6) },
	}
}

func rmsNormBackward(g gen, x, w *tensor.Tensor, dim int) call {
	c := call{
		name: fmt.Sprintf("RMSNormBackward %v, weight %v", x, w != nil), rows: x.Shape[0],
		in:   optional([]operand{rowwise("dy", g.normal(1, x.Shape...)), rowwise("x", x)}, "w", w),
		grad: []operand{rowwise("x", g.normal(1, x.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.RMSNormBackward(a.grad[0], nth(a.grad, 1), a.in[0], a.in[1], nth(a.in, 2), dim, 1e-6)
		},
	}
	if w != nil {
		c.grad = append(c.grad, whole("w", g.normal(1, dim)))
	}
	return c
}

func rope(g gen, rows, heads, dim, pairs int, inverse bool) []call {
	x := g.normal(1, rows, heads*dim)
	cos, sin := rowwise("cos", g.normal(1, rows, pairs)), rowwise("sin", g.normal(1, rows, pairs))
	name := fmt.Sprintf("%v in heads of %d, %d pairs, inverse %v", x, dim, pairs, inverse)
	return []call{
		{
			name: "RoPE " + name, rows: rows, in: []operand{rowwise("x", x), cos, sin}, out: []operand{rowwise("y", x)},
			run: func(k kernels.Backend, a args) { k.RoPE(a.out[0], a.in[0], a.in[1], a.in[2], dim, inverse) },
		},
		{
			name: "RoPEBackward " + name, rows: rows, in: []operand{rowwise("dy", x), cos, sin},
			grad: []operand{rowwise("x", g.normal(1, rows, heads*dim))},
			run:  func(k kernels.Backend, a args) { k.RoPEBackward(a.grad[0], a.in[0], a.in[1], a.in[2], dim, inverse) },
		},
	}
}

func angles(g gen, rows, pairs int) call {
	pos, freq := g.ints(rows, 1<<20), make([]float32, pairs)
	for p := range freq {
		freq[p] = 1 / float32(1+p*p*p)
	}
	out := tensor.New(dtype.F32, rows, pairs)
	return call{
		name: fmt.Sprintf("Angles %v", out), rows: rows,
		out: []operand{rowwise("cos", out), rowwise("sin", out)},
		run: func(k kernels.Backend, a args) { k.Angles(a.out[0], a.out[1], pos[a.lo:a.hi], freq) },
	}
}

// testInPlace wants the outputs that may be inputs to be so.
func testInPlace(t reporter, k kernels.Backend) {
	g := newGen(21)
	x, w, b := g.normal(1, 7, 3*21), g.normal(1, 21), g.normal(1, 7, 3*21)
	cos, sin := g.normal(1, 7, 5), g.normal(1, 7, 5)
	lp, next, scale := g.normal(1, 7), g.ints(7, 63), g.scales(7)
	wideCos, wideSin := g.normal(1, 7, 8), g.normal(1, 7, 8)
	streams, o, post, comb := g.normal(1, 7, 4*40), g.normal(1, 7, 40), g.normal(1, 7, 4), g.normal(1, 7, 16)
	more, dpost, dcomb := g.normal(1, 7, 4*40), tensor.New(dtype.F32, 7, 4), tensor.New(dtype.F32, 7, 16)
	inPlace := func(name string, x *tensor.Tensor, f func(y, x *tensor.Tensor)) {
		want, got := tensor.New(dtype.F32, x.Shape...), x.Clone()
		f(want, x)
		f(got, got)
		sameBits(t, name, "in place", "y", got, want)
	}
	inPlace("RoPEBackward", streams, func(y, x *tensor.Tensor) {
		y.Fresh = true
		k.RoPEBackward(y, x, wideCos, wideSin, 40, false)
	})
	var maps [][2]*tensor.Tensor // gradients that are made beside
	inPlace("ExpandBackward", streams, func(y, x *tensor.Tensor) {
		y.Fresh, dpost.Fresh, dcomb.Fresh = true, true, true
		k.ExpandBackward(y, nil, dpost, dcomb, x, more, o, post, comb)
		maps = append(maps, [2]*tensor.Tensor{dpost.Clone(), dcomb.Clone()})
	})
	sameBits(t, "ExpandBackward", "in place", "dpost", maps[1][0], maps[0][0])
	sameBits(t, "ExpandBackward", "in place", "dcomb", maps[1][1], maps[0][1])
	inPlace("Expand", streams, func(y, x *tensor.Tensor) { k.Expand(y, x, o, post, comb) })
	for name, f := range map[string]func(y, x *tensor.Tensor){
		"RMSNorm":         func(y, x *tensor.Tensor) { k.RMSNorm(y, x, w, 21, 1e-6) },
		"RoPE":            func(y, x *tensor.Tensor) { k.RoPE(y, x, cos, sin, 21, false) },
		"Add, y is a":     func(y, x *tensor.Tensor) { k.Add(y, x, b) },
		"Add, y is b":     func(y, x *tensor.Tensor) { k.Add(y, b, x) },
		"LogProbBackward": func(y, x *tensor.Tensor) { k.LogProbBackward(y, lp, nil, nil, lp, x, next, scale) },
	} {
		inPlace(name, x, f)
	}
}
