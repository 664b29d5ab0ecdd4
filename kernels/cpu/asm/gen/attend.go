package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// Attention takes four heads at a time, since all heads read the same rows. Numbers of four heads lie side by side:
// one row's in half a register, two rows' in one.
const group = 4

func (g *gen) attend() {
	g.scores()
	g.softmax()
	g.values("Values", 4, true)
	g.values("QueryGrad", 8, false)
	g.attendGrad()
	g.rowGrads()
	g.indexScores()
	g.maxIndex()
}

// rowAt returns a pointer to the row of pool whose number is at m.
func (g *gen) rowAt(pool gp, m operand.Mem, width gp) gp {
	p := g.GP64()
	g.MOVLQSX(m, p)
	g.IMULQ(width, p)
	g.ADDQ(pool, p)
	return p
}

// heads returns element i of each of four heads whose rows are width bytes.
func heads(p gp, width, width3 gp) []operand.Mem {
	return []operand.Mem{at(p, 0), idx(p, width, 1, 0), idx(p, width, 2, 0), idx(p, width3, 1, 0)}
}

// scores fetches the rows of the next list while it works on this one, two by two: they may lie anywhere in the pool.
func (g *gen) scores() {
	g.fn("Scores", "(d, q, pool *float32, rows *int32, n, dim int, scale float32, next *int32, left int)",
		"Scores sets d[j] of row j to the dots of four heads' q with it, times scale. With n odd it writes n+1 rows.",
		"It fetches the first 256 bytes of left rows of next.")
	d, q, pool, rows, n, width := g.arg("d"), g.arg("q"), g.arg("pool"), g.arg("rows"), g.arg("n"), g.bytes("dim")
	scale := g.spreadArg("scale")
	next, left := g.arg("next"), g.arg("left")
	w3, p := g.triple(width), g.GP64()
	odd, both := g.label("odd"), g.label("both")
	pair, done := g.label("pair"), g.label("done")
	r1 := g.GP64()
	g.Label(pair)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	g.fetchRows(next, left, pool, width)
	r0 := g.rowAt(pool, at(rows, 0), width)
	g.CMPQ(n, operand.Imm(1))
	g.JEQ(operand.LabelRef(odd))
	g.MOVLQSX(at(rows, 4), r1)
	g.IMULQ(width, r1)
	g.ADDQ(pool, r1)
	g.JMP(operand.LabelRef(both))
	g.Label(odd)
	g.MOVQ(r0, r1)
	g.Label(both)
	var acc [2][]vec
	for i := range acc {
		for range group {
			acc[i] = append(acc[i], g.zero())
		}
	}
	g.MOVQ(q, p)
	rest := g.GP64()
	g.MOVQ(width, rest)
	g.strips(rest, 8, func(vecs int) {
		for v := range vecs {
			v0, v1 := g.load(at(r0, lane*v)), g.load(at(r1, lane*v))
			for h, m := range heads(p, width, w3) {
				qh := g.load(m.Offset(lane * v))
				g.fma(acc[0][h], qh, v0)
				g.fma(acc[1][h], qh, v1)
			}
		}
		g.advance(vecs, r0, r1, p)
	})
	g.store(g.mul(g.foldRows(acc[0], acc[1]), scale), at(d, 0))
	g.ADDQ(operand.Imm(32), d)
	g.ADDQ(operand.Imm(8), rows)
	g.SUBQ(operand.Imm(2), n)
	g.JMP(operand.LabelRef(pair))
	g.Label(done)
	g.end()
}

// foldRows returns Fold8 of four vectors of each of two rows: the first row's in the low half. It adds halves crosswise, so that one
// shuffle and one blend put two sums side by side.
func (g *gen) foldRows(a, b []vec) vec {
	var x [group]vec
	for h := range x {
		x[h] = g.crossHalves(a[h], b[h])
	}
	lo, hi := g.crossPairs(x[0], x[1]), g.crossPairs(x[2], x[3])
	even, odd := g.YMM(), g.YMM()
	g.VSHUFPS(operand.Imm(0x88), hi, lo, even)
	g.VSHUFPS(operand.Imm(0xdd), hi, lo, odd)
	return g.add(even, odd)
}

// crossHalves returns a's two halves added in the low half, b's in the high half.
func (g *gen) crossHalves(a, b vec) vec {
	inner, outer := g.YMM(), g.YMM()
	g.VPERM2F128(operand.Imm(0x21), b, a, inner) // a's high, b's low
	g.VBLENDPS(operand.Imm(0xf0), b, a, outer)   // a's low, b's high
	return g.add(outer, inner)
}

// crossPairs returns, in each half, a's lanes 0+2 and 1+3, then b's.
func (g *gen) crossPairs(a, b vec) vec {
	inner, outer := g.YMM(), g.YMM()
	g.VSHUFPD(operand.Imm(5), b, a, inner)     // a's upper pair, b's lower
	g.VBLENDPS(operand.Imm(0xcc), b, a, outer) // a's lower pair, b's upper
	return g.add(outer, inner)
}

// fetchRows asks for two of the rows of a list that still has left, and moves on in it.
func (g *gen) fetchRows(list, left, pool, width gp) {
	none := g.label("none")
	g.SUBQ(operand.Imm(2), left)
	g.JLT(operand.LabelRef(none))
	for i := range 2 {
		row := g.rowAt(pool, at(list, 4*i), width)
		for line := range 4 {
			g.PREFETCHT1(at(row, 64*line))
		}
	}
	g.ADDQ(operand.Imm(8), list)
	g.Label(none)
}

// twice returns four numbers in both halves of a register.
func (g *gen) twice(m operand.Mem) vec {
	v := g.YMM()
	g.VBROADCASTF128(m, v)
	return v
}

func (g *gen) softmax() {
	g.fn("Softmax", "(e, m, s, sink *float32, n int)",
		"Softmax turns the scores e [n, 4] into exponentials and sets the maxima m of four heads and the sink's exponentials",
		"s. With n odd the last row must stand twice.")
	e, n, p := g.arg("e"), g.arg("n"), g.GP64()
	k := g.GP64()
	sink := g.twice(at(g.arg("sink"), 0))
	m := g.clone(sink)
	g.INCQ(n)
	g.SHRQ(operand.Imm(1), n)
	g.MOVQ(e, p)
	g.MOVQ(n, k)
	g.loop(k, func() {
		g.greater(m, g.load(at(p, 0)))
		g.ADDQ(operand.Imm(32), p)
	})
	other := g.YMM()
	g.VPERM2F128(operand.Imm(1), m, m, other)
	g.greater(m, other)
	g.VMOVUPS(m.AsX(), at(g.arg("m"), 0))
	g.loop(n, func() {
		g.store(g.expBelow(g.sub(g.load(at(e, 0)), m)), at(e, 0))
		g.ADDQ(operand.Imm(32), e)
	})
	g.VMOVUPS(g.expBelow(g.sub(sink, m)).AsX(), at(g.arg("s"), 0))
	g.end()
}

// values writes a weighted sum of rows for four heads, 16 channels at a time. Weights of heads are step bytes apart. If sum is set the
// weights themselves are summed beside: each strip does it again, which costs nothing where products are waited for.
func (g *gen) values(name string, step int, sum bool) {
	args, doc := "(o, e, pool *float32, rows *int32, n, dim, stride, from int)", ""
	if sum {
		args, doc = "(o, z, e, pool *float32, rows *int32, n, dim, stride, from int)", "z is likewise the chain of additions of e[j]."
	}
	g.fn(name, args,
		name+" sets o of four heads to the chain of FMA(e[j], row j, .) over n rows, from zero or, if from is 1, from o.",
		fmt.Sprintf("The weights of row j begin at e[j*stride], %d bytes from head to head. %s", step, doc))
	o, pool, rows, width := g.arg("o"), g.arg("pool"), g.arg("rows"), g.bytes("dim")
	w3, left, stride := g.triple(width), g.GP64(), g.bytes("stride")
	g.MOVQ(width, left)
	z := g.XMM()
	g.strips(left, 2, func(vecs int) {
		out := heads(o, width, w3)
		acc := g.sums(out, vecs, func() {
			if sum {
				g.VMOVUPS(at(g.arg("z"), 0), z)
			}
		}, func() {
			if sum {
				g.VXORPS(z, z, z)
			}
		})
		r, e, n := g.GP64(), g.arg("e"), g.arg("n")
		g.MOVQ(rows, r)
		g.loop(n, func() {
			p := g.rowAt(pool, at(r, 0), width)
			row := make([]vec, vecs)
			for v := range row {
				row[v] = g.load(at(p, lane*v))
			}
			for h := range acc {
				w := g.spread(at(e, step*h))
				for v := range row {
					g.fma(acc[h][v], w, row[v])
				}
			}
			if sum {
				g.VADDPS(at(e, 0), z, z)
			}
			g.ADDQ(operand.Imm(4), r)
			g.ADDQ(stride, e)
		})
		for h, m := range out {
			for v := range vecs {
				g.store(acc[h][v], m.Offset(lane*v))
			}
		}
		g.advance(vecs, o, pool)
	})
	if sum {
		g.VMOVUPS(z, at(g.arg("z"), 0))
	}
	g.end()
}

// sums returns some vectors of each head from memory if the argument from is 1, else zeros. It calls load or clear beside.
func (g *gen) sums(from []operand.Mem, vecs int, load, clear func()) [][]vec {
	acc := make([][]vec, len(from))
	for h := range acc {
		acc[h] = g.ymms(vecs)
	}
	fresh, start := g.label("fresh"), g.label("start")
	g.BTQ(operand.Imm(0), g.arg("from"))
	g.JCC(operand.LabelRef(fresh))
	for h, m := range from {
		for v := range vecs {
			g.VMOVUPS(m.Offset(lane*v), acc[h][v])
		}
	}
	load()
	g.JMP(operand.LabelRef(start))
	g.Label(fresh)
	clear()
	for _, a := range acc {
		for _, v := range a {
			g.VXORPS(v, v, v)
		}
	}
	g.Label(start)
	return acc
}
