package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// encodeE4M3 writes a function that rounds numbers to codes. Over a power of two they are multiplied by its inverse; by other scales they
// must be divided, since those have inverses that are rounded.
func (g *gen) encodeE4M3(of source, divide bool) {
	name, kind, not := "EncodeE4M3"+of.name, "byte", "A NaN is not for it, nor a scale of 2^127."
	if divide {
		name, kind, not = name+"Over", "float32", "A NaN is not for it."
	}
	g.fn(name, "(codes *byte, x *"+of.kind+", scales *"+kind+", "+groupsArgs,
		name+" sets codes to the E4M3 codes of each group over its scale, to nearest with ties to even, saturated.", not)
	e := &encoding{gen: g, divide: divide, factor: g.YMM()}
	scales := g.arg("scales")
	if of == sourceF32 {
		e.order = g.load(g.lanes("inOrder", [8]uint32{0, 4, 1, 5, 2, 6, 3, 7}))
	}
	g.groups([]side{{"codes", 32, 0}, {"x", of.bytes, earlyEncode}}, func() {
		if divide {
			g.float(scales, e.factor)
			return
		}
		s := g.exponent(scales).As32()
		g.NEGL(s)
		g.ADDL(operand.U32(2*127), s)
		g.power(s, e.factor)
	}, func(p []gp) {
		if of == sourceF32 {
			e.fromF32(p[0], p[1])
		} else {
			e.fromBF16(p[0], p[1])
		}
	}, func() {})
	g.end()
}

// power sets all lanes to the power of two with this exponent of float32.
func (g *gen) power(exponent operand.Op, v vec) {
	g.SHLL(operand.Imm(exponentOne), exponent)
	g.VMOVD(exponent, v.AsX())
	g.VPBROADCASTD(v.AsX(), v)
}

// An encoding is the state of a function that encodes.
type encoding struct {
	*gen
	divide bool
	factor vec
	order  vec // of words that were packed by halves
}

// code turns numbers into the codes of their magnitudes. Adding the power of two whose last bit is worth the step between neighbours makes
// the adder round, and leaves the number of steps in the lowest bits.
func (e *encoding) code(v vec) vec {
	y := e.YMM()
	if e.divide {
		e.VDIVPS(e.factor, v, y)
	} else {
		e.VMULPS(e.factor, v, y)
	}
	c, bias := e.YMM(), uint32(math.Float32bits(lowestE4M3)>>exponentOne)+uint32(cutE4M3)
	e.VPAND(e.bits(^uint32(signBit)), y, y)
	e.VPMINSD(e.all(maxE4M3), y, y)
	e.VPAND(e.bits(0xff<<exponentOne), y, c)
	e.VPMAXSD(e.all(lowestE4M3), c, c)
	e.VPADDD(e.bits(uint32(cutE4M3)<<exponentOne), c, c)
	e.VADDPS(c, y, y)
	e.VPSUBD(c, y, y)
	e.VPSRLD(operand.Imm(cutE4M3), c, c)
	e.VPSUBD(e.bits(bias<<(exponentOne-cutE4M3)), c, c)
	e.VPADDD(c, y, y)
	return y
}

// fromF32 does 32 numbers: their codes and, apart, their signs become bytes, which come by halves and are put in order.
func (e *encoding) fromF32(codes, x gp) {
	var q [4]vec
	for i := range q {
		q[i] = e.code(e.load(at(x, lane*i)))
	}
	s0, s1 := e.load(at(x, 0)), e.load(at(x, 2*lane))
	e.VPACKSSDW(at(x, lane), s0, s0)
	e.VPACKSSDW(at(x, 3*lane), s1, s1)
	e.VPACKSSWB(s1, s0, s0)
	e.VPACKUSDW(q[1], q[0], q[0])
	e.VPACKUSDW(q[3], q[2], q[2])
	e.VPACKUSWB(q[2], q[0], q[0])
	e.VPAND(e.bits(0x80808080), s0, s0)
	e.VPOR(s0, q[0], q[0])
	e.VPERMD(q[0], e.order, q[0])
	e.store(q[0], at(codes, 0))
}

func (e *encoding) fromBF16(codes, x gp) {
	a, b := e.load(at(x, 0)), e.load(at(x, lane))
	v, w := e.words(a), e.words(b)
	e.VPACKUSWB(w, v, v)
	e.VPACKSSWB(b, a, a)
	e.VPAND(e.bits(0x80808080), a, a)
	e.VPOR(a, v, v)
	e.VPERMQ(operand.Imm(0xd8), v, v)
	e.store(v, at(codes, 0))
}

// words returns the codes of sixteen numbers in bfloat16, as words in order.
func (e *encoding) words(raw vec) vec {
	even, odd := e.YMM(), e.YMM()
	e.VPSLLD(operand.Imm(16), raw, even)
	e.VPAND(e.bits(0xffff0000), raw, odd)
	even, odd = e.code(even), e.code(odd)
	e.VPSLLD(operand.Imm(16), odd, odd)
	e.VPOR(odd, even, even)
	return even
}

// decodeE4M3 writes a function that multiplies codes by scales. It tells whether there was a code of NaN, which comes out as 480.
func (g *gen) decodeE4M3(to source) {
	name := "DecodeE4M3" + to.name
	g.fn(name, "(x *"+to.kind+", codes *byte, scales *float32, "+groupsArgs+" (nan int)",
		name+" sets x to the codes of each group times its scale. It returns 0 unless a code is NaN, whose number is then wrong.")
	scales, scale, seen := g.arg("scales"), g.YMM(), g.zero()
	g.groups([]side{{"x", to.bytes, earlyDecode}, {"codes", 32, 0}}, func() {
		g.float(scales, scale)
	}, func(p []gp) {
		c := g.load(g.bits(0x7f7f7f7f))
		g.VPAND(at(p[1], 0), c, c)
		g.VPCMPEQB(g.bits(0x7f7f7f7f), c, c)
		g.VPOR(c, seen, seen)
		if to == sourceF32 {
			for i := range 4 {
				v := g.numbers(at(p[1], 8*i), g.all(tooSmall))
				g.store(g.mul(v, scale), at(p[0], lane*i))
			}
			return
		}
		for i := range 2 {
			g.store(g.sixteen(at(p[1], 16*i), scale), at(p[0], lane*i))
		}
	}, func() {})
	r := g.GP32()
	g.VPMOVMSKB(seen, r)
	g.MOVQ(r.As64(), g.result("nan"))
	g.end()
}

// sixteen returns the numbers of sixteen E4M3 codes in bfloat16, rounded to nearest with ties to even.
func (g *gen) sixteen(m operand.Mem, scale vec) vec {
	w, even, odd := g.YMM(), g.YMM(), g.YMM()
	g.VPMOVSXBW(m, w)
	g.VPSLLW(operand.Imm(4), w, w)
	g.VPAND(g.bits(inPlace|inPlace>>16), w, w)
	g.VPSLLD(operand.Imm(16), w, even)
	g.VPAND(g.bits(0xffff0000), w, odd)
	for _, v := range []vec{even, odd} {
		last := g.YMM()
		g.VMULPS(g.all(tooSmall), v, v)
		g.VMULPS(scale, v, v)
		g.VPSLLD(operand.Imm(15), v, last)
		g.VPSRLD(operand.Imm(31), last, last)
		g.VPADDD(g.bits(0x7fff), v, v)
		g.VPADDD(last, v, v)
	}
	g.VPSRLD(operand.Imm(16), even, even)
	g.VPAND(g.bits(0xffff0000), odd, odd)
	g.VPOR(odd, even, even)
	return even
}
