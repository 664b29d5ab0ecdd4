package bench

import (
	"math"
	"strings"

	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// stateBytes is the size of an element of attention state, whatever format weights have.
const stateBytes = 4

// A Cost counts what a model is made of: what follows for its works is the formulas of the package comment.
type Cost struct {
	cfg dsv4.Config

	Parameters int // weights; routing tables are not counted
	Active     int // parameters that work on a token
	Bytes      int // of all weights, tables included

	head        int     // parameters of the head, which are among Active
	denseBytes  int     // of what every token reads
	expertBytes int     // of all routed experts
	lookupBytes float64 // of the rows that a token reads from the embedding and from routing tables
}

// CostOf counts the weights of a model of configuration cfg.
func CostOf(cfg dsv4.Config, params []*tensor.Param) Cost {
	c := Cost{cfg: cfg}
	for _, p := range params {
		c.add(p.Name, p.Value)
	}
	return c
}

func (c *Cost) add(name string, w *tensor.Tensor) {
	c.Bytes += len(w.Mem)
	n := w.Len()
	switch {
	case w.Type == dtype.I32:
		c.lookupBytes += float64(len(w.Mem)) / float64(c.cfg.Vocab)
		return
	case strings.HasPrefix(name, "model.embed_tokens."):
		c.lookupBytes += float64(len(w.Mem)) / float64(c.cfg.Vocab)
	case strings.Contains(name, ".experts."):
		c.expertBytes += len(w.Mem)
		c.Active += n / c.cfg.Experts * c.cfg.TopK
	default:
		c.denseBytes += len(w.Mem)
		c.Active += n
	}
	if strings.HasPrefix(name, "lm_head.") {
		c.head = n
	}
	c.Parameters += n
}

// attention returns the floating-point operations of the attention of a token that reads n positions, itself included.
func (c *Cost) attention(n int) float64 {
	row := 4 * c.cfg.Heads * c.cfg.HeadDim // dot product and weighted sum
	entry := 2 * c.cfg.IndexHeads * c.cfg.IndexDim
	ops := 0
	for _, l := range c.cfg.Layers {
		window, entries, seen := c.rows(l, n)
		ops += row * (window + seen)
		if l.Attention == dsv4.C4 {
			ops += entry * entries
		}
	}
	return float64(ops)
}

// rows returns what a token that reads n positions finds in a layer: single positions, compressed entries, and how many of those
// attention reads.
func (c *Cost) rows(l dsv4.Layer, n int) (window, entries, seen int) {
	window = min(n, c.cfg.Window)
	switch l.Attention {
	case dsv4.C4:
		entries = n / c.cfg.RateC4
		return window, entries, min(entries, c.cfg.IndexTopK)
	case dsv4.C128:
		entries = n / c.cfg.RateC128
		return window, entries, entries
	}
	return window, 0, 0
}

// state returns the bytes of attention state that a token reads. A compressor reads the raw rows of a window, values and gates, when it
// closes: on average the row of one token, and where windows overlap half of it and half of a row of the window before, which are twice
// as wide.
func (c *Cost) state(n int) float64 {
	k, ki := c.cfg.HeadDim, c.cfg.IndexDim
	elements := 0
	for _, l := range c.cfg.Layers {
		window, entries, seen := c.rows(l, n)
		elements += (window + seen) * k
		switch l.Attention {
		case dsv4.C4:
			elements += entries*ki + 2*2*(k+ki)
		case dsv4.C128:
			elements += 2 * k
		}
	}
	return stateBytes * float64(elements)
}

// forward returns the operations of one sequence of tokens, of which some want logits.
func (c *Cost) forward(tokens, logits int) float64 {
	ops := 2*float64(c.Active-c.head)*float64(tokens) + 2*float64(c.head)*float64(logits)
	for n := 1; n <= tokens; n++ {
		ops += c.attention(n)
	}
	return ops
}

// decode returns what a step needs that adds one token to each of batch sequences, which then have n.
func (c *Cost) decode(batch, n int) Need {
	b, e := float64(batch), float64(c.cfg.Experts)
	touched := 1 - math.Pow(1-float64(c.cfg.TopK)/e, b)
	return Need{
		Ops:   b * (2*float64(c.Active) + c.attention(n)),
		Bytes: float64(c.denseBytes) + float64(c.expertBytes)*touched + b*(c.lookupBytes+c.state(n)),
	}
}

// A Need is what a step cannot do without.
type Need struct {
	Ops   float64 // floating-point operations
	Bytes float64 // read from memory
}

// Seconds returns how long a machine needs for it at the least.
func (n Need) Seconds(r Rates) float64 { return max(n.Ops/r.Matrix.Best, n.Bytes/r.Copy.Best) }

// prompts returns what a batch of prompts needs, with logits for the last token of each.
func (c *Cost) prompts(batch, tokens int) Need {
	return Need{Ops: float64(batch) * c.forward(tokens, 1)}
}

// steps returns the needs of count steps of decoding, in the first of which the sequences have n tokens.
func (c *Cost) steps(batch, n, count int) (out []Need) {
	for i := range count {
		out = append(out, c.decode(batch, n+i))
	}
	return out
}

// passes returns the need of a batch of whole sequences, forward or three times that.
func (c *Cost) passes(s Shape, times float64) []Need {
	return []Need{{Ops: times * float64(s.Batch) * c.forward(s.Length, s.Length)}}
}
