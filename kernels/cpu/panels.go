package cpu

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// panels is a weight as products read it: for each of e matrices [n, k] the columns of its transpose by
// sixteen, [e][n/16][k][16], zeros beyond the last. In bfloat16, word j of a line holds columns j and j+8. It is a
// rearrangement of the weight's own bits, so nothing is lost.
type panels struct {
	e, n, k int
	mem     *tensor.Tensor // of the weight's type
	grown   int            // panels that [Backend.Grow] has packed
}

// Memory returns the panels, as products read them.
func (p *panels) Memory() [][]byte { return [][]byte{p.mem.Mem} }

// A layout is what Prepare makes: panels of numbers or of codes.
type layout interface {
	size() int                // elements of the weight
	operand(e, c int) operand // matrix e from column c on
}

// of returns w's prepared layout.
func of(kernel string, w *tensor.Tensor) layout {
	p, ok := w.Layout.(layout)
	if !ok || p.size() != w.Len() {
		panic(fmt.Sprintf("%s: weight %s was not prepared", kernel, dims(w.Shape)))
	}
	return p
}

// shape returns w as e matrices [n, k]: a weight of two axes is one, of three a stack.
func shape(w *tensor.Tensor) (e, n, k int) {
	if len(w.Shape) == 3 {
		return w.Shape[0], w.Shape[1], w.Shape[2]
	}
	return 1, w.Shape[0], w.Len() / max(w.Shape[0], 1)
}

// Prepare packs w into panels. A vector has no product to serve and is left alone.
func (b *Backend) Prepare(w *tensor.Tensor) {
	if len(w.Shape) < 2 {
		return
	}
	if w.Quantised() {
		b.prepareCodes(w)
		return
	}
	p := panelsOf(w)
	b.each(p.count(), p.k*panel/8, func(lo, hi int, _ *scratch) {
		for i := lo; i < hi; i++ {
			p.pack(b.isa.simd(), w, i)
		}
	})
}

// Grow packs panels whose rows are all there.
func (b *Backend) Grow(w *tensor.Tensor, n int) (fresh []byte, ok bool) {
	if len(w.Shape) < 2 || w.Quantised() {
		return nil, false
	}
	p := panelsOf(w)
	if n == 0 {
		p.grown = 0
		return nil, true
	}
	rows := n / p.k
	from, to := p.grown, rows/p.n*blocks(p.n)+rows%p.n/panel
	for ; p.grown < to; p.grown++ {
		p.pack(b.isa.simd(), w, p.grown)
	}
	size := p.mem.Type.Bytes(p.k * panel)
	return p.mem.Mem[from*size : to*size], true
}

var _ kernels.Grower = (*Backend)(nil)

// panelsOf returns w's panels, new ones if it has none of its shape.
func panelsOf(w *tensor.Tensor) *panels {
	if w.Type != dtype.F32 && w.Type != dtype.BF16 || w.Len() == 0 {
		panic(fmt.Sprintf("prepare: weight is %v, want F32 or BF16 and no empty axis, or codes with scales", w))
	}
	e, n, k := shape(w)
	p, ok := w.Layout.(*panels)
	if !ok || p.e != e || p.n != n || p.k != k || p.mem.Type != w.Type {
		p = &panels{e: e, n: n, k: k, mem: tensor.New(w.Type, e*blocks(n), k, panel)}
		w.Layout = p
	}
	return p
}

// count returns how many panels all matrices have.
func (p *panels) count() int { return p.e * blocks(p.n) }

// blocks returns how many panels n columns take.
func blocks(n int) int { return (n + panel - 1) / panel }

// pack fills panel i, counted over all matrices.
func (p *panels) pack(simd bool, w *tensor.Tensor, i int) {
	first := i % blocks(p.n) * panel
	rows, at := min(panel, p.n-first), (i/blocks(p.n)*p.n+first)*p.k
	if w.Type == dtype.F32 {
		if simd && rows == panel && p.k%8 == 0 {
			asm.PackPanel(part(p.mem.F32(), i*p.k*panel, p.k*panel), part(w.F32(), at, rows*p.k), p.k, p.k)
			return
		}
		packF32(p.mem.F32()[i*p.k*panel:][:p.k*panel], w.F32()[at:], rows, p.k)
	} else {
		done := turned(simd, rows, p.k)
		turnWords(p.mem.Mem[i*p.k*unit:][:p.k*unit], w.Mem[2*at:][:2*rows*p.k], done, 2*p.k)
		packBF16(p.mem.BF16()[i*p.k*panel:][:p.k*panel], w.BF16()[at:], rows, p.k, done)
	}
}

// packF32 sets dst [k, 16] to the transpose of src [rows, k]. It goes by blocks of sixteen k, whose lines stay in
// the first cache while all rows pass.
func packF32(dst, src []float32, rows, k int) {
	for lo := 0; lo < k; lo += panel {
		hi := min(lo+panel, k)
		for r := range panel {
			if r >= rows {
				for i := lo; i < hi; i++ {
					dst[i*panel+r] = 0
				}
				continue
			}
			for i, x := range src[r*k+lo : r*k+hi] {
				dst[(lo+i)*panel+r] = x
			}
		}
	}
}

// packBF16 is packF32 for bfloat16, columns j and j+8 side by side. The first lines are done.
func packBF16(dst, src []uint16, rows, k, done int) {
	for lo := done; lo < k; lo += panel {
		hi := min(lo+panel, k)
		for r := range panel {
			at := 2*(r%8) + r/8
			if r >= rows {
				for i := lo; i < hi; i++ {
					dst[i*panel+at] = 0
				}
				continue
			}
			for i, x := range src[r*k+lo : r*k+hi] {
				dst[(lo+i)*panel+at] = x
			}
		}
	}
}

// size returns the number of elements of the weight.
func (p *panels) size() int { return p.e * p.n * p.k }

// operand returns matrix e of p from column c on as an operand.
func (p *panels) operand(e, c int) operand {
	o := operand{shift: c % panel}
	at := (e*blocks(p.n) + c/panel) * p.k * panel
	if p.mem.Type == dtype.F32 {
		o.packed = p.mem.F32()[at:]
	} else {
		o.half = p.mem.BF16()[at:]
	}
	return o
}

// rowsOf returns t, rows of ld elements, from element at on, as an operand.
func rowsOf(t *tensor.Tensor, at, ld int) operand {
	switch {
	case t.Quantised():
		return operand{coded: t, at: at, ld: ld}
	case t.Type == dtype.F32:
		return operand{rows: t.F32()[at:], ld: ld}
	}
	return operand{short: t.BF16()[at:], ld: ld}
}
