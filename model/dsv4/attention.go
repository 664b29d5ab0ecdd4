package dsv4

import (
	"furlong/kv"
	"furlong/ops"
	"furlong/tensor"
)

// attention is one layer's attention. H heads of K channels read one row a key: it is key and value alike.
type attention struct {
	cfg  *Config
	kind AttentionKind
	freq []float32 // of everything in the layer

	qA, qNorm, qB *tensor.Param // [Q, D], [Q], [H*K, Q]
	kv, kvNorm    *tensor.Param // [K, D], [K]
	oA, oB        *tensor.Param // [G*R, H*K/G], [D, G*R]
	sinks         *tensor.Param // [H]

	comp  *compressor // nil in W layers
	index *indexer    // C4 layers only
}

// streams says what the layer keeps, and how far back later tokens read it.
func (a *attention) streams() []kv.Spec {
	s := []kv.Spec{{Stream: kv.Window, Width: a.cfg.HeadDim, Rate: 1, Reach: a.cfg.Window, Coarse: a.cfg.HeadDim - a.cfg.RopeDim}}
	if a.comp != nil {
		s = append(s, a.comp.streams()...)
	}
	if a.index != nil {
		s = append(s, a.index.comp.streams()...)
	}
	return s
}

func (a *attention) forward(c *ops.Ctx, in *ops.Tokens, st kv.Store, x *tensor.Tensor) *tensor.Tensor {
	k, eps := a.cfg.HeadDim, a.cfg.NormEps
	turn := in.Rotation(c, a.freq, 1)
	c.See("attn_in", x)

	latent := ops.RMSNorm(c, ops.Linear(c, x, a.qA), a.qNorm, eps) // [T, Q]
	c.See("q_latent", latent)
	q := ops.HeadNorm(c, ops.Linear(c, latent, a.qB), k, eps) // [T, H*K]
	c.See("q_normed", q)
	q = ops.RoPEOver(c, q, turn, k, false)
	c.See("q", q)
	row := ops.RMSNorm(c, ops.Linear(c, x, a.kv), a.kvNorm, eps) // [T, K]
	c.See("kv_normed", row)
	row = ops.RoPEOver(c, row, turn, k, false)
	c.See("kv", row)
	st.Put(in, kv.Window, row)
	views := []ops.View{st.See(in, kv.Window, kv.Sliding(a.cfg.Window))}
	if a.comp != nil {
		a.comp.close(c, in, st, x)
		views = append(views, a.far(c, in, st, x, latent))
	}

	o := ops.Attend(c, q, a.sinks, a.cfg.Heads, views...) // [T, H*K]
	c.See("attn_mix", o)
	o = ops.RoPE(c, o, turn, k, true) // values carry rotation: turn it back
	c.See("attn_turned", o)
	low := ops.GroupedLinear(c, o, a.oA, a.cfg.OGroups) // [T, G*R]
	c.See("attn_grouped", low)
	y := ops.Linear(c, low, a.oB) // [T, D]
	c.See("attn_out", y)
	return y
}

// far returns the compressed entries that each token reads: all closed windows, or the indexer's choice of them.
func (a *attention) far(c *ops.Ctx, in *ops.Tokens, st kv.Store, x, latent *tensor.Tensor) ops.View {
	entries := st.See(in, kv.Compressed, kv.Before(a.comp.rate))
	if a.index == nil {
		return entries
	}
	return a.index.choose(c, in, st, x, latent, entries)
}
