package rollout

import (
	"context"
	"errors"
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// Rescore looks for what is wrong with the engine. It holds the weights in memory against those that came, and what was derived from them against a
// fresh derivation; and it computes samples' responses again, without pages and without the cache: with a second engine over fresh, a model of
// the same shape that becomes its own, and with the engine as it is. The second engine takes up a copy of the weights as it would an update,
// and is gone afterwards. Nothing that later samples depend on changes; passes go on meanwhile, updates wait.
func (e *Engine) Rescore(ctx context.Context, fresh model.Model, samples []*rl.Sample) (*rl.Rescored, error) {
	done, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if e.held.Version == 0 {
		return nil, errors.New("rollout: rescoring: there are no weights yet")
	}
	have := weightsync.SumsOf(e.m.Params())
	cold, err := e.second(ctx, fresh)
	if err != nil {
		return nil, fmt.Errorf("rollout: rescoring: the cold engine: %w", err)
	}
	r := &rl.Rescored{Version: e.held.Version, Damaged: altered(have, e.sums), Stale: outdated(have, weightsync.SumsOf(cold.m.Params()))}
	if r.Cold, err = cold.compute(samples); err != nil {
		return nil, fmt.Errorf("rollout: rescoring: the cold engine: %w", err)
	}
	gone := e.do(ctx, func() { r.Running, err = e.compute(samples) })
	if err := errors.Join(gone, err); err != nil {
		return nil, fmt.Errorf("rollout: rescoring: the engine: %w", err)
	}
	return r, nil
}

// second returns an engine like e over another model, with a copy of e's weights, taken up as an update is. It draws nothing and has next to no pages.
func (e *Engine) second(ctx context.Context, fresh model.Model) (*Engine, error) {
	cfg := e.cfg
	cfg.MaxRunning, cfg.PrefillTokens, cfg.TotalTokens, cfg.RecentTokens, cfg.Context = 1, 1, 0, 0, 2
	cold, err := New(cfg, fresh, e.k)
	if err != nil {
		return nil, err
	}
	w := weightsync.Of(e.held.Version, weightsync.Flatten(e.m.Params()), weightsync.Everything)
	if _, _, err := cold.stage(ctx, w); err != nil {
		return nil, err
	}
	cold.exchange()
	cold.staged = nil
	return cold, nil
}

// altered names the tensors of have that are not those of came.
func altered(have, came weightsync.Sums) (names []string) {
	at := map[string]rl.Digest{}
	for _, s := range came {
		at[s.Name] = s.Source
	}
	for _, s := range have {
		if want, known := at[s.Name]; known && s.Source != want {
			names = append(names, s.Name)
		}
	}
	return names
}

// outdated names the tensors of have from which something else was derived than in cold, although they are the same.
func outdated(have, cold weightsync.Sums) (names []string) {
	for i, s := range have { // both in the order of names
		if s.Layout != cold[i].Layout {
			names = append(names, s.Name)
		}
	}
	return names
}

// compute returns the logprobs of samples' responses.
func (e *Engine) compute(samples []*rl.Sample) (all [][]float32, err error) {
	for _, s := range samples {
		var lp []float32
		if err := guard(func() { lp = e.whole(s) }); err != nil {
			return nil, fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
		all = append(all, lp)
	}
	return all, nil
}

// whole returns the logprobs of a sample's response, computed as the trainer does: in one pass, in memory of its own.
func (e *Engine) whole(s *rl.Sample) []float32 {
	tokens, first := s.Tokens(), len(s.Prompt.Tokens)
	n := len(tokens) - 1
	in := &ops.Tokens{ID: tokens[:n], Seq: make([]int32, n), Pos: make([]int32, n)}
	for i := range n {
		in.Pos[i] = int32(i)
	}
	c := ops.NewCtx(e.k, &tensor.Arena{}, dtype.F32)
	stores := e.stores(c.K)
	x := model.Forward(c, e.m, in, func(i int) kv.Store { return &stores[i] }, false) // [T, S, D]
	rows, scale := make([]int32, len(s.Response)), make([]float32, len(s.Response))
	for i := range rows {
		rows[i], scale[i] = int32(first+i-1), s.Sampling.InvTemperature()
	}
	t := x.Shape[0]
	last := ops.Gather(c, ops.Reshape(c, x, t, x.Len()/t), rows) // [R, S*D]
	shape := append([]int{len(rows)}, x.Shape[1:]...)
	lp, _ := ops.LogProb(c, e.m.Final(c, ops.Reshape(c, last, shape...)), e.m.Head(), s.Response, scale)
	return append([]float32(nil), lp.F32()...)
}

// stores returns attention state of one pass, a store a layer, that keeps of rows what pages keep.
func (e *Engine) stores(k kernels.Backend) []kv.InPlace {
	layers := e.m.Layers()
	stores := make([]kv.InPlace, len(layers))
	if e.cfg.KV == kv.FP8Format {
		for i, specs := range layers {
			stores[i].Keep = kv.FP8(k, specs)
		}
	}
	return stores
}
