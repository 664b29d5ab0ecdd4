package main

import "github.com/mmcloughlin/avo/operand"

// streamsWide writes what goes over streams for registers of sixteen lanes.
func (g *gen) streamsWide() {
	g.collapse()
	g.expand()
	g.expandGrad("ExpandGrad", true)
	g.expandGrad("ExpandGradFirst", false)
	g.expandOut("ExpandOut", true)
	g.expandOut("ExpandOutFirst", false)
	g.expandDotsWide()
	g.scaleRows()
}

// expandDotsWide has two of the new streams in a register, each in a half that adds as a register of eight does. All twenty dots go along together.
func (g *gen) expandDotsWide() {
	g.fn("ExpandDots", "(dpost, dcomb, dy, x, o *float32, rows, dim int)", "ExpandDotsWide is ExpandDots.")
	dpost, dcomb, dy, x, o := g.arg("dpost"), g.arg("dcomb"), g.arg("dy"), g.arg("x"), g.arg("o")
	rows, width := g.arg("rows"), g.bytes("dim")
	w3, left := g.triple(width), g.GP64()
	g.loop(rows, func() {
		var acc [streams][2]vec
		for j := range acc {
			acc[j] = [2]vec{g.zero(), g.zero()}
		}
		sub := [2]vec{g.zero(), g.zero()}
		g.MOVQ(width, left)
		again := g.label("dots")
		g.Label(again)
		g.fetchStreams(x, width, w3, 1)
		g.fetchStreams(dy, width, w3, 1)
		out := g.halves(stream(dy, width, w3))
		for j, m := range append(stream(x, width, w3), at(o, 0)) {
			in, to := g.ZMM(), &sub
			if j < streams {
				to = &acc[j]
			}
			g.VBROADCASTF64X4(m, in)
			for i := range out {
				g.fma(to[i], out[i], in)
			}
		}
		for _, p := range []gp{x, dy, o} {
			g.ADDQ(operand.Imm(lane), p)
		}
		g.SUBQ(operand.Imm(lane), left)
		g.JNZ(operand.LabelRef(again))
		g.store(g.add(g.foldFour(acc), at(dcomb, 0)), at(dcomb, 0))
		s := g.foldOne(sub).AsX()
		g.VADDPS(at(dpost, 0), s, s)
		g.VMOVUPS(s, at(dpost, 0))
		g.ADDQ(w3, x) // one stream is behind already
		g.ADDQ(w3, dy)
		g.ADDQ(operand.U32(4*streams), dpost)
		g.ADDQ(operand.Imm(4*streams*streams), dcomb)
	})
	g.end()
}

// halves returns vectors of eight of four rows, two to a register.
func (g *gen) halves(rows []operand.Mem) (v [2]vec) {
	for i := range v {
		v[i] = g.ZMM()
		g.VMOVUPS(rows[2*i], v[i].AsY())
		g.VINSERTF64X4(operand.Imm(1), rows[2*i+1], v[i], v[i])
	}
	return v
}

// foldHalves returns, in each quarter, lanes 0-3 and 4-7 of a half of two registers added.
func (g *gen) foldHalves(v [2]vec) vec {
	return g.add(g.quarters(0x88, v[0], v[1]), g.quarters(0xdd, v[0], v[1]))
}

// foldFour returns Fold8 of each half of four times two registers: those of two registers in a quarter.
func (g *gen) foldFour(v [4][2]vec) vec {
	var s [4]vec
	for i := range s {
		s[i] = g.foldHalves(v[i])
	}
	a, b := g.pairs(g.ZMM, s[0], s[1]), g.pairs(g.ZMM, s[2], s[3])
	low, high := g.ZMM(), g.ZMM()
	g.VUNPCKLPD(b, a, low)
	g.VUNPCKHPD(b, a, high)
	return g.turn4(g.add(low, high))
}

// foldOne returns Fold8 of each half of two registers in the lowest quarter.
func (g *gen) foldOne(v [2]vec) vec {
	s := g.foldHalves(v)
	for _, order := range []uint64{0x4e, 0xb1} { // lanes 2, 3, 0, 1 and then 1, 0, 3, 2
		t := g.ZMM()
		g.VPERMILPS(operand.Imm(order), s, t)
		s = g.add(s, t)
	}
	return g.turn4(s)
}

// turn4 turns a matrix of four by four on its side.
func (g *gen) turn4(v vec) vec {
	order, turned := g.ZMM(), g.ZMM()
	g.VMOVDQU32(g.table("turn4", 16, func(i int) operand.Constant { return operand.U32(i%4*4 + i/4) }), order)
	g.VPERMPS(v, order, turned)
	return turned
}
