package rollout

import (
	"errors"
	"fmt"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout/sample"
	"furlong/tensor"
)

// oracle scores samples as the trainer does: one whole sequence in place.
type oracle struct {
	k     kernels.Backend
	m     map[rl.Version]*dsv4.Model
	fp8   bool                 // attention reads what an FP8 cache keeps
	asked map[int64]rl.Request // what samples were asked for with; of others their sampling is all
}

func newOracle(versions map[rl.Version]*dsv4.Model) oracle {
	o := oracle{k: ref.New[float32](), m: versions, asked: map[int64]rl.Request{}}
	for _, m := range versions {
		model.Prepare(ops.NewCtx(o.k, &tensor.Arena{}, dtype.F32), m)
	}
	return o
}

// remember notes what is asked for.
func (o oracle) remember(reqs []rl.Request) []rl.Request {
	for _, q := range reqs {
		o.asked[q.ID] = q
	}
	return reqs
}

// A trace is what a forward pass says of a sequence.
type trace struct {
	logits  []float32 // row i is that of token i+1
	experts []int32   // row i is that of token i
	entries []int32   // of each layer with an indexer, row i is that of token i: ascending, then -1
}

func (t trace) row(i int) []float32 { v := small().Vocab; return slices.Clone(t.logits[i*v:][:v]) }

// trace runs the tokens of a sample but the last under one version.
func (o oracle) trace(s *rl.Sample, v rl.Version) trace {
	c := ops.NewCtx(o.k, &tensor.Arena{}, dtype.F32)
	m, tokens := o.m[v], s.Tokens()
	in := &ops.Tokens{ID: tokens[:len(tokens)-1]}
	for i := range in.ID {
		in.Seq, in.Pos = append(in.Seq, 0), append(in.Pos, int32(i))
	}
	if len(in.ID) == 0 {
		return trace{}
	}
	stores := make([]kv.InPlace, len(m.Layers()))
	for i, specs := range m.Layers() {
		if o.fp8 {
			stores[i].Keep = kv.FP8(o.k, specs)
		}
	}
	k, layers := m.Choices(), len(stores)
	experts := make([]int32, len(in.ID)*layers*k)
	c.Routed = func(layer int, choice []int32) {
		for t := range in.ID {
			copy(experts[(t*layers+layer)*k:][:k], choice[t*k:][:k])
		}
	}
	var entries []int32
	c.Indexed = func(_ int, choice []int32) { entries = append(entries, choice...) }
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	return trace{ops.Linear(c, m.Final(c, x), m.Head()).F32(), experts, entries}
}

// logProb returns the logprob of a token by the trainer's kernel.
func (o oracle) logProb(logits []float32, token int32, scale float32) float32 {
	lp, lse := tensor.New(dtype.F32, 1), tensor.New(dtype.F32, 1)
	o.k.LogProb(lp, nil, lse, tensor.Of(logits, 1, len(logits)), []int32{token}, []float32{scale})
	return lp.F32()[0]
}

// check compares a sample with the oracle, bit for bit, token by token under the version that chose it: all that is told of each token, the
// token that its logits and its number in the response lead to, and why the response ends.
func (o oracle) check(s *rl.Sample) error {
	if err := o.checkAll(s); err != nil {
		return fmt.Errorf("request %d: %w", s.Request, err)
	}
	return nil
}

func (o oracle) checkAll(s *rl.Sample) error {
	if len(s.LogProbs) != len(s.Response) {
		return fmt.Errorf("%d logprobs for %d tokens", len(s.LogProbs), len(s.Response))
	}
	ask, i, first := o.asked[s.Request], 0, len(s.Prompt.Tokens)-1
	h := sample.NewShaper(s.Sampling, ask.Constraint, s.Prompt.Tokens)
	for _, span := range s.Versions {
		tr := o.trace(s, span.Version)
		for range span.Tokens {
			if err := o.checkToken(s, ask, h, i, tr.row(first+i)); err != nil {
				return fmt.Errorf("response token %d of version %v: %w", i, span.Version, err)
			}
			i++
		}
	}
	if i != len(s.Response) {
		return fmt.Errorf("versions of %d tokens, want %d", i, len(s.Response))
	}
	return errors.Join(o.checkStop(s, ask), o.checkPrompt(s, ask), o.checkExperts(s, ask), o.checkEntries(s, ask))
}

func (o oracle) checkToken(s *rl.Sample, ask rl.Request, h *sample.Shaper, i int, logits []float32) error {
	var d sample.Drawer
	if h != nil {
		if err := d.Shape(h, logits, i); err != nil {
			return err
		}
		h.Took(s.Response[i])
	}
	if want := o.logProb(logits, s.Response[i], s.Sampling.InvTemperature()); !bits(s.LogProbs[i], want) {
		return fmt.Errorf("logprob is %v, the trainer's is %v", s.LogProbs[i], want)
	}
	token, trunc, err := d.Draw(logits, s.Sampling, i)
	if err != nil {
		return err
	}
	if token != s.Response[i] {
		return fmt.Errorf("it is %d, want %d", s.Response[i], token)
	}
	if sample.Truncates(s.Sampling) != (s.TruncLogProbs != nil) || s.TruncLogProbs != nil && s.TruncLogProbs[i] != trunc {
		return fmt.Errorf("truncated logprobs are %v, want %v at %d", s.TruncLogProbs, trunc, i)
	}
	return o.checkTold(s.Told, i, ask, logits, s.Sampling.InvTemperature())
}

// checkTold compares what is told of a token with the logprobs of the whole vocabulary.
func (o oracle) checkTold(told []rl.Told, i int, ask rl.Request, logits []float32, scale float32) error {
	if ask.Report.Top == 0 && len(ask.Report.Among) == 0 {
		if told != nil {
			return fmt.Errorf("told is %v, want nothing", told)
		}
		return nil
	}
	var all []rl.Alternative
	for t := range logits {
		all = append(all, rl.Alternative{Token: int32(t), LogProb: o.logProb(logits, int32(t), scale)})
	}
	var want rl.Told
	for _, t := range ask.Report.Among {
		want.Among = append(want.Among, all[t].LogProb)
	}
	slices.SortStableFunc(all, func(a, b rl.Alternative) int {
		switch {
		case a.LogProb > b.LogProb:
			return -1
		case a.LogProb < b.LogProb:
			return 1
		}
		return 0
	})
	want.Top = all[:ask.Report.Top]
	if i >= len(told) || !slices.EqualFunc(flat(told[i:i+1]), flat([]rl.Told{want}), bits) {
		return fmt.Errorf("told at %d is %v, want %v", i, told, want)
	}
	return nil
}

// checkStop checks that the response ends where it must, for the reason that comes first.
func (o oracle) checkStop(s *rl.Sample, ask rl.Request) error {
	part, want := *s, rl.Unfinished
	for i, t := range s.Response {
		part.Response = s.Response[:i+1]
		switch {
		case slices.Contains(s.Sampling.StopIDs, t):
			want = rl.StopToken
		case ask.Watch != nil && ask.Watch(&part):
			want = rl.StopText
		case i+1 == s.Sampling.MaxTokens || len(s.Prompt.Tokens)+i+1 == settings().Context:
			want = rl.StopLength
		}
		if want != rl.Unfinished && i < len(s.Response)-1 {
			return fmt.Errorf("goes on after token %d, which ends it by %v", i, want)
		}
	}
	if s.Sampling.MaxTokens == 0 {
		want = rl.StopLength
	}
	if s.Stop != want {
		return fmt.Errorf("ends by %v, want %v", s.Stop, want)
	}
	return nil
}

// checkPrompt compares what is told of the prompt.
func (o oracle) checkPrompt(s *rl.Sample, ask rl.Request) error {
	n, tail := len(s.Prompt.Tokens), ask.Report.Tail
	if len(s.PromptLogProbs) != tail {
		return fmt.Errorf("%d logprobs of the prompt, want %d", len(s.PromptLogProbs), tail)
	}
	if tail == 0 {
		return nil
	}
	v := rl.Version(1)
	if len(s.Versions) > 0 {
		v = s.Versions[0].Version
	}
	long := *s
	if len(s.Response) == 0 {
		long.Response = []int32{0} // whatever follows the prompt
	}
	tr := o.trace(&long, v)
	for i := range tail {
		row := tr.row(n - tail - 1 + i)
		if want := o.logProb(row, s.Prompt.Tokens[n-tail+i], 1); !bits(s.PromptLogProbs[i], want) {
			return fmt.Errorf("logprob of prompt token %d is %v, the trainer's is %v", n-tail+i, s.PromptLogProbs[i], want)
		}
		if err := o.checkTold(s.PromptTold, i, ask, row, 1); err != nil {
			return fmt.Errorf("prompt token %d: %w", n-tail+i, err)
		}
	}
	return nil
}

// checkExperts compares experts, row by row; samples of several versions are not for it.
func (o oracle) checkExperts(s *rl.Sample, ask rl.Request) error {
	if !ask.Report.Experts {
		if s.Experts != nil {
			return fmt.Errorf("it has experts that nobody asked for")
		}
		return nil
	}
	if want := o.trace(s, 1).experts; !slices.Equal(s.Experts.From(0), want) {
		return fmt.Errorf("experts are %v, want %v", s.Experts.From(0), want)
	}
	return s.Experts.Check(len(small().Layers), small().TopK, small().Experts)
}

// checkEntries compares the entries that tokens read, layer by layer.
func (o oracle) checkEntries(s *rl.Sample, ask rl.Request) error {
	if !ask.Report.Entries {
		if s.Entries != nil {
			return errors.New("it has entries that nobody asked for")
		}
		return nil
	}
	got, err := unpacked(s.Entries)
	if err != nil {
		return err
	}
	if want := o.trace(s, 1).entries; !slices.Equal(got, want) {
		return fmt.Errorf("entries are %v, want %v", got, want)
	}
	layers, rate, most := o.m[1].Indexed()
	return s.Entries.Check(layers, rate, most)
}

// unpacked returns entries as a trace has them.
func unpacked(e *rl.Entries) (out []int32, err error) {
	for _, rows := range e.Rows {
		for pos := range e.Tokens {
			had := len(out)
			if out, rows, err = e.Unpack(out, pos, rows); err != nil {
				return nil, err
			}
			for len(out) < had+e.Most {
				out = append(out, -1)
			}
		}
	}
	return out, nil
}
