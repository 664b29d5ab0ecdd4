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
// Logits are made in chunks of rows. The backward pass makes them again, unless one chunk holds all.
func LogProb(c *Ctx, h *tensor.Tensor, w *tensor.Param, next []int32, scale []float32) (lp, entropy *tensor.Tensor) {
	s := scored{h: h, w: w, next: next, scale: scale, lp: c.New(h.Rows()), entropy: c.New(h.Rows()), lse: c.New(h.Rows())}
	if c.tape != nil && h.Rows() <= s.chunk(c) {
		s.all = s.logits(c, h)
		s.forward(c, s.all, 0, h.Rows())
	} else {
		s.chunks(c, func(lo, hi int) { s.forward(c, s.logits(c, h.Slice(lo, hi)), lo, hi) })
	}
	if c.tape != nil {
		c.record("logprob", c.inTurn(func() { s.unwind(c) }, w), s.lp, s.entropy)
	}
	return s.lp, s.entropy
}

// scored is what LogProb reads and makes.
type scored struct {
	h                *tensor.Tensor // [R, D]
	w                *tensor.Param  // [V, D]
	next             []int32        // [R]
	scale            []float32      // [R]
	lp, entropy, lse *tensor.Tensor // [R]
	all              *tensor.Tensor // [R, V], logits that the backward pass finds; nil where it makes them
}

func (s *scored) logits(c *Ctx, h *tensor.Tensor) *tensor.Tensor {
	y := c.New(h.Rows(), s.w.Value.Shape[0])
	c.K.Linear(y, h, s.w.Value, 1)
	return y
}

func (s *scored) forward(c *Ctx, logits *tensor.Tensor, lo, hi int) {
	c.K.LogProb(s.lp.Slice(lo, hi), s.entropy.Slice(lo, hi), s.lse.Slice(lo, hi), logits, s.next[lo:hi], s.scale[lo:hi])
}

func (s *scored) unwind(c *Ctx) {
	dh, dlp, dent := c.Grad(s.h), c.Grad(s.lp), c.Grad(s.entropy)
	s.chunks(c, func(lo, hi int) {
		h, logits := s.h.Slice(lo, hi), s.all
		if logits == nil {
			logits = s.logits(c, h)
		}
		c.K.LogProbBackward(logits, dlp.Slice(lo, hi), dent.Slice(lo, hi), s.entropy.Slice(lo, hi), s.lse.Slice(lo, hi), logits, s.next[lo:hi], s.scale[lo:hi])
		c.K.LinearBackward(dh.Slice(lo, hi), paramGrad(s.w), logits, h, s.w.Value, 1)
	})
}

// chunk returns how many rows of logits fit logitBytes, at least one.
func (s *scored) chunk(c *Ctx) int { return max(1, logitBytes/c.Type.Bytes(s.w.Value.Shape[0])) }

// chunks calls f for runs of rows whose logits fit logitBytes, and frees after each what f took.
func (s *scored) chunks(c *Ctx, f func(lo, hi int)) {
	rows, n := s.h.Rows(), s.chunk(c)
	for lo := 0; lo < rows; lo += n {
		m := c.Mem.Mark()
		f(lo, min(lo+n, rows))
		c.Mem.Release(m)
	}
}
