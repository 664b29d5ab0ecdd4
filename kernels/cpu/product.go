package cpu

import (
	"furlong/dtype"
	"furlong/tensor"
)

// A product is one matrix product of a job: c [m, n] from a [m, k] and b [k, n], every element one chain over
// ascending k. Forward, input gradient and weight gradient differ only in strides and flags.
type product struct {
	c       []float32
	cs      int // elements from row to row
	a       []float32
	as, ak  int // elements from row to row, and from k to k
	b       operand
	m, n, k int
	from    bool // chains start from c, else from zero
	add     bool // the finished chain is added to c
}

// An operand is b, either in panels [n/16][k][16] or row-major. Exactly one of the first six is set.
type operand struct {
	packed []float32
	half   []uint16 // panels of bfloat16
	codes  *codes   // panels of codes, from panel at on
	rows   []float32
	short  []uint16       // rows of bfloat16
	coded  *tensor.Tensor // rows of codes, from element at on
	at     int
	ld     int // elements from row to row of rows, short and coded
	shift  int // columns of the first panel that lie before column 0
}

// A block is a part of a product: rows r0 up to r1 of panels p0 up to p1.
type block struct{ product, r0, r1, p0, p1 int }

// The pieces of a large product are cut to the caches. Cutting k reloads the accumulators and goes on, so the
// chain stays one.
const (
	deepK   = 512     // a piece of b, deepK x 16, stays near
	shortK  = 256     // the same where c is in the second cache, so that its way to the registers and back costs little
	smallC  = 1 << 16 // elements of such a c
	pieceA  = 1 << 15 // elements of a piece of a: it stays in the second cache, and is twice that where b comes from afar
	pieceB  = 1 << 16 // elements of a piece of b that is copied: it stays there, too
	deep    = 128     // k of a tile that hides what the second cache takes
	near    = 1 << 12 // elements of rows that stay in the first cache as they lie
	tallest = 6       // rows of the tallest tile
	widest  = 4       // panels of the widest
)

// panels returns the number of panels that cover p's columns.
func (p *product) panels() int { return (p.b.shift + p.n + panel - 1) / panel }

// compute runs one block.
func (p *product) compute(on isa, s *scratch, u block) {
	if p.low(on, u) && p.k*panel*(u.p1-u.p0) <= on.mostWork()/tallest {
		p.strips(on, u)
		return
	}
	if p.add && p.cut(u) < p.k {
		p.apart(on, s, u)
		return
	}
	if on.simd() && p.b.codes != nil && u.r1-u.r0 <= tallest {
		p.few(on, s, u)
		return
	}
	r := &s.run
	*r = run{product: p, block: u, isa: on}
	r.all(s, p.cut(u))
}

// cut returns the length of the pieces of k. A block of one tile has no use for a piece of b twice, unless it has
// to be turned into numbers first, and sums that are added at the end had better be whole.
func (p *product) cut(u block) int {
	low := u.r1-u.r0 <= tallest
	if low && p.b.codes == nil || p.add && p.k <= deepK {
		return p.k
	}
	most := deepK
	if low || (u.r1-u.r0)*(u.p1-u.p0)*panel <= smallC {
		most = shortK
	}
	pieces := (p.k + most - 1) / most
	cut := (p.k + pieces - 1) / pieces
	if p.b.codes != nil {
		cut = (cut + panel - 1) / panel * panel // codes are read by fours, and scales change at multiples of sixteen
	}
	return cut
}

// apart computes a block whose sums come in pieces and are added to c: in memory of its own first.
func (p *product) apart(on isa, s *scratch, u block) {
	rows, width := u.r1-u.r0, panel*(u.p1-u.p0)
	sum := s.f32(rows * width)
	s.part = *p
	q := &s.part
	q.c, q.cs, q.add = sum, width, false
	q.a, q.m = p.a[u.r0*p.as:], rows
	q.b = p.b.from(panel * u.p0)
	q.n = min(p.n-panel*u.p0, width)
	q.compute(on, s, block{r1: rows, p1: u.p1 - u.p0})
	for i := range rows {
		row := p.c[(u.r0+i)*p.cs+panel*u.p0:][:q.n]
		for j, x := range sum[i*width:][:q.n] {
			row[j] += x
		}
	}
}

// from returns b without its first n columns. It must be row-major.
func (b operand) from(n int) operand {
	switch {
	case b.coded != nil:
		b.at += n
	case b.rows != nil:
		b.rows = b.rows[n:]
	default:
		b.short = b.short[n:]
	}
	return b
}

// packEdge copies width columns of n rows from element at on to dst [n, 16], zeros after them.
func (b *operand) packEdge(dst []float32, at, width, n int) {
	clear(dst)
	for i := range n {
		row := dst[i*panel:][:width]
		if b.rows != nil {
			copy(row, b.rows[at+i*b.ld:])
			continue
		}
		for j := range row {
			row[j] = dtype.FromBF16(b.short[at+i*b.ld+j])
		}
	}
}
