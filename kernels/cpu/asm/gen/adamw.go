package main

import "github.com/mmcloughlin/avo/operand"

// adamW takes eight weights at a time. No product is fused with a sum, as in the formula.
func (g *gen) adamW() {
	g.fn("AdamW", "(w, m, v, grad, step *float32, n int)",
		"AdamW takes an optimizer's step on n weights, a multiple of eight. step holds b1, b2, c1, c2, lr, keep, root2, eps and clip.")
	w, m, v, grad, step, n := g.arg("w"), g.arg("m"), g.arg("v"), g.arg("grad"), g.arg("step"), g.arg("n")
	var k []vec
	for i := range 9 {
		k = append(k, g.spread(at(step, 4*i)))
	}
	b1, b2, c1, c2, lr, keep, root2, eps, clip := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
	g.SHRQ(operand.Imm(3), n)
	g.loop(n, func() {
		d := g.mul(clip, at(grad, 0))
		first := g.add(g.mul(b1, at(m, 0)), g.mul(c1, d))
		g.store(first, at(m, 0))
		second := g.add(g.mul(b2, at(v, 0)), g.mul(c2, g.mul(d, d)))
		g.store(second, at(v, 0))
		root := g.YMM()
		g.VSQRTPS(second, root)
		root = g.add(g.mul(root, root2), eps)
		g.store(g.sub(g.mul(keep, at(w, 0)), g.div(g.mul(lr, first), root)), at(w, 0))
		g.advance(1, w, m, v, grad)
	})
	g.end()
}
