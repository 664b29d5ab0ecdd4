package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout"
	"furlong/train"
)

// decode runs each case that has decode_logits one token at a time over pages, and compares logits with the vectors' cached run and, which
// is stronger, bit for bit with our own whole pass.
func (r *runner) decode(v *vectors, rep *Report) error {
	for _, n := range v.lengths() {
		if pre := fmt.Sprintf("T%d.", n); v.has(pre + "decode_logits") {
			if err := r.decodeCase(v, rep, pre); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) decodeCase(v *vectors, rep *Report, pre string) error {
	ids, err := v.i32(pre + "input_ids")
	if err != nil {
		return err
	}
	want, err := v.f64(pre + "decode_logits")
	if err != nil {
		return err
	}
	got := r.stepByStep(ids)
	rep.see("decode logits", maxAbs(got, want), r.logits, pre)
	whole := newTrace()
	r.forward(r.ctx(), ids, whole)
	r.mem.Reset()
	differ := 0
	for i, x := range whole.values["logits"] {
		if x != got[i] {
			differ++
		}
	}
	rep.mustEqual("decode equals the whole pass", differ, pre)
	return nil
}

// stepByStep returns the logits of ids, computed one token a pass.
func (r *runner) stepByStep(ids []int32) []float64 {
	l := kv.NewLayout(r.m.Layers(), 1)
	pages := kv.NewPages(r.k, l, r.format, l.Recent(1), l.Pages(len(ids)), false)
	pass, seq := pages.NewPass(r.k, false), &kv.Sequence{}
	var out []float64
	for t, id := range ids {
		pages.Grow(seq, t+1)
		pass.Bind([]*kv.Sequence{seq})
		c := r.ctx()
		in := &ops.Tokens{ID: []int32{id}, Seq: []int32{0}, Pos: []int32{int32(t)}}
		x := model.Forward(c, r.m, in, pass.Store, false)
		out = append(out, widen(ops.Linear(c, r.m.Final(c, x), r.m.Head()))...)
		r.mem.Reset()
		pages.Advance(seq, t+1, nil)
	}
	return out
}

// greedy lets the rollout engine continue the vectors' prompts at temperature 0, all at once, and compares tokens and logprobs.
func greedy(ctx context.Context, v *vectors, k kernels.Backend, rep *Report) (err error) {
	m := dsv4.New(v.cfg, dtype.F32)
	cfg := rollout.Default()
	cfg.Context = v.cfg.MaxPositions
	e, err := rollout.New(cfg, m, k)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = e.Run(ctx) }() // its error is that ctx has ended
	defer func() { stop(); <-done }()
	if err := serve(ctx, e, v); err != nil {
		return err
	}
	reqs, err := v.prompts()
	if err != nil {
		return err
	}
	for s, err := range e.Generate(ctx, reqs) {
		if err != nil {
			return err
		}
		if err := v.compareGreedy(s, rep); err != nil {
			return err
		}
	}
	return nil
}

// serve gives the engine the vectors' weights in the way of a trainer.
func serve(ctx context.Context, e *rollout.Engine, v *vectors) error {
	m := dsv4.New(v.cfg, dtype.F32)
	if err := v.load(m); err != nil {
		return err
	}
	if err := e.Pause(ctx); err != nil {
		return err
	}
	if err := e.Update(ctx, train.Weights(rl.NewVersion(0, 1), m.Params())); err != nil {
		return err
	}
	return e.Resume(ctx)
}

// prompts returns a request for each greedy case.
func (v *vectors) prompts() ([]rl.Request, error) {
	var reqs []rl.Request
	for _, name := range v.oracle.Names() {
		id, ok := strings.CutSuffix(name, ".prompt")
		if !ok {
			continue
		}
		prompt, err := v.i32(name)
		if err != nil {
			return nil, err
		}
		tokens, err := v.i32(id + ".tokens")
		if err != nil {
			return nil, err
		}
		reqs = append(reqs, rl.Request{
			ID: int64(len(reqs)), Prompt: &rl.Prompt{ID: id, Group: int64(len(reqs)), Tokens: prompt},
			Sampling: rl.Sampling{TopP: 1, MaxTokens: len(tokens)},
		})
	}
	return reqs, nil
}

func (v *vectors) compareGreedy(s *rl.Sample, rep *Report) error {
	tokens, err := v.i32(s.Prompt.ID + ".tokens")
	if err != nil {
		return err
	}
	want, err := v.f64(s.Prompt.ID + ".logprobs")
	if err != nil {
		return err
	}
	wrong := 0
	if !slices.Equal(s.Response, tokens) {
		wrong = 1
	}
	rep.mustEqual("greedy tokens", wrong, s.Prompt.ID)
	got := make([]float64, len(s.LogProbs))
	for i, x := range s.LogProbs {
		got[i] = float64(x)
	}
	rep.see("greedy logprobs", maxAbs(got, want), 5e-5, fmt.Sprint(s.Prompt.ID))
	return nil
}
