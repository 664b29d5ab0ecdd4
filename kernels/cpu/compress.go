package cpu

import (
	"fmt"

	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Work of one channel of one slot: an exponential, and four passes.
const slotCost = 40

// A pooling is the shapes and inputs of one call of Pool.
type pooling struct {
	dim, halves, slots, windows int
	prev, own                   kernels.View
	pool, bias                  []float32
}

// newPooling checks the arguments. out is [C, D].
func newPooling(kernel string, out, bias *tensor.Tensor, overlap bool, prev, own kernels.View) *pooling {
	p := &pooling{dim: wide(out), halves: 1, slots: bias.Shape[0], windows: out.Shape[0], prev: prev, own: own}
	if overlap {
		p.halves = 2
		wantView(kernel, "prev", prev, p.windows, 4*p.dim)
		if prev.Pool != own.Pool {
			panic(kernel + ": prev and own are views of two pools, want one")
		}
	}
	wantView(kernel, "own", own, p.windows, 2*p.halves*p.dim)
	want(kernel, "bias", bias, p.slots, p.halves*p.dim)
	for c := range p.windows {
		if n := len(own.At(c)); n == 0 || n > p.slots {
			panic(fmt.Sprintf("%s: window %d has %d rows, want 1 to %d", kernel, c, n, p.slots))
		}
		if overlap && len(prev.At(c)) > p.slots {
			panic(fmt.Sprintf("%s: window %d has %d rows before it, want at most %d", kernel, c, len(prev.At(c)), p.slots))
		}
	}
	p.pool, p.bias = own.Pool.F32(), bias.F32()
	return p
}

// fields is the numbers that the assembly wants of a slot: where value, gate and bias lie, in bytes.
const fields = 3

// at sets to to the slots of window c from channel i on, those of prev first.
func (p *pooling) at(c, i int, to []int) []int {
	to = to[:0]
	if p.halves == 2 {
		to = p.half(to, p.prev.At(c), i)
		i += p.dim
	}
	return p.half(to, p.own.At(c), i)
}

// half appends the slots of rows, whose channels begin at i.
func (p *pooling) half(to []int, rows []int32, i int) []int {
	width := p.halves * p.dim
	n := len(p.pool) / (2 * width)
	for s, r := range rows {
		if uint(r) >= uint(n) {
			panic(fmt.Sprintf("pool: row %d of a pool of %d", r, n))
		}
		value := int(r)*2*width + i
		to = append(to, 4*value, 4*(value+width), 4*(s*width+i))
	}
	return to
}

// memory returns room for the slots of a window and their exponentials.
func (p *pooling) memory(s *scratch) (slots []int, tmp []float32) {
	n := p.halves * p.slots
	return s.numbers(fields * n), s.f32(8 * n)
}

// Pool sets y to the pooled windows; see [furlong/kernels.Compress].
func (b *Backend) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	if !b.whole(wide(y)) || !single(bias) {
		b.Backend.Pool(y, bias, overlap, prev, own)
		return
	}
	p, out := newPooling("pool", y, bias, overlap, prev, own), y.F32()
	b.each(p.windows, p.halves*p.slots*p.dim*slotCost, func(lo, hi int, s *scratch) {
		slots, tmp := p.memory(s)
		for c := lo; c < hi; c++ {
			slots = p.at(c, 0, slots)
			asm.Pool(part(out, c*p.dim, p.dim), &p.pool[0], &p.bias[0], &slots[0], len(slots)/fields, p.dim, &tmp[0])
		}
	})
}

// PoolBackward adds to draw and dbias; see [furlong/kernels.Compress]. Windows may share rows and all share the bias, so
// the work is cut by channels: each goes through all windows in order.
func (b *Backend) PoolBackward(draw, dbias, dy, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	if !b.whole(wide(dy)) || !single(bias) || draw == nil || dbias == nil {
		b.Backend.PoolBackward(draw, dbias, dy, bias, overlap, prev, own)
		return
	}
	const kernel = "pool backward"
	p, out := newPooling(kernel, dy, bias, overlap, prev, own), dy.F32()
	want(kernel, "draw", draw, own.Pool.Shape[0], 2*p.halves*p.dim)
	want(kernel, "dbias", dbias, p.slots, p.halves*p.dim)
	gr, gb := b.sums(draw), b.sums(dbias)
	b.each(p.dim/8, 8*p.windows*p.halves*p.slots*slotCost*2, func(lo, hi int, s *scratch) {
		slots, tmp := p.memory(s)
		for c := range p.windows {
			slots = p.at(c, 8*lo, slots)
			asm.PoolGrad(&gr[0], &gb[0], part(out, c*p.dim+8*lo, 8*(hi-lo)), &p.pool[0], &p.bias[0], &slots[0], len(slots)/fields, 8*(hi-lo), &tmp[0])
		}
	})
}
