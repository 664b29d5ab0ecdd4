package dsv4

import (
	"fmt"
	"slices"

	"furlong/kv"
	"furlong/ops"
	"furlong/tensor"
)

// A compressor makes one entry of each closed window of rate tokens: gated pooling, norm, rotation at the window's first
// position. With overlap a token projects to two halves, and an entry pools half a of the window before and half b of its own.
type compressor struct {
	rate, dim int
	overlap   bool
	eps       float64
	freq      []float32
	raw, out  kv.Stream
	seen      seen

	value, gate *tensor.Param // [K or 2K, D]
	bias        *tensor.Param // [rate, K or 2K]
	norm        *tensor.Param // [K]
}

// seen has the names under which a compressor's results are seen.
type seen struct{ raw, pooled, entry string }

func (p *compressor) streams() []kv.Spec {
	width, reach := 2*p.dim, p.rate
	if p.overlap {
		width, reach = 2*width, 2*p.rate
	}
	return []kv.Spec{
		{Stream: p.raw, Width: width, Rate: 1, Reach: reach},
		{Stream: p.out, Width: p.dim, Rate: p.rate, Coarse: p.coarse()},
	}
}

// coarse returns how much of an entry an FP8 cache rounds: what carries no rotation. The indexer's keys have a format of their own.
func (p *compressor) coarse() int {
	if p.out == kv.Index {
		return 0
	}
	return p.dim - 2*len(p.freq)
}

// close puts the tokens' raw rows, and an entry for each window that in completes.
func (p *compressor) close(c *ops.Ctx, in *ops.Tokens, st kv.Store, x *tensor.Tensor) {
	raw := ops.Join(c, ops.Linear(c, x, p.value), ops.Linear(c, x, p.gate)) // [T, 2K or 4K]
	c.See(p.seen.raw, raw)
	st.Put(in, p.raw, raw)

	closed := in.Closed(int32(p.rate))
	var before ops.View
	own := st.See(closed, p.raw, kv.Span(p.rate))
	if p.overlap {
		before = st.See(closed, p.raw, kv.SpanBefore(p.rate))
	}
	pooled := ops.Pool(c, p.bias, p.overlap, before, own) // [M, K]
	c.See(p.seen.pooled, pooled)
	entry := ops.RoPEOver(c, ops.RMSNorm(c, pooled, p.norm, p.eps), closed.Rotation(c, p.freq, int32(p.rate)), p.dim, false)
	c.See(p.seen.entry, entry)
	st.Put(closed, p.out, entry)
}

// An indexer chooses the compressed entries that a token attends to. Only the choice leaves it, so nothing in it has a
// gradient; it is frozen.
type indexer struct {
	cfg         *Config
	freq        []float32
	comp        compressor
	qB, weights *tensor.Param // [Hi*Ki, Q], [Hi, D]
}

func (n *indexer) choose(c *ops.Ctx, in *ops.Tokens, st kv.Store, x, latent *tensor.Tensor, entries ops.View) ops.View {
	u := c.Untaped()
	n.comp.close(u, in, st, x)
	q := ops.RoPEOver(u, ops.Linear(u, latent, n.qB), in.Rotation(u, n.freq, 1), n.cfg.IndexDim, false) // [T, Hi*Ki]
	c.See("index_q", q)
	w := ops.Linear(u, x, n.weights) // [T, Hi]
	c.See("index_weights", w)
	keys := st.See(in, kv.Index, kv.Before(n.comp.rate))
	best := ops.IndexTopK(u, q, w, n.cfg.IndexHeads, keys, n.cfg.IndexTopK)
	if c.Indexing() {
		own := entryNumbers(best, keys, n.cfg.IndexTopK)
		chosen := slices.Clone(own)
		if c.Index(chosen); !slices.Equal(chosen, own) {
			best = picked(chosen, keys, n.cfg.IndexTopK)
		}
	}
	// Index and Compressed rows of one window lie at the same place of their pools.
	best.Pool = entries.Pool
	return best
}

// entryNumbers returns the windows chosen by each token, ascending, then -1: [T*k]. A kernel that chooses one which the token must not see yet
// is shown to do so.
func entryNumbers(best, keys ops.View, k int) []int32 {
	out := make([]int32, 0, len(best.Lo)*k)
	for t := range best.Lo {
		all, chosen := keys.Rows[keys.Lo[t]:], best.At(t)
		for w := 0; w < len(all) && len(chosen) > 0; w++ {
			if chosen[0] == all[w] {
				out, chosen = append(out, int32(w)), chosen[1:]
			}
		}
		for len(out) < (t+1)*k {
			out = append(out, -1)
		}
		out = out[:(t+1)*k]
	}
	return out
}

// picked returns keys cut to the entries of these numbers: what entryNumbers says, as a view.
func picked(numbers []int32, keys ops.View, k int) ops.View {
	v := ops.View{Pool: keys.Pool, Lo: make([]int32, len(keys.Lo)), Hi: make([]int32, len(keys.Lo))}
	for t := range keys.Lo {
		v.Lo[t] = int32(len(v.Rows))
		all := keys.At(t)
		for _, w := range numbers[t*k:][:k] {
			if w >= int32(len(all)) {
				panic(fmt.Sprintf("indexer: token %d is to read entry %d, want less than %d", t, w, len(all)))
			}
			if w >= 0 {
				v.Rows = append(v.Rows, all[w])
			}
		}
		v.Hi[t] = int32(len(v.Rows))
	}
	return v
}
