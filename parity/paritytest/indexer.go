package paritytest

import (
	"cmp"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// picky is a length at which the indexer of any configuration here has something to drop.
const picky = 32

func indexerMistakes() []Mistake {
	return []Mistake{
		{Name: "indexer ignored", Trap: "table", Least: picky, op: kinds("index_topk", c4), kernels: func(k part) kernels.Backend { return unindexed{k} }},
		{Name: "indexer without ReLU", Trap: "table", Least: picky, op: kinds("index_topk", c4), kernels: ranked(func(w, d float64) float64 { return w * d })},
		{Name: "indexer's head weights ignored", Trap: "table", Least: picky, op: kinds("index_topk", c4), kernels: ranked(func(_, d float64) float64 { return max(0, d) })},
		{Name: "indexer's head weights made positive", Trap: "odd", Least: picky, op: kinds("index_topk", c4), kernels: ranked(func(w, d float64) float64 { return max(w, -w) * max(0, d) })},
		{Name: "indexer keeps the smallest scores", Trap: "odd", Least: picky, op: kinds("index_topk", c4), kernels: ranked(func(w, d float64) float64 { return -w * max(0, d) })},
		{Name: "indexer keeps the newest entries", Trap: "odd", Least: picky, op: kinds("index_topk", c4), kernels: func(k part) kernels.Backend { return newest{k} }},
		{Name: "indexer not turned", Trap: "table", op: kinds("index_keys", c4), kernels: func(k part) kernels.Backend { return indexTurn{k, true} }},
		{Name: "indexer turned by main frequencies", Trap: "T6", op: kinds("index_keys", c4), kernels: func(k part) kernels.Backend { return indexTurn{k, false} }},
		{Name: "indexer's queries not turned", Trap: "odd", op: kinds("index_q", c4), kernels: func(k part) kernels.Backend { return otherTurn{k, 1, []string{"index_keys"}, true} }},
		{Name: "one entry more kept", Trap: "odd", Least: picky, op: kinds("index_topk", c4), config: func(c *dsv4.Config) { c.IndexTopK++ }},
		{Name: "one entry fewer kept", Trap: "odd", Least: picky, op: kinds("index_topk", c4), config: func(c *dsv4.Config) { c.IndexTopK-- }},
		{Name: "no position bias in the indexer", Trap: "table", op: kinds("index_pooled", c4), kernels: pooledKeys(unplaced)},
		{Name: "no overlap in the indexer", Trap: "table", op: kinds("index_pooled", c4), kernels: pooledKeys(alone)},
		{Name: "halves swapped in the indexer", Trap: "T7", op: kinds("index_pooled", c4), kernels: pooledKeys(swapHalves)},
		{Name: "position bias in slot order in the indexer", Trap: "T7", op: kinds("index_pooled", c4), kernels: pooledKeys(bySlots)},
		{Name: "position bias in bfloat16 in the indexer", Trap: "T17", Fault: Rounding, op: kinds("index_pooled", c4), kernels: pooledKeys(coarseBias)},
		{Name: "indexer's keys in FP8", Trap: "T19", Fault: Rounding, op: kinds("index_keys", c4), kernels: func(k part) kernels.Backend {
			return coarseKeys{k, func(x *tensor.Tensor) { k.Round(x, x, x.Dim(), 128) }}
		}},
		{Name: "indexer's keys in bfloat16", Trap: "T19", Fault: Rounding, op: kinds("index_keys", c4), kernels: func(k part) kernels.Backend {
			return coarseKeys{k, func(x *tensor.Tensor) { coarse(dsv4.Config{}, x.F32()) }}
		}},
	}
}

// unindexed keeps all entries.
type unindexed struct{ part }

func (unindexed) IndexTopK(_, _ *tensor.Tensor, _ int, keys kernels.View, _ int) kernels.View {
	return keys
}

// newest keeps the last entries in sight.
type newest struct{ part }

func (newest) IndexTopK(_, _ *tensor.Tensor, _ int, keys kernels.View, n int) kernels.View {
	keys.Lo = append([]int32(nil), keys.Lo...)
	for t := range keys.Lo {
		keys.Lo[t] = max(keys.Lo[t], keys.Hi[t]-int32(n))
	}
	return keys
}

// ranks scores entries otherwise, from each head's weight and dot product.
type ranks struct {
	part
	score func(weight, dot float64) float64
}

func ranked(score func(weight, dot float64) float64) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return ranks{k, score} }
}

func (k ranks) IndexTopK(q, weights *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	best := kernels.View{Pool: keys.Pool}
	for t := range q.Rows() {
		of := map[int32]float64{}
		rows := slices.Clone(keys.At(t))
		for _, r := range rows {
			key := rowOf(keys.Pool, int(r))
			for h := range heads {
				of[r] += k.score(float64(rowOf(weights, t)[h]), inner(rowOf(q, t)[h*len(key):][:len(key)], key))
			}
		}
		slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(of[b], of[a]) })
		rows = rows[:min(n, len(rows))]
		slices.Sort(rows)
		best.Lo = append(best.Lo, int32(len(best.Rows)))
		best.Rows = append(best.Rows, rows...)
		best.Hi = append(best.Hi, int32(len(best.Rows)))
	}
	return best
}

// indexTurn turns the indexer's keys and queries by the main frequencies, or not at all.
type indexTurn struct {
	part
	plain bool
}

func (k indexTurn) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	keys := otherTurn{k.part, 0, []string{"index_pooled"}, k.plain}
	queries := otherTurn{k.part, 1, []string{"index_keys"}, k.plain}
	if k.at.follows("index_pooled") {
		keys.RoPE(y, x, cos, sin, dim, inverse)
		return
	}
	queries.RoPE(y, x, cos, sin, dim, inverse)
}

// coarseKeys rounds the indexer's keys.
type coarseKeys struct {
	part
	round func(*tensor.Tensor)
}

func (k coarseKeys) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
	if k.at.follows("index_pooled") {
		k.round(y)
	}
}
