package ref

import (
	"fmt"

	"furlong/tensor"
)

// A gated is one element of SwiGLU: the clamped gate and up, the sigmoid of the gate, and silu = gate*sig.
type gated[F Float] struct{ gate, up, sig, silu F }

// newGated clamps gate above and up on both sides, unless limit <= 0. NaN passes.
func newGated[F Float](gate, up, limit F) gated[F] {
	if limit > 0 {
		if gate > limit {
			gate = limit
		}
		if up > limit {
			up = limit
		}
		if up < -limit {
			up = -limit
		}
	}
	sig := Sigmoid(gate)
	return gated[F]{gate, up, sig, gate * sig}
}

// SwiGLU sets y = ((gate*sigmoid(gate))*up)*w of the clamped gate and up.
func (*Backend[F]) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	rows, dim := gatedDims("swiglu", gu, w)
	check("swiglu", "y", y, rows, dim)
	out, in, scale := data[F](y), data[F](gu), data[F](w)
	for r := range rows {
		gate, up := in[2*r*dim:][:dim], in[(2*r+1)*dim:][:dim]
		for i, v := range gate {
			g := newGated(v, up[i], F(limit))
			out[r*dim+i] = times(g.silu*g.up, scale, r)
		}
	}
}

// SwiGLUBackward adds, with dh = dy*w and sig the sigmoid of the clamped gate,
//
//	dgate = FMA(dh*up, sig*FMA(gate, 1-sig, 1), dgate)    where gate was not over the limit
//	dup = FMA(dh, gate*sig, dup)                          where up was within it
//	dw += Dot8(dy, (gate*sig)*up)
func (*Backend[F]) SwiGLUBackward(dgu, dw, dy, gu, w *tensor.Tensor, limit float64) {
	const kernel = "swiglu backward"
	rows, dim := gatedDims(kernel, gu, w)
	check(kernel, "dy", dy, rows, dim)
	checkWanted(kernel, "dgu", dgu, rows, 2*dim)
	checkWanted(kernel, "dw", dw, rows)
	gg, gw, gy, in, scale := sums[F](dgu), sums[F](dw), data[F](dy), data[F](gu), data[F](w)
	hidden := make([]F, dim)
	for r := range rows {
		gate, up, out := in[2*r*dim:][:dim], in[(2*r+1)*dim:][:dim], gy[r*dim:][:dim]
		for i, v := range gate {
			g := newGated(v, up[i], F(limit))
			hidden[i] = g.silu * g.up
			if dgu == nil {
				continue
			}
			dh := times(out[i], scale, r)
			if at := 2*r*dim + i; g.gate == v || v != v {
				gg[at] = FMA(F(dh*g.up), F(g.sig*FMA(g.gate, 1-g.sig, 1)), gg[at])
			}
			if at := (2*r+1)*dim + i; g.up == up[i] || up[i] != up[i] {
				gg[at] = FMA(dh, g.silu, gg[at])
			}
		}
		if dw != nil {
			gw[r] += Dot8(out, hidden)
		}
	}
}

// gatedDims returns R and F of gu [R, 2F].
func gatedDims(kernel string, gu, w *tensor.Tensor) (rows, dim int) {
	if width(gu)%2 != 0 {
		panic(fmt.Sprintf("%s: gu is %s, want [R, 2F]", kernel, dims(gu.Shape)))
	}
	checkWanted(kernel, "w", w, gu.Shape[0])
	return gu.Shape[0], width(gu) / 2
}
