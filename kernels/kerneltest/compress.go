package kerneltest

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// A pooling is the inputs of Pool: windows of m rows over a pool of raw rows.
type pooling struct {
	overlap   bool
	dim       int
	raw, bias *tensor.Tensor
	prev, own kernels.View
	windows   *tensor.Tensor // only its shape
}

// newPooling makes windows of several sequences: window c's own rows are window c+1's previous ones, but for the first of a sequence.
func newPooling(g gen, windows, m, dim int, overlap bool, scale float64) pooling {
	p := pooling{overlap: overlap, dim: dim, windows: tensor.New(dtype.F32, windows, dim)}
	wide := dim
	if overlap {
		wide = 2 * dim
	}
	p.own.Rows = g.order(windows*m + 2)
	for c := range windows {
		p.own.Lo, p.own.Hi = append(p.own.Lo, int32(c*m)), append(p.own.Hi, int32(c*m+m))
		if c > 0 && g.IntN(4) > 0 {
			p.prev.Lo, p.prev.Hi = append(p.prev.Lo, int32(c*m-m)), append(p.prev.Hi, int32(c*m))
		} else {
			p.prev.Lo, p.prev.Hi = append(p.prev.Lo, 0), append(p.prev.Hi, 0)
		}
	}
	if windows > 0 && !overlap {
		p.own.Hi[windows-1] = int32(windows*m - m/2) // a short window
	}
	p.prev.Rows = p.own.Rows
	p.raw = g.pool(p.own, scale, windows*m+2, 2*wide)
	p.bias = g.normal(1, m, wide)
	return p
}

func (p pooling) String() string {
	return fmt.Sprintf("%d windows of %v to %d, overlap %v", p.windows.Shape[0], p.bias, p.dim, p.overlap)
}

func (p pooling) previous(raw *tensor.Tensor, lo, hi int) kernels.View {
	if !p.overlap {
		return kernels.View{}
	}
	return over(p.prev, raw, lo, hi)
}

func (p pooling) forward() call {
	return call{
		name: "Pool " + p.String(), rows: p.windows.Shape[0],
		in:  []operand{whole("bias", p.bias), whole("raw", p.raw)},
		out: []operand{rowwise("y", p.windows)},
		run: func(k kernels.Backend, a args) {
			k.Pool(a.out[0], a.in[0], p.overlap, p.previous(a.in[1], a.lo, a.hi), over(p.own, a.in[1], a.lo, a.hi))
		},
	}
}

func (p pooling) backward(g gen) call {
	return call{
		name: "PoolBackward " + p.String(), rows: p.windows.Shape[0],
		in:   []operand{rowwise("dy", g.normal(1, p.windows.Shape...)), whole("bias", p.bias), whole("raw", p.raw)},
		grad: []operand{whole("raw", g.normal(1, p.raw.Shape...)), whole("bias", g.normal(1, p.bias.Shape...))},
		run: func(k kernels.Backend, a args) {
			k.PoolBackward(a.grad[0], a.grad[1], a.in[0], a.in[1], p.overlap, p.previous(a.in[2], a.lo, a.hi), over(p.own, a.in[2], a.lo, a.hi))
		},
	}
}

func compressCalls(g gen) []call {
	var calls []call
	for _, s := range [][3]int{{1, 1, 1}, {2, 4, 7}, {3, 3, 8}, {5, 4, 9}, {8, 16, 33}, {13, 4, 80}, {0, 4, 8}} {
		for _, overlap := range []bool{false, true} {
			p := newPooling(g, s[0], s[1], s[2], overlap, 4)
			calls = append(calls, p.forward(), p.backward(g))
		}
	}
	return calls
}
