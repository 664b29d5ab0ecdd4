package main

import (
	"fmt"

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

// rowGrad is a product of one row: its k runs over the queries that read the row, and heads inside.
func (g *gen) rowGrad() {
	g.fn("RowGrad", "(drow, q, do, c *float32, reads *int32, n, heads, dim, stride int)",
		"RowGrad goes on with drow = FMA(p, do, FMA(g, q, drow)) over n reads, heads inside. A read is a query and the",
		"place of its coefficients in c, in runs of stride numbers [heads, 2].")
	drow, q, do, left := g.arg("drow"), g.arg("q"), g.arg("do"), g.bytes("dim")
	g.strips(left, 8, func(vecs int) {
		acc := make([]vec, vecs)
		for i := range acc {
			acc[i] = g.load(at(drow, lane*i))
		}
		reads, n := g.arg("reads"), g.arg("n")
		g.loop(n, func() {
			off, c, h := g.GP64(), g.GP64(), g.arg("heads")
			width := g.bytes("dim")
			g.MOVLQSX(at(reads, 0), off)
			g.IMULQ(width, off)
			g.IMULQ(h, off)
			g.MOVLQSX(at(reads, 4), c)
			g.IMULQ(g.bytes("stride"), c)
			g.ADDQ(g.arg("c"), c)
			g.loop(h, func() {
				for k, from := range []gp{q, do} {
					w := g.spread(at(c, 4*k))
					for i := range acc {
						g.fma(acc[i], w, idx(from, off, 1, lane*i))
					}
				}
				g.ADDQ(width, off)
				g.ADDQ(operand.Imm(8), c)
			})
			g.ADDQ(operand.Imm(8), reads)
		})
		for i := range acc {
			g.store(acc[i], at(drow, lane*i))
		}
		g.advance(vecs, drow, q, do)
	})
	g.end()
}

// rowGrad4 is rowGrad for four rows that the same queries read: what it loads of a query serves all of them.
func (g *gen) rowGrad4() {
	g.fn("RowGrad4", "(drow, q, do, c *float32, reads *int32, r0, r1, r2, r3, n, heads, width, stride int)",
		"RowGrad4 is RowGrad for four rows, one after the other, and the n reads of each from byte r0, r1, r2, r3 of reads on,",
		"whose queries are the same. width and stride are in bytes.")
	drow, q, do, left := g.arg("drow"), g.arg("q"), g.arg("do"), g.arg("width")
	g.strips(left, 2, func(vecs int) {
		acc := make([][]vec, 4)
		for r, m := range g.fourRows(drow) {
			for v := range vecs {
				acc[r] = append(acc[r], g.load(m.Offset(lane*v)))
			}
		}
		k, n := g.GP64(), g.arg("n")
		g.XORQ(k, k)
		g.loop(n, func() {
			g.readFour(k, q, do, acc)
			g.ADDQ(operand.Imm(8), k)
		})
		for r, m := range g.fourRows(drow) {
			for v := range vecs {
				g.store(acc[r][v], m.Offset(lane*v))
			}
		}
		g.advance(vecs, drow, q, do)
	})
	g.end()
}

// fourRows is four rows of width bytes from p on.
func (g *gen) fourRows(p gp) []operand.Mem {
	width := g.arg("width")
	return heads(p, width, g.triple(width))
}

// readFour takes the read at byte k of each row's list. The query is the same in all.
func (g *gen) readFour(k, q, do gp, acc [][]vec) {
	c, list := make([]gp, len(acc)), g.GP64()
	for r := range c {
		c[r] = g.GP64()
		g.MOVQ(g.memory("reads"), list)
		g.ADDQ(g.memory(fmt.Sprint("r", r)), list)
		g.MOVLQSX(idx(list, k, 1, 4), c[r])
		g.IMULQ(g.memory("stride"), c[r])
		g.ADDQ(g.memory("c"), c[r])
	}
	off := g.GP64()
	g.MOVLQSX(idx(list, k, 1, 0), off)
	g.IMULQ(g.memory("width"), off)
	g.IMULQ(g.memory("heads"), off)
	h := g.arg("heads")
	g.loop(h, func() {
		for i, from := range []gp{q, do} {
			in := make([]vec, len(acc[0]))
			for v := range in {
				in[v] = g.load(idx(from, off, 1, lane*v))
			}
			for r := range c {
				w := g.spread(at(c[r], 4*i))
				for v := range in {
					g.fma(acc[r][v], w, in[v])
				}
			}
		}
		for r := range c {
			g.ADDQ(operand.Imm(8), c[r])
		}
		g.ADDQ(g.memory("width"), off)
	})
}
