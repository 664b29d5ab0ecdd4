package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// Attention takes four heads at a time, since all heads read the same rows. Numbers of four heads lie side by side:
// one row's in half a register, two rows' in one.
const group = 4

func (g *gen) attend() {
	g.scores()
	g.softmax()
	g.values("Values", 4)
	g.values("QueryGrad", 8)
	g.attendGrad()
	g.rowGrad()
	g.rowGrad4()
	g.indexScores()
	g.maxIndex()
}

// rowAt returns a pointer to the row of pool whose number is at m.
func (g *gen) rowAt(pool gp, m operand.Mem, width gp) gp {
	p := g.GP64()
	g.MOVLQSX(m, p)
	g.IMULQ(width, p)
	g.ADDQ(pool, p)
	return p
}

// heads returns element i of each of four heads whose rows are width bytes.
func heads(p gp, width, width3 gp) []operand.Mem {
	return []operand.Mem{at(p, 0), idx(p, width, 1, 0), idx(p, width, 2, 0), idx(p, width3, 1, 0)}
}

// scores fetches the rows of the next list while it works on this one, two by two: they may lie anywhere in the pool.
func (g *gen) scores() {
	g.fn("Scores", "(d, q, pool *float32, rows *int32, n, dim int, scale float32, next *int32, left int)",
		"Scores sets d[j] of row j to the dots of four heads' q with it, times scale. With n odd it writes n+1 rows.",
		"It fetches the first 256 bytes of left rows of next.")
	d, q, pool, rows, n, width := g.arg("d"), g.arg("q"), g.arg("pool"), g.arg("rows"), g.arg("n"), g.bytes("dim")
	scale := g.spreadArg("scale")
	next, left := g.arg("next"), g.arg("left")
	w3, p := g.GP64(), g.GP64()
	g.LEAQ(idx(width, width, 2, 0), w3)
	odd, both := g.label("odd"), g.label("both")
	pair, done := g.label("pair"), g.label("done")
	r1 := g.GP64()
	g.Label(pair)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	near := g.label("near")
	g.SUBQ(operand.Imm(2), left)
	g.JLT(operand.LabelRef(near))
	for i := range 2 {
		row := g.rowAt(pool, at(next, 4*i), width)
		for line := range 4 {
			g.PREFETCHT1(at(row, 64*line))
		}
	}
	g.ADDQ(operand.Imm(8), next)
	g.Label(near)
	r0 := g.rowAt(pool, at(rows, 0), width)
	g.CMPQ(n, operand.Imm(1))
	g.JEQ(operand.LabelRef(odd))
	g.MOVLQSX(at(rows, 4), r1)
	g.IMULQ(width, r1)
	g.ADDQ(pool, r1)
	g.JMP(operand.LabelRef(both))
	g.Label(odd)
	g.MOVQ(r0, r1)
	g.Label(both)
	var acc [2][]vec
	for i := range acc {
		for range group {
			acc[i] = append(acc[i], g.zero())
		}
	}
	g.MOVQ(q, p)
	g.span(width, 32, func(i gp) {
		v0, v1 := g.load(idx(r0, i, 1, 0)), g.load(idx(r1, i, 1, 0))
		for h, m := range heads(p, width, w3) {
			qh := g.load(m)
			g.fma(acc[0][h], qh, v0)
			g.fma(acc[1][h], qh, v1)
		}
		g.ADDQ(operand.Imm(32), p)
	})
	for i := range acc {
		s := g.fold4(acc[i])
		g.VMULPS(scale.AsX(), s, s)
		g.VMOVUPS(s, at(d, 16*i))
	}
	g.ADDQ(operand.Imm(32), d)
	g.ADDQ(operand.Imm(8), rows)
	g.SUBQ(operand.Imm(2), n)
	g.JMP(operand.LabelRef(pair))
	g.Label(done)
	g.end()
}

// twice returns four numbers in both halves of a register.
func (g *gen) twice(m operand.Mem) vec {
	v := g.YMM()
	g.VBROADCASTF128(m, v)
	return v
}

func (g *gen) softmax() {
	g.fn("Softmax", "(e, m, z, sink *float32, n int)",
		"Softmax turns the scores e [n, 4] into exponentials and sets the maxima m and sums z of four heads.",
		"With n odd the last row must stand twice.")
	e, n, p := g.arg("e"), g.arg("n"), g.GP64()
	k := g.GP64()
	sink := g.twice(at(g.arg("sink"), 0))
	m := g.clone(sink)
	g.MOVQ(e, p)
	g.LEAQ(at(n, 1), k)
	g.SHRQ(operand.Imm(1), k)
	g.loop(k, func() {
		g.greater(m, g.load(at(p, 0)))
		g.ADDQ(operand.Imm(32), p)
	})
	other := g.YMM()
	g.VPERM2F128(operand.Imm(1), m, m, other)
	g.greater(m, other)
	g.VMOVUPS(m.AsX(), at(g.arg("m"), 0))

	z, hi := g.XMM(), g.XMM()
	g.VXORPS(z, z, z)
	last := g.label("last")
	one := func() vec {
		x := g.exp(g.sub(g.load(at(e, 0)), m))
		g.store(x, at(e, 0))
		g.VADDPS(x.AsX(), z, z)
		return x
	}
	pairs := g.GP64()
	g.MOVQ(n, pairs)
	g.SHRQ(operand.Imm(1), pairs)
	g.loop(pairs, func() {
		g.VEXTRACTF128(operand.Imm(1), one(), hi)
		g.VADDPS(hi, z, z)
		g.ADDQ(operand.Imm(32), e)
	})
	g.BTQ(operand.Imm(0), n)
	g.JCC(operand.LabelRef(last))
	one()
	g.Label(last)
	s := g.exp(g.sub(sink, m))
	g.VADDPS(s.AsX(), z, z)
	g.VMOVUPS(z, at(g.arg("z"), 0))
	g.end()
}

// values writes a weighted sum of rows for four heads, 16 channels at a time. Weights of heads are step bytes apart.
func (g *gen) values(name string, step int) {
	g.fn(name, "(o, e, pool *float32, rows *int32, n, dim, stride, from int)",
		name+" sets o of four heads to the chain of FMA(e[j], row j, .) over n rows, from zero or, if from is 1, from o.",
		fmt.Sprintf("The weights of row j begin at e[j*stride], %d bytes from head to head.", step))
	o, pool, rows, width := g.arg("o"), g.arg("pool"), g.arg("rows"), g.bytes("dim")
	w3, left, stride := g.GP64(), g.GP64(), g.bytes("stride")
	g.LEAQ(idx(width, width, 2, 0), w3)
	g.MOVQ(width, left)
	wide, small, done := g.label("wide"), g.label("small"), g.label("done")
	part := func(vecs int) {
		acc := make([][]vec, group)
		for h := range acc {
			acc[h] = g.ymms(vecs)
		}
		out := heads(o, width, w3)
		fresh, start := g.label("fresh"), g.label("start")
		g.BTQ(operand.Imm(0), g.arg("from"))
		g.JCC(operand.LabelRef(fresh))
		for h, m := range out {
			for v := range vecs {
				g.VMOVUPS(m.Offset(32*v), acc[h][v])
			}
		}
		g.JMP(operand.LabelRef(start))
		g.Label(fresh)
		for _, a := range acc {
			for _, v := range a {
				g.VXORPS(v, v, v)
			}
		}
		g.Label(start)
		r, e, n := g.GP64(), g.arg("e"), g.arg("n")
		g.MOVQ(rows, r)
		g.loop(n, func() {
			p := g.rowAt(pool, at(r, 0), width)
			row := make([]vec, vecs)
			for v := range row {
				row[v] = g.load(at(p, 32*v))
			}
			for h := range acc {
				w := g.spread(at(e, step*h))
				for v := range row {
					g.fma(acc[h][v], w, row[v])
				}
			}
			g.ADDQ(operand.Imm(4), r)
			g.ADDQ(stride, e)
		})
		for h, m := range out {
			for v := range vecs {
				g.store(acc[h][v], m.Offset(32*v))
			}
		}
		g.ADDQ(operand.U32(32*vecs), o)
		g.ADDQ(operand.U32(32*vecs), pool)
		g.SUBQ(operand.U32(32*vecs), left)
	}
	g.Label(wide)
	g.CMPQ(left, operand.Imm(64))
	g.JLT(operand.LabelRef(small))
	part(2)
	g.JMP(operand.LabelRef(wide))
	g.Label(small)
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef(done))
	part(1)
	g.Label(done)
	g.end()
}

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
	drow, left, done := g.arg("drow"), g.bytes("dim"), g.label("done")
	q, do := g.arg("q"), g.arg("do")
	wide, small := g.label("wide"), g.label("small")
	part := func(vecs int) {
		acc := make([]vec, vecs)
		for i := range acc {
			acc[i] = g.load(at(drow, 32*i))
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
				w := g.spread(at(c, 0))
				for i := range acc {
					g.fma(acc[i], w, idx(q, off, 1, 32*i))
				}
				w = g.spread(at(c, 4))
				for i := range acc {
					g.fma(acc[i], w, idx(do, off, 1, 32*i))
				}
				g.ADDQ(width, off)
				g.ADDQ(operand.Imm(8), c)
			})
			g.ADDQ(operand.Imm(8), reads)
		})
		for i := range acc {
			g.store(acc[i], at(drow, 32*i))
		}
		for _, p := range []gp{drow, q, do} {
			g.ADDQ(operand.U32(32*vecs), p)
		}
		g.SUBQ(operand.U32(32*vecs), left)
	}
	g.Label(wide)
	g.CMPQ(left, operand.U32(256))
	g.JLT(operand.LabelRef(small))
	part(8)
	g.JMP(operand.LabelRef(wide))
	g.Label(small)
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef(done))
	part(1)
	g.JMP(operand.LabelRef(small))
	g.Label(done)
	g.end()
}

// rowGrad4 is rowGrad for four rows that the same queries read: what it loads of a query serves all of them.
func (g *gen) rowGrad4() {
	g.fn("RowGrad4", "(drow, q, do, c *float32, reads *int32, r0, r1, r2, r3, n, heads, width, stride int)",
		"RowGrad4 is RowGrad for four rows, one after the other, and the n reads of each from byte r0, r1, r2, r3 of reads on,",
		"whose queries are the same. width and stride are in bytes.")
	drow, q, do, left := g.arg("drow"), g.arg("q"), g.arg("do"), g.arg("width")
	wide, small, done := g.label("wide"), g.label("small"), g.label("done")
	rows := func() []operand.Mem {
		width := g.arg("width")
		return heads(drow, width, g.triple(width))
	}
	part := func(vecs int) {
		var acc [4][]vec
		for r, m := range rows() {
			for v := range vecs {
				acc[r] = append(acc[r], g.load(m.Offset(32*v)))
			}
		}
		k, n := g.GP64(), g.arg("n")
		g.XORQ(k, k)
		g.loop(n, func() {
			var c [4]gp
			list := g.GP64()
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
					var in []vec
					for v := range vecs {
						in = append(in, g.load(idx(from, off, 1, 32*v)))
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
			g.ADDQ(operand.Imm(8), k)
		})
		for r, m := range rows() {
			for v := range vecs {
				g.store(acc[r][v], m.Offset(32*v))
			}
		}
		for _, p := range []gp{drow, q, do} {
			g.ADDQ(operand.U32(32*vecs), p)
		}
		g.SUBQ(operand.U32(32*vecs), left)
	}
	g.Label(wide)
	g.CMPQ(left, operand.Imm(64))
	g.JLT(operand.LabelRef(small))
	part(2)
	g.JMP(operand.LabelRef(wide))
	g.Label(small)
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef(done))
	part(1)
	g.Label(done)
	g.end()
}

// indexScores turns the dots of four rows on their side, so that lanes are rows.
func (g *gen) indexScores() {
	g.fn("IndexScores", "(s, d, w *float32, n int)",
		"IndexScores goes on with s[j] = FMA(w[h], max(d[j, h], 0), s[j]) over four heads; n is a multiple of four.")
	s, d, w, n := g.arg("s"), g.arg("d"), g.arg("w"), g.bytes("n")
	weights := make([]vec, group)
	for h := range weights {
		weights[h] = g.spread(at(w, 4*h))
	}
	zero := g.zero()
	g.span(n, 16, func(i gp) {
		var row, t [4]vec
		for r := range row {
			row[r], t[r] = g.XMM(), g.XMM()
			g.VMOVUPS(at(d, 16*r), row[r])
			g.VMAXPS(zero.AsX(), row[r], row[r])
		}
		g.VUNPCKLPS(row[1], row[0], t[0])
		g.VUNPCKLPS(row[3], row[2], t[1])
		g.VUNPCKHPS(row[1], row[0], t[2])
		g.VUNPCKHPS(row[3], row[2], t[3])
		sum := g.XMM()
		g.VMOVUPS(idx(s, i, 1, 0), sum)
		for h := range group {
			head := g.XMM()
			if h%2 == 0 {
				g.VMOVLHPS(t[h|1], t[h], head)
			} else {
				g.VMOVHLPS(t[h-1], t[h], head)
			}
			g.VFMADD231PS(head, weights[h].AsX(), sum)
		}
		g.VMOVUPS(sum, idx(s, i, 1, 0))
		g.ADDQ(operand.Imm(64), d)
	})
	g.end()
}

func (g *gen) maxIndex() {
	g.fn("MaxIndex", "(rows *int32, n int) uint32", "MaxIndex returns the largest of n numbers, taken as unsigned; n is a multiple of eight.")
	rows, n := g.arg("rows"), g.bytes("n")
	m := g.zero()
	g.span(n, 32, func(i gp) { g.VPMAXUD(idx(rows, i, 1, 0), m, m) })
	x, y := m.AsX(), g.XMM()
	g.VEXTRACTI128(operand.Imm(1), m, y)
	g.VPMAXUD(y, x, x)
	for _, order := range []uint64{0x4e, 0xb1} {
		g.VPSHUFD(operand.Imm(order), x, y)
		g.VPMAXUD(y, x, x)
	}
	r := g.GP32()
	g.VMOVD(x, r)
	g.Store(r, g.ReturnIndex(0))
	g.end()
}
