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
	x := &index{heads: heads, dim: dim, keep: k, keys: keys, pool: keys.Pool.F32(), q: q.F32(), w: w.F32()}
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
const indexCost = 200

// An index is the inputs of a call, and its result.
type index struct {
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
	size := (most + 8) &^ 7
	m := indexMemory{dots: s.f32(size * group), scores: s.f32(size), q: s.f32(group * x.dim), w: s.f32(group), ranks: s.ranks(most)}
	for t := lo; t < hi; t++ {
		rows, to := x.keys.At(t), x.out.Rows[x.out.Lo[t]:x.out.Hi[t]]
		if len(rows) == len(to) {
			copy(to, rows)
			continue
		}
		x.score(&m, t, rows)
		choose(to, rows, m.scores, m.ranks, true)
	}
}

// indexMemory is scratch memory for one query.
type indexMemory struct {
	dots, scores, q, w []float32
	ranks              []uint64
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
		asm.Scores(&m.dots[0], &q[0], &x.pool[0], &rows[0], len(rows), x.dim, 1, &rows[0], 0)
		asm.IndexScores(&m.scores[0], &m.dots[0], &m.w[0], (len(rows)+3)&^3)
	}
}

// mostMasked is how many rows are ranked all against all; more are sorted.
const mostMasked = 256

// choose sets to to those of rows with the largest scores, in their order. On equal scores the earlier row wins, and NaN
// loses against all. to is shorter than rows; scores has room up to a whole vector.
func choose(to, rows []int32, scores []float32, ranks []uint64, simd bool) {
	switch {
	case len(to) == 0:
	case simd && len(rows) <= mostMasked:
		chooseMasked(to, rows, scores)
	default:
		chooseSorted(to, rows, scores, ranks[:len(rows)])
	}
}

func chooseMasked(to, rows []int32, scores []float32) {
	var mask [mostMasked / 8]uint8
	var keys [mostMasked]int32
	n := (len(rows) + 7) &^ 7
	for i := len(rows); i < n; i++ {
		scores[i] = float32(math.NaN()) // behind all rows
	}
	asm.TopMask(&mask[0], &keys[0], part(scores, 0, n), n, len(to))
	i := 0
	for k, m := range mask[:n/8] {
		for ; m != 0 && i < len(to); m &= m - 1 {
			to[i] = rows[8*k+bits.TrailingZeros8(m)]
			i++
		}
	}
}

func chooseSorted(to, rows []int32, scores []float32, ranks []uint64) {
	for j := range ranks {
		ranks[j] = rank(scores[j], j)
	}
	least := nth(ranks, len(to)-1)
	n := 0
	for j, r := range rows {
		if rank(scores[j], j) <= least {
			to[n] = r
			n++
		}
	}
}

// rank orders rows: the smaller, the better. No two are equal.
func rank(score float32, j int) uint64 {
	b := math.Float32bits(score)
	switch {
	case score == 0: // of either sign
		b = 1 << 31
	case score != score:
		b = 0
	case b>>31 == 1:
		b = ^b
	default:
		b |= 1 << 31
	}
	return uint64(^b)<<32 | uint64(j)
}

// nth returns the element of x that has k smaller ones, and reorders x.
func nth(x []uint64, k int) uint64 {
	for len(x) > 1 {
		pivot := median(x[0], x[len(x)/2], x[len(x)-1])
		i, j := 0, len(x)-1
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			x = x[:j+1]
		case k >= i:
			x, k = x[i:], k-i
		default:
			return x[k]
		}
	}
	return x[0]
}

func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }
