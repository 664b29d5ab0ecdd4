package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// codes writes what turns quantised weights into float32: sixteen columns a line. Panels are read by units of 32 bytes, whose bytes
// lie so that widening them in place gives eight columns in order. Rows are read as they lie.
func (g *gen) codes() {
	for _, f := range []coding{&e4m3{gen: g}, &e2m1{gen: g}} {
		g.unpack(f)
		for rows := range f.mostRows() {
			g.dot(f, rows+1)
		}
	}
	g.rowsE4M3()
	g.rowsE2M1()
}

// A coding is how a panel's codes become numbers.
type coding interface {
	name() string
	mostRows() int                    // that registers suffice to multiply by codes directly
	scales() (kind string, bytes int) // type of a scale in Go, and the size of a line of sixteen
	begin()                           // loads constants that stay
	factors(m operand.Mem) [2]vec     // the line of scales at m
	// lines calls line for each of 4, 2 or 1 lines from a unit on, with the numbers of columns 0 to 7 and 8 to 15 before scaling. It returns
	// the bytes that they take.
	lines(m operand.Mem, n int, line func(i int, v [2]vec)) int
}

// An E4M3 code, its sign spread upwards and shifted to where a float32 has it, is a number 2^120 times too small: the
// exponents' biases differ by that, and for subnormal codes too. The scale makes up for it, so that code times scale is rounded once. Codes of NaN
// come out as 480 and are not for these functions.
const (
	intoPlace = 20         // bits from an E4M3 magnitude to its place
	inPlace   = 0x87f00000 // the sign and the magnitude there
	tooSmall  = 0x1p120
)

type e4m3 struct {
	*gen
	mask vec // sign and magnitude in place
}

func (*e4m3) name() string          { return "E4M3" }
func (*e4m3) mostRows() int         { return 4 }
func (*e4m3) scales() (string, int) { return "float32", 2 * lane }

func (f *e4m3) begin() { f.mask = f.load(f.bits(inPlace)) }

func (f *e4m3) factors(m operand.Mem) [2]vec {
	up := f.load(f.all(tooSmall))
	return [2]vec{f.mul(up, m), f.mul(up, m.Offset(lane))}
}

// lines has two lines in a unit: word 2j holds column j and word 2j+1 column j+8, the first line's in the low bytes.
func (f *e4m3) lines(m operand.Mem, n int, line func(i int, v [2]vec)) int {
	for i := range n {
		x, even, odd := f.YMM(), f.YMM(), f.YMM()
		if i%2 == 0 {
			f.VMOVDQU(m.Offset(16*i), x)
			f.VPSLLW(operand.Imm(8), x, odd)
			f.VPSRAW(operand.Imm(4), odd, odd)
		} else {
			f.VMOVDQU(m.Offset(16*(i-1)), x)
			f.VPSRAW(operand.Imm(4), x, odd)
		}
		f.VPSLLD(operand.Imm(16), odd, even)
		f.VPAND(f.mask, even, even)
		f.VPAND(f.mask, odd, odd)
		line(i, [2]vec{even, odd})
	}
	return (n + 1) / 2 * 32
}

// e2m1 looks up the low and the high bytes of codes' bfloat16 numbers.
type e2m1 struct {
	*gen
	low, high vec
}

func (*e2m1) name() string          { return "E2M1" }
func (*e2m1) mostRows() int         { return 3 }
func (*e2m1) scales() (string, int) { return "byte", 16 }
func (f *e2m1) begin()              { f.low, f.high = f.tablesE2M1() }

// factors takes scale bytes as powers of two; byte 0 is not for it.
func (f *e2m1) factors(m operand.Mem) (p [2]vec) {
	for i := range p {
		p[i] = f.YMM()
		f.VPMOVZXBD(m.Offset(8*i), p[i])
		f.VPSLLD(operand.Imm(exponentOne), p[i], p[i])
	}
	return p
}

// lines has four lines in a unit: lines 0 and 1 in the low halves of bytes, 2 and 3 in the high ones.
func (f *e2m1) lines(m operand.Mem, n int, line func(i int, v [2]vec)) int {
	codes := f.load(m)
	for half := range (n + 1) / 2 {
		x, low, high := f.YMM(), f.YMM(), f.YMM()
		if half == 1 {
			f.VPSRLW(operand.Imm(4), codes, codes)
		}
		f.VPAND(f.bits(0x0f0f0f0f), codes, x)
		f.VPSHUFB(x, f.low, low)
		f.VPSHUFB(x, f.high, high)
		for i := range min(2, n) {
			even, odd := f.YMM(), f.YMM()
			if i == 0 {
				f.VPUNPCKLBW(high, low, odd)
			} else {
				f.VPUNPCKHBW(high, low, odd)
			}
			f.VPSLLD(operand.Imm(16), odd, even)
			f.VPAND(f.bits(0xffff0000), odd, odd)
			line(2*half+i, [2]vec{even, odd})
		}
	}
	return 32
}

// bytes16 returns a memory constant with t in each half.
func (g *gen) bytes16(name string, t [16]byte) operand.Mem {
	return g.table(name, 32, func(i int) operand.Constant { return operand.U8(t[i%16]) })
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

// blocks runs body for the lines that share scales: the first, and then each further block of them, until n lines are
// done. body is told how many in a register that it may use up. It starts with n above zero.
func (g *gen) blocks(body func(lines gp)) {
	again, n, first := g.label("block"), g.arg("n"), g.arg("first")
	lines := g.GP64()
	g.Label(again)
	g.CMPQ(first, n)
	g.CMOVQGT(n, first)
	g.MOVQ(first, lines)
	body(lines)
	g.SUBQ(first, n)
	g.MOVQ(g.memory("block"), first)
	g.TESTQ(n, n)
	g.JNZ(operand.LabelRef(again))
}

// fours runs body for four lines at a time, and for two and one that are left. lines is used up.
func (g *gen) fours(lines gp, body func(n int)) {
	left := g.GP64()
	g.MOVQ(lines, left)
	g.SHRQ(operand.Imm(2), lines)
	g.loop(lines, func() { body(4) })
	for _, n := range []int{2, 1} {
		skip := g.label("skip")
		g.TESTQ(operand.U32(n), left)
		g.JZ(operand.LabelRef(skip))
		body(n)
		g.Label(skip)
	}
}

func (g *gen) unpack(f coding) {
	kind, line := f.scales()
	g.fn("Unpack"+f.name(), "(dst *float32, codes *byte, scales *"+kind+", n, first, block int)",
		"Unpack"+f.name()+" sets dst [n, 16] to lines of a panel of codes. The first lines share the first line of scales, each block after them a further one.",
		"first and block are multiples of four.")
	dst, codes, scales := g.arg("dst"), g.arg("codes"), g.arg("scales")
	f.begin()
	g.blocks(func(lines gp) {
		s := f.factors(at(scales, 0))
		g.fours(lines, func(n int) {
			size := f.lines(at(codes, 0), n, func(i int, v [2]vec) {
				for j := range v {
					g.VMULPS(s[j], v[j], v[j])
					g.store(v[j], at(dst, 2*lane*i+lane*j))
				}
			})
			g.PREFETCHT0(at(codes, 1024))
			g.ADDQ(operand.U32(size), codes)
			g.ADDQ(operand.U32(2*lane*n), dst)
		})
		g.ADDQ(operand.Imm(uint64(line)), scales)
	})
	g.end()
}

// A dot is the state of a function that multiplies rows with panels of codes.
type dot struct {
	*gen
	rows, panels    int
	a, as, as3      gp
	b, bp, s, sp    gp // bytes from a panel's codes and scales to the next one's
	next            gp // codes of later panels, fetched meanwhile
	acc             [][2]vec
	factors         [][2]vec
	codeBytes, line int
}

// dot writes a function for some rows: one row goes along two panels, to have enough chains.
func (g *gen) dot(f coding, rows int) {
	kind, line := f.scales()
	name := fmt.Sprintf("Dot%dx%s", rows, f.name())
	d := &dot{gen: g, rows: rows, panels: 1, line: line}
	if rows == 1 {
		d.panels = 2
	}
	g.fn(name, "(c, a *float32, codes *byte, scales *"+kind+", n, first, block, cs, as, bp, sp int)",
		fmt.Sprintf("%s sets c [%d, %d] to rows of a [%d, n] times %d panels of codes, unpacked as Unpack%s does.", name, rows, 16*d.panels, rows, d.panels, f.name()))
	d.begin()
	f.begin()
	g.blocks(func(lines gp) {
		d.factors = d.factors[:0]
		for p := range d.panels {
			d.factors = append(d.factors, f.factors(d.panel(d.s, d.sp, p)))
		}
		g.fours(lines, func(n int) { d.multiply(f, n) })
		g.ADDQ(operand.Imm(uint64(line)), d.s)
	})
	d.finish()
}

func (d *dot) begin() {
	d.a, d.b, d.s = d.arg("a"), d.arg("codes"), d.arg("scales")
	if d.rows > 1 {
		d.as = d.bytes("as")
	}
	if d.rows > 3 {
		d.as3 = d.triple(d.as)
	}
	d.next = d.arg("bp")
	if d.panels > 1 {
		d.bp, d.sp = d.arg("bp"), d.arg("sp")
		d.SHLQ(operand.Imm(1), d.next)
	}
	d.ADDQ(d.b, d.next)
	for range d.rows * d.panels {
		d.acc = append(d.acc, [2]vec{d.zero(), d.zero()})
	}
}

// panel is where p's part begins.
func (d *dot) panel(base, step gp, p int) operand.Mem {
	if p == 0 {
		return at(base, 0)
	}
	return idx(base, step, 1, 0)
}

// multiply does n lines and moves on.
func (d *dot) multiply(f coding, n int) {
	size := 0
	for p := range d.panels {
		size = f.lines(d.panel(d.b, d.bp, p), n, func(i int, v [2]vec) {
			for j := range v {
				d.VMULPS(d.factors[p][j], v[j], v[j])
			}
			for r := range d.rows {
				x := d.spread(d.rowA(r).Offset(4 * i))
				for j := range v {
					d.fma(d.acc[r*d.panels+p][j], x, v[j])
				}
			}
		})
	}
	for disp := 0; disp < size*d.panels; disp += 64 {
		d.PREFETCHT1(at(d.next, disp))
	}
	d.ADDQ(operand.U32(size*d.panels), d.next)
	d.ADDQ(operand.U32(size), d.b)
	d.ADDQ(operand.U32(4*n), d.a)
}

// rowA is where row r of a is.
func (d *dot) rowA(r int) operand.Mem {
	switch r {
	case 0:
		return at(d.a, 0)
	case 3:
		return idx(d.a, d.as3, 1, 0)
	}
	return idx(d.a, d.as, uint8(r), 0)
}

func (d *dot) finish() {
	c, cs := d.arg("c"), d.bytes("cs")
	for r := range d.rows {
		for p := range d.panels {
			for j, v := range d.acc[r*d.panels+p] {
				d.store(v, at(c, 2*lane*p+lane*j))
			}
		}
		if r+1 < d.rows {
			d.ADDQ(cs, c)
		}
	}
	d.end()
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

// row16 returns the numbers of sixteen E2M1 codes in order, even columns in the low halves of bytes.
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
