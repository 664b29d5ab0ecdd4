package dsv4

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/ops"
	"furlong/tensor"
)

// Model holds the weights. It implements model.Model.
type Model struct {
	cfg    Config
	hyper  kernels.HyperParams
	params []*tensor.Param

	embed, norm, head *tensor.Param
	last              site // the final collapse
	blocks            []*block
}

// A block is one layer: its two sub-layers, each between a collapse and an expansion of the streams.
type block struct {
	attnSite, ffnSite site
	attnNorm, ffnNorm *tensor.Param // [D]
	attn              attention
	ffn               experts
}

// New returns a model with the shapes of cfg and zero weights. Matrices are kept in format (F32, BF16, or F64 for the reference);
// what must stay wide (norms, sinks, biases, hyper-connections) in F32, or F64 with the reference.
func New(cfg Config, format dtype.Type) *Model {
	return build(cfg, format, tensor.New)
}

// Shapes returns the parameters of a model with the shapes of cfg, without numbers: their Values have no memory.
func Shapes(cfg Config) []*tensor.Param {
	empty := func(t dtype.Type, shape ...int) *tensor.Tensor { return &tensor.Tensor{Type: t, Shape: shape} }
	return build(cfg, dtype.BF16, empty).params
}

func build(cfg Config, format dtype.Type, alloc func(dtype.Type, ...int) *tensor.Tensor) *Model {
	m := &Model{cfg: cfg, hyper: kernels.HyperParams{Iters: cfg.SinkhornIter, Eps: cfg.HyperEps, NormEps: cfg.NormEps}}
	b := builder{m: m, format: format, wide: dtype.F32, alloc: alloc}
	if format == dtype.F64 {
		b.wide = dtype.F64
	}
	m.embed = b.matrix("model.embed_tokens.weight", cfg.Vocab, cfg.Hidden)
	m.embed.Product = false
	main, compress := cfg.Frequencies()
	for i, l := range cfg.Layers {
		freq := main
		if l.Attention != W {
			freq = compress
		}
		m.blocks = append(m.blocks, b.block(i, l, freq))
	}
	m.last = b.lastSite()
	m.norm = b.vector("model.norm.weight", cfg.Hidden)
	m.head = b.matrix("lm_head.weight", cfg.Vocab, cfg.Hidden)
	return m
}

// Config returns the model's configuration.
func (m *Model) Config() Config { return m.cfg }

// Params returns every weight: embedding, blocks, final collapse, norm, head.
func (m *Model) Params() []*tensor.Param { return m.params }

// Vocab returns the number of tokens.
func (m *Model) Vocab() int { return m.cfg.Vocab }

// Head returns the weight that makes logits: [V, D].
func (m *Model) Head() *tensor.Param { return m.head }

// Choices returns how many experts a token goes to in each layer, the shared one not counted.
func (m *Model) Choices() int { return m.cfg.TopK }

// Experts returns how many experts each layer has, the shared one not counted.
func (m *Model) Experts() int { return m.cfg.Experts }

// Layers returns the streams that each block keeps.
func (m *Model) Layers() [][]kv.Spec {
	specs := make([][]kv.Spec, len(m.blocks))
	for i, b := range m.blocks {
		specs[i] = b.attn.streams()
	}
	return specs
}

// Embed returns equal streams [T, S, D].
func (m *Model) Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor {
	x := ops.Embed(c, in, m.embed, m.cfg.Streams)
	c.See("embed", x)
	return x
}

// Block runs block i on streams x [T, S, D].
func (m *Model) Block(c *ops.Ctx, i int, in *ops.Tokens, st kv.Store, x *ops.Streams) *ops.Streams {
	c = c.InLayer(i)
	b, eps := m.blocks[i], m.cfg.NormEps

	s := ops.Enter(c, x, b.attnSite.weights(m.hyper), true)
	b.attnSite.see(c, s)
	h := ops.RMSNorm(c, s.In, b.attnNorm, eps) // [T, D]
	x = s.Leave(c, b.attn.forward(c, in, st, h))
	c.SeeStreams("attn_streams", x)

	s = ops.Enter(c, x, b.ffnSite.weights(m.hyper), true)
	b.ffnSite.see(c, s)
	h = ops.RMSNorm(c, s.In, b.ffnNorm, eps)
	x = s.Leave(c, b.ffn.forward(c, in, h))
	c.SeeStreams("streams", x)
	return x
}

// Final collapses streams [R, S, D] and norms them: [R, D].
func (m *Model) Final(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor {
	s := ops.Enter(c, ops.StreamsOf(x), m.last.weights(m.hyper), false)
	c.See("hc_head", s.In)
	y := ops.RMSNorm(c, s.In, m.norm, m.cfg.NormEps)
	c.See("final_norm", y)
	return y
}
