package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What attention does with the numbers of four heads, four rows in a register. Of the last rows, which may be fewer, masks choose what is read and
// written.

// softmaxFour is softmax of four rows at a time.
func (g *gen) softmaxFour() {
	g.fn("Softmax", "(e, m, z, s, sink *float32, n int)",
		"SoftmaxWide is Softmax, but no row stands twice.")
	e, full, rest := g.arg("e"), g.arg("n"), g.GP64()
	few := g.splitRows(full, rest)
	sink := g.twice(at(g.arg("sink"), 0))
	m := g.clone(sink)
	p, left, none := g.clonePointer(e), g.clonePointer(full), g.label("none")
	g.loop(left, func() {
		g.greater(m, g.load(at(p, 0)))
		g.advance(1, p)
	})
	g.TESTQ(rest, rest)
	g.JZ(operand.LabelRef(none))
	row := g.vector()
	g.VMOVUPS_Z(at(p, 0), few, row)
	g.VMAXPS(m, row, few, m)
	g.Label(none)
	for _, order := range []uint64{0x4e, 0xb1} {
		g.greater(m, g.quarters(order, m, m))
	}
	g.VMOVUPS(m.AsX(), at(g.arg("m"), 0))
	g.settleExp()
	z := g.exponentialsFour(e, full, rest, few, m)
	g.VMOVUPS(z, at(g.arg("z"), 0))
	g.VMOVUPS(g.expBelow(g.sub(sink, m)).AsX(), at(g.arg("s"), 0))
	g.end()
}

// splitRows sets n to how many times four rows there are, and rest to those left. It returns a mask of the numbers of those.
func (g *gen) splitRows(n, rest gp) mask {
	one, few := g.GP64(), g.K()
	g.MOVQ(n, rest)
	g.SHRQ(operand.Imm(uint64(bits.TrailingZeros(group))), n)
	g.ANDQ(operand.Imm(group-1), rest)
	g.LEAQ(idx(rest, rest, 1, 0), reg.RCX)
	g.ADDQ(reg.RCX, reg.RCX)
	g.MOVQ(operand.U32(1), one)
	g.SHLQ(reg.CL, one)
	g.DECQ(one)
	g.KMOVW(one.As32(), few)
	return few
}

// exponentialsFour turns full times four rows of scores into exponentials, and the rest behind them. It returns the chains of their sums.
func (g *gen) exponentialsFour(e, full, rest gp, few mask, m vec) reg.VecVirtual {
	z, row, done := g.XMM(), g.XMM(), g.label("done")
	g.VXORPS(z, z, z)
	add := func(x vec, r int) {
		if r == 0 {
			g.VADDPS(x.AsX(), z, z)
			return
		}
		g.VEXTRACTF32X4(operand.Imm(uint64(r)), x, row)
		g.VADDPS(row, z, z)
	}
	g.loop(full, func() {
		x := g.expBelow(g.sub(g.load(at(e, 0)), m))
		g.store(x, at(e, 0))
		for r := range group {
			add(x, r)
		}
		g.advance(1, e)
	})
	g.TESTQ(rest, rest)
	g.JZ(operand.LabelRef(done))
	x := g.vector()
	g.VMOVUPS_Z(at(e, 0), few, x)
	x = g.expBelow(g.sub(x, m))
	g.VMOVUPS(x, few, at(e, 0))
	for r := range group - 1 {
		if r > 0 {
			g.CMPQ(rest, operand.Imm(uint64(r)))
			g.JEQ(operand.LabelRef(done))
		}
		add(x, r)
	}
	g.Label(done)
	return z
}

// attendGradFour is attendGrad of four rows at a time.
func (g *gen) attendGradFour() {
	g.fn("AttendGrad", "(c, l, dp, lse, delta *float32, scale float32, n, stride int)",
		"AttendGradWide is AttendGrad, but no row stands twice.")
	c, l, dp, full, stride := g.arg("c"), g.arg("l"), g.arg("dp"), g.arg("n"), g.bytes("stride")
	rest, stride3 := g.GP64(), g.triple(stride)
	few := g.splitRows(full, rest)
	lse, delta := g.twice(at(g.arg("lse"), 0)), g.twice(at(g.arg("delta"), 0))
	scale := g.spreadArg("scale")
	g.settleExp()
	g.settle(expMax, inf)
	pairs := [2]vec{g.load(g.pairsOf(0)), g.load(g.pairsOf(2))}
	coefs := func(l, dp vec) [2]vec { // rows 0 and 1, and 2 and 3
		p := g.exp(g.sub(l, lse))
		d := g.mul(g.mul(g.sub(dp, delta), p), scale)
		two := [2]vec{g.clone(d), d}
		for i, v := range two {
			g.VPERMT2PS(p, pairs[i], v)
		}
		return two
	}
	rows := []operand.Mem{at(c, 0), idx(c, stride, 1, 0), idx(c, stride, 2, 0), idx(c, stride3, 1, 0)}
	write := func(two [2]vec, r int) {
		if r%2 == 0 {
			g.VMOVUPS(two[r/2].AsY(), rows[r])
			return
		}
		g.VEXTRACTF64X4(operand.Imm(1), two[r/2], rows[r])
	}
	g.loop(full, func() {
		two := coefs(g.load(at(l, 0)), g.load(at(dp, 0)))
		for r := range group {
			write(two, r)
		}
		g.LEAQ(idx(c, stride, 4, 0), c)
		g.advance(1, l, dp)
	})
	done := g.label("done")
	g.TESTQ(rest, rest)
	g.JZ(operand.LabelRef(done))
	last := [2]vec{g.vector(), g.vector()}
	for i, p := range []gp{l, dp} {
		g.VMOVUPS_Z(at(p, 0), few, last[i])
	}
	two := coefs(last[0], last[1])
	for r := range group - 1 {
		if r > 0 {
			g.CMPQ(rest, operand.Imm(uint64(r)))
			g.JEQ(operand.LabelRef(done))
		}
		write(two, r)
	}
	g.Label(done)
	g.end()
}

// pairsOf returns the lanes of two registers that are, of rows r and r+1, each head's numbers side by side.
func (g *gen) pairsOf(r int) operand.Mem {
	return g.table(fmt.Sprintf("pairs%d", r), 16, func(i int) operand.Constant { return operand.U32(i%2*16 + group*r + i/2) })
}
