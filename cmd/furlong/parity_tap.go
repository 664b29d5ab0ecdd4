package main

import (
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/ops"
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

// listen records what the model computes of a sequence whose response begins after prompt tokens.
func (m *tappedModel) listen(tokens []int32, prompt int) {
	m.rec, m.set, m.prompt = taps.NewRecorder(m.Model), taps.NewSet(tokens), prompt
}

// heard ends that, and returns what was recorded.
func (m *tappedModel) heard() (*taps.Set, error) {
	set, err := m.set, m.rec.Err()
	m.rec, m.set = nil, nil
	return set, err
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
func (m *tappedModel) Block(c *ops.Ctx, i int, in *ops.Tokens, s kv.Store, x *tensor.Tensor) *tensor.Tensor {
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
