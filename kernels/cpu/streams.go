package cpu

import (
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// numStreams is the number of residual streams that the assembly is written for.
const numStreams = 4

// Collapse sets y to the streams' weighted sum; see [furlong/kernels.Hyper].
func (b *Backend) Collapse(y, x, pre *tensor.Tensor) {
	rows, dim, ok := b.streams(x, pre)
	if !ok {
		b.Backend.Collapse(y, x, pre)
		return
	}
	want("collapse", "y", y, rows, dim)
	want("collapse", "weights", pre, rows, numStreams)
	out, in, w := y.F32(), x.F32(), pre.F32()
	collapse := either(b.isa.takes(dim), asm.CollapseWide, asm.Collapse)
	b.eachShort(rows, 4*dim*elementCost, func(lo, hi int, _ *scratch) {
		n := hi - lo
		collapse(part(out, lo*dim, n*dim), part(in, 4*lo*dim, 4*n*dim), part(w, 4*lo, 4*n), n, dim)
	})
}

// streams returns T and D of x [T, 4, D], and whether the assembly can take it.
func (b *Backend) streams(x, weight *tensor.Tensor) (rows, dim int, ok bool) {
	width := wide(x)
	return x.Shape[0], width / numStreams, wide(weight) == numStreams && width%numStreams == 0 && b.whole(width/numStreams)
}

// CollapseBackward adds to dx and dpre; see [furlong/kernels.Hyper].
func (b *Backend) CollapseBackward(dx, dpre, dy, x, pre *tensor.Tensor) {
	rows, dim, ok := b.streams(x, pre)
	if !ok || dx == nil || dpre == nil {
		b.Backend.CollapseBackward(dx, dpre, dy, x, pre)
		return
	}
	const kernel = "collapse backward"
	want(kernel, "weights", pre, rows, numStreams)
	want(kernel, "dy", dy, rows, dim)
	want(kernel, "dx", dx, rows, 4*dim)
	want(kernel, "dpre", dpre, rows, numStreams)
	gx, gp, out, in, w := b.sums(dx), b.sums(dpre), dy.F32(), x.F32(), pre.F32()
	b.eachShort(rows, 8*dim*elementCost, func(lo, hi int, _ *scratch) {
		n := hi - lo
		asm.CollapseGrad(part(gx, 4*lo*dim, 4*n*dim), part(gp, 4*lo, 4*n), part(out, lo*dim, n*dim), part(in, 4*lo*dim, 4*n*dim), part(w, 4*lo, 4*n), n, dim)
	})
}

// Expand sets y to the sub-layer's output and the old streams mixed; see [furlong/kernels.Hyper].
func (b *Backend) Expand(y, x, o, post, comb *tensor.Tensor) {
	rows, dim, ok := b.streams(x, post)
	if !ok {
		b.Backend.Expand(y, x, o, post, comb)
		return
	}
	wantExpand("expand", rows, dim, o, post, comb)
	want("expand", "y", y, rows, 4*dim)
	out, in, sub, p, c := y.F32(), x.F32(), o.F32(), post.F32(), comb.F32()
	expand := either(b.isa.takes(dim), asm.ExpandWide, asm.Expand)
	b.eachShort(rows, 8*dim*elementCost, func(lo, hi int, _ *scratch) {
		n := hi - lo
		expand(part(out, 4*lo*dim, 4*n*dim), part(in, 4*lo*dim, 4*n*dim), part(sub, lo*dim, n*dim), part(p, 4*lo, 4*n), part(c, 16*lo, 16*n), n, dim)
	})
}

func wantExpand(kernel string, rows, dim int, o, post, comb *tensor.Tensor) {
	want(kernel, "o", o, rows, dim)
	want(kernel, "weights", post, rows, numStreams)
	want(kernel, "comb", comb, rows, numStreams*numStreams)
}

// ExpandBackward adds to dx, do, dpost and dcomb; see [furlong/kernels.Hyper].
func (b *Backend) ExpandBackward(dx, do, dpost, dcomb, dy, x, o, post, comb *tensor.Tensor) {
	rows, dim, ok := b.streams(x, post)
	if !ok || (dpost == nil) != (dcomb == nil) {
		b.Backend.ExpandBackward(dx, do, dpost, dcomb, dy, x, o, post, comb)
		return
	}
	const kernel = "expand backward"
	wantExpand(kernel, rows, dim, o, post, comb)
	want(kernel, "dy", dy, rows, 4*dim)
	wantMaybe(kernel, "dx", dx, rows, 4*dim)
	wantMaybe(kernel, "do", do, rows, dim)
	wantMaybe(kernel, "dpost", dpost, rows, numStreams)
	wantMaybe(kernel, "dcomb", dcomb, rows, numStreams*numStreams)
	gx, gs, gp, gc := values(dx), values(do), b.sums(dpost), b.sums(dcomb)
	firstX, firstO := takeFresh(dx), takeFresh(do)
	streamGrad := either(firstX, asm.ExpandGradFirst, asm.ExpandGrad)
	outGrad := either(firstO, asm.ExpandOutFirst, asm.ExpandOut)
	dots := asm.ExpandDots
	if b.isa.takes(dim) {
		streamGrad = either(firstX, asm.ExpandGradFirstWide, asm.ExpandGradWide)
		outGrad = either(firstO, asm.ExpandOutFirstWide, asm.ExpandOutWide)
		dots = asm.ExpandDotsWide
	}
	out, in, sub, p, c := dy.F32(), x.F32(), o.F32(), post.F32(), comb.F32()
	b.each(rows, 16*dim*elementCost, func(lo, hi int, _ *scratch) {
		for ; lo < hi; lo += rowsInCache {
			n := min(rowsInCache, hi-lo)
			from := part(out, 4*lo*dim, 4*n*dim)
			if do != nil {
				outGrad(part(gs, lo*dim, n*dim), from, part(p, 4*lo, 4*n), n, dim)
			}
			if dcomb != nil {
				dots(part(gp, 4*lo, 4*n), part(gc, 16*lo, 16*n), from, part(in, 4*lo*dim, 4*n*dim), part(sub, lo*dim, n*dim), n, dim)
			}
			if dx != nil { // last: it may lie where dy does
				streamGrad(part(gx, 4*lo*dim, 4*n*dim), from, part(c, 16*lo, 16*n), n, dim)
			}
		}
	})
}
