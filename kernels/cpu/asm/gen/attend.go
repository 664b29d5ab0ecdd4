package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Attention takes four heads at a time, since all heads read the same rows. Numbers of four heads lie side by side:
// one row's in half a register, two rows' in one.
const group = 4

func (g *gen) attend() {
	g.scores()
	g.softmax()
	g.values("Values", 4)
	g.values("QueryGrad", 8)
	g.attendGrad()
	g.rowGrads()
	g.indexScores()
	g.maxIndex()
}

// rowTo points p to the row of pool whose number is at m.
func (g *gen) rowTo(p, pool gp, m operand.Mem, width gp) {
	g.MOVLQSX(m, p)
	g.IMULQ(width, p)
	g.ADDQ(pool, p)
}

// heads returns element i of each of four heads whose rows are width bytes.
func heads(p gp, width, width3 gp) []operand.Mem {
	return []operand.Mem{at(p, 0), idx(p, width, 1, 0), idx(p, width, 2, 0), idx(p, width3, 1, 0)}
}

// scores takes rows three by three, so that four heads' sums and what is read fill the registers; the last four, or two, are taken two by two, and one
// twice. It fetches the rows of the next list meanwhile: they may lie anywhere in the pool.
func (g *gen) scores() {
	g.fn("Scores", "(d, q, pool *float32, rows *int32, n, dim int, scale float32, next *int32, left int)",
		"Scores sets d[j] of row j to the dots of four heads' q with it, times scale. With n odd it writes n+1 rows.",
		"It fetches the first 256 bytes of left rows of next.")
	x := scoring{
		d: g.arg("d"), q: g.arg("q"), pool: g.arg("pool"), rows: g.arg("rows"), width: g.bytes("dim"),
		next: g.arg("next"), left: g.arg("left"),
	}
	x.w3 = g.triple(x.width)
	n, again, pair, done := g.arg("n"), g.label("rows"), g.label("pair"), g.label("done")
	g.Label(again)
	g.CMPQ(n, operand.Imm(2))
	g.JLE(operand.LabelRef(pair))
	g.CMPQ(n, operand.Imm(4))
	g.JEQ(operand.LabelRef(pair))
	g.scoreRows(x, 3, n)
	g.JMP(operand.LabelRef(again))
	g.Label(pair)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	g.scoreRows(x, 2, n)
	g.JMP(operand.LabelRef(pair))
	g.Label(done)
	g.end()
}

// A scoring is where scores lie and what they are made of.
type scoring struct {
	d, rows, next, left gp // they move on
	q, pool, width, w3  gp // they stay
}

// scoreRows makes the scores of the next count rows; of two the second may be missing.
func (g *gen) scoreRows(x scoring, count int, n gp) {
	g.fetchRows(x, count)
	row := make([]gp, count)
	for r := range row {
		row[r] = g.GP64()
		if r == 1 && count == 2 {
			g.MOVQ(row[0], row[1])
			g.CMPQ(n, operand.Imm(1))
			alone := g.label("alone")
			g.JEQ(operand.LabelRef(alone))
			g.rowTo(row[1], x.pool, at(x.rows, 4), x.width)
			g.Label(alone)
			continue
		}
		g.rowTo(row[r], x.pool, at(x.rows, 4*r), x.width)
	}
	acc := g.dots(x, row)
	scale := g.spreadArg("scale")
	g.store(g.mul(g.foldRows(acc[0], acc[1]), scale), at(x.d, 0))
	if count == 3 {
		last := g.fold4(acc[2])
		g.VMULPS(scale.AsX(), last, last)
		g.VMOVUPS(last, at(x.d, 32))
	}
	g.ADDQ(operand.Imm(uint64(16*count)), x.d)
	g.ADDQ(operand.Imm(uint64(4*count)), x.rows)
	g.SUBQ(operand.Imm(uint64(count)), n)
}

// dots multiplies rows with the queries of four heads: [rows][heads].
func (g *gen) dots(x scoring, row []gp) [][]vec {
	acc := make([][]vec, len(row))
	for r := range acc {
		for range group {
			acc[r] = append(acc[r], g.zero())
		}
	}
	p, left := g.clonePointer(x.q), g.clonePointer(x.width)
	g.walk(left, 8, append([]gp{p}, row...), func(vecs int) {
		for v := range vecs {
			in := make([]vec, len(row))
			for r := range row {
				in[r] = g.load(at(row[r], lane*v))
			}
			for h, m := range heads(p, x.width, x.w3) {
				q := g.load(m.Offset(lane * v))
				for r := range in {
					g.fma(acc[r][h], q, in[r])
				}
			}
		}
	})
	return acc
}

func (g *gen) clonePointer(p gp) gp {
	c := g.GP64()
	g.MOVQ(p, c)
	return c
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

// fetchRows asks for count of the rows of a list that still has left, and moves on in it.
func (g *gen) fetchRows(x scoring, count int) {
	none := g.label("none")
	g.SUBQ(operand.Imm(uint64(count)), x.left)
	g.JLT(operand.LabelRef(none))
	for i := range count {
		row := g.GP64()
		g.rowTo(row, x.pool, at(x.next, 4*i), x.width)
		for line := range 4 {
			g.PREFETCHT1(at(row, 64*line))
		}
	}
	g.ADDQ(operand.Imm(uint64(4*count)), x.next)
	g.Label(none)
}

// twice returns four numbers in both halves of a register, or in all quarters of a wide one.
func (g *gen) twice(m operand.Mem) vec {
	v := g.vector()
	if g.size > ymm {
		g.VBROADCASTF32X4(m, v)
	} else {
		g.VBROADCASTF128(m, v)
	}
	return v
}

func (g *gen) softmax() {
	g.fn("Softmax", "(e, m, z, s, sink *float32, n int)",
		"Softmax turns the scores e [n, 4] into exponentials and sets the maxima m of four heads, the chains z of additions of",
		"e[j], and the sink's exponentials s. With n odd the last row must stand twice.")
	e, n, p := g.arg("e"), g.arg("n"), g.GP64()
	k := g.GP64()
	sink := g.twice(at(g.arg("sink"), 0))
	m := g.clone(sink)
	g.LEAQ(at(n, 1), k)
	g.SHRQ(operand.Imm(1), k)
	g.MOVQ(e, p)
	g.loop(k, func() {
		g.greater(m, g.load(at(p, 0)))
		g.ADDQ(operand.Imm(32), p)
	})
	other := g.YMM()
	g.VPERM2F128(operand.Imm(1), m, m, other)
	g.greater(m, other)
	g.VMOVUPS(m.AsX(), at(g.arg("m"), 0))
	z := g.exponentials(e, n, m)
	g.VMOVUPS(z, at(g.arg("z"), 0))
	g.VMOVUPS(g.expBelow(g.sub(sink, m)).AsX(), at(g.arg("s"), 0))
	g.end()
}

// exponentials turns n rows of scores into exponentials, two at a time, and returns the chains of their sums.
func (g *gen) exponentials(e, n gp, m vec) reg.VecVirtual {
	again, done := g.label("pair"), g.label("done")
	z, second := g.XMM(), g.XMM()
	g.VXORPS(z, z, z)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	g.Label(again)
	x := g.expBelow(g.sub(g.load(at(e, 0)), m))
	g.store(x, at(e, 0))
	g.VADDPS(x.AsX(), z, z)
	g.CMPQ(n, operand.Imm(1))
	g.JEQ(operand.LabelRef(done))
	g.VEXTRACTF128(operand.Imm(1), x, second)
	g.VADDPS(second, z, z)
	g.ADDQ(operand.Imm(32), e)
	g.SUBQ(operand.Imm(2), n)
	g.JNZ(operand.LabelRef(again))
	g.Label(done)
	return z
}

// values writes a weighted sum of rows for four heads, as many channels at a time as fit the registers beside what is read of a row and a weight. Weights of heads are step bytes apart.
func (g *gen) values(name string, step int) {
	g.fn(name, "(o, e, pool *float32, rows *int32, n, dim, stride, from int)",
		name+" sets o of four heads to the chain of FMA(e[j], row j, .) over n rows, from zero or, if from is 1, from o.",
		fmt.Sprintf("The weights of row j begin at e[j*stride], %d bytes from head to head.", step))
	o, pool, width, stride := g.arg("o"), g.arg("pool"), g.bytes("dim"), g.bytes("stride")
	w3, left := g.triple(width), g.GP64()
	g.MOVQ(width, left)
	g.columns(left, func(vecs int) {
		out := heads(o, width, w3)
		acc := g.sums(out, vecs)
		x := weighted{acc: acc, step: step, e: g.arg("e"), rows: g.arg("rows"), pool: pool, width: width, stride: stride}
		g.loop(g.arg("n"), func() { g.weightedRow(x) })
		for h, m := range out {
			for v := range vecs {
				g.store(acc[h][v], m.Offset(g.size*v))
			}
		}
		g.advance(vecs, o, pool)
	})
	g.end()
}

// columns calls part for some vectors at a time, as many as a sum for four heads can have in registers.
func (g *gen) columns(left gp, part func(vecs int)) {
	if g.size > ymm {
		g.strips(left, 4, part)
		return
	}
	g.thirds(left, part)
}

// thirds calls part for three vectors at a time while there are so many, and for two or one at the end. Four are two and two.
func (g *gen) thirds(left gp, part func(vecs int)) {
	again, done := g.label("thirds"), g.label("done")
	narrow := map[int]string{2: g.label("two"), 1: g.label("one")}
	g.Label(again)
	g.CMPQ(left, operand.U32(g.size*4))
	g.JEQ(operand.LabelRef(narrow[2]))
	g.CMPQ(left, operand.U32(g.size*2))
	g.JEQ(operand.LabelRef(narrow[2]))
	g.JLT(operand.LabelRef(narrow[1]))
	for vecs := 3; vecs > 0; vecs-- {
		if vecs < 3 {
			g.Label(narrow[vecs])
		}
		if vecs == 1 {
			g.TESTQ(left, left)
			g.JZ(operand.LabelRef(done))
		}
		part(vecs)
		g.SUBQ(operand.U32(g.size*vecs), left)
		g.JMP(operand.LabelRef(again))
	}
	g.Label(done)
}

// A weighted is a sum of rows in the making.
type weighted struct {
	acc                 [][]vec // [heads][vectors]
	step                int     // bytes from one head's weight to the next one's
	e, rows             gp      // they move on
	pool, width, stride gp      // they stay
}

// weightedRow adds the next row.
func (g *gen) weightedRow(x weighted) {
	p := g.GP64()
	g.MOVLQSX(at(x.rows, 0), p)
	g.IMULQ(x.width, p)
	row := make([]vec, len(x.acc[0]))
	for v := range row {
		row[v] = g.load(idx(x.pool, p, 1, g.size*v))
	}
	for h := range x.acc {
		w := g.spread(at(x.e, x.step*h))
		for v := range row {
			g.fma(x.acc[h][v], w, row[v])
		}
	}
	g.ADDQ(operand.Imm(4), x.rows)
	g.ADDQ(x.stride, x.e)
}

// sums returns some vectors of each head from memory if the argument from is 1, else zeros.
func (g *gen) sums(from []operand.Mem, vecs int) [][]vec {
	acc := make([][]vec, len(from))
	for h := range acc {
		acc[h] = g.vectors(vecs)
	}
	fresh, start := g.label("fresh"), g.label("start")
	g.BTQ(operand.Imm(0), g.arg("from"))
	g.JCC(operand.LabelRef(fresh))
	for h, m := range from {
		for v := range vecs {
			g.VMOVUPS(m.Offset(g.size*v), acc[h][v])
		}
	}
	g.JMP(operand.LabelRef(start))
	g.Label(fresh)
	for _, a := range acc {
		for _, v := range a {
			g.VXORPS(v, v, v)
		}
	}
	g.Label(start)
	return acc
}
