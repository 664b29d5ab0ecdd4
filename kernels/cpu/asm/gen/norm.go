package main

import "github.com/mmcloughlin/avo/operand"

// norm writes the functions of the root-mean-square norm.
func (g *gen) norm() {
	g.rho()
	g.scaleRows()
	g.normGrad()
	g.columnChain("NormWeights", true)
	g.columnChain("ColumnSum", false)
	g.axpyRows()
	g.dotRows()
}

// rho takes four rows at a time, whose chains hide each other's latency.
func (g *gen) rho() {
	g.fn("Rho", "(rho, x *float32, rows, dim int, eps float32)", "Rho sets rho of each row to 1/sqrt(Dot8(x, x)/dim + eps).")
	rho, x, rows, width := g.arg("rho"), g.arg("x"), g.arg("rows"), g.bytes("dim")
	eps, one := g.spreadArg("eps"), g.load(g.all(1))
	dim := g.XMM()
	n := g.arg("dim")
	g.VCVTSI2SSQ(n, dim, dim)
	g.VBROADCASTSS(dim, dim)
	root := func(s vec) {
		g.VDIVPS(dim, s, s)
		g.VADDPS(eps.AsX(), s, s)
		g.VSQRTPS(s, s)
		g.VDIVPS(s, one.AsX(), s)
	}
	w3, p := g.GP64(), g.GP64()
	g.LEAQ(idx(width, width, 2, 0), w3)
	four, ones, one1, done := g.label("four"), g.label("ones"), g.label("one"), g.label("done")
	g.Label(four)
	g.SUBQ(operand.Imm(4), rows)
	g.JLT(operand.LabelRef(ones))
	acc := []vec{g.zero(), g.zero(), g.zero(), g.zero()}
	g.MOVQ(x, p)
	g.span(width, 32, func(gp) {
		for r, m := range []operand.Mem{at(p, 0), idx(p, width, 1, 0), idx(p, width, 2, 0), idx(p, w3, 1, 0)} {
			v := g.load(m)
			g.fma(acc[r], v, v)
		}
		g.ADDQ(operand.Imm(32), p)
	})
	s := g.fold4(acc)
	root(s)
	g.VMOVUPS(s, at(rho, 0))
	g.ADDQ(operand.Imm(16), rho)
	g.LEAQ(idx(x, width, 4, 0), x)
	g.JMP(operand.LabelRef(four))
	g.Label(ones)
	g.ADDQ(operand.Imm(4), rows)
	g.JZ(operand.LabelRef(done))
	g.Label(one1)
	a := g.zero()
	g.span(width, 32, func(i gp) {
		v := g.load(idx(x, i, 1, 0))
		g.fma(a, v, v)
	})
	f := g.fold(a)
	root(f)
	g.VMOVSS(f, at(rho, 0))
	g.ADDQ(operand.Imm(4), rho)
	g.ADDQ(width, x)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(one1))
	g.Label(done)
	g.end()
}

func (g *gen) scaleRows() {
	g.fn("ScaleRows", "(y, x, w, rho *float32, rows, dim int)", "ScaleRows sets each row of y to (x*rho)*w.")
	y, x, w, rho, rows, width := g.arg("y"), g.arg("x"), g.arg("w"), g.arg("rho"), g.arg("rows"), g.bytes("dim")
	g.loop(rows, func() {
		r := g.spread(at(rho, 0))
		g.span(width, 32, func(i gp) {
			v := g.mul(r, idx(x, i, 1, 0))
			g.store(g.mul(v, idx(w, i, 1, 0)), idx(y, i, 1, 0))
		})
		g.ADDQ(operand.Imm(4), rho)
		g.ADDQ(width, x)
		g.ADDQ(width, y)
	})
	g.end()
}

func (g *gen) normGrad() {
	g.fn("NormGrad", "(dx, dy, x, w, rho *float32, rows, dim int)",
		"NormGrad adds to each row of dx, with a = dy*w and c = Dot8(a, x)/dim*rho*rho: dx = FMA(rho, FMA(-c, x, a), dx).")
	dx, dy, x, w, rho := g.arg("dx"), g.arg("dy"), g.arg("x"), g.arg("w"), g.arg("rho")
	rows, width := g.arg("rows"), g.bytes("dim")
	dim := g.XMM()
	g.VCVTSI2SSQ(g.arg("dim"), dim, dim)
	g.loop(rows, func() {
		acc := g.zero()
		g.span(width, 32, func(i gp) {
			a := g.mul(g.load(idx(dy, i, 1, 0)), idx(w, i, 1, 0))
			g.fma(acc, a, idx(x, i, 1, 0))
		})
		s := g.fold(acc)
		r := g.spread(at(rho, 0))
		g.VDIVSS(dim, s, s)
		g.VMULSS(r.AsX(), s, s)
		g.VMULSS(r.AsX(), s, s)
		c := g.YMM()
		g.VBROADCASTSS(s, c)
		g.span(width, 32, func(i gp) {
			a := g.mul(g.load(idx(dy, i, 1, 0)), idx(w, i, 1, 0))
			g.VFNMADD231PS(idx(x, i, 1, 0), c, a)
			d := g.load(idx(dx, i, 1, 0))
			g.fma(d, r, a)
			g.store(d, idx(dx, i, 1, 0))
		})
		g.ADDQ(operand.Imm(4), rho)
		for _, p := range []gp{dx, dy, x} {
			g.ADDQ(width, p)
		}
	})
	g.end()
}

// columnChain writes a sum over rows for each of some columns, 32 or 8 at a time.
func (g *gen) columnChain(name string, norm bool) {
	if norm {
		g.fn(name, "(dw, dy, x, rho *float32, rows, cols, dim int)",
			name+" goes on with chains of cols columns over ascending rows: dw = FMA(dy, x*rho, dw). cols is a multiple of eight.")
	} else {
		g.fn(name, "(dw, dy *float32, rows, cols, dim int)",
			name+" adds rows of dy, dim apart, to cols columns of dw in order. cols is a multiple of eight.")
	}
	dw, dy, cols, width := g.arg("dw"), g.arg("dy"), g.arg("cols"), g.bytes("dim")
	var x gp
	if norm {
		x = g.arg("x")
	}
	wide, small, done := g.label("wide"), g.label("small"), g.label("done")
	g.SHLQ(operand.Imm(2), cols)
	part := func(vecs int) {
		acc := make([]vec, vecs)
		for i := range acc {
			acc[i] = g.load(at(dw, 32*i))
		}
		off, rows := g.GP64(), g.arg("rows")
		var rho gp
		if norm {
			rho = g.arg("rho")
		}
		g.XORQ(off, off)
		g.loop(rows, func() {
			if norm {
				r := g.spread(at(rho, 0))
				for i := range acc {
					g.fma(acc[i], g.mul(r, idx(x, off, 1, 32*i)), idx(dy, off, 1, 32*i))
				}
				g.ADDQ(operand.Imm(4), rho)
			} else {
				for i := range acc {
					g.VADDPS(idx(dy, off, 1, 32*i), acc[i], acc[i])
				}
			}
			g.ADDQ(width, off)
		})
		for i := range acc {
			g.store(acc[i], at(dw, 32*i))
		}
		g.ADDQ(operand.U32(32*vecs), dw)
		g.ADDQ(operand.U32(32*vecs), dy)
		if norm {
			g.ADDQ(operand.U32(32*vecs), x)
		}
		g.SUBQ(operand.U32(32*vecs), cols)
	}
	g.Label(wide)
	g.CMPQ(cols, operand.Imm(128))
	g.JLT(operand.LabelRef(small))
	part(4)
	g.JMP(operand.LabelRef(wide))
	g.Label(small)
	g.TESTQ(cols, cols)
	g.JZ(operand.LabelRef(done))
	part(1)
	g.JMP(operand.LabelRef(small))
	g.Label(done)
	g.end()
}

func (g *gen) axpyRows() {
	g.fn("AxpyRows", "(y, x, c *float32, rows, dim int)", "AxpyRows sets each row of y to FMA(c, x, y).")
	y, x, c, rows, width := g.arg("y"), g.arg("x"), g.arg("c"), g.arg("rows"), g.bytes("dim")
	g.loop(rows, func() {
		k := g.spread(at(c, 0))
		g.span(width, 32, func(i gp) {
			v := g.load(idx(y, i, 1, 0))
			g.fma(v, k, idx(x, i, 1, 0))
			g.store(v, idx(y, i, 1, 0))
		})
		g.ADDQ(operand.Imm(4), c)
		g.ADDQ(width, x)
		g.ADDQ(width, y)
	})
	g.end()
}

func (g *gen) dotRows() {
	g.fn("DotRows", "(d, a, b *float32, rows, dim int)", "DotRows sets d of each row to Dot8(a, b).")
	d, a, b, rows, width := g.arg("d"), g.arg("a"), g.arg("b"), g.arg("rows"), g.bytes("dim")
	g.loop(rows, func() {
		acc := g.zero()
		g.span(width, 32, func(i gp) { g.fma(acc, g.load(idx(a, i, 1, 0)), idx(b, i, 1, 0)) })
		g.VMOVSS(g.fold(acc), at(d, 0))
		g.ADDQ(operand.Imm(4), d)
		g.ADDQ(width, a)
		g.ADDQ(width, b)
	})
	g.end()
}
