package rollout

import (
	"fmt"

	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
)

// canaryTokens is the length of the text whose logprobs are computed before a version serves.
const canaryTokens = 8

// canaryText returns fixed tokens of a vocabulary: the same for every version, with no two neighbours alike where the vocabulary allows.
func canaryText(vocab int) []int32 {
	ids := make([]int32, canaryTokens+1)
	for i := range ids {
		ids[i] = int32((i*i*7 + i*3 + 1) % vocab)
	}
	return ids
}

// canary returns the logprobs of the canary text under the weights that are in the model, as the trainer would compute them. It is an error if one
// is no number. Only the loop calls it.
func (e *Engine) canary() (lp []float32, err error) {
	l := e.lanes.whole
	l.begin()
	err = guard(func() { lp = l.canary(canaryText(e.m.Vocab())) })
	if err != nil {
		return nil, fmt.Errorf("canary: %s: %w", l.place(), err)
	}
	for i, v := range lp {
		if v-v != 0 {
			return nil, fmt.Errorf("canary: logprob of token %d is %v, want a finite one", i, v)
		}
	}
	return lp, nil
}

// canary runs ids in memory of its own: no page is touched.
func (l *lane) canary(ids []int32) []float32 {
	n := len(ids) - 1
	in := &ops.Tokens{ID: ids[:n], Seq: make([]int32, n), Pos: make([]int32, n)}
	scale := make([]float32, n)
	for i := range n {
		in.Pos[i], scale[i] = int32(i), rl.DefaultSampling().InvTemperature()
	}
	stores := make([]kv.InPlace, len(l.m.Layers()))
	l.ctx.Mem.Reset()
	c := *l.ctx
	c.Routed, c.Indexed = nil, nil
	x := model.Forward(&c, l.m, in, func(i int) kv.Store { l.layer = i; return &stores[i] }, false)
	l.layer = len(stores)
	lp, _ := ops.LogProb(&c, l.m.Final(&c, x), l.m.Head(), ids[1:], scale)
	return append([]float32(nil), lp.F32()...)
}
