package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// attendWide writes attention for registers of sixteen lanes.
func (g *gen) attendWide() {
	g.scoresWide()
	g.values("Values", 4)
	g.values("QueryGrad", 8)
	g.rowGrads()
}

// scoresWide has two heads in a register, each in a half that adds as a register of eight does: a row is read into both halves at once. So it takes
// rows four by four, with two chains each. Queries are brought into that form first.
func (g *gen) scoresWide() {
	g.fn("Scores", "(d, q, pairs, pool *float32, rows *int32, n, dim int, scale float32, next *int32, left int)",
		"ScoresWide is Scores, but the last row stands up to three times more among the rows that it reads. pairs is room for four rows.")
	x := scoring{
		d: g.arg("d"), q: g.arg("pairs"), pool: g.arg("pool"), rows: g.arg("rows"), width: g.bytes("dim"),
		next: g.arg("next"), left: g.arg("left"),
	}
	g.pairHeads(x)
	n, again, few, done := g.arg("n"), g.label("rows"), g.label("few"), g.label("done")
	g.Label(again)
	row := g.fourRows(x, n)
	s := g.foldFour(g.pairDots(x, row))
	scale := g.spreadArg("scale")
	s = g.mul(s, scale)
	g.CMPQ(n, operand.Imm(2))
	g.JLE(operand.LabelRef(few))
	g.store(s, at(x.d, 0))
	g.ADDQ(operand.Imm(64), x.d)
	g.ADDQ(operand.Imm(16), x.rows)
	g.SUBQ(operand.Imm(4), n)
	g.JG(operand.LabelRef(again))
	g.JMP(operand.LabelRef(done))
	g.Label(few)
	g.VMOVUPS(s.AsY(), at(x.d, 0))
	g.Label(done)
	g.end()
}

// pairHeads writes vectors of eight of the queries to pairs: for each, that of heads 0 and 1 in a register, and that of heads 2 and 3.
func (g *gen) pairHeads(x scoring) {
	q, to, left := g.arg("q"), g.clonePointer(x.q), g.clonePointer(x.width)
	w3 := g.triple(x.width)
	again := g.label("pairs")
	g.Label(again)
	h := heads(q, x.width, w3)
	for i := 0; i < group; i += 2 {
		v := g.ZMM()
		g.VMOVUPS(h[i], v.AsY())
		g.VINSERTF64X4(operand.Imm(1), h[i+1], v, v)
		g.store(v, at(to, 32*i))
	}
	g.ADDQ(operand.Imm(lane), q)
	g.ADDQ(operand.U32(128), to)
	g.SUBQ(operand.Imm(lane), left)
	g.JNZ(operand.LabelRef(again))
}

// fourRows returns pointers to the next four rows. Where fewer are left, the last one stands for those.
func (g *gen) fourRows(x scoring, n gp) (row [4]gp) {
	g.fetchRows(x, 4)
	for r := range row {
		row[r] = g.GP64()
		short := g.label("short")
		if r > 0 {
			g.MOVQ(row[r-1], row[r])
			g.CMPQ(n, operand.Imm(uint64(r)))
			g.JLE(operand.LabelRef(short))
		}
		g.rowTo(row[r], x.pool, at(x.rows, 4*r), x.width)
		g.Label(short)
	}
	return row
}

// pairDots multiplies rows with the queries: [rows][pairs of heads].
func (g *gen) pairDots(x scoring, row [4]gp) (acc [4][2]vec) {
	for r := range acc {
		acc[r] = [2]vec{g.zero(), g.zero()}
	}
	p, left := g.clonePointer(x.q), g.clonePointer(x.width)
	done := g.label("dots")
	for _, vecs := range []int{8, 1} {
		again, less := g.label("walk"), g.label("less")
		g.Label(again)
		if vecs > 1 {
			g.CMPQ(left, operand.U32(lane*vecs))
			g.JLT(operand.LabelRef(less))
		}
		for v := range vecs {
			q := []vec{g.load(at(p, 128*v)), g.load(at(p, 128*v+64))}
			for r := range row {
				in := g.ZMM()
				g.VBROADCASTF64X4(at(row[r], lane*v), in)
				for i := range q {
					g.fma(acc[r][i], q[i], in)
				}
			}
		}
		g.SUBQ(operand.U32(lane*vecs), left)
		g.JZ(operand.LabelRef(done))
		for _, r := range row {
			g.ADDQ(operand.U32(lane*vecs), r)
		}
		g.ADDQ(operand.U32(128*vecs), p)
		g.JMP(operand.LabelRef(again))
		g.Label(less)
	}
	g.Label(done)
	return acc
}

// foldFour returns Fold8 of each head with each of four rows: four heads of a row in each quarter.
func (g *gen) foldFour(acc [4][2]vec) vec {
	var s [4]vec // of each row: of each head, lanes 0-3 and 4-7 added
	for r := range s {
		low, high := g.ZMM(), g.ZMM()
		g.VSHUFF32X4(operand.Imm(0x88), acc[r][1], acc[r][0], low)
		g.VSHUFF32X4(operand.Imm(0xdd), acc[r][1], acc[r][0], high)
		s[r] = g.add(low, high)
	}
	pair := func(a, b vec) vec { // 0+2 of a, of b, 1+3 of a, of b
		low, high := g.ZMM(), g.ZMM()
		g.VUNPCKLPS(b, a, low)
		g.VUNPCKHPS(b, a, high)
		return g.add(low, high)
	}
	a, b := pair(s[0], s[1]), pair(s[2], s[3])
	low, high := g.ZMM(), g.ZMM()
	g.VUNPCKLPD(b, a, low)
	g.VUNPCKHPD(b, a, high)
	byHead := g.add(low, high) // rows of a head in each quarter
	order, byRow := g.ZMM(), g.ZMM()
	g.VMOVDQU32(g.turn4(), order)
	g.VPERMPS(byHead, order, byRow)
	return byRow
}

// turn4 returns the numbers of the lanes of a matrix of four by four turned on its side.
func (g *gen) turn4() operand.Mem {
	if m, ok := g.consts["turn4"]; ok {
		return m
	}
	m := g.StaticGlobal("turn4")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		g.AppendDatum(operand.U32(i%4*4 + i/4))
	}
	g.consts["turn4"] = m
	return m
}
