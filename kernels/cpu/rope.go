package cpu

import (
	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Work of one angle: a sine and a cosine in float64.
const angleCost = 1500

// Angles sets cos and sin; see [furlong/kernels.Attention].
func (b *Backend) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	want("angles", "cos", cos, len(pos), len(freq))
	want("angles", "sin", sin, len(pos), len(freq))
	c, s := cos.F32(), sin.F32()
	b.each(len(pos), len(freq)*angleCost, func(lo, hi int, _ *scratch) {
		for t := lo; t < hi; t++ {
			for p, f := range freq {
				i := t*len(freq) + p
				s[i], c[i] = ref.Sincos(float32(pos[t]) * f)
			}
		}
	})
}

// A rotation is the shapes of one call.
type rotation struct {
	rows, heads, dim, pairs int
	cos, sin                []float32
}

// newRotation checks shapes. It returns false if the assembly cannot take them.
func (b *Backend) newRotation(kernel string, y, x, cos, sin *tensor.Tensor, dim int) (r rotation, ok bool) {
	r = rotation{rows: x.Shape[0], dim: dim, pairs: wide(cos)}
	if !b.whole(dim) || r.pairs%4 != 0 || r.pairs == 0 || wide(x)%dim != 0 || dim < 2*r.pairs {
		return r, false
	}
	r.heads = wide(x) / dim
	want(kernel, "y", y, r.rows, wide(x))
	want(kernel, "cos", cos, r.rows, r.pairs)
	want(kernel, "sin", sin, r.rows, r.pairs)
	r.cos, r.sin = cos.F32(), sin.F32()
	return r, true
}

// turn turns rows lo up to hi.
func (r *rotation) turn(y, x []float32, lo, hi int, inverse, onto bool) {
	n, width := hi-lo, r.heads*r.dim
	asm.Rope(part(y, lo*width, n*width), part(x, lo*width, n*width), part(r.cos, lo*r.pairs, n*r.pairs), part(r.sin, lo*r.pairs, n*r.pairs),
		n, r.heads, r.dim, r.pairs, bit(inverse), bit(onto))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// RoPE sets y to x turned; see [furlong/kernels.Attention].
func (b *Backend) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	r, ok := b.newRotation("rope", y, x, cos, sin, dim)
	if !ok {
		b.Backend.RoPE(y, x, cos, sin, dim, inverse)
		return
	}
	out, in, width := y.F32(), x.F32(), r.heads*r.dim
	b.each(r.rows, width*elementCost, func(lo, hi int, _ *scratch) {
		for ; lo < hi; lo += rowsInCache {
			end := min(lo+rowsInCache, hi)
			if &out[0] != &in[0] {
				copy(out[lo*width:end*width], in[lo*width:])
			}
			r.turn(out, in, lo, end, inverse, false)
		}
	})
}

// RoPEBackward adds dy turned the other way to dx; see [furlong/kernels.Attention].
func (b *Backend) RoPEBackward(dx, dy, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if dx == nil {
		return
	}
	r, ok := b.newRotation("rope backward", dx, dy, cos, sin, dim)
	if !ok {
		b.Backend.RoPEBackward(dx, dy, cos, sin, dim, inverse)
		return
	}
	out, in, width, still, first := dx.F32(), dy.F32(), r.heads*r.dim, dim-2*r.pairs, takeFresh(dx)
	if r.rows > 0 && &out[0] == &in[0] {
		b.RoPE(dx, dy, cos, sin, dim, !inverse)
		return
	}
	b.each(r.rows, width*elementCost, func(lo, hi int, _ *scratch) {
		for ; lo < hi; lo += rowsInCache {
			end := min(lo+rowsInCache, hi)
			if first {
				clear(out[lo*width : end*width])
			}
			for i := lo * width; i < end*width && still > 0; i += dim {
				add(out[i:i+still], out[i:i+still], in[i:i+still])
			}
			r.turn(out, in, lo, end, !inverse, true)
		}
	})
}
