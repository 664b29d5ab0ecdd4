package main

import (
	"github.com/mmcloughlin/avo/attr"
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

// topMask counts, for each number, those that rank before it: all against all, but without a branch that could be
// guessed wrong.
func (g *gen) topMask() {
	g.fn("TopMask", "(mask *uint8, keys *int32, scores *float32, n, keep int)",
		"TopMask sets a bit for each of the keep largest of n scores; on equal scores the earlier wins, and NaN loses. n is a",
		"multiple of eight, and keys is memory for n numbers.")
	keys, n := g.arg("keys"), g.bytes("n")
	g.orderKeys(keys, n)
	mask, i, j, p := g.arg("mask"), g.GP64(), g.GP64(), g.GP64()
	keep := g.YMM()
	g.VPBROADCASTD(g.memory("keep"), keep)
	minus := g.YMM()
	g.VPCMPEQD(minus, minus, minus)
	g.XORQ(j, j)
	block := g.label("block")
	g.Label(block)
	own, less, count := g.YMM(), g.YMM(), g.zero()
	g.VMOVDQU(idx(keys, j, 1, 0), own)
	g.VPADDD(minus, own, less)
	g.XORQ(i, i)
	g.countAbove(keys, i, j, less, count) // of the earlier, equal ones rank before too
	earlier := g.earlier()
	for l := range 8 {
		t := g.YMM()
		g.VPADDD(earlier.Offset(lane*l), own, t)
		g.LEAQ(idx(keys, j, 1, 4*l), p)
		g.countOne(at(p, 0), t, count)
	}
	g.LEAQ(at(j, lane), i)
	g.countAbove(keys, i, n, own, count)
	g.VPCMPGTD(count, keep, count)
	bits := g.GP32()
	g.VMOVMSKPS(count, bits)
	g.MOVB(bits.As8(), at(mask, 0))
	g.INCQ(mask)
	g.ADDQ(operand.Imm(lane), j)
	g.CMPQ(j, n)
	g.JLT(operand.LabelRef(block))
	g.end()
}

// orderKeys sets keys to integers in the order of the scores.
func (g *gen) orderKeys(keys, n gp) {
	scores, zero := g.arg("scores"), g.zero()
	g.span(n, lane, func(i gp) {
		v, s := g.add(zero, idx(scores, i, 1, 0)), g.YMM() // -0 is 0
		g.VPSRAD(operand.Imm(31), v, s)
		g.VPSRLD(operand.Imm(1), s, s)
		g.VPXOR(s, v, s)
		nan := g.compare(isUnordered, v, v)
		g.VMOVDQU(g.pick(nan, g.bits(signBit|1), s), idx(keys, i, 1, 0))
	})
}

// countAbove adds one to count for each key from byte i to byte end that is above t.
func (g *gen) countAbove(keys, i, end gp, t, count vec) {
	again, done := g.label("count"), g.label("counted")
	g.Label(again)
	g.CMPQ(i, end)
	g.JGE(operand.LabelRef(done))
	g.countOne(idx(keys, i, 1, 0), t, count)
	g.ADDQ(operand.Imm(4), i)
	g.JMP(operand.LabelRef(again))
	g.Label(done)
}

func (g *gen) countOne(key operand.Mem, t, count vec) {
	k := g.YMM()
	g.VPBROADCASTD(key, k)
	g.VPCMPGTD(t, k, k)
	g.VPSUBD(k, count, count)
}

// earlier returns eight vectors of which the l-th has -1 in the lanes after l.
func (g *gen) earlier() operand.Mem {
	m := g.StaticGlobal("earlier")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for l := range 8 {
		for k := range 8 {
			g.AppendDatum(operand.I32(min(0, max(-1, l-k))))
		}
	}
	return m
}
