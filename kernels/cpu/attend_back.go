package cpu

import (
	"fmt"
	"slices"

	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// An attentionGrad is the state of one backward call. It goes through queries in blocks, each in two phases. First every
// query of the block computes p and g for the rows it reads, and its own gradient. Then the queries, in order, add to
// the gradients of the rows they read. The first phase is cut between threads by queries, the second by channels and
// rows, so each chain is one thread's.
type attentionGrad struct {
	*attention
	do, o, lse []float32
	dq, dsink  []float32
	first      bool // nothing was added to dq yet: it holds anything
	dpool      []*tensor.Tensor

	lo, hi int       // the block
	start  []int32   // of each query of the block: its first row of coefs
	coefs  []float32 // [rows, groups, 4, 2]: g and p
	delta  []float32 // [queries, heads] of the block, and room for a group
	sinkP  []float32 // [queries, heads] likewise: exp(sink-lse)
	grads  []poolGrad
}

// mostCoefs is the elements of coefs for each thread, unless one query needs more: with what else a block reads they
// stay in a core's own cache.
const mostCoefs = 1 << 15

// AttendBackward adds to dq, dsink and dpool; see [furlong/kernels.Attention].
func (b *Backend) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	b.AttendBackwardKept(dq, dsink, dpool, do, o, lse, nil, q, sink, heads, views...)
}

// AttendBackwardKept is AttendBackward with the scores that AttendKeeping kept; see [furlong/kernels.Keeper].
func (b *Backend) AttendBackwardKept(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, kept, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if !b.attends(q, sink, heads, views) {
		b.Backend.AttendBackward(dq, dsink, dpool, do, o, lse, q, sink, heads, views...)
		return
	}
	const kernel = "attend backward"
	a := b.newAttention(kernel, q, sink, heads, views)
	rows := q.Shape[0]
	a.keep(kernel, kept, rows)
	want(kernel, "do", do, rows, heads*a.dim)
	want(kernel, "o", o, rows, heads*a.dim)
	want(kernel, "lse", lse, rows, heads)
	wantMaybe(kernel, "dq", dq, rows, heads*a.dim)
	wantMaybe(kernel, "dsink", dsink, heads, 1)
	wantLen(kernel, "dpool", len(dpool), len(views))
	for i, d := range dpool {
		wantMaybe(kernel, fmt.Sprintf("dpool[%d]", i), d, views[i].Pool.Shape[0], a.dim)
		b.sums(d)
	}
	g := b.grads.Get().(*attentionGrad)
	defer g.giveBack(b)
	g.attention, g.do, g.o, g.lse = a, do.F32(), o.F32(), lse.F32()
	g.first = takeFresh(dq)
	g.dq, g.dsink, g.dpool = values(dq), b.sums(dsink), dpool
	g.gather()
	for g.lo = 0; g.lo < rows; g.lo = g.hi {
		g.block(b, rows)
	}
}

// giveBack keeps g's memory for the next call, and nothing of this one.
func (g *attentionGrad) giveBack(b *Backend) {
	for i := range g.grads {
		g.grads[i].grad = nil
	}
	*g = attentionGrad{start: g.start, coefs: g.coefs, delta: g.delta, sinkP: g.sinkP, grads: g.grads}
	b.grads.Put(g)
}

// gather makes a poolGrad for each gradient; several views may share one.
func (g *attentionGrad) gather() {
	g.grads = g.grads[:0]
	for i, d := range g.dpool {
		if d == nil || d.Len() == 0 {
			continue // not wanted, or no window has closed yet
		}
		k := slices.IndexFunc(g.grads, func(p poolGrad) bool { return &p.grad[0] == part(d.F32(), 0, 1) })
		if k < 0 {
			k = len(g.grads)
			g.grads = slices.Grow(g.grads, 1)[:k+1]
			p := &g.grads[k]
			p.grad, p.views = d.F32(), p.views[:0]
		}
		g.grads[k].views = append(g.grads[k].views, i)
	}
}

// block takes as many queries as fit coefs through both phases.
func (g *attentionGrad) block(b *Backend, rows int) {
	wide := g.stride()
	g.start = g.start[:0]
	sum := 0
	for g.hi = g.lo; g.hi < rows; g.hi++ {
		n, _ := g.reads(g.hi, g.hi+1)
		if g.hi > g.lo && (sum+n)*wide > mostCoefs*b.pool.threads {
			break
		}
		g.start = append(g.start, int32(sum))
		sum += n
	}
	n := g.hi - g.lo
	g.coefs = slices.Grow(g.coefs[:0], sum*wide)[:sum*wide]
	g.delta = slices.Grow(g.delta[:0], n*g.heads+8)[:n*g.heads+8]
	g.sinkP = slices.Grow(g.sinkP[:0], n*g.heads+8)[:n*g.heads+8]

	// What the second phase has to know of the rows is found out beside the queries, as chunks of the same fork.
	grads := len(g.grads)
	b.each(n+grads, (sum/n+1)*g.heads*g.dim*4, func(lo, hi int, s *scratch) {
		for ; lo < min(hi, grads); lo++ {
			g.grads[lo].survey(g)
		}
		if lo < hi {
			g.queries(g.lo+lo-grads, g.lo+hi-grads, s)
		}
	})
	for i := range g.grads {
		g.grads[i].add(b, g, sum)
	}
	g.sinks()
}

// queries is the first phase of queries lo up to hi.
func (g *attentionGrad) queries(lo, hi int, s *scratch) {
	_, most := g.reads(lo, hi)
	again, dp, pairs := s.f32((most+2)*group), s.f32((most+2)*group), s.f32(group*g.dim)
	pad := s.f32((3*g.dim + 2) * group)
	q, do, dq, small := pad[:group*g.dim], pad[group*g.dim:], pad[2*group*g.dim:], pad[3*group*g.dim:]
	n, base := (hi-lo)*g.heads, (lo-g.lo)*g.heads
	asm.DotRows(&g.delta[base], part(g.do, lo*g.heads*g.dim, n*g.dim), part(g.o, lo*g.heads*g.dim, n*g.dim), n, g.dim)
	g.sinkTerms(lo, hi, s)
	for t := lo; t < hi; t++ {
		for h := 0; h < g.heads; h += group {
			n := g.scores(dp, g.four(g.do, t, h, g.dim, do), pairs, 1, t)
			if n == 0 {
				g.noGrad(t, h)
				continue
			}
			l := g.keptOf(t, h, n)
			if l == nil {
				l = again
				g.scores(l, g.four(g.q, t, h, g.dim, q), pairs, g.scale, t)
			}
			stride := g.stride()
			c := g.coefs[int(g.start[t-g.lo])*stride+2*h:]
			lse := g.four(g.lse, t, h, 1, small)
			grad := either(g.isa.fours(n), asm.AttendGradWide, asm.AttendGrad)
			grad(part(c, 0, (n-1)*stride+2*group), &l[0], &dp[0], &lse[0], part(g.delta, (t-g.lo)*g.heads+h, group), g.scale, n, stride)
			if g.dq != nil {
				g.queryGrad(dq, c, t, h)
			}
		}
	}
}

// queryGrad adds the chain of g*row to dq of a group of heads, by way of sum unless it is the first and there is room for it.
func (g *attentionGrad) queryGrad(sum, c []float32, t, h int) {
	n, stride, to := 0, g.stride(), g.group(t, h)
	weigh := either(g.isa.takes(g.dim), asm.QueryGradWide, asm.QueryGrad)
	if g.first && len(to) == group*g.dim {
		sum = to
	}
	for i := range g.views {
		if rows := g.views[i].At(t); len(rows) > 0 {
			weigh(&sum[0], &c[n*stride], &g.pools[i][0], &rows[0], len(rows), g.dim, stride, min(n, 1))
			n += len(rows)
		}
	}
	switch {
	case !g.first:
		add(to, to, sum)
	case &sum[0] != &to[0]:
		copy(to, sum)
	}
}

// noGrad is queryGrad of a query without rows.
func (g *attentionGrad) noGrad(t, h int) {
	if g.first {
		clear(g.group(t, h))
	}
}

// group returns dq of a group of heads, nothing if nobody wants it.
func (g *attentionGrad) group(t, h int) []float32 {
	if g.dq == nil {
		return nil
	}
	return g.dq[(t*g.heads+h)*g.dim:][:min(group, g.heads-h)*g.dim]
}

// sinkTerms sets sinkP of queries lo up to hi.
func (g *attentionGrad) sinkTerms(lo, hi int, s *scratch) {
	if g.dsink == nil {
		return
	}
	n := (hi - lo) * g.heads
	x := s.f32((n + 7) &^ 7)
	clear(x)
	for i := range n {
		x[i] = g.sink[i%g.heads] - g.lse[lo*g.heads+i]
	}
	asm.Exp(&x[0], &x[0], len(x))
	copy(g.sinkP[(lo-g.lo)*g.heads:], x[:n])
}

// sinks goes on with the chains of dsink over the block.
func (g *attentionGrad) sinks() {
	for i := range (g.hi - g.lo) * g.heads * min(len(g.dsink), 1) {
		d := &g.dsink[i%g.heads]
		*d = ref.FMA(-g.sinkP[i], g.delta[i], *d)
	}
}

// stride returns the elements of a row of coefs.
func (g *attentionGrad) stride() int { return 2 * group * g.groups }
