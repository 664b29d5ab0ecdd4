package ref

import (
	"fmt"

	"furlong/kernels"
	"furlong/tensor"
)

// A site holds what the maps of one hyper-connection are made with.
type site[F Float] struct {
	streams     int
	full        bool // post and comb too, not only pre
	base, scale []F
	eps, norm   F
	iters       int
}

// newSite checks base, scale, z and x and returns the site.
func newSite[F Float](kernel string, streams int, full bool, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) site[F] {
	s := site[F]{streams: streams, full: full, eps: F(p.Eps), norm: F(p.NormEps), iters: p.Iters}
	scales := 1
	if full {
		scales = 3
		if p.Iters < 1 {
			panic(fmt.Sprintf("%s: %d Sinkhorn rounds, want at least 1", kernel, p.Iters))
		}
	}
	check(kernel, "z", z, x.Shape[0], s.width())
	check(kernel, "base", base, s.width())
	check(kernel, "scale", scale, scales)
	s.base, s.scale = widen[F](base), widen[F](scale)
	return s
}

// width returns how many numbers of z a token has.
func (s site[F]) width() int {
	if s.full {
		return s.streams * (2 + s.streams)
	}
	return s.streams
}

// group returns which scale number i of z takes: 0 for pre, 1 for post, 2 for comb.
func (s site[F]) group(i int) int { return min(i/s.streams, 2) }

// logits sets u = z*rho and a = FMA(u, scale, base).
func (s site[F]) logits(a, u, z []F, rho F) {
	for i, v := range z {
		u[i] = v * rho
		a[i] = FMA(u[i], s.scale[s.group(i)], s.base[i])
	}
}

// HyperMap does, for each token, with rho = 1/sqrt(Dot8(x, x)/(S*D) + NormEps) over all streams,
//
//	u = z*rho, a = FMA(u, scale, base)
//	pre = sigmoid(a)+eps, post = 2*sigmoid(a)
//	comb: e = exp(a-max), M = e*(1/sum)+eps for each row of a; then the steps of [sinkhorn]
//
// Sums over streams are chains of additions from zero, ascending.
func (*Backend[F]) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	const kernel = "hyper map"
	if (post == nil) != (comb == nil) {
		panic(kernel + ": post and comb are wanted both or neither")
	}
	rows, streams, full := x.Shape[0], width(pre), post != nil
	s := newSite[F](kernel, streams, full, z, x, base, scale, p)
	check(kernel, "pre", pre, rows, streams)
	checkWanted(kernel, "post", post, rows, streams)
	checkWanted(kernel, "comb", comb, rows, streams, streams)
	toPre, toPost, toComb, zs, xs := data[F](pre), data[F](post), data[F](comb), data[F](z), data[F](x)
	a, u, mix := make([]F, s.width()), make([]F, s.width()), newSinkhorn[F](streams, s.iters)
	for t := range rows {
		rho := rootMean(xs[t*width(x):][:width(x)], s.norm)
		s.logits(a, u, zs[t*s.width():][:s.width()], rho)
		for j := range streams {
			toPre[t*streams+j] = Sigmoid(a[j]) + s.eps
		}
		if !full {
			continue
		}
		for j := range streams {
			toPost[t*streams+j] = 2 * Sigmoid(a[streams+j])
		}
		copy(toComb[t*streams*streams:], mix.run(a[2*streams:], s.eps))
	}
}

// HyperMapBackward recomputes the map and adds, for each token, with g the gradient of a (d = dpre or 2*dpost times (sg*(1-sg)), sg the sigmoid;
// the comb part from [sinkhorn]),
//
//	dbase += g, dscale = FMA(g, u, dscale) over ascending numbers of z
//	du = g*scale, dz = FMA(du, rho, dz), drho = chain of FMA(du, z, .) from zero
//	dx = FMA(c, x, dx) with c = -(((drho*rho)*rho)*rho/(S*D))
//
// A nil dpre, dpost or dcomb is zero; dpost and dcomb of the last collapse are nil.
func (*Backend[F]) HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	const kernel = "hyper map backward"
	rows, full := x.Shape[0], scale.Len() == 3
	streams := base.Len()
	if full {
		streams = siteStreams(kernel, base)
	}
	s := newSite[F](kernel, streams, full, z, x, base, scale, p)
	checkWanted(kernel, "dz", dz, rows, s.width())
	checkWanted(kernel, "dx", dx, rows, width(x))
	checkWanted(kernel, "dbase", dbase, s.width())
	checkWanted(kernel, "dscale", dscale, len(s.scale))
	checkWanted(kernel, "dpre", dpre, rows, streams)
	checkWanted(kernel, "dpost", dpost, rows, streams)
	checkWanted(kernel, "dcomb", dcomb, rows, streams, streams)
	if !full && (dpost != nil || dcomb != nil) {
		panic(kernel + ": dpost and dcomb at a site without them")
	}

	gz, gx, gb, gs, zs, xs := sums[F](dz), sums[F](dx), sums[F](dbase), sums[F](dscale), data[F](z), data[F](x)
	a, u, g, mix := make([]F, s.width()), make([]F, s.width()), make([]F, s.width()), newSinkhorn[F](streams, s.iters)
	for t := range rows {
		row, zRow := xs[t*width(x):][:width(x)], zs[t*s.width():][:s.width()]
		rho := rootMean(row, s.norm)
		s.logits(a, u, zRow, rho)
		s.gradient(g, a, mix, tokenOf[F](dpre, t), tokenOf[F](dpost, t), tokenOf[F](dcomb, t))
		var drho F
		for i, v := range g {
			du := v * s.scale[s.group(i)]
			drho = FMA(du, zRow[i], drho)
			if dz != nil {
				gz[t*s.width()+i] = FMA(du, rho, gz[t*s.width()+i])
			}
			if dscale != nil {
				gs[s.group(i)] = FMA(v, u[i], gs[s.group(i)])
			}
		}
		if dbase != nil {
			add(gb, g)
		}
		if dx != nil {
			axpy(gx[t*width(x):][:width(x)], -(drho * rho * rho * rho / F(width(x))), row)
		}
	}
}

// gradient sets g to the gradient of a.
func (s site[F]) gradient(g, a []F, mix *sinkhorn[F], dpre, dpost, dcomb []F) {
	clear(g)
	for j := range dpre {
		g[j] = dpre[j] * slope(a[j])
	}
	for j := range dpost {
		g[s.streams+j] = 2 * dpost[j] * slope(a[s.streams+j])
	}
	if dcomb != nil {
		mix.run(a[2*s.streams:], s.eps)
		mix.back(g[2*s.streams:], dcomb)
	}
}

// slope returns the derivative of the sigmoid, sg*(1-sg).
func slope[F Float](a F) F {
	sg := Sigmoid(a)
	return sg * (1 - sg)
}

// tokenOf returns entry t of the first axis; nil of a nil tensor.
func tokenOf[F Float](x *tensor.Tensor, t int) []F {
	if x == nil {
		return nil
	}
	return data[F](x)[t*width(x):][:width(x)]
}

// siteStreams returns S of a base of S*(2+S) numbers.
func siteStreams(kernel string, base *tensor.Tensor) int {
	for s := 1; s*(2+s) <= base.Len(); s++ {
		if s*(2+s) == base.Len() {
			return s
		}
	}
	panic(fmt.Sprintf("%s: base is %s, want [S*(2+S)]", kernel, dims(base.Shape)))
}
