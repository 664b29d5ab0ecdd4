package ref

import (
	"fmt"

	"furlong/tensor"
)

// Angles sets cos and sin of the angle F(pos)*F(freq), a product rounded in F.
func (*Backend[F]) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	check("angles", "cos", cos, len(pos), len(freq))
	check("angles", "sin", sin, len(pos), len(freq))
	c, s := data[F](cos), data[F](sin)
	for t, at := range pos {
		for p, f := range freq {
			i := t*len(freq) + p
			s[i], c[i] = Sincos(F(at) * F(f))
		}
	}
}

// RoPE turns each pair (a, b) of the last 2P channels of a run: a' = FMA(a, cos, -(b*sin)), b' = FMA(b, cos, a*sin). The inverse takes -sin.
func (*Backend[F]) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	check("rope", "y", y, x.Shape[0], width(x))
	out := data[F](y)
	copy(out, data[F](x))
	turns("rope", x, cos, sin, dim, inverse, func(i int, c, s F) {
		out[i], out[i+1] = turnPair(out[i], out[i+1], c, s)
	})
}

// RoPEBackward adds dy turned the other way, which it copies first, since dx may lie there.
func (*Backend[F]) RoPEBackward(dx, dy, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if dx == nil {
		return
	}
	check("rope backward", "dx", dx, dy.Shape[0], width(dy))
	turned := append([]F(nil), data[F](dy)...)
	turns("rope backward", dy, cos, sin, dim, !inverse, func(i int, c, s F) {
		turned[i], turned[i+1] = turnPair(turned[i], turned[i+1], c, s)
	})
	add(sums[F](dx), turned)
}

// turnPair returns (a, b) turned by the angle whose cosine and sine are c and s.
func turnPair[F Float](a, b, c, s F) (F, F) {
	return FMA(a, c, -F(b*s)), FMA(b, c, F(a*s))
}

// turns calls f with the index of the first of every pair to turn, and its cosine and sine.
func turns[F Float](kernel string, x, cos, sin *tensor.Tensor, dim int, inverse bool, f func(i int, c, s F)) {
	pairs := width(cos)
	if dim < 2*pairs || width(x)%dim != 0 {
		panic(fmt.Sprintf("%s: x is %s, want runs of %d that hold %d pairs", kernel, dims(x.Shape), dim, pairs))
	}
	check(kernel, "cos", cos, x.Shape[0], pairs)
	check(kernel, "sin", sin, x.Shape[0], pairs)
	c, s, heads := data[F](cos), data[F](sin), width(x)/dim
	for t := range x.Shape[0] {
		for h := range heads {
			first := (t*heads+h+1)*dim - 2*pairs
			for p := range pairs {
				angle := s[t*pairs+p]
				if inverse {
					angle = -angle
				}
				f(first+2*p, c[t*pairs+p], angle)
			}
		}
	}
}
