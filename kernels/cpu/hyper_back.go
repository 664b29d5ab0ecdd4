package cpu

import (
	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// HyperMapBackward adds to dz and dx token by token, and to dbase and dscale along the tokens; see [furlong/kernels.Hyper].
func (b *Backend) HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	full := scale.Len() == 3
	some := full && (dpost == nil || dcomb == nil) || dz == nil || dx == nil || dpre == nil
	if some || !full && (dpost != nil || dcomb != nil) || !b.whole(wide(x)) || wide(dpre) != numStreams || p.Iters < 1 || !single(base, scale) {
		b.Backend.HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale, p)
		return
	}
	const kernel = "hyper map backward"
	rows, width := x.Shape[0], wide(z)
	wantSite(kernel, full, z, x, base, scale)
	want(kernel, "dz", dz, rows, width)
	want(kernel, "dx", dx, rows, wide(x))
	want(kernel, "dpre", dpre, rows, numStreams)
	wantMaybe(kernel, "dpost", dpost, rows, numStreams)
	wantMaybe(kernel, "dcomb", dcomb, rows, combSize)
	if dbase != nil {
		wantLen(kernel, "dbase", dbase.Len(), width)
	}
	if dscale != nil {
		wantLen(kernel, "dscale", dscale.Len(), scale.Len())
	}

	b.sums(dz)
	b.sums(dx)
	b.sums(dbase)
	b.sums(dscale)
	mem := b.borrow()
	defer b.give(mem)
	groups := (rows + tokens - 1) / tokens
	g, u := mem.f32(groups*tokens*width), mem.f32(groups*tokens*width)
	cost := tokens * (wide(x)*normCost + 2*mapCost + 3*p.Iters*sinkhornCost)
	b.each(groups, cost, func(lo, hi int, s *scratch) {
		n := 0
		for lo, hi := lo*tokens, min(hi*tokens, rows); lo < hi; lo += n {
			s.reset()
			n = b.isa.tokens(hi - lo)
			m := mapsGrad{maps: newMaps(z, x, base, scale, lo, n, p, s)}
			m.g, m.u = g[lo*width:][:m.size*width], u[lo*width:][:m.size*width]
			m.drho = s.f32(m.size)
			if full {
				m.run(dz.F32(), dpre.F32(), dpost.F32(), dcomb.F32(), s)
			} else {
				m.lastCollapse(dz.F32(), dpre.F32())
			}
			m.inputs(dx.F32(), x.F32(), wide(x))
		}
	})
	for r := 0; r < rows; r += rowsOfChain {
		n, at := min(rowsOfChain, rows-r), r*width
		if dbase != nil {
			sumRows(dbase.F32(), g[at:], n, width)
		}
		if dscale != nil {
			scaleChains(dscale.F32(), g[at:], u[at:], n, full)
		}
	}
}

// rowsOfChain is how many rows one call of assembly takes through the scales' chains, which are slow.
const rowsOfChain = 1024

// mapsGrad is the backward pass of a group of tokens: g is the gradient of the logits, u is z*rho, [size, width].
type mapsGrad struct {
	maps
	g, u, drho []float32
}

func (m *mapsGrad) run(dz, dpre, dpost, dcomb []float32, s *scratch) {
	to := m.filled(dz, mapWidth, s)
	p, q, c := m.filled(dpre, numStreams, s), m.filled(dpost, numStreams, s), m.filled(dcomb, combSize, s)
	tmp := s.f32(mapMemory(m.size, m.iters))
	grad := either(m.size > tokens, asm.HyperMapGradWide, asm.HyperMapGrad)
	grad(&m.g[0], &m.u[0], &to[0], &m.drho[0], &p[0], &q[0], &c[0], &m.z[0], &m.rho[0], &m.base[0], &m.scale[0], &tmp[0], m.iters, m.eps)
	m.put(dz, to, mapWidth)
}

// lastCollapse is run for a site of pre alone.
func (m *mapsGrad) lastCollapse(dz, dpre []float32) {
	var sg [mostTokens * numStreams]float32
	for i := range m.n * numStreams {
		m.u[i] = m.z[i] * m.rho[i/numStreams]
		sg[i] = ref.FMA(m.u[i], m.scale[0], m.base[i%numStreams])
	}
	asm.Sigmoid(&sg[0], &sg[0], m.size*numStreams)
	clear(m.drho)
	for i := range m.n * numStreams {
		t, at := i/numStreams, m.t*numStreams+i
		m.g[i] = dpre[at] * float32(sg[i]*(1-sg[i]))
		du := m.g[i] * m.scale[0]
		m.drho[t] = ref.FMA(du, m.z[i], m.drho[t])
		dz[at] = ref.FMA(du, m.rho[t], dz[at])
	}
}

// inputs adds c*x to dx with c = -(((drho*rho)*rho)*rho/dim).
func (m *mapsGrad) inputs(dx, x []float32, dim int) {
	for t := range m.n {
		r := m.rho[t]
		m.drho[t] = -(m.drho[t] * r * r * r / float32(dim))
	}
	asm.AxpyRows(part(dx, m.t*dim, m.n*dim), part(x, m.t*dim, m.n*dim), &m.drho[0], m.n, dim)
}

// sumRows adds n rows to y in order.
func sumRows(y, rows []float32, n, width int) {
	if width%8 == 0 {
		asm.ColumnSum(&y[0], part(rows, 0, n*width), n, width, width)
		return
	}
	for i, v := range rows[:n*width] {
		y[i%width] += v
	}
}

// scaleChains goes on with the chains of FMA(g, u, .) over tokens.
func scaleChains(dscale, g, u []float32, n int, full bool) {
	if full {
		asm.ScaleChains(part(dscale, 0, 3), part(g, 0, n*mapWidth), part(u, 0, n*mapWidth), n)
		return
	}
	for i, v := range g[:n*numStreams] {
		dscale[0] = ref.FMA(v, u[i], dscale[0])
	}
}
