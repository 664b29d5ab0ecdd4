package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

const (
	floorE4M3  = float32(1e-4) // largest magnitudes below it count as it
	maxE4M3    = float32(448)
	lowestE4M3 = float32(0x1p-6) // the smallest normal number: all below it are as far apart as those above it
	cutE4M3    = 20              // bits of a float32's mantissa that E4M3 has no room for
)

// round writes RoundE4M3. A group's power of two is the exponent of its largest magnitude over 448, rounded up; magnitudes
// are compared as whole numbers, of which NaN and infinity are the largest, and make the scale NaN.
func (g *gen) round() {
	g.fn("RoundE4M3", "(y, x *float32, n, groups int)",
		"RoundE4M3 rounds each of some groups of n numbers, a multiple of eight, to E4M3 times a power of two, and sets y to what they stand for.")
	y, x, n, groups := g.arg("y"), g.arg("x"), g.bytes("n"), g.arg("groups")
	g.loop(groups, func() {
		scale, inverse := g.powerOf(g.largest(x, n))
		g.span(n, lane, func(i gp) {
			v := g.mul(inverse, idx(x, i, 1, 0))
			g.store(g.mul(g.toE4M3(v), scale), idx(y, i, 1, 0))
		})
		g.ADDQ(n, x)
		g.ADDQ(n, y)
	})
	g.end()
}

// largest returns the bits of the largest magnitude of n bytes of numbers, but not less than the floor's, in the lowest lane.
func (g *gen) largest(x, n gp) vec {
	m := g.load(g.all(floorE4M3))
	g.span(n, lane, func(i gp) {
		v := g.load(g.bits(^uint32(signBit)))
		g.VPAND(idx(x, i, 1, 0), v, v)
		g.VPMAXSD(v, m, m)
	})
	return g.mostOf8(m)
}

// powerOf returns the scale for a largest magnitude, and one over it, in all lanes; NaN where the magnitude is no number.
func (g *gen) powerOf(amax vec) (scale, inverse vec) {
	e, i, nan := g.GP32(), g.GP32(), g.GP32()
	g.VMULSS(g.all(1/maxE4M3), amax, amax)
	g.VMOVD(amax, e)
	g.ADDL(operand.U32(mantissaBits), e)
	g.SHRL(operand.Imm(exponentOne), e)
	g.MOVL(operand.U32(254), i)
	g.SUBL(e, i)
	g.SHLL(operand.Imm(exponentOne), i)
	g.MOVL(operand.U32(uint64(math.Float32bits(float32(math.NaN())))), nan)
	g.CMPL(e, operand.U32(255))
	g.CMOVLCC(nan, i)
	g.SHLL(operand.Imm(exponentOne), e)
	scale, inverse = g.YMM(), g.YMM()
	for _, v := range []struct {
		from gp
		to   vec
	}{{e, scale}, {i, inverse}} {
		x := g.XMM()
		g.VMOVD(v.from, x)
		g.VPBROADCASTD(x, v.to)
	}
	return scale, inverse
}

// toE4M3 returns v rounded to E4M3's numbers, ties to even, where |v| is below 464. Adding the power of two whose last bit is
// worth the step between neighbours, and taking it off again, makes the adder round.
func (g *gen) toE4M3(v vec) vec {
	magnitude, c := g.YMM(), g.YMM()
	g.VPAND(g.bits(^uint32(signBit)), v, magnitude)
	g.VPAND(g.bits(0xff<<exponentOne), v, c)
	g.VPMAXSD(g.all(lowestE4M3), c, c)
	g.VPADDD(g.bits(cutE4M3<<exponentOne), c, c)
	r := g.sub(g.add(magnitude, c), c)
	s := g.YMM()
	g.VPAND(g.bits(signBit), v, s)
	g.VORPS(s, r, r)
	return r
}
