package cpu

import (
	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Maps of four streams are made for eight tokens at once, or sixteen with AVX-512, a token in each lane. A last group of fewer
// tokens is filled up with zeros, in memory of its own. Work is cut into groups of eight.
const (
	tokens     = 8
	mostTokens = 16

	mapWidth = numStreams * (2 + numStreams)
	combSize = numStreams * numStreams

	// Work of a token: about 40 cycles a Sinkhorn round, shared by eight.
	sinkhornCost = 80
	mapCost      = 1500
)

// tokens returns how many of left tokens make the next group: more than eight only where that is one call.
func (i isa) tokens(left int) int {
	if i == avx512 {
		return min(left, mostTokens)
	}
	return min(left, tokens)
}

// mapMemory returns the elements of scratch memory that the maps of size tokens take with iters rounds; see package asm.
func mapMemory(size, iters int) int {
	const round = combSize + 2*numStreams
	return size * (2*mapWidth + 2*combSize + iters*round)
}

// HyperMap makes the maps of a site; see [furlong/kernels.Hyper].
func (b *Backend) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	full := post != nil && comb != nil
	if !b.whole(wide(x)) || wide(pre) != numStreams || !full && (post != nil || comb != nil) || p.Iters < 1 || !single(base, scale) {
		b.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
		return
	}
	const kernel = "hyper map"
	rows := x.Shape[0]
	wantSite(kernel, full, z, x, base, scale)
	want(kernel, "pre", pre, rows, numStreams)
	wantMaybe(kernel, "post", post, rows, numStreams)
	wantMaybe(kernel, "comb", comb, rows, combSize)
	b.each((rows+tokens-1)/tokens, tokens*(wide(x)*normCost/2+mapCost+p.Iters*sinkhornCost), func(lo, hi int, s *scratch) {
		n := 0
		for lo, hi := lo*tokens, min(hi*tokens, rows); lo < hi; lo += n {
			s.reset()
			n = b.isa.tokens(hi - lo)
			m := newMaps(z, x, base, scale, lo, n, p, s)
			if !full {
				m.lastCollapse(pre.F32())
				continue
			}
			m.run(pre.F32(), post.F32(), comb.F32(), s)
		}
	})
}

func wantSite(kernel string, full bool, z, x, base, scale *tensor.Tensor) {
	width, scales := numStreams, 1
	if full {
		width, scales = mapWidth, 3
	}
	want(kernel, "z", z, x.Shape[0], width)
	wantLen(kernel, "base", base.Len(), width)
	wantLen(kernel, "scale", scale.Len(), scales)
}

// maps are the inputs of the maps of n tokens from t on, filled up to size: 8 or 16.
type maps struct {
	t, n, size  int
	z, rho      []float32 // [size, ...]
	base, scale []float32
	iters       int
	eps         float32
}

// newMaps computes rho, and fills the group up.
func newMaps(z, x, base, scale *tensor.Tensor, t, n int, p kernels.HyperParams, s *scratch) maps {
	m := maps{t: t, n: n, size: (n + tokens - 1) &^ (tokens - 1), base: base.F32(), scale: scale.F32(), iters: p.Iters, eps: float32(p.Eps)}
	m.rho = s.f32(m.size)
	clear(m.rho)
	dim := wide(x)
	asm.Rho(&m.rho[0], part(x.F32(), t*dim, n*dim), n, dim, float32(p.NormEps))
	m.z = m.filled(z.F32(), wide(z), s)
	return m
}

// filled returns the group's rows of x, filled up with zeros if it is not full.
func (m *maps) filled(x []float32, width int, s *scratch) []float32 {
	x = x[m.t*width:][:m.n*width]
	if m.n == m.size {
		return x
	}
	full := s.f32(m.size * width)
	clear(full[copy(full, x):])
	return full
}

// put copies what was made for a group that was filled up.
func (m *maps) put(x, full []float32, width int) {
	if m.n < m.size {
		copy(x[m.t*width:][:m.n*width], full)
	}
}

func (m *maps) run(pre, post, comb []float32, s *scratch) {
	p, q, c := m.filled(pre, numStreams, s), m.filled(post, numStreams, s), m.filled(comb, combSize, s)
	tmp := s.f32(mapMemory(m.size, m.iters))
	run := either(m.size > tokens, asm.HyperMapWide, asm.HyperMap)
	run(&p[0], &q[0], &c[0], &m.z[0], &m.rho[0], &m.base[0], &m.scale[0], &tmp[0], m.iters, m.eps)
	m.put(pre, p, numStreams)
	m.put(post, q, numStreams)
	m.put(comb, c, combSize)
}

// lastCollapse makes pre alone.
func (m *maps) lastCollapse(pre []float32) {
	var a [mostTokens * numStreams]float32
	for i := range m.n * numStreams {
		a[i] = ref.FMA(float32(m.z[i]*m.rho[i/numStreams]), m.scale[0], m.base[i%numStreams])
	}
	asm.Sigmoid(&a[0], &a[0], m.size*numStreams)
	for i, sg := range a[:m.n*numStreams] {
		pre[m.t*numStreams+i] = sg + m.eps
	}
}
