package main

import "github.com/mmcloughlin/avo/operand"

// rope turns four pairs at a time. The angles of a row serve all its heads.
func (g *gen) rope() {
	g.fn("Rope", "(y, x, cos, sin *float32, rows, heads, dim, pairs, inverse, add int)",
		"Rope turns the last pairs of each head of x, backwards if inverse is 1, into y or, if add is 1, onto y.",
		"pairs is a multiple of four. Channels before the pairs are not touched.")
	y, x, cos, sin := g.arg("y"), g.arg("x"), g.arg("cos"), g.arg("sin")
	rows, width := g.arg("rows"), g.bytes("dim")
	p := g.bytes("pairs")
	skip := g.GP64() // bytes of a head that stay
	g.MOVQ(width, skip)
	g.SUBQ(p, skip)
	g.SUBQ(p, skip)
	g.ADDQ(skip, x)
	g.ADDQ(skip, y)

	// The sine of a pair is wanted as (-s, s), or (s, -s) to turn backwards.
	sign, flip := g.YMM(), g.YMM()
	g.VPCMPEQD(sign, sign, sign)
	g.VPSLLQ(operand.Imm(63), sign, sign)
	g.VPSRLQ(operand.Imm(32), sign, sign)
	forward := g.label("forward")
	g.BTQ(operand.Imm(0), g.arg("inverse"))
	g.JCC(operand.LabelRef(forward))
	g.VPSLLQ(operand.Imm(32), sign, sign)
	g.Label(forward)
	g.VMOVAPS(sign, flip)

	at1, at2, h := g.GP64(), g.GP64(), g.GP64()
	g.loop(rows, func() {
		g.span(p, 16, func(i gp) {
			c, s := g.YMM(), g.YMM()
			g.VPMOVZXDQ(idx(cos, i, 1, 0), c)
			g.VPMOVZXDQ(idx(sin, i, 1, 0), s)
			g.VMOVSLDUP(c, c)
			g.VMOVSLDUP(s, s)
			g.VXORPS(flip, s, s)
			g.LEAQ(idx(x, i, 2, 0), at1)
			g.LEAQ(idx(y, i, 2, 0), at2)
			g.MOVQ(g.arg("heads"), h)
			g.loop(h, func() {
				v, other := g.load(at(at1, 0)), g.YMM()
				g.VPERMILPS(operand.Imm(0xb1), v, other)
				r := g.mul(other, s)
				g.fma(r, v, c)
				g.ropeOut(r, at2)
				g.ADDQ(width, at1)
				g.ADDQ(width, at2)
			})
		})
		n := g.arg("heads")
		g.IMULQ(width, n)
		g.ADDQ(n, x)
		g.ADDQ(n, y)
		g.ADDQ(p, cos)
		g.ADDQ(p, sin)
	})
	g.end()
}

// ropeOut writes or adds a turned vector.
func (g *gen) ropeOut(r vec, to gp) {
	write := g.label("write")
	g.BTQ(operand.Imm(0), g.arg("add"))
	g.JCC(operand.LabelRef(write))
	g.VADDPS(at(to, 0), r, r)
	g.Label(write)
	g.store(r, at(to, 0))
}
