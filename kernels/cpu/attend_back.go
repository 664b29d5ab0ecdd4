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
// query of the block computes p and g for the rows it reads, and its own gradient. Then every row of a pool goes
// through the queries that read it, in order. Phases are cut between threads by queries and by rows, so
// each chain is one thread's.
type attentionGrad struct {
	*attention
	do, o, lse []float32
	dq, dsink  []float32
	dpool      []*tensor.Tensor

	lo, hi int       // the block
	start  []int32   // of each query of the block: its first row of coefs
	coefs  []float32 // [rows, groups, 4, 2]: g and p
	delta  []float32 // [queries, heads] of the block, and room for a group
	sinkP  []float32 // [queries, heads] likewise: exp(sink-lse)
	lists  []readers
}

const mostCoefs = 1 << 18 // elements of coefs, unless one query needs more

// readers lists, for each row of one gradient, the reads of the block.
type readers struct {
	grad  []float32
	views []int // of the gradient, in order
	first int   // the first row that is read
	count []int32
	reads []int32 // (query, row of coefs), row after row, queries ascending
}

// AttendBackward adds to dq, dsink and dpool; see [furlong/kernels.Attention].
func (b *Backend) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if !b.attends(q, sink, heads, views) {
		b.Backend.AttendBackward(dq, dsink, dpool, do, o, lse, q, sink, heads, views...)
		return
	}
	const kernel = "attend backward"
	a := newAttention(kernel, q, sink, heads, views)
	rows := q.Shape[0]
	want(kernel, "do", do, rows, heads*a.dim)
	want(kernel, "o", o, rows, heads*a.dim)
	want(kernel, "lse", lse, rows, heads)
	wantMaybe(kernel, "dq", dq, rows, heads*a.dim)
	wantMaybe(kernel, "dsink", dsink, heads, 1)
	wantLen(kernel, "dpool", len(dpool), len(views))
	for i, d := range dpool {
		wantMaybe(kernel, fmt.Sprintf("dpool[%d]", i), d, views[i].Pool.Shape[0], a.dim)
	}
	g := b.grads.Get().(*attentionGrad)
	defer g.giveBack(b)
	g.attention, g.do, g.o, g.lse = a, do.F32(), o.F32(), lse.F32()
	g.dq, g.dsink, g.dpool = values(dq), values(dsink), dpool
	g.gather()
	for g.lo = 0; g.lo < rows; g.lo = g.hi {
		g.block(b, rows)
	}
}

// giveBack keeps g's memory for the next call, and nothing of this one.
func (g *attentionGrad) giveBack(b *Backend) {
	for i := range g.lists {
		g.lists[i].grad = nil
	}
	*g = attentionGrad{start: g.start, coefs: g.coefs, delta: g.delta, sinkP: g.sinkP, lists: g.lists}
	b.grads.Put(g)
}

// gather makes a list for each gradient; several views may share one.
func (g *attentionGrad) gather() {
	g.lists = g.lists[:0]
	for i, d := range g.dpool {
		if d == nil || d.Len() == 0 {
			continue // not wanted, or no window has closed yet
		}
		k := slices.IndexFunc(g.lists, func(l readers) bool { return &l.grad[0] == part(d.F32(), 0, 1) })
		if k < 0 {
			k = len(g.lists)
			g.lists = slices.Grow(g.lists, 1)[:k+1]
			l := &g.lists[k]
			l.grad, l.views = d.F32(), l.views[:0]
		}
		g.lists[k].views = append(g.lists[k].views, i)
	}
}

// block takes as many queries as fit coefs through both phases.
func (g *attentionGrad) block(b *Backend, rows int) {
	wide := 2 * group * g.groups
	g.start = g.start[:0]
	sum := 0
	for g.hi = g.lo; g.hi < rows; g.hi++ {
		n, _ := g.reads(g.hi, g.hi+1)
		if g.hi > g.lo && (sum+n)*wide > mostCoefs {
			break
		}
		g.start = append(g.start, int32(sum))
		sum += n
	}
	n := g.hi - g.lo
	g.coefs = slices.Grow(g.coefs[:0], sum*wide)[:sum*wide]
	g.delta = slices.Grow(g.delta[:0], n*g.heads+8)[:n*g.heads+8]
	g.sinkP = slices.Grow(g.sinkP[:0], n*g.heads+8)[:n*g.heads+8]

	// The lists are made beside the queries, as chunks of the same fork.
	lists := len(g.lists)
	b.each(n+lists, (sum/n+1)*g.heads*g.dim*4, func(lo, hi int, s *scratch) {
		for ; lo < min(hi, lists); lo++ {
			g.lists[lo].fill(g)
		}
		if lo < hi {
			g.queries(g.lo+lo-lists, g.lo+hi-lists, s)
		}
	})
	for i := range g.lists {
		l := &g.lists[i]
		b.each(len(l.count), len(l.reads)/2/max(len(l.count), 1)*g.heads*g.dim*2, func(lo, hi int, _ *scratch) {
			l.apply(g, lo, hi)
		})
	}
	g.sinks()
}

// queries is the first phase of queries lo up to hi.
func (g *attentionGrad) queries(lo, hi int, s *scratch) {
	_, most := g.reads(lo, hi)
	l, dp := s.f32((most+2)*group), s.f32((most+2)*group)
	pad := s.f32((3*g.dim + 2) * group)
	q, do, dq, small := pad[:group*g.dim], pad[group*g.dim:], pad[2*group*g.dim:], pad[3*group*g.dim:]
	n, base := (hi-lo)*g.heads, (lo-g.lo)*g.heads
	asm.DotRows(&g.delta[base], part(g.do, lo*g.heads*g.dim, n*g.dim), part(g.o, lo*g.heads*g.dim, n*g.dim), n, g.dim)
	g.sinkTerms(lo, hi, s)
	for t := lo; t < hi; t++ {
		for h := 0; h < g.heads; h += group {
			n := g.scores(l, g.four(g.q, t, h, g.dim, q), g.scale, t)
			if n == 0 {
				continue
			}
			g.scores(dp, g.four(g.do, t, h, g.dim, do), 1, t)
			stride := 2 * group * g.groups
			c := g.coefs[int(g.start[t-g.lo])*stride+2*h:]
			lse := g.four(g.lse, t, h, 1, small)
			asm.AttendGrad(part(c, 0, (n-1)*stride+2*group), &l[0], &dp[0], &lse[0], part(g.delta, (t-g.lo)*g.heads+h, group), g.scale, n, stride)
			if g.dq != nil {
				g.queryGrad(dq, c, t, h)
			}
		}
	}
}

// queryGrad adds the chain of g*row to dq of a group of heads.
func (g *attentionGrad) queryGrad(sum, c []float32, t, h int) {
	n, stride := 0, 2*group*g.groups
	for i := range g.views {
		if rows := g.views[i].At(t); len(rows) > 0 {
			asm.QueryGrad(&sum[0], &c[n*stride], &g.pools[i][0], &rows[0], len(rows), g.dim, stride, min(n, 1))
			n += len(rows)
		}
	}
	to := g.dq[(t*g.heads+h)*g.dim:][:min(group, g.heads-h)*g.dim]
	add(to, to, sum)
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

// fill lists the reads of the block by row.
func (l *readers) fill(g *attentionGrad) {
	first, last := g.span(l.views)
	if rows := len(l.grad) / g.dim; first < 0 || last >= rows {
		panic(fmt.Sprintf("attend backward: rows %d to %d of a pool of %d", first, last, rows))
	}
	l.first = first
	l.count = slices.Grow(l.count[:0], last-first+1)[:last-first+1]
	clear(l.count)
	sum := 0
	g.eachRead(l.views, func(_, row, _ int32) {
		l.count[int(row)-first]++
		sum++
	})
	l.reads = slices.Grow(l.reads[:0], 2*sum)[:2*sum]
	place := int32(0)
	for i, n := range l.count {
		l.count[i] = place
		place += n
	}
	g.eachRead(l.views, func(t, row, at int32) {
		i := l.count[int(row)-first]
		l.count[int(row)-first]++
		l.reads[2*i], l.reads[2*i+1] = t, at
	})
}

// span returns the first and the last row that the block reads by the given views; first is past last if none.
func (g *attentionGrad) span(views []int) (first, last int) {
	first, last = 1<<31-1, -1
	g.eachRead(views, func(_, row, _ int32) { first, last = min(first, int(row)), max(last, int(row)) })
	if last < 0 {
		return 0, -1
	}
	return first, last
}

// eachRead calls f for the reads of the block by the given views: query, row of the pool, row of coefs.
func (g *attentionGrad) eachRead(views []int, f func(t, row, at int32)) {
	for t := g.lo; t < g.hi; t++ {
		at := g.start[t-g.lo]
		for i := range g.views {
			rows := g.views[i].At(t)
			if slices.Contains(views, i) {
				for j, r := range rows {
					f(int32(t), r, at+int32(j))
				}
			}
			at += int32(len(rows))
		}
	}
}

// apply is the second phase of rows lo up to hi of those that count lists: it is now where each row's reads end.
func (l *readers) apply(g *attentionGrad, lo, hi int) {
	for i := lo; i < hi; i++ {
		from := int32(0)
		if i > 0 {
			from = l.count[i-1]
		}
		if n := int(l.count[i] - from); n > 0 {
			row := part(l.grad, (l.first+i)*g.dim, g.dim)
			asm.RowGrad(row, &g.q[0], &g.do[0], &g.coefs[0], &l.reads[2*from], n, g.heads, g.dim, 2*group*g.groups)
		}
	}
}
