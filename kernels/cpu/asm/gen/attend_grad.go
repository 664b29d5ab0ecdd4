package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
)

func (g *gen) attendGrad() {
	g.fn("AttendGrad", "(c, l, dp, lse, delta *float32, scale float32, n, stride int)",
		"AttendGrad sets c [n, 4, 2], rows stride apart, to g = (p*(dp-delta))*scale and p = exp(l-lse) of four heads.",
		"l and dp [n, 4] have the last row twice if n is odd.")
	c, l, dp, n, stride := g.arg("c"), g.arg("l"), g.arg("dp"), g.arg("n"), g.bytes("stride")
	lse, delta := g.twice(at(g.arg("lse"), 0)), g.twice(at(g.arg("delta"), 0))
	scale := g.spreadArg("scale")
	pair, done := g.label("pair"), g.label("done")
	g.Label(pair)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	p := g.exp(g.sub(g.load(at(l, 0)), lse))
	d := g.mul(g.mul(g.sub(g.load(at(dp, 0)), delta), p), scale)
	lo, hi, row := g.YMM(), g.YMM(), g.YMM()
	g.VUNPCKLPS(p, d, lo)
	g.VUNPCKHPS(p, d, hi)
	g.VPERM2F128(operand.Imm(0x20), hi, lo, row)
	g.store(row, at(c, 0))
	g.CMPQ(n, operand.Imm(1))
	g.JEQ(operand.LabelRef(done))
	g.VPERM2F128(operand.Imm(0x31), hi, lo, row)
	g.store(row, idx(c, stride, 1, 0))
	g.LEAQ(idx(c, stride, 2, 0), c)
	g.ADDQ(operand.Imm(32), l)
	g.ADDQ(operand.Imm(32), dp)
	g.SUBQ(operand.Imm(2), n)
	g.JMP(operand.LabelRef(pair))
	g.Label(done)
	g.end()
}

// rowGrads keeps 16 channels of four rows, or 64 where registers are wide and twice as many, in registers while it goes through the heads, so that what it loads of a head serves four
// rows. A last tile of fewer rows has its last row more than once: all of them come to the same bits.
func (g *gen) rowGrads() {
	g.fn("RowGrads", "(drow, q, do, c *float32, rows *int32, n, heads, width, stride, vecs int)",
		"RowGrads goes on with the gradients of n different rows of drow: FMA(p, do, FMA(g, q, .)), heads ascending. The",
		"coefficients [heads, 2] of row j begin at byte j*stride of c. A row is width bytes, of which vecs vectors are done.")
	rows, n, q, do, left := g.arg("rows"), g.arg("n"), g.GP64(), g.GP64(), g.GP64()
	c := [rowTile]gp{g.arg("c"), g.GP64(), g.GP64(), g.GP64()}
	again := g.label("tile")
	g.Label(again)
	row := g.tileRows(rows, n, &c)
	g.MOVQ(g.memory("q"), q)
	g.MOVQ(g.memory("do"), do)
	g.MOVQ(g.memory("vecs"), left)
	g.SHLQ(operand.Imm(uint64(bits.TrailingZeros(uint(g.size)))), left)
	g.strips(left, g.size/16, func(vecs int) {
		acc := make([][]vec, rowTile)
		for r := range acc {
			for v := range vecs {
				acc[r] = append(acc[r], g.load(at(row[r], g.size*v)))
			}
		}
		g.tileHeads(acc, &c, q, do)
		for r := range acc {
			for v := range vecs {
				g.store(acc[r][v], at(row[r], g.size*v))
			}
		}
		g.advance(vecs, row[:]...)
		g.advance(vecs, q, do)
	})
	g.MOVQ(c[rowTile-1], c[0])
	g.ADDQ(g.memory("stride"), c[0])
	g.ADDQ(operand.Imm(4*rowTile), rows)
	g.SUBQ(operand.Imm(rowTile), n)
	g.JG(operand.LabelRef(again))
	g.end()
}

// rowTile is how many rows share what is loaded of a head.
const rowTile = 4

// tileRows returns pointers to the next rows of a list, and sets those to their coefficients from the first one's.
func (g *gen) tileRows(rows, n gp, c *[rowTile]gp) (row [rowTile]gp) {
	for r := range row {
		row[r] = g.GP64()
		short := g.label("short")
		if r > 0 {
			g.MOVQ(row[r-1], row[r])
			g.MOVQ(c[r-1], c[r])
			g.CMPQ(n, operand.Imm(uint64(r)))
			g.JLE(operand.LabelRef(short))
			g.ADDQ(g.memory("stride"), c[r])
		}
		g.MOVLQSX(at(rows, 4*r), row[r])
		g.IMULQ(g.memory("width"), row[r])
		g.ADDQ(g.memory("drow"), row[r])
		g.Label(short)
	}
	return row
}

// tileHeads adds all heads to the rows of a tile. Four heads, the usual number, are added without moving any pointer on.
func (g *gen) tileHeads(acc [][]vec, c *[rowTile]gp, q, do gp) {
	four, done := g.label("four"), g.label("done")
	left := g.arg("heads")
	g.CMPQ(left, operand.Imm(group))
	g.JEQ(operand.LabelRef(four))
	g.anyHeads(acc, c, q, do, left)
	g.JMP(operand.LabelRef(done))
	g.Label(four)
	width := left
	g.MOVQ(g.memory("width"), width)
	w3 := g.triple(width)
	for h, m := range heads(q, width, w3) {
		g.tileHead(acc, c, 8*h, m)
		m.Base = do
		g.tileHead(acc, c, 8*h+4, m)
	}
	g.Label(done)
}

// anyHeads moves pointers on head by head, and then back.
func (g *gen) anyHeads(acc [][]vec, c *[rowTile]gp, q, do, left gp) {
	g.loop(left, func() {
		for i, p := range []gp{q, do} {
			g.tileHead(acc, c, 4*i, at(p, 0))
			g.ADDQ(g.memory("width"), p)
		}
		for _, p := range c {
			g.ADDQ(operand.Imm(8), p)
		}
	})
	g.MOVQ(g.memory("heads"), left)
	g.NEGQ(left)
	for _, p := range c {
		g.LEAQ(idx(p, left, 8, 0), p)
	}
	g.IMULQ(g.memory("width"), left)
	g.ADDQ(left, q)
	g.ADDQ(left, do)
}

// tileHead adds what is at m times the coefficients at byte disp of each row's.
func (g *gen) tileHead(acc [][]vec, c *[rowTile]gp, disp int, m operand.Mem) {
	in := make([]vec, len(acc[0]))
	for v := range in {
		in[v] = g.load(m.Offset(g.size * v))
	}
	for r := range acc {
		w := g.spread(at(c[r], disp))
		for v := range in {
			g.fma(acc[r][v], w, in[v])
		}
	}
}
