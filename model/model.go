package model

import (
	"furlong/kernels"
	"furlong/kernels/split"
	"furlong/kv"
	"furlong/ops"
	"furlong/tensor"
)

// A Model is a decoder cut into blocks. It holds weights and no state: many passes may run at once.
type Model interface {
	// Params returns every weight in a fixed order, buffers and tables included.
	Params() []*tensor.Param
	// Layers returns, for each block, the streams that it keeps.
	Layers() [][]kv.Spec
	Vocab() int

	// Embed returns the streams [T, S, D] that enter block 0.
	Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor
	// Block runs block i on streams [T, S, D].
	Block(c *ops.Ctx, i int, in *ops.Tokens, s kv.Store, x *ops.Streams) *ops.Streams
	// Final turns the last block's streams, any rows of them, into what the head reads: [R, D].
	Final(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor
	// Head returns the weight [V, D] that makes logits.
	Head() *tensor.Param
}

// Prepare derives every weight's layout for a backend: after loading, after a step, after an update. Many weights are small, so each thread takes some of them.
func Prepare(c *ops.Ctx, m Model) {
	ps := m.Params()
	split.Share(c.K, len(ps), func(k kernels.Backend, i int) {
		if ps[i].Product {
			k.Prepare(ps[i].Value)
		}
	})
}

// Forward runs embedding and all blocks: streams [T, S, D]. With recompute, a taped pass keeps only each block's input.
func Forward(c *ops.Ctx, m Model, in *ops.Tokens, store func(layer int) kv.Store, recompute bool) *tensor.Tensor {
	x := ops.StreamsOf(m.Embed(c, in))
	for i := range m.Layers() {
		f := func(c *ops.Ctx, x *ops.Streams) *ops.Streams { return m.Block(c, i, in, store(i), x) }
		if recompute {
			x = ops.StreamsOf(ops.Recompute(c, x.Tensor(c), func(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor {
				return f(c, ops.StreamsOf(x)).Tensor(c)
			}))
		} else {
			x = ops.Through(c, x, f)
		}
	}
	return x.Tensor(c)
}
