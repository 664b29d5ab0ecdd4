package ref

import (
	"math"

	"furlong/kernels"
)

// AdamW takes a step on each weight. The conversions forbid fused multiply-adds; a root rounded to float64 and then to float32 is the float32 root.
func (*Backend[F]) AdamW(w, m, v, g []float32, s kernels.AdamWStep) {
	const kernel = "adamw"
	checkLen(kernel, "m", len(m), len(w))
	checkLen(kernel, "v", len(v), len(w))
	checkLen(kernel, "g", len(g), len(w))
	for i, d := range g {
		d = float32(d * s.Clip)
		mi := float32(s.B1*m[i]) + float32(s.C1*d)
		vi := float32(s.B2*v[i]) + float32(s.C2*float32(d*d))
		root := float32(float32(math.Sqrt(float64(vi)))*s.Root2) + s.Eps
		w[i] = float32(s.Keep*w[i]) - float32(s.LR*mi)/root
		m[i], v[i] = mi, vi
	}
}
