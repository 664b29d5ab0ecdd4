package cpu

import (
	"fmt"
	"math"
	"math/bits"

	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// IndexTopK keeps each query's best rows; see [furlong/kernels.Attention]. A query with k rows or fewer keeps them unseen.
func (b *Backend) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, k int) kernels.View {
	if k < 0 || heads < 1 || !b.whole(wide(q)/heads) || !single(keys.Pool) {
		return b.Backend.IndexTopK(q, w, heads, keys, k)
	}
	const kernel = "index top k"
	if wide(q)%heads != 0 {
		panic(fmt.Sprintf("%s: q is %s, want [T, %d*D]", kernel, dims(q.Shape), heads))
	}
	rows, dim := q.Shape[0], wide(q)/heads
	want(kernel, "w", w, rows, heads)
	wantView(kernel, "keys", keys, rows, dim)
	x := &index{isa: b.isa, heads: heads, dim: dim, keep: k, keys: keys, pool: keys.Pool.F32(), q: q.F32(), w: w.F32()}
	x.out = kernels.View{Pool: keys.Pool, Lo: make([]int32, rows), Hi: make([]int32, rows)}
	total, cost := int32(0), 0
	for t := range rows {
		n := keys.Hi[t] - keys.Lo[t]
		x.out.Lo[t] = total
		total += min(n, int32(k))
		x.out.Hi[t] = total
		if int(n) > k {
			cost += int(n)
		}
	}
	x.out.Rows = make([]int32, total)
	b.each(rows, cost/max(rows, 1)*(heads*dim*2+indexCost), x.choose)
	return x.out
}

// Work of ranking one row.
const indexCost = 20

// An index is the inputs of a call, and its result.
type index struct {
	isa              isa
	heads, dim, keep int
	keys             kernels.View
	pool, q, w       []float32
	out              kernels.View
}

// choose fills the result of queries lo up to hi.
func (x *index) choose(lo, hi int, s *scratch) {
	most := 0
	for t := lo; t < hi; t++ {
		most = max(most, int(x.keys.Hi[t]-x.keys.Lo[t]))
	}
	m := newIndexMemory((most+8)&^7, x.dim, s)
	for t := lo; t < hi; t++ {
		rows, to := x.keys.At(t), x.out.Rows[x.out.Lo[t]:x.out.Hi[t]]
		if len(rows) == len(to) {
			copy(to, rows)
			continue
		}
		x.score(&m, t, rows)
		m.best(to, rows)
	}
}

// indexMemory is scratch memory for one query.
type indexMemory struct {
	dots, scores, q, w, pairs []float32
	above, equal              []uint8 // a bit for each row
}

// newIndexMemory is for up to size rows, a multiple of eight.
func newIndexMemory(size, dim int, s *scratch) indexMemory {
	masks := make([]uint8, size/4)
	return indexMemory{
		dots: s.f32(size * group), scores: s.f32(size), q: s.f32(group * dim), w: s.f32(group), pairs: s.f32(group * dim),
		above: masks[:size/8], equal: masks[size/8:],
	}
}

// score sets m.scores of query t's rows: the chain of FMA(w[h]*scale, max(Dot8(q[h], row), 0), .) over heads.
func (x *index) score(m *indexMemory, t int, rows []int32) {
	checkRows(rows, len(x.pool)/x.dim)
	scale := float32(1 / math.Sqrt(float64(x.heads*x.dim)))
	clear(m.scores)
	for h := 0; h < x.heads; h += group {
		n, at := min(group, x.heads-h), t*x.heads+h
		q := x.q[at*x.dim:][:n*x.dim]
		if n < group {
			clear(m.q[copy(m.q, q):])
			q = m.q
		}
		clear(m.w)
		for i := range n {
			m.w[i] = x.w[at+i] * scale
		}
		x.isa.scores(m.dots, q, m.pairs, x.pool, rows, x.dim, 1, &rows[0], 0)
		asm.IndexScores(&m.scores[0], &m.dots[0], &m.w[0], (len(rows)+3)&^3)
	}
}

// best sets to to those of rows with the largest scores, in their order. On equal scores the earlier row wins, and NaN
// loses against all. to is shorter than rows; scores has room up to a whole vector, and holds anything afterwards.
func (m *indexMemory) best(to, rows []int32) {
	if len(to) == 0 {
		return
	}
	n := (len(rows) + 7) &^ 7
	for i := len(rows); i < n; i++ {
		m.scores[i] = float32(math.NaN()) // behind all rows
	}
	scores := part(m.scores, 0, n)
	t := asm.Threshold(scores, n, len(to))
	asm.AboveMask(&m.above[0], &m.equal[0], scores, n, t)
	take(to, rows, m.above[:n/8], m.equal[:n/8])
}

// take sets to to the rows above and, in the room that they leave, the first of those that are equal.
func take(to, rows []int32, above, equal []uint8) {
	room := len(to)
	for _, a := range above {
		room -= bits.OnesCount8(a)
	}
	i := 0
	for k, a := range above {
		for m := a | equal[k]; m != 0; m &= m - 1 {
			if a&-m&m == 0 {
				if room == 0 {
					continue
				}
				room--
			}
			to[i] = rows[8*k+bits.TrailingZeros8(m)]
			i++
		}
	}
}
