package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// An E4M3 code, its sign spread upwards and shifted to where a float32 has it, is a number 2^120 times too small: the
// exponents' biases differ by that, and for subnormal codes too. The scale makes up for it, so that code times scale is rounded once. Codes of NaN
// come out as 480 and are not for these functions.
const (
	intoPlace = 20         // bits from an E4M3 magnitude to its place
	inPlace   = 0x87f00000 // the sign and the magnitude there
	tooSmall  = 0x1p120
)

// codes writes what turns quantised weights into float32: sixteen columns a line.
func (g *gen) codes() {
	g.unpackE4M3()
	g.unpackE2M1()
	g.rowsE4M3()
	g.rowsE2M1()
	g.dotE4M3()
	g.dotE2M1()
}

// bytes16 returns a memory constant with t in each half.
func (g *gen) bytes16(name string, t [16]byte) operand.Mem {
	if m, ok := g.consts[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 32 {
		g.AppendDatum(operand.U8(t[i%16]))
	}
	g.consts[name] = m
	return m
}

// tablesE2M1 returns the low and the high bytes of the bfloat16 numbers of E2M1 codes.
func (g *gen) tablesE2M1() (low, high vec) {
	var l, h [16]byte
	for c, x := range []float32{0, .5, 1, 1.5, 2, 3, 4, 6} {
		b := math.Float32bits(x) >> 16
		l[c], l[c+8] = byte(b), byte(b)
		h[c], h[c+8] = byte(b>>8), byte(b>>8)|0x80
	}
	return g.load(g.bytes16("lowE2M1", l)), g.load(g.bytes16("highE2M1", h))
}

// numbers returns eight E4M3 codes of memory times factor.
func (g *gen) numbers(m operand.Mem, factor operand.Op) vec {
	v := g.YMM()
	g.VPMOVSXBD(m, v)
	g.VPSLLD(operand.Imm(intoPlace), v, v)
	g.VPAND(g.bits(inPlace), v, v)
	g.VMULPS(factor, v, v)
	return v
}

// factors returns the line of sixteen scales at m times 2^120.
func (g *gen) factors(m operand.Mem) [2]vec {
	up := g.load(g.all(tooSmall))
	return [2]vec{g.mul(up, m), g.mul(up, m.Offset(lane))}
}

// powers returns sixteen scale bytes as powers of two; byte 0 is not for it.
func (g *gen) powers(m operand.Mem) [2]vec {
	var p [2]vec
	for i := range p {
		p[i] = g.YMM()
		g.VPMOVZXBD(m.Offset(8*i), p[i])
		g.VPSLLD(operand.Imm(exponentOne), p[i], p[i])
	}
	return p
}

// blocks runs body for the lines that share scales: the first, and then each further block of them, until n lines are
// done. body is told how many in a register that it may use up. It starts with n above zero.
func (g *gen) blocks(body func(lines gp)) {
	again, n, first, block := g.label("block"), g.arg("n"), g.arg("first"), g.arg("block")
	lines := g.GP64()
	g.Label(again)
	g.CMPQ(first, n)
	g.CMOVQGT(n, first)
	g.MOVQ(first, lines)
	body(lines)
	g.SUBQ(first, n)
	g.MOVQ(block, first)
	g.TESTQ(n, n)
	g.JNZ(operand.LabelRef(again))
}

func (g *gen) unpackE4M3() {
	g.fn("UnpackE4M3", "(dst *float32, codes *byte, scales *float32, n, first, block int)",
		"UnpackE4M3 sets dst [n, 16] to lines of a panel of codes. The first lines share the first line of scales, each block after them a further one.")
	dst, codes, scales := g.arg("dst"), g.arg("codes"), g.arg("scales")
	g.blocks(func(lines gp) {
		f := g.factors(at(scales, 0))
		g.loop(lines, func() {
			g.store(g.numbers(at(codes, 0), f[0]), at(dst, 0))
			g.store(g.numbers(at(codes, 8), f[1]), at(dst, lane))
			g.PREFETCHT0(at(codes, 1024))
			g.ADDQ(operand.Imm(16), codes)
			g.ADDQ(operand.Imm(2*lane), dst)
		})
		g.ADDQ(operand.Imm(2*lane), scales)
	})
	g.end()
}

func (g *gen) rowsE4M3() {
	g.fn("RowsE4M3", "(dst *float32, codes *byte, n, ld int, scale float32)",
		"RowsE4M3 sets dst [n, 16] to 16 codes of n rows, ld bytes apart, times scale.")
	dst, codes, n, ld := g.arg("dst"), g.arg("codes"), g.arg("n"), g.arg("ld")
	f := g.mul(g.spreadArg("scale"), g.all(tooSmall))
	g.loop(n, func() {
		g.store(g.numbers(at(codes, 0), f), at(dst, 0))
		g.store(g.numbers(at(codes, 8), f), at(dst, lane))
		g.PREFETCHT0(idx(codes, ld, 8, 0))
		g.ADDQ(ld, codes)
		g.ADDQ(operand.Imm(2*lane), dst)
	})
	g.end()
}

// A quad is four lines of E2M1 codes in 32 bytes: low halves of bytes are lines 0 and 1, high halves 2 and 3. The lines' order in the bytes is what
// unpacking makes of them: see numbers.
type quad struct {
	*gen
	low, high vec // tables
	codes     vec
}

func (g *gen) quad() *quad {
	q := &quad{gen: g}
	q.low, q.high = g.tablesE2M1()
	return q
}

// numbers calls line for two lines of the quad in codes: 0 and 1 of its first half, 2 and 3 of the other. A line comes as
// columns 0 to 7 and 8 to 15.
func (q *quad) numbers(codes vec, half int, line func(i int, v [2]vec)) {
	x := q.YMM()
	if half == 1 {
		q.VPSRLW(operand.Imm(4), codes, x)
		q.VPAND(q.bits(0x0f0f0f0f), x, x)
	} else {
		q.VPAND(q.bits(0x0f0f0f0f), codes, x)
	}
	low, high := q.YMM(), q.YMM()
	q.VPSHUFB(x, q.low, low)
	q.VPSHUFB(x, q.high, high)
	for i := range 2 {
		even, odd := q.YMM(), q.YMM()
		if i == 0 {
			q.VPUNPCKLBW(high, low, odd)
		} else {
			q.VPUNPCKHBW(high, low, odd)
		}
		q.VPSLLD(operand.Imm(16), odd, even)
		q.VPAND(q.bits(0xffff0000), odd, odd)
		line(2*half+i, [2]vec{even, odd})
	}
}

// quads runs body for whole quads of lines, and for two lines that are left. lines is even and used up.
func (g *gen) quads(lines gp, body func(halves int)) {
	pair := g.GP64()
	done := g.label("pairs")
	g.MOVQ(lines, pair)
	g.SHRQ(operand.Imm(2), lines)
	g.loop(lines, func() { body(2) })
	g.TESTQ(operand.U32(2), pair)
	g.JZ(operand.LabelRef(done))
	body(1)
	g.Label(done)
}

func (g *gen) unpackE2M1() {
	g.fn("UnpackE2M1", "(dst *float32, codes, scales *byte, n, first, block int)",
		"UnpackE2M1 sets dst [n, 16] to lines of a panel of codes, as UnpackE4M3 does. n is even, first and block are multiples of four.")
	dst, codes, scales := g.arg("dst"), g.arg("codes"), g.arg("scales")
	q := g.quad()
	g.blocks(func(lines gp) {
		f := g.powers(at(scales, 0))
		g.quads(lines, func(halves int) {
			v := g.load(at(codes, 0))
			for h := range halves {
				q.numbers(v, h, func(i int, x [2]vec) {
					for j := range x {
						g.store(g.mul(x[j], f[j]), at(dst, 2*lane*i+lane*j))
					}
				})
			}
			g.PREFETCHT0(at(codes, 1024))
			g.ADDQ(operand.Imm(32), codes)
			g.ADDQ(operand.U32(4*lane*uint64(halves)), dst)
		})
		g.ADDQ(operand.Imm(16), scales)
	})
	g.end()
}

func (g *gen) rowsE2M1() {
	g.fn("RowsE2M1", "(dst *float32, codes, scales *byte, n, ld, lds int)",
		"RowsE2M1 sets dst [n, 16] to 16 codes, two a byte, of n rows, ld bytes apart, times the row's scale. Scales are lds bytes apart.")
	dst, codes, scales := g.arg("dst"), g.arg("codes"), g.arg("scales")
	n, ld, lds := g.arg("n"), g.arg("ld"), g.arg("lds")
	low, high := g.tablesE2M1()
	g.loop(n, func() {
		s, s4 := g.GP32(), g.XMM()
		g.MOVBLZX(at(scales, 0), s)
		g.SHLL(operand.Imm(exponentOne), s)
		g.VMOVD(s, s4)
		f := g.YMM()
		g.VPBROADCASTD(s4, f)
		for j, v := range g.row16(codes, low, high) {
			g.store(g.mul(v, f), at(dst, lane*j))
		}
		g.PREFETCHT0(idx(codes, ld, 8, 0))
		g.ADDQ(ld, codes)
		g.ADDQ(lds, scales)
		g.ADDQ(operand.Imm(2*lane), dst)
	})
	g.end()
}

// row16 returns the numbers of sixteen codes in order, even columns in the low halves of bytes.
func (g *gen) row16(codes gp, low, high vec) (row [2]vec) {
	x, y, l, h := g.XMM(), g.XMM(), g.XMM(), g.XMM()
	g.VMOVQ(at(codes, 0), x)
	g.VPSRLW(operand.Imm(4), x, y)
	g.VPUNPCKLBW(y, x, x)
	g.VPAND(g.bits(0x0f0f0f0f), x, x)
	g.VPSHUFB(x, low.AsX(), l)
	g.VPSHUFB(x, high.AsX(), h)
	for j := range row {
		w := g.XMM()
		if j == 0 {
			g.VPUNPCKLBW(h, l, w)
		} else {
			g.VPUNPCKHBW(h, l, w)
		}
		row[j] = g.YMM()
		g.VPMOVZXWD(w, row[j])
		g.VPSLLD(operand.Imm(16), row[j], row[j])
	}
	return row
}

// A dot is the state of a function that multiplies one row with two panels of codes.
type dot struct {
	*gen
	a, b, bp gp // bp is the bytes from a panel to the next
	acc      [2][2]vec
	f        [2][2]vec
}

// dot writes the frame of such a function around body, which does the lines that share scales. A line of scales has lineBytes.
func (g *gen) dot(lineBytes int, scales func(operand.Mem) [2]vec, body func(d *dot, lines gp)) {
	d := &dot{gen: g, a: g.arg("a"), b: g.arg("codes"), bp: g.arg("bp")}
	s, sp := g.arg("scales"), g.arg("sp")
	for p := range d.acc {
		d.acc[p] = [2]vec{g.zero(), g.zero()}
	}
	g.blocks(func(lines gp) {
		d.f = [2][2]vec{scales(at(s, 0)), scales(idx(s, sp, 1, 0))}
		body(d, lines)
		g.ADDQ(operand.Imm(uint64(lineBytes)), s)
	})
	c := g.arg("c")
	for p, acc := range d.acc {
		g.store(acc[0], at(c, 2*lane*p))
		g.store(acc[1], at(c, 2*lane*p+lane))
	}
	g.end()
}

// panel is the bytes of panel p from disp on.
func (d *dot) panel(p, disp int) operand.Mem {
	if p == 0 {
		return at(d.b, disp)
	}
	return idx(d.b, d.bp, 1, disp)
}

func (g *gen) dotE4M3() {
	g.fn("DotE4M3", "(c, a *float32, codes *byte, scales *float32, n, first, block, bp, sp int)",
		"DotE4M3 sets c [2, 16] to the row a [n] times two panels of codes, bp bytes apart, their scales sp bytes apart and shared as UnpackE4M3 has it.")
	g.dot(2*lane, g.factors, func(d *dot, lines gp) {
		g.fours(lines, func(n int) {
			for i := range n {
				x := g.spread(at(d.a, 4*i))
				for p := range 2 {
					g.fma(d.acc[p][0], x, g.numbers(d.panel(p, 16*i), d.f[p][0]))
					g.fma(d.acc[p][1], x, g.numbers(d.panel(p, 16*i+8), d.f[p][1]))
				}
			}
			d.next(n, 16*n)
		})
	})
}

// fours runs body for four at a time, and for each that is left. n is used up.
func (g *gen) fours(n gp, body func(n int)) {
	left := g.GP64()
	g.MOVQ(n, left)
	g.ANDQ(operand.Imm(3), left)
	g.SHRQ(operand.Imm(2), n)
	g.loop(n, func() { body(4) })
	g.loop(left, func() { body(1) })
}

// next moves on by lines of the row, and bytes of codes. What lies far ahead is asked for.
func (d *dot) next(lines, bytes int) {
	d.PREFETCHT0(d.panel(0, 1024))
	d.PREFETCHT0(d.panel(1, 1024))
	d.ADDQ(operand.Imm(uint64(4*lines)), d.a)
	d.ADDQ(operand.Imm(uint64(bytes)), d.b)
}

func (g *gen) dotE2M1() {
	g.fn("DotE2M1", "(c, a *float32, codes, scales *byte, n, first, block, bp, sp int)",
		"DotE2M1 is DotE4M3 for E2M1; n, first and block are as UnpackE2M1 has them.")
	q := g.quad()
	g.dot(16, g.powers, func(d *dot, lines gp) {
		g.quads(lines, func(halves int) {
			for p := range 2 {
				v := g.load(d.panel(p, 0))
				for h := range halves {
					q.numbers(v, h, func(i int, x [2]vec) {
						a := g.spread(at(d.a, 4*i))
						for j := range x {
							g.VMULPS(d.f[p][j], x[j], x[j])
							g.fma(d.acc[p][j], a, x[j])
						}
					})
				}
			}
			d.next(2*halves, 32)
		})
	})
}
