package main

import "github.com/mmcloughlin/avo/operand"

// norm writes the functions of the root-mean-square norm.
func (g *gen) norm() {
	g.rho()
	g.scaleRows()
	g.normGrad("NormGrad", true)
	g.normGrad("NormGradFirst", false)
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
	g.VCVTSI2SSQ(g.arg("dim"), dim, dim)
	g.VBROADCASTSS(dim, dim)
	root := func(s vec) {
		g.VDIVPS(dim, s, s)
		g.VADDPS(eps.AsX(), s, s)
		g.VSQRTPS(s, s)
		g.VDIVPS(s, one.AsX(), s)
	}
	w3 := g.triple(width)
	four, ones := g.label("four"), g.label("ones")
	g.Label(four)
	g.SUBQ(operand.Imm(4), rows)
	g.JLT(operand.LabelRef(ones))
	s := g.squares4(x, width, w3)
	root(s)
	g.VMOVUPS(s, at(rho, 0))
	g.ADDQ(operand.Imm(16), rho)
	g.LEAQ(idx(x, width, 4, 0), x)
	g.JMP(operand.LabelRef(four))
	g.Label(ones)
	g.ADDQ(operand.Imm(4), rows)
	g.loop(rows, func() {
		f := g.squares(x, width)
		root(f)
		g.VMOVSS(f, at(rho, 0))
		g.ADDQ(operand.Imm(4), rho)
		g.ADDQ(width, x)
	})
	g.end()
}

// squares4 returns Dot8(x, x) of four rows.
func (g *gen) squares4(x, width, width3 gp) vec {
	acc, p := []vec{g.zero(), g.zero(), g.zero(), g.zero()}, g.GP64()
	left := g.clonePointer(width)
	g.MOVQ(x, p)
	g.strips(left, 4, func(vecs int) {
		for v := range vecs {
			for r, m := range heads(p, width, width3) {
				in := g.load(g.behind(m, v))
				g.fma(acc[r], in, in)
			}
		}
		g.advance(vecs, p)
	})
	return g.fold4(acc)
}

// squares returns Dot8(x, x) of a row.
func (g *gen) squares(x, width gp) vec {
	acc := g.zero()
	g.span(width, lane, func(i gp) {
		v := g.load(idx(x, i, 1, 0))
		g.fma(acc, v, v)
	})
	return g.fold(acc)
}

func (g *gen) scaleRows() {
	g.fn("ScaleRows", "(y, x, w, rho *float32, rows, dim int)", "ScaleRows sets each row of y to (x*rho)*w.")
	y, x, w, rho, rows, width := g.arg("y"), g.arg("x"), g.arg("w"), g.arg("rho"), g.arg("rows"), g.bytes("dim")
	g.loop(rows, func() {
		r := g.spread(at(rho, 0))
		g.wideSpan(width, 4, func(i gp, vecs int) {
			for v := range vecs {
				in := g.mul(r, idx(x, i, 1, g.size*v))
				g.store(g.mul(in, idx(w, i, 1, g.size*v)), idx(y, i, 1, g.size*v))
			}
		})
		g.ADDQ(operand.Imm(4), rho)
		g.ADDQ(width, x)
		g.ADDQ(width, y)
	})
	g.end()
}

func (g *gen) normGrad(name string, more bool) {
	g.fn(name, "(dx, dy, x, w, rho *float32, rows, dim int)",
		adds(name, more)+" to each row of dx, with a = dy*w and c = Dot8(a, x)/dim*rho*rho: dx = FMA(rho, FMA(-c, x, a), dx).")
	dx, dy, x, w, rho := g.arg("dx"), g.arg("dy"), g.arg("x"), g.arg("w"), g.arg("rho")
	rows, width := g.arg("rows"), g.bytes("dim")
	dim := g.XMM()
	g.VCVTSI2SSQ(g.arg("dim"), dim, dim)
	g.loop(rows, func() {
		acc := g.zero()
		g.wideSpan(width, 4, func(i gp, vecs int) {
			for v := range vecs {
				a := g.mul(g.load(idx(dy, i, 1, lane*v)), idx(w, i, 1, lane*v))
				g.fma(acc, a, idx(x, i, 1, lane*v))
			}
		})
		s := g.fold(acc)
		r := g.spread(at(rho, 0))
		g.VDIVSS(dim, s, s)
		g.VMULSS(r.AsX(), s, s)
		g.VMULSS(r.AsX(), s, s)
		c := g.YMM()
		g.VBROADCASTSS(s, c)
		g.wideSpan(width, 4, func(i gp, vecs int) {
			for v := range vecs {
				a := g.mul(g.load(idx(dy, i, 1, lane*v)), idx(w, i, 1, lane*v))
				g.VFNMADD231PS(idx(x, i, 1, lane*v), c, a)
				d := g.old(more, idx(dx, i, 1, lane*v))
				g.fma(d, r, a)
				g.store(d, idx(dx, i, 1, lane*v))
			}
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
	g.SHLQ(operand.Imm(2), cols)
	g.strips(cols, 4, func(vecs int) {
		acc := make([]vec, vecs)
		for i := range acc {
			acc[i] = g.load(at(dw, lane*i))
		}
		off, rows := g.GP64(), g.arg("rows")
		g.XORQ(off, off)
		if norm {
			g.normColumns(acc, dy, x, off, width, rows)
			g.advance(vecs, x)
		} else {
			g.loop(rows, func() {
				for i := range acc {
					g.VADDPS(idx(dy, off, 1, lane*i), acc[i], acc[i])
				}
				g.ADDQ(width, off)
			})
		}
		for i := range acc {
			g.store(acc[i], at(dw, lane*i))
		}
		g.advance(vecs, dw, dy)
	})
	g.end()
}

// normColumns goes on with acc = FMA(dy, x*rho, acc) over rows.
func (g *gen) normColumns(acc []vec, dy, x, off, width, rows gp) {
	rho := g.arg("rho")
	g.loop(rows, func() {
		r := g.spread(at(rho, 0))
		for i := range acc {
			g.fma(acc[i], g.mul(r, idx(x, off, 1, lane*i)), idx(dy, off, 1, lane*i))
		}
		g.ADDQ(operand.Imm(4), rho)
		g.ADDQ(width, off)
	})
}

func (g *gen) axpyRows() {
	g.fn("AxpyRows", "(y, x, c *float32, rows, dim int)", "AxpyRows sets each row of y to FMA(c, x, y).")
	y, x, c, rows, width := g.arg("y"), g.arg("x"), g.arg("c"), g.arg("rows"), g.bytes("dim")
	g.loop(rows, func() {
		k := g.spread(at(c, 0))
		g.wideSpan(width, 4, func(i gp, vecs int) {
			for v := range vecs {
				to := g.load(idx(y, i, 1, g.size*v))
				g.fma(to, k, idx(x, i, 1, g.size*v))
				g.store(to, idx(y, i, 1, g.size*v))
			}
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
		g.wideSpan(width, 4, func(i gp, vecs int) {
			for v := range vecs {
				g.fma(acc, g.load(idx(a, i, 1, lane*v)), idx(b, i, 1, lane*v))
			}
		})
		g.VMOVSS(g.fold(acc), at(d, 0))
		g.ADDQ(operand.Imm(4), d)
		g.ADDQ(width, a)
		g.ADDQ(width, b)
	})
	g.end()
}
