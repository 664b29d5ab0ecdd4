package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loop runs body n times; n, a count in a register, is used up. n may be zero.
func (g *gen) loop(n reg.GPVirtual, body func()) {
	again, done := g.label("loop"), g.label("end")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(done))
	g.Label(again)
	body()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(again))
	g.Label(done)
}

// rows writes the functions that bring sixteen columns of b into one piece.
func (g *gen) rows() {
	g.fn("PackRows", "(dst, b *float32, n, ld int)", "PackRows copies 16 elements of n rows, ld apart, to dst [n, 16].")
	dst, b, n, ld := g.arg("dst"), g.arg("b"), g.arg("n"), g.arg("ld")
	v := g.vectors(2)
	g.loop(n, func() {
		for i, y := range v {
			g.VMOVUPS(at(b, 32*i), y)
			g.VMOVUPS(y, at(dst, 32*i))
		}
		g.PREFETCHT0(idx(b, ld, 8, 0))
		g.ADDQ(ld, b)
		g.ADDQ(operand.Imm(64), dst)
	})
	g.end()
	g.packTile()
	g.packPanel()
	g.widen()
	g.widenRows()
}

// packPanel turns blocks of eight by eight on their side.
func (g *gen) packPanel() {
	g.fn("PackPanel", "(dst, w *float32, k, ld int)",
		"PackPanel sets dst [k, 16] to the transpose of 16 rows of w, ld apart; k is a multiple of eight.")
	dst, w, k, ld := g.arg("dst"), g.arg("w"), g.arg("k"), g.bytes("ld")
	g.SHRQ(operand.Imm(3), k)
	ld3, p := g.triple(ld), g.GP64()
	g.loop(k, func() {
		g.MOVQ(w, p)
		for half := range 2 {
			var rows []vec
			for range 2 {
				for _, m := range heads(p, ld, ld3) {
					rows = append(rows, g.load(m))
				}
				g.LEAQ(idx(p, ld, 4, 0), p)
			}
			for i, v := range g.turn8(rows) {
				g.store(v, at(dst, 64*i+32*half))
			}
		}
		g.ADDQ(operand.Imm(lane), w)
		g.ADDQ(operand.U32(64*8), dst)
	})
	g.end()
}

// packTile copies eight where fewer are wanted; the next line covers what is too much.
func (g *gen) packTile() {
	g.fn("PackTile", "(dst, a *float32, n, ld, h int)",
		"PackTile copies h, at most 8, elements of n rows, ld apart, to dst [n, h]. It reads and writes 8 of each row.")
	dst, a, n, ld, h := g.arg("dst"), g.arg("a"), g.arg("n"), g.bytes("ld"), g.bytes("h")
	v := g.YMM()
	g.loop(n, func() {
		g.VMOVUPS(at(a, 0), v)
		g.VMOVUPS(v, at(dst, 0))
		g.PREFETCHT0(idx(a, ld, 8, 0))
		g.ADDQ(ld, a)
		g.ADDQ(h, dst)
	})
	g.end()
}

func (g *gen) widen() {
	g.fn("Widen", "(dst *float32, panel *uint16, n int)",
		"Widen sets dst [n, 16] to n lines of a bfloat16 panel, columns j and j+8 in one word.")
	dst, p, n := g.arg("dst"), g.arg("panel"), g.arg("n")
	v, low, high := g.YMM(), g.YMM(), g.YMM()
	g.loop(n, func() {
		g.VMOVDQU(at(p, 0), v)
		g.VPSLLD(operand.Imm(16), v, low)
		g.VPSRLD(operand.Imm(16), v, high)
		g.VPSLLD(operand.Imm(16), high, high)
		g.VMOVDQU(low, at(dst, 0))
		g.VMOVDQU(high, at(dst, 32))
		g.ADDQ(operand.Imm(32), p)
		g.ADDQ(operand.Imm(64), dst)
	})
	g.end()
}

func (g *gen) widenRows() {
	g.fn("WidenRows", "(dst *float32, b *uint16, n, ld int)", "WidenRows is PackRows for bfloat16.")
	dst, b, n, ld := g.arg("dst"), g.arg("b"), g.arg("n"), g.arg("ld")
	v := g.vectors(2)
	g.loop(n, func() {
		for i, y := range v {
			g.VPMOVZXWD(at(b, 16*i), y)
			g.VPSLLD(operand.Imm(16), y, y)
			g.VMOVDQU(y, at(dst, 32*i))
		}
		g.ADDQ(ld, b)
		g.ADDQ(operand.Imm(64), dst)
	})
	g.end()
}
