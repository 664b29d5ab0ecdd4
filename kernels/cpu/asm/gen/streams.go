package main

import "github.com/mmcloughlin/avo/operand"

// ahead is how many bytes of streams are fetched before they are needed: a strip of tokens comes from afar when it is first read.
const ahead = 4096

// Hyper-connections have four streams here; other numbers of them run in Go.
const streams = 4

func (g *gen) streams() {
	g.collapse()
	g.collapseGrad()
	g.expand()
	g.expandGrad("ExpandGrad", true)
	g.expandGrad("ExpandGradFirst", false)
	g.expandOut("ExpandOut", true)
	g.expandOut("ExpandOutFirst", false)
	g.expandDots()
}

// stream returns where each stream of a token lies.
func stream(x gp, width, width3 gp) []operand.Mem { return heads(x, width, width3) }

// fetchStreams asks for so many bytes of what lies ahead of each stream.
func (g *gen) fetchStreams(x gp, width, width3 gp, bytes int) {
	for _, m := range stream(x, width, width3) {
		for line := 0; line < bytes; line += 64 {
			g.PREFETCHT0(m.Offset(ahead + line))
		}
	}
}

func (g *gen) triple(width gp) gp {
	w3 := g.GP64()
	g.LEAQ(idx(width, width, 2, 0), w3)
	return w3
}

func (g *gen) collapse() {
	g.fn("Collapse", "(y, x, pre *float32, rows, dim int)", "Collapse sets y to the chain of FMA(pre[j], x[j], .) over four streams.")
	y, x, pre, rows, width := g.arg("y"), g.arg("x"), g.arg("pre"), g.arg("rows"), g.bytes("dim")
	w3 := g.triple(width)
	g.loop(rows, func() {
		var w []vec
		for j := range streams {
			w = append(w, g.spread(at(pre, 4*j)))
		}
		g.span(width, uint64(g.size), func(i gp) {
			acc := g.zero()
			for j, m := range stream(x, width, w3) {
				g.fma(acc, w[j], m)
			}
			g.store(acc, idx(y, i, 1, 0))
			g.advance(1, x)
		})
		g.ADDQ(w3, x) // one stream is behind already
		g.ADDQ(width, y)
		g.ADDQ(operand.U32(4*streams), pre)
	})
	g.end()
}

func (g *gen) collapseGrad() {
	g.fn("CollapseGrad", "(dx, dpre, dy, x, pre *float32, rows, dim int)",
		"CollapseGrad adds pre[j]*dy to dx[j] and Dot8(dy, x[j]) to dpre[j] of four streams.")
	dx, dpre, dy, x, pre := g.arg("dx"), g.arg("dpre"), g.arg("dy"), g.arg("x"), g.arg("pre")
	rows, width := g.arg("rows"), g.bytes("dim")
	w3 := g.triple(width)
	g.loop(rows, func() {
		var w, acc []vec
		for j := range streams {
			w, acc = append(w, g.spread(at(pre, 4*j))), append(acc, g.zero())
		}
		g.span(width, 32, func(i gp) {
			out := g.load(idx(dy, i, 1, 0))
			to := stream(dx, width, w3)
			for j, m := range stream(x, width, w3) {
				g.fma(acc[j], out, m)
				d := g.load(to[j])
				g.fma(d, w[j], out)
				g.store(d, to[j])
			}
			g.ADDQ(operand.Imm(32), x)
			g.ADDQ(operand.Imm(32), dx)
		})
		s := g.fold4(acc)
		g.VADDPS(at(dpre, 0), s, s)
		g.VMOVUPS(s, at(dpre, 0))
		g.ADDQ(w3, x)
		g.ADDQ(w3, dx)
		g.ADDQ(width, dy)
		for _, p := range []gp{pre, dpre} {
			g.ADDQ(operand.U32(4*streams), p)
		}
	})
	g.end()
}

func (g *gen) expand() {
	g.fn("Expand", "(y, x, o, post, comb *float32, rows, dim int)",
		"Expand sets y[k] to the chain post[k]*o, FMA(comb[j, k], x[j], .) over four streams.")
	y, x, o, post, comb := g.arg("y"), g.arg("x"), g.arg("o"), g.arg("post"), g.arg("comb")
	rows, width := g.arg("rows"), g.bytes("dim")
	w3, left := g.triple(width), g.GP64()
	g.loop(rows, func() {
		g.MOVQ(width, left)
		g.strips(left, 2, func(vecs int) {
			g.fetchStreams(x, width, w3, g.size*vecs)
			g.fetchStreams(y, width, w3, g.size*vecs)
			sub, in := g.loads(at(o, 0), vecs), g.streamLoads(x, width, w3, vecs)
			for k, m := range stream(y, width, w3) {
				acc, w := make([]vec, vecs), g.spread(at(post, 4*k))
				for i := range acc {
					acc[i] = g.mul(w, sub[i])
				}
				for j := range in {
					w := g.spread(at(comb, 4*(j*streams+k)))
					for i := range acc {
						g.fma(acc[i], w, in[j][i])
					}
				}
				g.stores(acc, m)
			}
			g.advance(vecs, x, y, o)
		})
		g.ADDQ(w3, x) // one stream is behind already
		g.ADDQ(w3, y)
		g.ADDQ(operand.U32(4*streams), post)
		g.ADDQ(operand.Imm(4*streams*streams), comb)
	})
	g.end()
}

// adds begins the documentation of a gradient's function: it adds to memory, or to zeros and doesn't read what memory holds.
func adds(name string, more bool) string {
	if more {
		return name + " adds"
	}
	return name + " takes what is there for zeros and adds"
}

// old returns what memory holds, or zeros without more.
func (g *gen) old(more bool, m operand.Mem) vec {
	if more {
		return g.load(m)
	}
	return g.zero()
}

func (g *gen) expandGrad(name string, more bool) {
	g.fn(name, "(dx, dy, comb *float32, rows, dim int)", adds(name, more)+" to dx[j] the chain of FMA(comb[j, k], dy[k], .) over four streams.")
	dx, dy, comb, rows, width := g.arg("dx"), g.arg("dy"), g.arg("comb"), g.arg("rows"), g.bytes("dim")
	w3, left := g.triple(width), g.GP64()
	g.loop(rows, func() {
		g.MOVQ(width, left)
		g.strips(left, 2, func(vecs int) {
			out := g.streamLoads(dy, width, w3, vecs)
			for j, m := range stream(dx, width, w3) {
				g.mixInto(m, more, comb, 4*j*streams, out)
			}
			g.advance(vecs, dx, dy)
		})
		g.ADDQ(w3, dx)
		g.ADDQ(w3, dy)
		g.ADDQ(operand.Imm(4*streams*streams), comb)
	})
	g.end()
}

// mixInto adds to vectors in memory, or to zeros without more, the chain from zero of FMA(weights[k], rows[k], .).
func (g *gen) mixInto(to operand.Mem, more bool, weights gp, disp int, rows [][]vec) {
	acc := make([]vec, len(rows[0]))
	for i := range acc {
		acc[i] = g.zero()
	}
	for k := range rows {
		w := g.spread(at(weights, disp+4*k))
		for i := range acc {
			g.fma(acc[i], w, rows[k][i])
		}
	}
	for i := range acc {
		acc[i] = g.add(acc[i], g.old(more, g.behind(to, i))) // to zeros too: a chain that comes to -0 gives 0
	}
	g.stores(acc, to)
}

// behind is memory i vectors behind m.
func (g *gen) behind(m operand.Mem, i int) operand.Mem {
	m.Disp += g.size * i
	return m
}

// loads returns vectors that lie one behind the other.
func (g *gen) loads(m operand.Mem, vecs int) []vec {
	v := make([]vec, vecs)
	for i := range v {
		v[i] = g.load(g.behind(m, i))
	}
	return v
}

// streamLoads is loads of each stream of a token.
func (g *gen) streamLoads(x, width, width3 gp, vecs int) [][]vec {
	var v [][]vec
	for _, m := range stream(x, width, width3) {
		v = append(v, g.loads(m, vecs))
	}
	return v
}

func (g *gen) stores(v []vec, m operand.Mem) {
	for i := range v {
		g.store(v[i], g.behind(m, i))
	}
}

// expandOut is the sub-layer's part of the gradient.
func (g *gen) expandOut(name string, more bool) {
	g.fn(name, "(do, dy, post *float32, rows, dim int)", adds(name, more)+" to do the chain of FMA(post[k], dy[k], .) over four streams.")
	do, dy, post, rows, width := g.arg("do"), g.arg("dy"), g.arg("post"), g.arg("rows"), g.bytes("dim")
	w3, left := g.triple(width), g.GP64()
	g.loop(rows, func() {
		g.MOVQ(width, left)
		g.strips(left, 2, func(vecs int) {
			g.mixInto(at(do, 0), more, post, 0, g.streamLoads(dy, width, w3, vecs))
			g.advance(vecs, do, dy)
		})
		g.ADDQ(w3, dy)
		g.ADDQ(operand.U32(4*streams), post)
	})
	g.end()
}

// expandDots takes two of the new streams at a time: ten dots.
func (g *gen) expandDots() {
	g.fn("ExpandDots", "(dpost, dcomb, dy, x, o *float32, rows, dim int)",
		"ExpandDots adds Dot8(dy[k], o) to dpost[k] and Dot8(dy[k], x[j]) to dcomb[j, k] of four streams.")
	dpost, dcomb, dy, x, o := g.arg("dpost"), g.arg("dcomb"), g.arg("dy"), g.arg("x"), g.arg("o")
	rows, width := g.arg("rows"), g.bytes("dim")
	w3, p, left := g.triple(width), g.GP64(), g.GP64()
	g.loop(rows, func() {
		for pair := range streams / 2 {
			acc := make([]vec, 2*streams)
			for i := range acc {
				acc[i] = g.zero()
			}
			sub := []vec{g.zero(), g.zero()}
			g.MOVQ(x, p)
			g.MOVQ(width, left)
			g.strips(left, 2, func(vecs int) {
				if pair == 0 {
					g.fetchStreams(p, width, w3, g.size*vecs)
					g.fetchStreams(dy, width, w3, g.size*vecs)
				}
				for v := range vecs {
					g.dotsOfPair(acc, sub, stream(dy, width, w3)[2*pair:][:2], stream(p, width, w3), v, o)
				}
				g.advance(vecs, p, dy, o)
			})
			g.SUBQ(width, o)
			g.SUBQ(width, dy)
			old := g.XMM()
			for half := range 2 {
				s := g.fold4(acc[4*half:])
				lo, hi := at(dcomb, 4*(2*half*streams+2*pair)), at(dcomb, 4*((2*half+1)*streams+2*pair))
				g.VMOVSD(lo, old)
				g.VMOVHPS(hi, old, old)
				g.VADDPS(old, s, s)
				g.VMOVLPS(s, lo)
				g.VMOVHPS(s, hi)
			}
			for k, v := range sub {
				s := g.fold(v)
				g.VADDSS(at(dpost, 4*(2*pair+k)), s, s)
				g.VMOVSS(s, at(dpost, 4*(2*pair+k)))
			}
		}
		g.LEAQ(idx(dy, width, 4, 0), dy)
		g.LEAQ(idx(x, width, 4, 0), x)
		g.ADDQ(width, o)
		g.ADDQ(operand.U32(4*streams), dpost)
		g.ADDQ(operand.Imm(4*streams*streams), dcomb)
	})
	g.end()
}

// dotsOfPair goes on with the dots of two new streams with the sub-layer's output and with the old ones, at the v-th vector.
func (g *gen) dotsOfPair(acc, sub []vec, to, from []operand.Mem, v int, o gp) {
	var out []vec
	for k, m := range to {
		out = append(out, g.load(g.behind(m, v)))
		g.fma(sub[k], out[k], at(o, lane*v))
	}
	for j, m := range from {
		in := g.load(g.behind(m, v))
		for k := range out {
			g.fma(acc[2*j+k], out[k], in)
		}
	}
}
