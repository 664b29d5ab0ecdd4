package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

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
