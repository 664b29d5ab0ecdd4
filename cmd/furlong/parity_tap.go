package main

import (
	"cmp"
	"context"

	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity"
	"furlong/parity/taps"
	"furlong/tensor"
)

// A tappedModel is a model whose engine can be listened to: it is the engine's own, on the engine's own path, and passes everything on. While nobody listens
// that is all it does. Listening begins and ends while the engine is idle, and is to one sequence at a time.
type tappedModel struct {
	*dsv4.Model
	rec    *taps.Recorder // nil: nobody listens
	set    *taps.Set
	prompt int     // tokens whose end is not computed, but for the last
	ends   []int32 // rows of the pass whose end the engine still computes

	pass func() // is called when a pass begins; nil for nobody
}

// hear records what the model computes of s while compute runs, which returns the logprobs of the response.
func (m *tappedModel) hear(s parity.Sequence, origin string, compute func() ([]float32, error)) (*taps.Set, error) {
	rec, set := taps.NewRecorder(m.Model), taps.NewSet(s.Tokens())
	m.rec, m.set, m.prompt = rec, set, len(s.Prompt)
	lps, err := compute()
	m.rec, m.set = nil, nil
	if err := cmp.Or(err, rec.Err()); err != nil {
		return nil, err
	}
	set.Origin = origin
	return set, set.AddLogProbs(len(s.Prompt), lps)
}

// watched returns a context like c that shows the recorder what is computed.
func (m *tappedModel) watched(c *ops.Ctx) *ops.Ctx {
	if m.rec == nil {
		return c
	}
	d := *c
	d.Watch = m.rec.Watch
	return &d
}

// Embed begins a pass.
func (m *tappedModel) Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor {
	if m.pass != nil {
		m.pass()
	}
	if m.rec != nil {
		m.rec.Begin(in, m.set)
		m.ends = m.ends[:0]
		for i, pos := range in.Pos {
			if int(pos) >= m.prompt-1 && int(pos) < len(m.set.Tokens)-1 {
				m.ends = append(m.ends, int32(i))
			}
		}
	}
	return m.Model.Embed(m.watched(c), in)
}

// Block runs block i.
func (m *tappedModel) Block(c *ops.Ctx, i int, in *ops.Tokens, s kv.Store, x *ops.Streams) *ops.Streams {
	return m.Model.Block(m.watched(c), i, in, s, x)
}

// Final runs the end of the model over the next rows whose successors are scored: engines do that in pieces.
func (m *tappedModel) Final(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor {
	if m.rec != nil {
		n := min(len(m.ends), x.Shape[0])
		m.rec.Tails(m.ends[:n])
		m.ends = m.ends[n:]
	}
	return m.Model.Final(m.watched(c), x)
}

// logProbsOf returns what a side scores one sequence with.
func logProbsOf(ctx context.Context, side parity.Side, s parity.Sequence) ([]float32, error) {
	got, err := side.Score(ctx, []parity.Sequence{s}, func(int) {})
	if err != nil {
		return nil, err
	}
	return got[0].LogProbs, nil
}
