package cpu

import (
	"fmt"
	"math"

	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// group is how many heads the assembly takes at once; a last group is filled up with heads of zeros.
const group = 4

// An attention is the shapes and inputs of one call.
type attention struct {
	isa                isa
	heads, groups, dim int
	scale              float32
	q, sink            []float32
	views              []kernels.View
	pools              [][]float32
	inside             []bool // of each view: all of its rows are in the pool

	kept  []float32 // scores, if they are kept: of each query, group and row four heads
	first []int     // of each query: its first row of kept
}

// newAttention checks queries, sink and views.
func (b *Backend) newAttention(kernel string, q, sink *tensor.Tensor, heads int, views []kernels.View) *attention {
	if heads < 1 || wide(q)%heads != 0 {
		panic(fmt.Sprintf("%s: q is %s, want [T, %d*D]", kernel, dims(q.Shape), heads))
	}
	dim := wide(q) / heads
	a := &attention{isa: b.isa, heads: heads, groups: (heads + group - 1) / group, dim: dim, scale: rootScale(dim), q: q.F32(), sink: sink.F32(), views: views}
	want(kernel, "sink", sink, heads, 1)
	for i, v := range views {
		wantView(kernel, fmt.Sprintf("views[%d]", i), v, q.Shape[0], dim)
		a.pools = append(a.pools, v.Pool.F32())
		a.inside = append(a.inside, allBelow(v.Rows, v.Pool.Shape[0]))
	}
	return a
}

// rootScale returns n^(-1/2), rounded once from float64.
func rootScale(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

// fits reports whether the assembly can take the call.
func (b *Backend) attends(q, sink *tensor.Tensor, heads int, views []kernels.View) bool {
	if heads < 1 || !b.whole(wide(q)/heads) || !single(q, sink) {
		return false
	}
	for _, v := range views {
		if !single(v.Pool) {
			return false
		}
	}
	return true
}

// reads returns the rows that queries lo up to hi read, and the most that one of them does.
func (a *attention) reads(lo, hi int) (sum, most int) {
	for t := lo; t < hi; t++ {
		n := 0
		for i := range a.views {
			n += int(a.views[i].Hi[t] - a.views[i].Lo[t])
		}
		sum, most = sum+n, max(most, n)
	}
	return sum, most
}

// cost returns the work of a query, for each multiply-add of a head with a row.
func (a *attention) cost(queries, each int) int {
	sum, _ := a.reads(0, queries)
	return (sum/max(queries, 1) + 1) * a.heads * a.dim * each
}

// allBelow reports whether all rows are in a pool of n. Queries share rows, so that one look at all costs less than one
// for each query; but no query may read a row that isn't there.
func allBelow(rows []int32, n int) bool {
	const most = 1 << 18 // of one call
	for len(rows) >= 8 {
		k := min(len(rows), most) &^ 7
		if int(asm.MaxIndex(&rows[0], k)) >= n {
			return false
		}
		rows = rows[k:]
	}
	for _, r := range rows {
		if uint(r) >= uint(n) {
			return false
		}
	}
	return true
}

// checkRows panics if a row lies outside of a pool of n: the assembly would read it.
func checkRows(rows []int32, n int) {
	whole := len(rows) &^ 7
	if whole > 0 && int(asm.MaxIndex(&rows[0], whole)) >= n {
		whole = 0 // look for the one to name
	}
	for _, r := range rows[whole:] {
		if uint(r) >= uint(n) {
			panic(fmt.Sprintf("attend: row %d of a pool of %d", r, n))
		}
	}
}

// four returns four heads of n numbers each from head h on: where they lie, or a copy filled up with zeros.
func (a *attention) four(x []float32, t, h, n int, pad []float32) []float32 {
	at := (t*a.heads + h) * n
	if h+group <= a.heads {
		return x[at:][:group*n]
	}
	real := copy(pad, x[at:][:(a.heads-h)*n])
	clear(pad[real : group*n])
	return pad[:group*n]
}

// Attend sets o and lse; see [furlong/kernels.Attention].
func (b *Backend) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	b.AttendKeeping(o, lse, nil, q, sink, heads, views...)
}

// AttendKeeping is Attend that keeps the scores; see [furlong/kernels.Keeper].
func (b *Backend) AttendKeeping(o, lse, kept, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if !b.attends(q, sink, heads, views) {
		b.Backend.Attend(o, lse, q, sink, heads, views...)
		return
	}
	a := b.newAttention("attend", q, sink, heads, views)
	want("attend", "o", o, q.Shape[0], heads*a.dim)
	want("attend", "lse", lse, q.Shape[0], heads)
	a.keep("attend", kept, q.Shape[0])
	out, logs := o.F32(), lse.F32()
	b.each(q.Shape[0], a.cost(q.Shape[0], 2), func(lo, hi int, s *scratch) {
		a.forward(out, logs, lo, hi, s)
	})
}

// forward computes queries lo up to hi.
func (a *attention) forward(out, logs []float32, lo, hi int, s *scratch) {
	_, most := a.reads(lo, hi)
	e := s.f32((most + 2) * group)
	pad, ones, last, pairs := s.f32(3*group*a.dim), s.ones(a.dim), s.f32(group), s.f32(group*a.dim)
	sums := (hi - lo) * a.groups * group
	m, z := s.f32(sums), s.f32((sums+7)&^7)
	i := 0
	for t := lo; t < hi; t++ {
		for h := 0; h < a.heads; h += group {
			q, sink := a.four(a.q, t, h, a.dim, pad), a.four(a.sink, 0, h, 1, pad[2*group*a.dim:])
			a.softmax(e, m[i:][:group], z[i:][:group], last, q, sink, pairs, t, h)
			to := pad[group*a.dim:][:group*a.dim]
			if h+group <= a.heads {
				to = out[(t*a.heads+h)*a.dim:][:group*a.dim]
			}
			a.values(to, z[i:][:group], e, ones, last, t)
			if h+group > a.heads {
				copy(out[(t*a.heads+h)*a.dim:][:(a.heads-h)*a.dim], to)
			}
			i += group
		}
	}
	for j := sums; j < len(z); j++ {
		z[j] = 1
	}
	asm.Log(&z[0], &z[0], len(z))
	for t := range hi - lo {
		for h := range a.heads {
			j := t*a.groups*group + h
			logs[(lo+t)*a.heads+h] = m[j] + z[j]
		}
	}
}

// keepRows is how many rows a query may read on average for its scores to be kept: a head's scores of so many take as much memory as two rows of 64
// channels. Beyond that memory grows with the length of the sequence.
const keepRows = 128

// Keeps wants room for the scores of queries that read few rows, and for one row more, since two share a register.
func (b *Backend) Keeps(q *tensor.Tensor, heads int, views ...kernels.View) int {
	if !b.attends(q, q, heads, views) {
		return 0
	}
	for i, v := range views {
		wantView("attend", fmt.Sprintf("views[%d]", i), v, q.Shape[0], wide(q)/heads)
	}
	a := attention{views: views}
	sum, _ := a.reads(0, q.Shape[0])
	if sum == 0 || sum > keepRows*q.Shape[0] {
		return 0
	}
	return keptSize(sum, (heads+group-1)/group)
}

func keptSize(reads, groups int) int { return (reads*groups + 1) * group }

// keep has scores written to, or read from, kept, unless it is nil.
func (a *attention) keep(kernel string, kept *tensor.Tensor, queries int) {
	if kept == nil {
		return
	}
	a.first = make([]int, queries)
	sum := 0
	for t := range a.first {
		n, _ := a.reads(t, t+1)
		a.first[t], sum = sum, sum+n
	}
	a.kept = kept.F32()
	wantLen(kernel, "kept", len(a.kept), keptSize(sum, a.groups))
}

// keptOf returns the scores kept of query t, n rows and the group of head h; nil if none are.
func (a *attention) keptOf(t, h, n int) []float32 {
	if a.kept == nil {
		return nil
	}
	return a.kept[(a.first[t]*a.groups+h/group*n)*group:][:n*group]
}

// softmax sets e to the exponentials of query t, [rows, 4], m to the maxima, z to the sums and last to the sink's exponentials.
func (a *attention) softmax(e, m, z, last, q, sink, pairs []float32, t, h int) {
	n := a.scores(e, q, pairs, a.scale, t)
	copy(a.keptOf(t, h, n), e)
	softmax := either(a.isa.fours(n), asm.SoftmaxWide, asm.Softmax)
	softmax(&e[0], &m[0], &z[0], &last[0], &sink[0], n)
}

// scores sets d to the dots of four heads with the rows of query t, times scale, and returns the number of rows. If that
// is odd the last row stands twice, since two rows share a register.
func (a *attention) scores(d, q, pairs []float32, scale float32, t int) (n int) {
	for i := range a.views {
		if rows := a.views[i].At(t); len(rows) > 0 {
			if !a.inside[i] {
				checkRows(rows, len(a.pools[i])/a.dim)
			}
			next, left := a.soon(i, t, rows)
			a.isa.scores(d[n*group:], q, pairs, a.pools[i], rows, a.dim, scale, next, left)
			n += len(rows)
		}
	}
	if n%2 == 1 {
		copy(d[n*group:][:group], d[(n-1)*group:])
	}
	return n
}

// scores sets d to the dots of four heads' q with rows of a pool, times scale, and has the first left rows of next fetched meanwhile. With an odd number of
// rows it writes one more. pairs is room for another q.
func (i isa) scores(d, q, pairs, pool []float32, rows []int32, dim int, scale float32, next *int32, left int) {
	to := part(d, 0, (len(rows)+len(rows)&1)*group)
	if i == avx512 {
		asm.ScoresWide(to, &q[0], part(pairs, 0, group*dim), &pool[0], &rows[0], len(rows), dim, scale, next, left)
		return
	}
	asm.Scores(to, &q[0], &pool[0], &rows[0], len(rows), dim, scale, next, left)
}

// soon returns the rows of view i worth fetching while query t goes through rows: those that the next query reads besides, or the
// rest of its own.
func (a *attention) soon(i, t int, rows []int32) (*int32, int) {
	const ahead = 8
	v := &a.views[i]
	if t+1 < len(v.Lo) {
		from, to := v.Lo[t+1], v.Hi[t+1]
		if v.Lo[t] <= from && from < v.Hi[t] {
			from = v.Hi[t]
		}
		if from < to {
			return &v.Rows[from], int(to - from)
		}
	}
	if len(rows) > ahead {
		return &rows[ahead], len(rows) - ahead
	}
	return &rows[0], 0
}

// values adds last to z, the sums of e, and sets o of four heads to the sums of rows weighted by e, divided by z.
func (a *attention) values(o, z, e, ones, last []float32, t int) {
	n, sum := 0, either(a.isa.takes(a.dim), asm.ValuesWide, asm.Values)
	for i := range a.views {
		if rows := a.views[i].At(t); len(rows) > 0 {
			sum(&o[0], &e[n*group], &a.pools[i][0], &rows[0], len(rows), a.dim, group, min(n, 1))
			n += len(rows)
		}
	}
	if n == 0 {
		clear(o)
	}
	var inv [group]float32
	for h := range inv {
		z[h] += last[h]
		inv[h] = 1 / z[h]
	}
	either(a.isa.takes(a.dim), asm.ScaleRowsWide, asm.ScaleRows)(&o[0], &o[0], &ones[0], &inv[0], group, a.dim)
}
