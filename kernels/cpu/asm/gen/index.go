package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

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

// index makes the functions of the choice of rows. Scores come from attention's.
func (g *gen) index() {
	g.threshold()
	g.aboveMask()
}

// threshold halves the range in which the least of the largest lies until a number parts them from the rest, or one is left: some twenty looks
// at all numbers, each a comparison without a branch that could be guessed wrong.
func (g *gen) threshold() {
	g.fn("Threshold", "(scores *float32, n, keep int) int",
		"Threshold turns n scores into integers of the same order, NaN the least, and returns one that at most keep of them are",
		"above, and at least keep are not below. n is a multiple of eight.")
	n, keep := g.bytes("n"), g.arg("keep")
	scores := g.arg("scores")
	g.orderKeys(scores, n)
	least, end, mid, at, count := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	again, fewer, done := g.label("half"), g.label("fewer"), g.label("done")
	g.MOVQ(operand.I32(math.MinInt32), least)
	g.MOVQ(least, end)
	g.NEGQ(end)
	g.Label(again)
	g.LEAQ(idx(least, end, 1, 0), mid)
	g.SARQ(operand.Imm(1), mid)
	g.CMPQ(mid, least)
	g.JEQ(operand.LabelRef(done))
	g.countFrom(scores, n, at, mid, count)
	g.CMPQ(count, keep)
	g.JLT(operand.LabelRef(fewer))
	g.MOVQ(mid, least)
	g.JNE(operand.LabelRef(again))
	g.JMP(operand.LabelRef(done))
	g.Label(fewer)
	g.MOVQ(mid, end)
	g.JMP(operand.LabelRef(again))
	g.Label(done)
	g.Store(least, g.ReturnIndex(0))
	g.end()
}

// countFrom sets count to how many of the integers are from or above. It uses i up.
func (g *gen) countFrom(keys, n, i, from, count gp) {
	t, sum, below := g.YMM(), g.zero(), g.YMM()
	g.VMOVD(from.As32(), t.AsX())
	g.VPBROADCASTD(t.AsX(), t)
	again := g.label("count")
	g.XORQ(i, i)
	g.Label(again)
	g.VPCMPGTD(idx(keys, i, 1, 0), t, below)
	g.VPADDD(below, sum, sum) // -1 for each
	g.ADDQ(operand.Imm(lane), i)
	g.CMPQ(i, n)
	g.JLT(operand.LabelRef(again))
	x, y := sum.AsX(), g.XMM()
	g.VEXTRACTI128(operand.Imm(1), sum, y)
	g.VPADDD(y, x, x)
	for _, order := range []uint64{0x4e, 0xb1} {
		g.VPSHUFD(operand.Imm(order), x, y)
		g.VPADDD(y, x, x)
	}
	g.VMOVD(x, count.As32())
	g.MOVLQSX(count.As32(), count)
	g.SHRQ(operand.Imm(2), i)
	g.ADDQ(i, count)
}

// aboveMask is the second half of a choice by threshold.
func (g *gen) aboveMask() {
	g.fn("AboveMask", "(above, equal *uint8, keys *float32, n, t int)",
		"AboveMask sets a bit for each of n integers that Threshold made which is above t, and one for each that is t. n is a multiple of",
		"eight.")
	above, equal, keys, n := g.arg("above"), g.arg("equal"), g.arg("keys"), g.bytes("n")
	t, bits := g.YMM(), g.GP32()
	g.VPBROADCASTD(g.memory("t"), t)
	g.span(n, lane, func(i gp) {
		k, m := g.YMM(), g.YMM()
		g.VMOVDQU(idx(keys, i, 1, 0), k)
		for _, to := range []gp{above, equal} {
			if to == above {
				g.VPCMPGTD(t, k, m)
			} else {
				g.VPCMPEQD(t, k, m)
			}
			g.VMOVMSKPS(m, bits)
			g.MOVB(bits.As8(), at(to, 0))
			g.INCQ(to)
		}
	})
	g.end()
}

// orderKeys turns scores into integers of their order, where they lie.
func (g *gen) orderKeys(scores, n gp) {
	zero := g.zero()
	g.span(n, lane, func(i gp) {
		v, s := g.add(zero, idx(scores, i, 1, 0)), g.YMM() // -0 is 0
		g.VPSRAD(operand.Imm(31), v, s)
		g.VPSRLD(operand.Imm(1), s, s)
		g.VPXOR(s, v, s)
		nan := g.compare(isUnordered, v, v)
		g.VMOVDQU(g.pick(nan, g.bits(signBit|1), s), idx(scores, i, 1, 0))
	})
}
