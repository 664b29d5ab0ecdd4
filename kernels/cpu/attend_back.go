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
	views []int   // of the gradient, in order
	end   []int32 // of each row, where its reads end
	reads []read  // row after row, queries ascending
}

// A read is a query and the row of coefs that it has for the row it reads.
type read struct{ query, coef int32 }

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
	wide := g.stride()
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
		tiles := (len(l.end) + tileRows - 1) / tileRows
		b.each(tiles, len(l.reads)/max(tiles, 1)*g.heads*g.dim*2, func(lo, hi int, _ *scratch) {
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
			stride := g.stride()
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
	n, stride := 0, g.stride()
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

// fill lists the reads of the block by row: it counts, and then puts each read in its place.
func (l *readers) fill(g *attentionGrad) {
	rows := len(l.grad) / g.dim
	l.end = slices.Grow(l.end[:0], rows)[:rows]
	clear(l.end)
	sum := 0
	for _, i := range l.views {
		for t := g.lo; t < g.hi; t++ {
			for _, r := range g.views[i].At(t) {
				l.end[r]++
				sum++
			}
		}
	}
	place := int32(0)
	for r, n := range l.end {
		l.end[r] = place
		place += n
	}
	l.reads = slices.Grow(l.reads[:0], sum)[:sum]
	for t := g.lo; t < g.hi; t++ {
		at := g.start[t-g.lo]
		for i := range g.views {
			rows := g.views[i].At(t)
			if slices.Contains(l.views, i) {
				for j, r := range rows {
					l.reads[l.end[r]] = read{int32(t), at + int32(j)}
					l.end[r]++
				}
			}
			at += int32(len(rows))
		}
	}
}

// tileRows is how many rows share what they load of the queries that read all of them.
const tileRows = 4

// apply is the second phase of the rows of tiles lo up to hi.
func (l *readers) apply(g *attentionGrad, lo, hi int) {
	for i := lo * tileRows; i < min(hi*tileRows, len(l.end)); i += tileRows {
		n := min(tileRows, len(l.end)-i)
		var next, end [tileRows]int32
		once := n == tileRows
		for r := range n {
			next[r], end[r] = l.first(i+r), l.end[i+r]
			if twice(l.reads[next[r]:end[r]]) {
				l.slow(g, i+r)
				next[r], once = end[r], false
			}
		}
		if once {
			l.together(g, i, &next, &end)
		}
		for r := range n {
			l.alone(g, i+r, next[r], end[r])
		}
	}
}

// twice reports whether a query reads the row more than once.
func twice(reads []read) bool {
	for k := 1; k < len(reads); k++ {
		if reads[k].query == reads[k-1].query {
			return true
		}
	}
	return false
}

// slow goes through the reads of a row that a query reads more than once: then the order is heads, and reads inside.
func (l *readers) slow(g *attentionGrad, i int) {
	reads := l.reads[l.first(i):l.end[i]]
	row := part(l.grad, i*g.dim, g.dim)
	for len(reads) > 0 {
		n := 1
		for n < len(reads) && reads[n].query == reads[0].query {
			n++
		}
		for h := range g.heads {
			at := (int(reads[0].query)*g.heads + h) * g.dim
			for _, r := range reads[:n] {
				c := g.coefs[int(r.coef)*g.stride()+2*h:][:2]
				asm.AxpyRows(row, &g.q[at], &c[0], 1, g.dim)
				asm.AxpyRows(row, &g.do[at], &c[1], 1, g.dim)
			}
		}
		reads = reads[n:]
	}
}

// first returns where the reads of row i begin.
func (l *readers) first(i int) int32 {
	if i == 0 {
		return 0
	}
	return l.end[i-1]
}

// together goes through the reads of four rows as long as all have some. Runs of queries that read all four are done
// at once, others row by row: each row's order stays.
func (l *readers) together(g *attentionGrad, i int, next, end *[tileRows]int32) {
	for next[0] < end[0] && next[1] < end[1] && next[2] < end[2] && next[3] < end[3] {
		last := int32(-1)
		for r := range next {
			last = max(last, l.reads[next[r]].query)
		}
		for r := range next {
			n := next[r]
			for n < end[r] && l.reads[n].query < last {
				n++
			}
			l.alone(g, i+r, next[r], n)
			next[r] = n
		}
		n := l.common(next, end)
		if n > 0 {
			const bytes = 8 // of a read
			asm.RowGrad4(part(l.grad, i*g.dim, tileRows*g.dim), &g.q[0], &g.do[0], &g.coefs[0], &l.reads[0].query,
				bytes*int(next[0]), bytes*int(next[1]), bytes*int(next[2]), bytes*int(next[3]), n, g.heads, 4*g.dim, 4*g.stride())
		}
		for r := range next {
			next[r] += int32(n)
		}
	}
}

// common returns how many next reads of four rows have the same queries.
func (l *readers) common(next, end *[tileRows]int32) int {
	n := min(end[0]-next[0], end[1]-next[1], end[2]-next[2], end[3]-next[3])
	a, b, c, d := l.reads[next[0]:][:n], l.reads[next[1]:][:n], l.reads[next[2]:][:n], l.reads[next[3]:][:n]
	for k := range a {
		if q := a[k].query; b[k].query != q || c[k].query != q || d[k].query != q {
			return k
		}
	}
	return int(n)
}

// alone goes through reads lo up to hi of row i.
func (l *readers) alone(g *attentionGrad, i int, lo, hi int32) {
	if lo < hi {
		row := part(l.grad, i*g.dim, g.dim)
		asm.RowGrad(row, &g.q[0], &g.do[0], &g.coefs[0], &l.reads[lo].query, int(hi-lo), g.heads, g.dim, g.stride())
	}
}

// stride returns the elements of a row of coefs.
func (g *attentionGrad) stride() int { return 2 * group * g.groups }
