package ops

import "furlong/tensor"

// Embed returns the tokens' embedding in each of s streams: [T, S, D].
func Embed(c *Ctx, in *Tokens, table *tensor.Param, s int) *tensor.Tensor {
	y := c.New(in.Len(), s, table.Value.Dim())
	c.K.Embed(y, table.Value, in.ID)
	if g := paramGrad(table); c.tape != nil && g != nil {
		c.record("embed", c.inTurn(func() { c.K.EmbedBackward(g, c.Grad(y), in.ID) }, table), y)
	}
	return y
}

// Gather returns rows of x: [T, D] to [len(rows), D].
func Gather(c *Ctx, x *tensor.Tensor, rows []int32) *tensor.Tensor {
	y := c.New(len(rows), x.Dim())
	c.K.Gather(y, x, rows)
	if c.tape != nil {
		c.record("gather", func() { c.K.GatherBackward(c.sum(x), c.Grad(y), rows) }, y)
	}
	return y
}

// logitBytes bounds the logits that are in memory at a time: scoring is flat in the vocabulary.
const logitBytes = 8 << 20

// LogProb returns the logprob of next under softmax(h·wᵀ*scale), and that distribution's entropy, each [R], in nats.
// Logits are made in chunks of rows, and made again by the backward pass.
func LogProb(c *Ctx, h *tensor.Tensor, w *tensor.Param, next []int32, scale []float32) (lp, entropy *tensor.Tensor) {
	r := h.Rows()
	lp, entropy = c.New(r), c.New(r)
	lse := c.New(r)
	chunks(c, r, w, func(lo, hi int) {
		logits := c.New(hi-lo, w.Value.Shape[0])
		c.K.Linear(logits, h.Slice(lo, hi), w.Value, 1)
		c.K.LogProb(lp.Slice(lo, hi), entropy.Slice(lo, hi), lse.Slice(lo, hi), logits, next[lo:hi], scale[lo:hi])
	})
	if c.tape != nil {
		c.record("logprob", c.inTurn(func() { logProbBackward(c, h, w, next, scale, lp, entropy, lse) }, w), lp, entropy)
	}
	return lp, entropy
}

func logProbBackward(c *Ctx, h *tensor.Tensor, w *tensor.Param, next []int32, scale []float32, lp, entropy, lse *tensor.Tensor) {
	dh, dlp, dent := c.Grad(h), c.Grad(lp), c.Grad(entropy)
	chunks(c, h.Rows(), w, func(lo, hi int) {
		hs := h.Slice(lo, hi)
		logits := c.New(hi-lo, w.Value.Shape[0])
		c.K.Linear(logits, hs, w.Value, 1)
		c.K.LogProbBackward(logits, dlp.Slice(lo, hi), dent.Slice(lo, hi), entropy.Slice(lo, hi), lse.Slice(lo, hi), logits, next[lo:hi], scale[lo:hi])
		c.K.LinearBackward(dh.Slice(lo, hi), paramGrad(w), logits, hs, w.Value, 1)
	})
}

// chunks calls f for runs of rows whose logits fit logitBytes, and frees after each what f took.
func chunks(c *Ctx, rows int, w *tensor.Param, f func(lo, hi int)) {
	n := max(1, logitBytes/c.Type.Bytes(w.Value.Shape[0]))
	for lo := 0; lo < rows; lo += n {
		m := c.Mem.Mark()
		f(lo, min(lo+n, rows))
		c.Mem.Release(m)
	}
}
