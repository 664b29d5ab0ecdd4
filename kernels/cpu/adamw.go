package cpu

import (
	"furlong/kernels"
	"furlong/kernels/cpu/asm"
)

// Work of a weight's step: a root and a division.
const stepCost = 24

// AdamW takes a step on each weight; see [furlong/kernels.Optimizer].
func (b *Backend) AdamW(w, m, v, g []float32, s kernels.AdamWStep) {
	const kernel = "adamw"
	wantLen(kernel, "m", len(m), len(w))
	wantLen(kernel, "v", len(v), len(w))
	wantLen(kernel, "g", len(g), len(w))
	whole := 0
	if b.isa.simd() {
		whole = len(w) &^ 7
	}
	step := [9]float32{s.B1, s.B2, s.C1, s.C2, s.LR, s.Keep, s.Root2, s.Eps, s.Clip}
	b.eachElement(whole, stepCost, func(lo, hi int, _ *scratch) {
		n := hi - lo
		asm.AdamW(part(w, lo, n), part(m, lo, n), part(v, lo, n), part(g, lo, n), &step[0], n)
	})
	b.Backend.AdamW(w[whole:], m[whole:], v[whole:], g[whole:], s)
}
