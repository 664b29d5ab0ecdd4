package tapstest

import (
	"furlong/model"
	"furlong/ops"
	"furlong/parity/taps"
	"furlong/tensor"
)

// Sequence returns ids as the tokens of one sequence.
func Sequence(ids []int32) *ops.Tokens {
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	return in
}

// Record returns the taps of one pass of j, a judge that [Judge] made, over all tokens, with logits and logprobs. spoil, if not nil, sees every result first and may write over it: that is
// a mistake in the op that made it.
func Record(j taps.Judge, ids []int32, spoil ops.Watch) *taps.Set {
	rec, s, in := taps.NewRecorder(j.Model), taps.NewSet(ids), Sequence(ids)
	j.Mem.Reset()
	c := ops.NewCtx(j.Backend, j.Mem, j.Type)
	c.Watch = func(layer int, name string, x *tensor.Tensor, choice []int32) {
		if spoil != nil {
			spoil(layer, name, x, choice)
		}
		rec.Watch(layer, name, x, choice)
	}
	rec.Begin(in, s)
	h := j.Model.Final(c, model.Forward(c, j.Model, in, j.StoreOf, false))
	must(rec.Err())
	c.Watch = nil
	addHead(c, s, j.Model, h, spoil)
	return s
}

// addHead adds logits and logprobs.
func addHead(c *ops.Ctx, s *taps.Set, m model.Model, h *tensor.Tensor, spoil ops.Watch) {
	n := len(s.Tokens)
	logits := ops.Linear(c, h, m.Head())
	if spoil != nil {
		spoil(-1, taps.Logits, logits, nil)
	}
	next, one := append(s.Tokens[1:n:n], 0), make([]float32, n)
	for i := range one {
		one[i] = 1
	}
	lp, lse := c.New(n), c.New(n)
	c.K.LogProb(lp, nil, lse, logits, next, one)
	if spoil != nil {
		spoil(-1, taps.LogProb, lp, nil)
	}
	must(s.Add(&taps.Tap{Layer: -1, Name: taps.Logits, Rate: 1, Shape: []int{logits.Dim()}, Values: taps.Floats(logits)}))
	must(s.AddLogProbs(1, taps.Floats(lp)[:n-1]))
}

// Only returns a copy of s that has the taps that keep picks, and shares their values.
func Only(s *taps.Set, keep func(layer int, name string) bool) *taps.Set {
	some := taps.NewSet(s.Tokens)
	for _, t := range s.Taps() {
		if keep(t.Layer, t.Name) {
			must(some.Add(t))
		}
	}
	return some
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
