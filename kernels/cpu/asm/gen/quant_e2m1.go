package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// encodeE2M1 writes a function that rounds numbers to E2M1 in sixteen bits each: those of bfloat16, with the lowest of them set if a
// float32 has anything below.
//
// Seven numbers lie half way between two codes, from 1/4 to 5. All of them are whole quarters of a binade, so that a magnitude's code
// follows from how many quarters above 1/4 it has begun. On half way the even code is right: the upper one where the bit worth half a
// binade is set, and then adding this bit begins one more quarter.
func (g *gen) encodeE2M1(of source) {
	name := "EncodeE2M1" + of.name
	g.fn(name, "(codes *byte, x *"+of.kind+", scales *byte, "+groupsArgs,
		name+" sets codes to the E2M1 codes of each group over its scale, to nearest with ties to even, saturated.",
		"A NaN is not for it, nor is a scale byte below 32 unless all numbers are 0.")
	e := &fours{gen: g, source: of, base: g.YMM(), order: g.XMM(), table: g.load(g.lanes("quartersE2M1", twice(0x02010101, 0x03030202, 0x05050404, 0x07070606)))}
	if of == sourceF32 {
		e.halves = g.load(g.lanes("halves", twice(0x07060302, 0x0f0e0b0a, 0x05040100, 0x0d0c0908)))
		g.VMOVDQU(g.lanes("orderF32", twice(0x09080100, 0x0b0a0302, 0x0d0c0504, 0x0f0e0706)), e.order)
	} else {
		g.VMOVDQU(g.lanes("orderBF16", twice(0x03020100, 0x0b0a0908, 0x07060504, 0x0f0e0d0c)), e.order)
	}
	scales := g.arg("scales")
	g.groups([]side{{"codes", 16, 0}, {"x", of.bytes, earlyEncode}}, func() {
		s := g.exponent(scales).As32()
		g.SHLL(operand.Imm(7), s)
		g.SUBL(operand.U32(2<<7+quarter-1), s) // 1/4 is 2^-2; a quarter counts from its beginning
		g.VMOVD(s, e.base.AsX())
		g.VPBROADCASTW(e.base.AsX(), e.base)
	}, func(p []gp) { e.part(p[0], p[1]) }, func() {})
	g.end()
}

// quarter is a quarter of a binade in bfloat16.
const quarter = 1 << 5

// twice returns four lanes, and again.
func twice(a, b, c, d uint32) [8]uint32 { return [8]uint32{a, b, c, d, a, b, c, d} }

// fours is the state of a function that encodes to four bits.
type fours struct {
	*gen
	source
	base   vec // of 1/4 times the scale
	table  vec // codes of numbers that have begun so many quarters, less four
	halves vec // brings the upper halves of four lanes together, and the lower
	order  vec // of bytes of codes that were packed by halves
}

// part does 32 numbers.
func (e *fours) part(codes, x gp) {
	a, b := e.words(x, 0), e.words(x, 1)
	q, none, s := e.begun(a), e.YMM(), e.YMM()
	e.VPACKUSWB(e.begun(b), q, q)
	e.VPCMPEQB(e.zero(), q, none)
	e.VPSUBUSB(e.bits(0x04040404), q, q)
	e.VPMINUB(e.bits(0x0f0f0f0f), q, q)
	e.VPSHUFB(q, e.table, q)
	e.VPADDB(none, q, q) // the table begins with 1
	e.VPACKSSWB(b, a, s)
	e.VPSRLW(operand.Imm(4), s, s)
	e.VPAND(e.bits(0x08080808), s, s)
	e.VPOR(s, q, q)
	e.VPMADDUBSW(e.bits(0x10011001), q, q) // the odd one sixteenfold
	h := e.XMM()
	e.VEXTRACTI128(operand.Imm(1), q, h)
	e.VPACKUSWB(h, q.AsX(), h)
	e.VPSHUFB(e.order, h, h)
	e.VMOVDQU(h, at(codes, 0))
}

// words returns sixteen numbers in sixteen bits each.
func (e *fours) words(x gp, i int) vec {
	if e.source == sourceBF16 {
		return e.load(at(x, lane*i))
	}
	a, b, low := e.load(at(x, lane*2*i)), e.load(at(x, lane*(2*i+1))), e.YMM()
	e.VPSHUFB(e.halves, a, a)
	e.VPSHUFB(e.halves, b, b)
	e.VPUNPCKHQDQ(b, a, low)
	e.VPUNPCKLQDQ(b, a, a)
	e.VPMINUW(e.bits(0x00010001), low, low)
	e.VPOR(low, a, a)
	return a
}

// begun returns how many quarters above 1/4 each of sixteen numbers has begun.
func (e *fours) begun(w vec) vec {
	m, half := e.YMM(), e.YMM()
	e.VPSRLW(operand.Imm(6), w, half)
	e.VPAND(e.bits(0x00010001), half, half)
	e.VPAND(e.bits(0x7fff7fff), w, m)
	e.VPADDW(half, m, m)
	e.VPSUBUSW(e.base, m, m)
	e.VPSRLW(operand.Imm(5), m, m)
	return m
}

// decodeE2M1 writes a function that looks magnitudes up in a table of eight, which the scale was multiplied into.
func (g *gen) decodeE2M1(to source) {
	name := "DecodeE2M1" + to.name
	not := "A scale of NaN is not for it, nor one under which numbers are subnormal."
	g.fn(name, "(x *"+to.kind+", codes *byte, scales *byte, "+groupsArgs,
		name+" sets x to the codes of each group, two a byte, times its scale.", not)
	scales, table := g.arg("scales"), g.YMM()
	var magnitudes [8]uint32
	for c, x := range []float32{0, .5, 1, 1.5, 2, 3, 4, 6} {
		magnitudes[c] = math.Float32bits(x)
	}
	all := g.load(g.lanes("magnitudesE2M1", magnitudes))
	shifts := g.load(g.lanes("nibbles", [8]uint32{0, 4, 8, 12, 16, 20, 24, 28}))
	g.groups([]side{{"x", to.bytes, earlyDecode}, {"codes", 16, 0}}, func() {
		g.power(g.exponent(scales).As32(), table)
		g.VMULPS(table, all, table)
	}, func(p []gp) {
		for i := range to.bytes / lane {
			if to == sourceF32 {
				g.store(g.eightNibbles(at(p[1], 4*i), shifts, table), at(p[0], lane*i))
			} else {
				g.store(g.sixteenNibbles(at(p[1], 8*i), table), at(p[0], lane*i))
			}
		}
	}, func() {})
	g.end()
}

// eightNibbles returns the numbers of four bytes of codes.
func (g *gen) eightNibbles(m operand.Mem, shifts, table vec) vec {
	c, v := g.YMM(), g.YMM()
	g.VPBROADCASTD(m, c)
	g.VPSRLVD(shifts, c, c)
	g.VPERMPS(table, c, v)
	g.VPSLLD(operand.Imm(28), c, c)
	g.VPAND(g.bits(signBit), c, c)
	g.VPXOR(c, v, v)
	return v
}

// sixteenNibbles returns the numbers of eight bytes of codes in bfloat16.
func (g *gen) sixteenNibbles(m operand.Mem, table vec) vec {
	c, high, even, odd := g.YMM(), g.YMM(), g.YMM(), g.YMM()
	g.VPMOVZXBD(m, c)
	g.VPSRLD(operand.Imm(4), c, high)
	g.VPERMPS(table, c, even)
	g.VPERMPS(table, high, odd)
	g.VPSRLD(operand.Imm(16), even, even)
	g.VPOR(odd, even, even)
	g.VPSLLD(operand.Imm(12), c, high)
	g.VPSLLD(operand.Imm(24), c, c)
	g.VPOR(high, c, c)
	g.VPAND(g.bits(signBit|signBit>>16), c, c)
	g.VPXOR(c, even, even)
	return even
}
