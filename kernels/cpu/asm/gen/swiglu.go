package main

import "github.com/mmcloughlin/avo/operand"

// A gate is the clamped gate and up of a vector of elements, the sigmoid of the gate, and silu = gate*sig.
type gate struct{ gate, up, sig, silu vec }

// gated clamps and computes. low is -limit.
func (g *gen) gated(gateRaw, upRaw, limit, low vec) gate {
	var t gate
	t.gate, t.up = g.vector(), g.vector()
	g.VMINPS(gateRaw, limit, t.gate)
	g.VMINPS(upRaw, limit, t.up)
	g.VMAXPS(t.up, low, t.up)
	t.sig = g.sigmoid(t.gate)
	t.silu = g.mul(t.gate, t.sig)
	return t
}

// limits returns the bounds of the clamps.
func (g *gen) limits() (limit, low vec) {
	limit, low = g.spreadArg("limit"), g.vector()
	g.VXORPS(g.bits(signBit), limit, low)
	return limit, low
}

func (g *gen) swiglu() {
	g.fn("SwiGLU", "(y, gu, w *float32, rows, dim int, limit float32)",
		"SwiGLU sets each row of y to ((gate*sigmoid(gate))*up)*w of the clamped halves of gu.")
	y, gu, w, rows, width := g.arg("y"), g.arg("gu"), g.arg("w"), g.arg("rows"), g.bytes("dim")
	g.settleSigmoid()
	limit, low := g.limits()
	up := g.GP64()
	g.loop(rows, func() {
		scale := g.spread(at(w, 0))
		g.LEAQ(idx(gu, width, 1, 0), up)
		g.span(width, uint64(g.size), func(i gp) {
			t := g.gated(g.load(idx(gu, i, 1, 0)), g.load(idx(up, i, 1, 0)), limit, low)
			g.store(g.mul(g.mul(t.silu, t.up), scale), idx(y, i, 1, 0))
		})
		g.ADDQ(operand.Imm(4), w)
		g.ADDQ(width, y)
		g.LEAQ(idx(gu, width, 2, 0), gu)
	})
	g.end()
	g.swigluGrad("SwiGLUGrad", true)
	g.swigluGrad("SwiGLUGradFirst", false)
}

func (g *gen) swigluGrad(name string, more bool) {
	g.fn(name, "(dgu, dw, dy, gu, w *float32, rows, dim int, limit float32)", adds(name, more)+" to dgu the gradients of SwiGLU. To dw it adds.")
	dgu, dw, dy, gu, w := g.arg("dgu"), g.arg("dw"), g.arg("dy"), g.arg("gu"), g.arg("w")
	rows, width := g.arg("rows"), g.bytes("dim")
	g.settleSigmoid()
	limit, low := g.limits()
	up, dup := g.GP64(), g.GP64()
	one := g.all(1)
	g.loop(rows, func() {
		scale, dot := g.spread(at(w, 0)), g.YMM()
		g.VXORPS(dot, dot, dot)
		g.LEAQ(idx(gu, width, 1, 0), up)
		g.LEAQ(idx(dgu, width, 1, 0), dup)
		g.span(width, uint64(g.size), func(i gp) {
			gateRaw, upRaw := g.load(idx(gu, i, 1, 0)), g.load(idx(up, i, 1, 0))
			t := g.gated(gateRaw, upRaw, limit, low)
			out := g.load(idx(dy, i, 1, 0))
			g.fmaEight(dot, g.mul(t.silu, t.up), out)
			dh := g.mul(out, scale)

			slope := g.sub(g.load(one), t.sig)
			g.VFMADD213PS(one, t.gate, slope)
			slope = g.mul(slope, t.sig)
			old := g.old(more, idx(dgu, i, 1, 0))
			d := g.clone(old)
			g.fma(d, g.mul(dh, t.up), slope)
			g.store(g.pick(g.compare(notGreater, gateRaw, limit), d, old), idx(dgu, i, 1, 0))

			within := g.both(g.compare(notGreater, upRaw, limit), g.compare(notLess, upRaw, low))
			old = g.old(more, idx(dup, i, 1, 0))
			d = g.clone(old)
			g.fma(d, dh, t.silu)
			g.store(g.pick(within, d, old), idx(dup, i, 1, 0))
		})
		s := g.fold(dot)
		g.VADDSS(at(dw, 0), s, s)
		g.VMOVSS(s, at(dw, 0))
		for _, p := range []gp{w, dw} {
			g.ADDQ(operand.Imm(4), p)
		}
		g.ADDQ(width, dy)
		g.LEAQ(idx(gu, width, 2, 0), gu)
		g.LEAQ(idx(dgu, width, 2, 0), dgu)
	})
	g.end()
}
