package cpu

import (
	"slices"

	"furlong/kernels/cpu/asm"
)

// A poolGrad is the gradient of the rows of a pool.
type poolGrad struct {
	grad  []float32
	views []int // whose rows it belongs to, in order

	repeat []bool // of each query of the block: it reads a row more than once
	rising bool   // every query of the block reads its rows in the pool's order
	first  int    // the rows that the block reads lie from here,
	end    int    // if rising, up to here
	reader []int32
}

// stripe is the channels that the assembly does at once.
const stripe = 16

// survey looks at the rows of the block.
func (p *poolGrad) survey(g *attentionGrad) {
	n := g.hi - g.lo
	p.repeat = slices.Grow(p.repeat[:0], n)[:n]
	p.rising, p.first, p.end = len(p.views) == 1, len(p.grad)/g.dim, 0
	for t := g.lo; t < g.hi && p.rising; t++ {
		p.repeat[t-g.lo] = false
		rows := g.views[p.views[0]].At(t)
		p.rising = rises(rows)
		if len(rows) > 0 {
			p.first, p.end = min(p.first, int(rows[0])), max(p.end, int(rows[len(rows)-1])+1)
		}
	}
	if !p.rising {
		p.first, p.end = 0, len(p.grad)/g.dim
		p.repeats(g)
	}
}

// rises reports whether each number is larger than the one before.
func rises(rows []int32) bool {
	for i := 1; i < len(rows); i++ {
		if rows[i] <= rows[i-1] {
			return false
		}
	}
	return true
}

// repeats sets repeat by noting each row's last reader.
func (p *poolGrad) repeats(g *attentionGrad) {
	n := len(p.grad) / g.dim
	p.reader = slices.Grow(p.reader[:0], n)[:n]
	for i := range p.reader {
		p.reader[i] = -1
	}
	for t := g.lo; t < g.hi; t++ {
		again := false
		for _, i := range p.views {
			for _, r := range g.views[i].At(t) {
				again = again || p.reader[r] == int32(t)
				p.reader[r] = int32(t)
			}
		}
		p.repeat[t-g.lo] = again
	}
}

// add is the second phase of a block of sum reads. Where there are more threads than stripes of channels, rows are cut too: for that each
// query must have its rows in the pool's order.
func (p *poolGrad) add(b *Backend, g *attentionGrad, sum int) {
	stripes, cuts := (g.dim+stripe-1)/stripe, 1
	if p.rising && b.pool.threads > stripes {
		cuts = max(1, min((b.pool.threads+stripes-1)/stripes, (p.end-p.first)/8))
	}
	b.each(stripes*cuts, sum*g.heads*stripe*2/cuts, func(lo, hi int, _ *scratch) {
		if cuts == 1 {
			p.stripes(g, lo*stripe, min(hi*stripe, g.dim), p.first, p.end)
			return
		}
		for ; lo < hi; lo++ {
			c, k := lo/cuts*stripe, lo%cuts
			n := p.end - p.first
			p.stripes(g, c, min(c+stripe, g.dim), p.first+n*k/cuts, p.first+n*(k+1)/cuts)
		}
	})
}

// stripes adds to channels from up to to of rows first up to end.
func (p *poolGrad) stripes(g *attentionGrad, from, to, first, end int) {
	for t := g.lo; t < g.hi; t++ {
		if p.repeat[t-g.lo] {
			p.slow(g, t, from, to)
			continue
		}
		at := int(g.start[t-g.lo])
		for i, v := range g.views {
			rows := v.At(t)
			if slices.Contains(p.views, i) {
				lo, hi := 0, len(rows)
				if p.rising {
					lo, hi = within(rows, first, end)
				}
				p.query(g, t, rows[lo:hi], at+lo, from, to)
			}
			at += len(rows)
		}
	}
}

// within returns which of rising rows lie from first up to end.
func within(rows []int32, first, end int) (lo, hi int) {
	lo, _ = slices.BinarySearch(rows, int32(first))
	hi, _ = slices.BinarySearch(rows, int32(end))
	return lo, hi
}

// query adds to different rows that query t reads, whose coefficients begin at row at.
func (p *poolGrad) query(g *attentionGrad, t int, rows []int32, at, from, to int) {
	const bytes = 4
	add, lanes := asm.RowGrads, vec
	if g.isa.takes(to - from) {
		add, lanes = asm.RowGradsWide, 2*vec
	}
	q := t*g.heads*g.dim + from
	most := max(rowTile, mostCost/(g.heads*(to-from)*2)&^(rowTile-1))
	for len(rows) > 0 {
		n := min(len(rows), most)
		add(&p.grad[from], &g.q[q], &g.do[q], &g.coefs[at*g.stride()], &rows[0], n, g.heads, bytes*g.dim, bytes*g.stride(), (to-from)/lanes)
		rows, at = rows[n:], at+n
	}
}

// rowTile is how many rows the assembly takes at once.
const rowTile = 4

// slow adds to rows that query t reads, some of them more than once: then heads are outside, and rows inside.
func (p *poolGrad) slow(g *attentionGrad, t, from, to int) {
	for h := range g.heads {
		q, at := (t*g.heads+h)*g.dim, int(g.start[t-g.lo])
		for i, v := range g.views {
			rows := v.At(t)
			for j, r := range rows {
				if !slices.Contains(p.views, i) {
					break
				}
				row := part(p.grad, int(r)*g.dim+from, to-from)
				c := g.coefs[(at+j)*g.stride()+2*h:][:2]
				asm.AxpyRows(row, &g.q[q+from], &c[0], 1, to-from)
				asm.AxpyRows(row, &g.do[q+from], &c[1], 1, to-from)
			}
			at += len(rows)
		}
	}
}
