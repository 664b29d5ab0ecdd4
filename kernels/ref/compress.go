package ref

import (
	"fmt"
	"math"

	"furlong/kernels"
	"furlong/tensor"
)

// A slot is one term of a pooled window: where its value and its gate lie in the pool, and its bias in the bias.
type slot struct{ value, gate, bias int }

// A pooling is the shape of one call of Pool.
type pooling struct {
	dim     int // D
	overlap bool
	windows int
	slots   int // m, the rows of bias
	prev    kernels.View
	own     kernels.View
}

// newPooling checks the arguments of a call. out is [C, D].
func newPooling(kernel string, out, bias *tensor.Tensor, overlap bool, prev, own kernels.View) pooling {
	p := pooling{dim: width(out), overlap: overlap, windows: out.Shape[0], slots: bias.Shape[0], prev: prev, own: own}
	checkView(kernel, "own", own, p.windows, 2*p.halves()*p.dim)
	if overlap {
		checkView(kernel, "prev", prev, p.windows, 2*p.halves()*p.dim)
		if prev.Pool != own.Pool {
			panic(kernel + ": prev and own are views of two pools, want one")
		}
	}
	check(kernel, "bias", bias, p.slots, p.halves()*p.dim)
	for c := range p.windows {
		if n := len(own.At(c)); n == 0 || n > p.slots {
			panic(fmt.Sprintf("%s: window %d has %d rows, want 1 to %d", kernel, c, n, p.slots))
		}
	}
	return p
}

// halves returns how many series of D channels value and gate have each.
func (p pooling) halves() int {
	if p.overlap {
		return 2
	}
	return 1
}

// at returns the slots of window c, those of prev first.
func (p pooling) at(c int) []slot {
	if !p.overlap {
		return p.half(nil, p.own.At(c), 0)
	}
	return p.half(p.half(nil, p.prev.At(c), 0), p.own.At(c), p.dim)
}

// half appends the slots of rows' half that begins at channel off.
func (p pooling) half(to []slot, rows []int32, off int) []slot {
	wide := p.halves() * p.dim
	for s, r := range rows {
		row := int(r) * 2 * wide
		to = append(to, slot{row + off, row + wide + off, s*wide + off})
	}
	return to
}

// softmax sets a[s] to exp(gate+bias-m) for channel i and returns the inverse of their sum, a chain over slots.
func softmax[F Float](a, pool, bias []F, slots []slot, i int) (inv F) {
	m := F(math.Inf(-1))
	for s, at := range slots {
		a[s] = pool[at.gate+i] + bias[at.bias+i]
		m = Max(m, a[s])
	}
	var z F
	for s := range slots {
		a[s] = Exp(a[s] - m)
		z += a[s]
	}
	return 1 / z
}

// pooled returns the chain of FMA(a[s], value[s], .) from zero over slots, times inv.
func pooled[F Float](a, pool []F, slots []slot, i int, inv F) (y F) {
	for s, at := range slots {
		y = FMA(a[s], pool[at.value+i], y)
	}
	return y * inv
}

// Pool does, for each window and channel, with the slots of prev's half a and then own's half b (plain: own alone),
//
//	g[s] = gate + bias, m = Max over s, e[s] = exp(g[s]-m), Z = (e[0] + e[1]) + ...
//	y = (chain of FMA(e[s], value[s], .) from zero)*(1/Z)
func (*Backend[F]) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	p := newPooling("pool", y, bias, overlap, prev, own)
	out, pool, biases := data[F](y), data[F](own.Pool), widen[F](bias)
	a := make([]F, 2*p.slots)
	for c := range p.windows {
		slots := p.at(c)
		for i := range p.dim {
			inv := softmax(a, pool, biases, slots, i)
			out[c*p.dim+i] = pooled(a, pool, slots, i, inv)
		}
	}
}

// PoolBackward recomputes e, 1/Z and y and adds, with d = (e[s]*(1/Z))*dy and f = d*(value[s]-y), d to the value's gradient and f to those of
// gate and bias: windows ascend, slots inside.
func (*Backend[F]) PoolBackward(draw, dbias, dy, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	const kernel = "pool backward"
	p := newPooling(kernel, dy, bias, overlap, prev, own)
	checkWanted(kernel, "draw", draw, own.Pool.Shape[0], width(own.Pool))
	checkWanted(kernel, "dbias", dbias, p.slots, p.halves()*p.dim)
	gr, gb, gy, pool, biases := sums[F](draw), sums[F](dbias), data[F](dy), data[F](own.Pool), widen[F](bias)
	a := make([]F, 2*p.slots)
	for c := range p.windows {
		slots := p.at(c)
		for i := range p.dim {
			inv := softmax(a, pool, biases, slots, i)
			y := pooled(a, pool, slots, i, inv)
			for s, at := range slots {
				d := F(a[s]*inv) * gy[c*p.dim+i]
				f := d * F(pool[at.value+i]-y)
				if draw != nil {
					gr[at.value+i] += F(d)
					gr[at.gate+i] += F(f)
				}
				if dbias != nil {
					gb[at.bias+i] += F(f)
				}
			}
		}
	}
}
