package main

import "github.com/mmcloughlin/avo/operand"

// attendWide writes attention for registers of sixteen lanes.
func (g *gen) attendWide() {
	g.scoresWide()
	g.softmaxFour()
	g.values("Values", 4)
	g.values("QueryGrad", 8)
	g.attendGradFour()
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
	for i, v := range g.halves(heads(q, x.width, w3)) {
		g.store(v, at(to, 64*i))
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
