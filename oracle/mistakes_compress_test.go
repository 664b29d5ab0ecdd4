package oracle

import (
	"cmp"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func compressorMistakes() []mistake {
	return []mistake{
		{name: "no overlap", k: apart{exact}, at: 17, error: 1.5},
		{name: "no position bias", k: biases{exact, func(b *tensor.Tensor, _ bool) { b.Zero() }}, at: 17, error: 1.8},
		{name: "position bias in slot order", k: biases{exact, bySlot}, at: 17, error: 3},
		{name: "halves swapped", k: swapped{exact}, at: 17, error: 3.1},
		{name: "windows visible one token early", k: visible{exact, func(t, m int) int { return (t + 2) / m }}, at: 17, error: 1.7},
		{name: "windows visible one token late", k: visible{exact, func(t, m int) int { return t / m }}, at: 17, error: 2.4},
		{name: "windows visible from their first token", k: visible{exact, func(t, m int) int { return t/m + 1 }}, at: 17, error: 3},
	}
}

// At 17 tokens at most four windows are closed, and the indexer keeps all.
func indexerMistakes(main []float32) []mistake {
	choices := []string{"logits", "logits, norm", "indexer choices"}
	ofIndexer := func(_ *tensor.Tensor, dim int, _ []int32) bool { return dim == 16 }
	return []mistake{
		{name: "indexer ignored", k: unindexed{exact}, at: 64, error: 4.9, shows: choices},
		{name: "indexer without ReLU", k: scored{exact, func(w, d float64) float64 { return w * d }}, at: 64, error: 4.4, shows: choices},
		{name: "indexer's head weights ignored", k: scored{exact, func(_, d float64) float64 { return max(0, d) }}, at: 64, error: 5.4, shows: choices},
		{name: "indexer not turned", k: &turned{right: exact, which: ofIndexer}, at: 64, error: 5.2, shows: choices},
		{name: "indexer turned by main frequencies", k: &turned{right: exact, which: ofIndexer, freq: main}, at: 64, error: 2.5, shows: choices},
		{name: "one entry more kept", cfg: func(c *dsv4.Config) { c.IndexTopK++ }, at: 64, error: 3.1, shows: choices},
	}
}

// apart pools windows without the one before.
type apart struct{ *right }

func (k apart) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	if overlap {
		prev.Hi = prev.Lo
	}
	k.right.Pool(y, bias, overlap, prev, own)
}

// biases changes position biases.
type biases struct {
	*right
	change func(b *tensor.Tensor, overlap bool)
}

func (k biases) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	b := bias.Clone()
	k.change(b, overlap)
	k.right.Pool(y, b, overlap, prev, own)
}

// bySlot reads an overlapping bias as if its eight slots lay one after the other.
func bySlot(b *tensor.Tensor, overlap bool) {
	if !overlap {
		return
	}
	m, d := b.Shape[0], b.Dim()/2
	flat := slices.Clone(b.F64())
	for s := range m {
		copy(b.F64()[2*s*d:][:d], flat[s*d:])
		copy(b.F64()[(2*s+1)*d:][:d], flat[(m+s)*d:])
	}
}

// swapped takes the first half of a projection for the token's own window and the second for the next.
type swapped struct{ *right }

func (k swapped) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	if overlap {
		bias = swapHalves(bias, bias.Dim())
		own.Pool = swapHalves(own.Pool, own.Pool.Dim()/2)
		prev.Pool = own.Pool
	}
	k.right.Pool(y, bias, overlap, prev, own)
}

// swapHalves swaps the halves of each run of n elements.
func swapHalves(x *tensor.Tensor, n int) *tensor.Tensor {
	y := x.Clone()
	for at := 0; at < x.Len(); at += n {
		copy(y.F64()[at:], x.F64()[at+n/2:][:n/2])
		copy(y.F64()[at+n/2:], x.F64()[at:][:n/2])
	}
	return y
}

// visible shows each token another number of windows.
type visible struct {
	*right
	windows func(t, m int) int
}

func (k visible) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	return k.right.IndexTopK(q, w, heads, k.see(keys, 4), n)
}

func (k visible) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	views = slices.Clone(views)
	if len(views) > 1 && views[1].Pool.Shape[0] == q.Shape[0]/16 {
		views[1] = k.see(views[1], 16)
	}
	k.right.Attend(o, lse, q, sink, heads, views...)
}

func (k visible) see(v kernels.View, m int) kernels.View {
	out := kernels.View{Pool: v.Pool, Lo: make([]int32, len(v.Lo)), Hi: make([]int32, len(v.Hi))}
	for r := range v.Pool.Shape[0] {
		out.Rows = append(out.Rows, int32(r))
	}
	for t := range out.Hi {
		out.Hi[t] = int32(min(k.windows(t, m), len(out.Rows)))
	}
	return out
}

// unindexed attends to all entries.
type unindexed struct{ *right }

func (unindexed) IndexTopK(_, _ *tensor.Tensor, _ int, keys kernels.View, _ int) kernels.View {
	return keys
}

// scored makes an entry's score otherwise, from each head's weight and dot product.
type scored struct {
	*right
	score func(weight, dot float64) float64
}

func (k scored) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	best := kernels.View{Pool: keys.Pool}
	for t := range q.Rows() {
		rows := slices.Clone(keys.At(t))
		slices.SortStableFunc(rows, func(a, b int32) int {
			return cmp.Compare(k.of(q, w, t, heads, row(keys.Pool, b)), k.of(q, w, t, heads, row(keys.Pool, a)))
		})
		rows = rows[:min(n, len(rows))]
		slices.Sort(rows)
		best.Lo = append(best.Lo, int32(len(best.Rows)))
		best.Rows = append(best.Rows, rows...)
		best.Hi = append(best.Hi, int32(len(best.Rows)))
	}
	return best
}

func (k scored) of(q, w *tensor.Tensor, t, heads int, key []float64) (sum float64) {
	for h := range heads {
		sum += k.score(w.F64()[t*heads+h], dot(q.F64()[(t*heads+h)*len(key):][:len(key)], key))
	}
	return sum
}
