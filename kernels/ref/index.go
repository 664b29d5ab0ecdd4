package ref

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"furlong/kernels"
	"furlong/tensor"
)

// IndexTopK scores each row by the chain, over ascending heads from zero, of FMA(w[h]*scale, max(Dot8(q[h], row), 0), .) with
// scale = (heads*Di)^(-1/2), and keeps the k largest: on equal scores the earlier row, NaN below all. One query at a time: scores take memory
// of the longest view only.
func (*Backend[F]) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, k int) kernels.View {
	const kernel = "index top k"
	if heads < 1 || width(q)%heads != 0 {
		panic(fmt.Sprintf("%s: q is %s, want [T, %d*D]", kernel, dims(q.Shape), heads))
	}
	dim := width(q) / heads
	check(kernel, "w", w, q.Shape[0], heads)
	checkView(kernel, "keys", keys, q.Shape[0], dim)
	queries, weights := data[F](q), data[F](w)
	var scores []F
	out := kernels.View{Pool: keys.Pool, Lo: make([]int32, q.Shape[0]), Hi: make([]int32, q.Shape[0])}
	for t := range q.Shape[0] {
		at := keys.At(t)
		scores = scores[:0]
		for _, row := range seen[F](t, dim, []kernels.View{keys}) {
			scores = append(scores, indexScore(queries[t*heads*dim:][:heads*dim], weights[t*heads:][:heads], row))
		}
		out.Lo[t] = int32(len(out.Rows))
		for _, j := range largest(scores, k) {
			out.Rows = append(out.Rows, at[j])
		}
		out.Hi[t] = int32(len(out.Rows))
	}
	return out
}

func indexScore[F Float](q, w, row []F) (score F) {
	scale := F(1 / math.Sqrt(float64(len(q))))
	for h, v := range w {
		score = FMA(F(v*scale), Max(0, Dot8(q[h*len(row):][:len(row)], row)), score)
	}
	return score
}

// largest returns the indices of the k largest values, ascending.
func largest[F Float](values []F, k int) []int {
	best := descending(values)
	best = best[:min(max(k, 0), len(best))]
	slices.Sort(best)
	return best
}

// descending returns the indices of values, the largest first, on equal values the smaller index. NaN is the smallest.
func descending[F Float](values []F) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return order
}
