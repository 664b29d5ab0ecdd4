package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// head writes the functions of the log-softmax over the vocabulary, and of rows added up.
func (g *gen) head() {
	g.logProb()
	g.logProbGrad()
	g.combine()
}

func (g *gen) logProb() {
	g.fn("LogProb", "(sums, x *float32, n int, scale float32)",
		"LogProb sets sums to the maximum m of x*scale, Z = Sum8 of e = exp(x*scale-m), and Dot8(e, x*scale-m) where e is not 0.")
	x, n, scale := g.arg("x"), g.bytes("n"), g.spreadArg("scale")
	m := g.load(g.all(float32(math.Inf(-1))))
	g.span(n, lane, func(i gp) { g.greater(m, g.mul(scale, idx(x, i, 1, 0))) })
	other := g.YMM()
	g.VPERM2F128(operand.Imm(1), m, m, other)
	g.greater(m, other)
	for _, order := range []uint64{0x4e, 0xb1} {
		g.VPERMILPS(operand.Imm(order), m, other)
		g.greater(m, other)
	}
	z, dot, zero := g.zero(), g.zero(), g.zero()
	g.span(n, lane, func(i gp) {
		a := g.sub(g.mul(scale, idx(x, i, 1, 0)), m)
		e := g.exp(a)
		g.VADDPS(e, z, z)
		g.keep(g.compare(notEqual, e, zero), a)
		g.fma(dot, e, a)
	})
	sums := g.arg("sums")
	g.VMOVSS(m.AsX(), at(sums, 0))
	g.VMOVSS(g.fold(z), at(sums, 4))
	g.VMOVSS(g.fold(dot), at(sums, 8))
	g.end()
}

func (g *gen) logProbGrad() {
	g.fn("LogProbGrad", "(dx, x *float32, n int, scale, lse, dlp, dent, ent float32, entropy int)",
		"LogProbGrad sets dx to the gradient of the logits of one row, as if no token were the next. With entropy 0 that has none.")
	dx, x, n := g.arg("dx"), g.arg("x"), g.bytes("n")
	scale, lse, dlp, dent, ent := g.spreadArg("scale"), g.spreadArg("lse"), g.spreadArg("dlp"), g.spreadArg("dent"), g.spreadArg("ent")
	zero := g.zero()
	g.span(n, lane, func(i gp) {
		l := g.sub(g.mul(scale, idx(x, i, 1, 0)), lse)
		p := g.exp(l)
		d := g.mul(g.sub(zero, p), dlp)
		done := g.label("done")
		g.BTQ(operand.Imm(0), g.arg("entropy"))
		g.JCC(operand.LabelRef(done))
		with := g.clone(d)
		g.VFNMADD231PS(g.mul(p, g.add(l, ent)), dent, with)
		g.pickInto(d, g.compare(notEqual, p, zero), with, d)
		g.Label(done)
		g.store(g.mul(d, scale), idx(dx, i, 1, 0))
	})
	g.end()
}

func (g *gen) combine() {
	g.fn("Combine", "(y, x *float32, rows *int32, k, n, dim int)",
		"Combine adds to each of n rows of y the chain of additions from zero of k rows of x.")
	y, x, rows, n, width := g.arg("y"), g.arg("x"), g.arg("rows"), g.arg("n"), g.bytes("dim")
	r, k := g.GP64(), g.GP64()
	g.loop(n, func() {
		g.span(width, lane, func(i gp) {
			sum := g.zero()
			g.MOVQ(rows, r)
			g.MOVQ(g.arg("k"), k)
			g.loop(k, func() {
				p := g.GP64()
				g.rowTo(p, x, at(r, 0), width)
				g.VADDPS(idx(p, i, 1, 0), sum, sum)
				g.ADDQ(operand.Imm(4), r)
			})
			g.VADDPS(idx(y, i, 1, 0), sum, sum)
			g.store(sum, idx(y, i, 1, 0))
		})
		g.MOVQ(r, rows)
		g.ADDQ(width, y)
	})
	g.end()
}
