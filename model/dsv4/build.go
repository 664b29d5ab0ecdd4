package dsv4

import (
	"fmt"

	"furlong/dtype"
	"furlong/kv"
	"furlong/tensor"
)

// A builder makes a model's parameters, in order, under their names.
type builder struct {
	m            *Model
	format, wide dtype.Type
	alloc        func(t dtype.Type, shape ...int) *tensor.Tensor
}

func (b *builder) add(p *tensor.Param) *tensor.Param {
	b.m.params = append(b.m.params, p)
	return p
}

// matrix makes a weight that products read: trained, decayed, kept in the model's format.
func (b *builder) matrix(name string, shape ...int) *tensor.Param {
	return b.add(&tensor.Param{Name: name, Value: b.alloc(b.format, shape...), Product: true, Decay: true})
}

// vector makes a weight that stays wide and is not decayed.
func (b *builder) vector(name string, shape ...int) *tensor.Param {
	return b.add(&tensor.Param{Name: name, Value: b.alloc(b.wide, shape...)})
}

// wideMatrix is a vector that products read: the hyper-connection maps.
func (b *builder) wideMatrix(name string, shape ...int) *tensor.Param {
	p := b.vector(name, shape...)
	p.Product = true
	return p
}

func frozen(ps ...*tensor.Param) {
	for _, p := range ps {
		p.Frozen, p.Decay = true, false
	}
}

func (b *builder) block(i int, l Layer, freq []float32) *block {
	cfg, pre := &b.m.cfg, fmt.Sprintf("model.layers.%d.", i)
	return &block{
		attnSite: b.site(pre, "attn_hc"),
		attnNorm: b.vector(pre+"input_layernorm.weight", cfg.Hidden),
		attn:     b.attention(pre+"self_attn.", l.Attention, freq),
		ffnSite:  b.site(pre, "ffn_hc"),
		ffnNorm:  b.vector(pre+"post_attention_layernorm.weight", cfg.Hidden),
		ffn:      b.experts(pre+"mlp.", l.Router),
	}
}

func (b *builder) site(pre, name string) site {
	s, d := b.m.cfg.Streams, b.m.cfg.Hidden
	return site{
		pre: name + ".pre", post: name + ".post", comb: name + ".comb", collapsed: name + ".collapsed",
		fn:    b.wideMatrix(pre+name+".fn", s*(2+s), s*d),
		base:  b.vector(pre+name+".base", s*(2+s)),
		scale: b.vector(pre+name+".scale", 3),
	}
}

func (b *builder) lastSite() site {
	s, d := b.m.cfg.Streams, b.m.cfg.Hidden
	return site{
		fn:    b.wideMatrix("model.hc_head.hc_fn", s, s*d),
		base:  b.vector("model.hc_head.hc_base", s),
		scale: b.vector("model.hc_head.hc_scale", 1),
	}
}

func (b *builder) attention(pre string, kind AttentionKind, freq []float32) attention {
	cfg := &b.m.cfg
	d, k, h := cfg.Hidden, cfg.HeadDim, cfg.Heads
	a := attention{
		cfg: cfg, kind: kind, freq: freq,
		qA:     b.matrix(pre+"q_a_proj.weight", cfg.QRank, d),
		qNorm:  b.vector(pre+"q_a_norm.weight", cfg.QRank),
		qB:     b.matrix(pre+"q_b_proj.weight", h*k, cfg.QRank),
		kv:     b.matrix(pre+"kv_proj.weight", k, d),
		kvNorm: b.vector(pre+"kv_norm.weight", k),
		oA:     b.matrix(pre+"o_a_proj.weight", cfg.OGroups*cfg.ORank, h*k/cfg.OGroups),
		oB:     b.matrix(pre+"o_b_proj.weight", d, cfg.OGroups*cfg.ORank),
		sinks:  b.vector(pre+"sinks", h),
	}
	switch kind {
	case C4:
		a.comp = b.compressor(pre+"compressor.", cfg.RateC4, k, true, freq, kv.Raw, kv.Compressed)
		a.index = b.indexer(pre+"compressor.indexer.", freq)
	case C128:
		a.comp = b.compressor(pre+"compressor.", cfg.RateC128, k, false, freq, kv.Raw, kv.Compressed)
	}
	return a
}

func (b *builder) compressor(pre string, rate, dim int, overlap bool, freq []float32, raw, out kv.Stream) *compressor {
	n := dim
	if overlap {
		n = 2 * dim
	}
	return &compressor{
		rate: rate, dim: dim, overlap: overlap, eps: b.m.cfg.NormEps, freq: freq, raw: raw, out: out,
		seen:  seen{"compress_raw", "compress_pooled", "compressed_kv"},
		value: b.matrix(pre+"kv_proj.weight", n, b.m.cfg.Hidden),
		gate:  b.matrix(pre+"gate_proj.weight", n, b.m.cfg.Hidden),
		bias:  b.vector(pre+"position_bias", rate, n),
		norm:  b.vector(pre+"kv_norm.weight", dim),
	}
}

func (b *builder) indexer(pre string, freq []float32) *indexer {
	cfg := &b.m.cfg
	n := &indexer{
		cfg: cfg, freq: freq,
		comp:    *b.compressor(pre, cfg.RateC4, cfg.IndexDim, true, freq, kv.IndexRaw, kv.Index),
		qB:      b.matrix(pre+"q_b_proj.weight", cfg.IndexHeads*cfg.IndexDim, cfg.QRank),
		weights: b.matrix(pre+"scorer.weights_proj.weight", cfg.IndexHeads, cfg.Hidden),
	}
	n.comp.seen = seen{"index_raw", "index_pooled", "index_keys"}
	frozen(n.comp.value, n.comp.gate, n.comp.bias, n.comp.norm, n.qB, n.weights)
	return n
}

func (b *builder) experts(pre string, router RouterKind) experts {
	cfg := &b.m.cfg
	d, e, f := cfg.Hidden, cfg.Experts, cfg.ExpertDim
	m := experts{cfg: cfg, router: router, gate: b.matrix(pre+"gate.weight", e, d)}
	if router == Learned {
		m.bias = b.vector(pre+"gate.e_score_correction_bias", e)
		frozen(m.bias)
	} else {
		m.table = b.add(&tensor.Param{Name: pre + "gate.tid2eid", Value: b.alloc(dtype.I32, cfg.Vocab, cfg.TopK), Frozen: true})
	}
	m.gateUp = b.matrix(pre+"experts.gate_up_proj", e, 2*f, d)
	m.down = b.matrix(pre+"experts.down_proj", e, d, f)
	m.sharedGate = b.matrix(pre+"shared_experts.gate_proj.weight", f, d)
	m.sharedUp = b.matrix(pre+"shared_experts.up_proj.weight", f, d)
	m.sharedDown = b.matrix(pre+"shared_experts.down_proj.weight", d, f)
	return m
}
