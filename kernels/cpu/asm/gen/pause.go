package main

import "github.com/mmcloughlin/avo/operand"

// pause writes the instruction that waiting loops should hold.
func (g *gen) pause() {
	g.fn("Pause", "(n int)", "Pause spends about 40 cycles n times without disturbing the other threads of the core.")
	n, again := g.arg("n"), g.label("pause")
	g.Label(again)
	g.PAUSE()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(again))
	g.RET()
}
