package suspect

import (
	"math"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func indexers() []known {
	return []known{
		choosing("indexer ignored", "reads the compressed entries without the indexer's choice of them", func(k part) kernels.Backend { return allEntries{k} }),
		choosing("indexer without ReLU", "sums the indexer's products of query and key as they are, where negative ones count 0", scores(func(w, d float64) float64 { return w * d })),
		choosing("indexer's head weights ignored", "sums the indexer's heads alike, where each has a weight", scores(func(_, d float64) float64 { return math.Max(0, d) })),
		choosing("larger entry on equal scores", "takes the later of two entries with equal scores, where the earlier is to be taken", func(k part) kernels.Backend { return &scored{k, rightScore, true} }),
		{
			name: "indexer not turned", ops: []string{"index_keys", "index_q"},
			says: "does not turn the indexer's keys and queries by their positions",
			when: hasIndexer,
			kernels: func(k part) kernels.Backend {
				return turnedBy{k, func(at *pass) []float32 { return make([]float32, len(at.main)) }, []string{"index_pooled", "index_keys"}}
			},
		},
		{
			name: "indexer by main frequencies", ops: []string{"index_keys", "index_q"},
			says: "turns the indexer's keys and queries by the frequencies of sliding layers, where everything in compressed layers has those of compress_rope_theta",
			when: hasIndexer,
			kernels: func(k part) kernels.Backend {
				return turnedBy{k, func(at *pass) []float32 { return at.main }, []string{"index_pooled", "index_keys"}}
			},
		},
		{
			name: "indexer's keys in BF16", ops: []string{"index_keys"},
			says: "rounds the indexer's keys to BF16, where they are float32",
			when: hasIndexer,
			kernels: func(k part) kernels.Backend {
				return keyRounds{k, func(_ part, y *tensor.Tensor) { remake(y, toBF16) }}
			},
		},
		{
			name: "indexer's keys in FP8", ops: []string{"index_keys"},
			says: "rounds the indexer's keys to FP8 in groups of 128, where they are float32",
			when: hasIndexer,
			kernels: func(k part) kernels.Backend {
				return keyRounds{k, func(k part, y *tensor.Tensor) { k.Round(y, y, y.Dim(), 128) }}
			},
		},
	}
}

func hasIndexer(c config) bool { return c.Has(dsv4.C4) }

func choosing(name, says string, kernels func(part) kernels.Backend) known {
	return known{name: name, says: says, ops: []string{"index_topk"}, when: hasIndexer, kernels: kernels}
}

// allEntries keeps every entry in sight.
type allEntries struct{ part }

// IndexTopK keeps all.
func (allEntries) IndexTopK(_, _ *tensor.Tensor, _ int, keys kernels.View, _ int) kernels.View {
	return keys
}

// scored chooses by another score.
type scored struct {
	part
	score func(weight, dot float64) float64
	later bool // of two entries with equal scores the later is taken
}

func scores(score func(weight, dot float64) float64) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return &scored{k, score, false} }
}

func rightScore(w, d float64) float64 { return w * math.Max(0, d) }

// IndexTopK keeps the n entries with the largest scores.
func (k *scored) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	out := kernels.View{Pool: keys.Pool, Lo: make([]int32, q.Rows()), Hi: make([]int32, q.Rows())}
	for t := range q.Rows() {
		out.Lo[t] = int32(len(out.Rows))
		out.Rows = append(out.Rows, k.largest(q, w, t, heads, keys, n)...)
		out.Hi[t] = int32(len(out.Rows))
	}
	return out
}

func (k *scored) largest(q, w *tensor.Tensor, t, heads int, keys kernels.View, n int) []int32 {
	rows, d, of := slices.Clone(keys.At(t)), keys.Pool.Dim(), map[int32]float32{}
	for _, r := range rows {
		sum := 0.0
		for h := range heads {
			sum += k.score(get(w, t*heads+h), dot(q, (t*heads+h)*d, keys.Pool, int(r)*d, d))
		}
		of[r] = float32(sum)
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		switch {
		case of[a] > of[b], of[a] == of[b] && k.later && a > b:
			return -1
		case of[a] < of[b], of[a] == of[b] && k.later && a < b:
			return 1
		}
		return 0
	})
	rows = rows[:min(n, len(rows))]
	slices.Sort(rows)
	return rows
}

// keyRounds rounds the indexer's keys.
type keyRounds struct {
	part
	round func(k part, y *tensor.Tensor)
}

// RoPE turns rows, and rounds keys.
func (k keyRounds) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
	if k.at.after("index_pooled") {
		k.round(k.part, y)
	}
}
