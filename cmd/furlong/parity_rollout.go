package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"furlong/kernels"
	"furlong/parity"
	"furlong/parity/taps"
	"furlong/rl"
	"furlong/rollout"
)

// A rolloutSide is the rollout engine as a side. It scores and draws as it does for a run: through pages, prefix cache and chunks.
type rolloutSide struct {
	job    *parityJob
	spec   sideSpec
	about  parity.About
	policy *policy
	model  *tappedModel
	k      kernels.Backend
	engine *rollout.Engine
	cfg    rollout.Config
	stop   func()
	ids    int64
}

// openRollout loads a model and sets an engine to work on it.
func (p *parityJob) openRollout(ctx context.Context, s sideSpec) (*rolloutSide, error) {
	pol, recipe, err := p.openBuilt(s.built)
	if err != nil {
		return nil, err
	}
	r := &rolloutSide{job: p, spec: s, policy: pol, about: p.aboutBuilt(s, pol), model: &tappedModel{Model: pol.twin(s.built.model)}}
	r.cfg = p.rolloutConfig(s.built, pol)
	k, closeK := backend(s.built.model.Backend, s.built.model.Threads)
	if r.engine, err = rollout.New(r.cfg, r.model, k); err != nil {
		closeK()
		return nil, err
	}
	stop := background(ctx, r.engine.Run)
	r.k, r.stop = k, func() { stop(); closeK() }
	if err := serveOnce(ctx, r.engine, pol, recipe); err != nil {
		r.stop()
		return nil, err
	}
	a := r.engine.Attestation()
	r.about.State, r.about.Effective = a.State.String(), a.Effective.String()
	r.about.Name = "rollout engine"
	r.about.Facts = append(r.about.Facts, parity.Fact{Name: "page tokens", Value: fmt.Sprint(r.engine.Stats().PageTokens)},
		parity.Fact{Name: "prompt tokens of a pass", Value: fmt.Sprint(r.cfg.PrefillTokens)}, parity.Fact{Name: "sequences at a time", Value: fmt.Sprint(r.cfg.MaxRunning)})
	return r, nil
}

// rolloutConfig returns the settings of a rollout engine with room for every sequence.
func (p *parityJob) rolloutConfig(b builtSpec, pol *policy) rollout.Config {
	c := rollout.Default()
	c.MaxRunning = cmp.Or(b.running, 16)
	c.PageTokens = cmp.Or(b.page, c.PageTokens)
	c.PrefillTokens = cmp.Or(b.chunk, c.PrefillTokens)
	c.RecentTokens = b.recent
	c.Format, c.KV, c.NoSharing = b.format, b.kv, b.noCache
	layers, _, _ := pol.Indexed()
	c.Experts, c.Entries = pol.Choices() > 0, len(layers) > 0
	c.Context = max(2, min(p.need, pol.Config().MaxPositions))
	return c
}

// About says what the engine is.
func (r *rolloutSide) About(context.Context) (parity.About, error) { return r.about, nil }

// Close ends the engine.
func (r *rolloutSide) Close() error { r.stop(); return nil }

// Score scores responses as tails of prompts: the engine draws nothing.
func (r *rolloutSide) Score(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	reqs := make([]rl.Request, len(seqs))
	for i, s := range seqs {
		reqs[i] = scoring(s)
		reqs[i].Report.Experts, reqs[i].Report.Entries = r.cfg.Experts, r.cfg.Entries
	}
	out, errs := make([]parity.Scores, len(seqs)), make([]error, len(seqs))
	err := r.generate(ctx, reqs, func(i int, s *rl.Sample) { out[i], errs[i] = scoresOf(s) }, done)
	return out, errors.Join(append(errs, err)...)
}

// scoring returns the request that scores a sequence's response.
func scoring(s parity.Sequence) rl.Request {
	q := rl.Request{Prompt: asPrompt(s, s.Tokens()), Sampling: rl.DefaultSampling()}
	q.Sampling.MaxTokens = 0
	q.Report.Tail, q.Report.Top = len(s.Response), 1
	return q
}

// scoresOf returns what a scored prompt tells.
func scoresOf(s *rl.Sample) (parity.Scores, error) {
	out := parity.Scores{LogProbs: s.PromptLogProbs, Experts: expertsOf(s.Experts)}
	var err error
	if out.Index, err = entriesOf(s.Entries); err != nil {
		return out, fmt.Errorf("sequence %s: %w", s.Prompt.ID, err)
	}
	for _, t := range s.PromptTold {
		if len(t.Top) > 0 {
			out.Top = append(out.Top, t.Top[0].Token)
		}
	}
	return out, nil
}

// generate has the engine work on requests, and hands each sample out with the place of its request.
func (r *rolloutSide) generate(ctx context.Context, reqs []rl.Request, take func(i int, s *rl.Sample), done func(int)) error {
	first := r.ids
	r.ids += int64(len(reqs))
	for i := range reqs {
		reqs[i].ID = first + int64(i)
	}
	n := 0
	for s, err := range r.engine.Generate(ctx, reqs) {
		if err != nil {
			return err
		}
		take(int(s.Request-first), s)
		n++
		done(n)
	}
	return nil
}

// Generate draws a response to each prompt.
func (r *rolloutSide) Generate(ctx context.Context, prompts []parity.Sequence, d parity.Drawing, done func(int)) ([]parity.Sequence, error) {
	reqs := drawing(prompts, d)
	out := append([]parity.Sequence(nil), prompts...)
	return out, r.generate(ctx, reqs, func(i int, s *rl.Sample) {
		out[i].Response, out[i].Generated, out[i].Seed = s.Response, s.LogProbs, s.Sampling.Seed
	}, done)
}

// DrawnTaps draws a response again and records what the engine computes on the way: the prompt in chunks, then token by token.
func (r *rolloutSide) DrawnTaps(ctx context.Context, s parity.Sequence, d parity.Drawing) (*taps.Set, error) {
	if err := r.engine.Flush(ctx); err != nil {
		return nil, err
	}
	q := drawing([]parity.Sequence{s}, d)
	q[0].Sampling.Seed, q[0].Sampling.MaxTokens = s.Seed, len(s.Response)
	return r.model.hear(s, r.about.Name+", drawing", func() ([]float32, error) {
		var again *rl.Sample
		if err := r.generate(ctx, q, func(_ int, a *rl.Sample) { again = a }, func(int) {}); err != nil {
			return nil, err
		}
		if !slices.Equal(again.Response, s.Response) {
			return nil, fmt.Errorf("drawn again with the same seed it is another response: %v, want %v", again.Response, s.Response)
		}
		return again.LogProbs, nil
	})
}

// drawing returns the requests that answer prompts. A response's seed depends on its place alone.
func drawing(prompts []parity.Sequence, d parity.Drawing) []rl.Request {
	reqs := make([]rl.Request, len(prompts))
	for i, s := range prompts {
		reqs[i] = rl.Request{ID: int64(i), Prompt: asPrompt(s, s.Prompt), Sampling: rl.DefaultSampling()}
		reqs[i].Sampling.MaxTokens, reqs[i].Sampling.StopIDs, reqs[i].Sampling.Seed = d.MaxNewTokens, d.StopIDs, rl.MixSeed(d.Seed, uint64(i))
	}
	return reqs
}

// Draw draws one token.
func (r *rolloutSide) Draw(ctx context.Context, prompt []int32, temperature, topP float64, top int) (parity.Drawn, error) {
	var out parity.Drawn
	q := probing(prompt, temperature, topP, min(top, r.about.Vocab))
	err := r.generate(ctx, []rl.Request{q}, func(_ int, s *rl.Sample) { out = drawnOf(s) }, func(int) {})
	if err == nil && out.Token < 0 {
		err = errDrawn
	}
	return out, err
}

// probing returns the request that draws one token after a prompt.
func probing(prompt []int32, temperature, topP float64, top int) rl.Request {
	q := rl.Request{Prompt: &rl.Prompt{ID: "probe", Tokens: prompt}, Sampling: rl.DefaultSampling()}
	q.Sampling.MaxTokens, q.Sampling.Temperature, q.Sampling.TopP = 1, temperature, topP
	q.Report.Top = top
	return q
}

// drawnOf returns a sample of one token as a probe sees it.
func drawnOf(s *rl.Sample) parity.Drawn {
	if len(s.Response) == 0 {
		return parity.Drawn{Token: -1}
	}
	out := parity.Drawn{Token: s.Response[0], LogProb: s.LogProbs[0]}
	if len(s.Told) > 0 {
		for _, t := range s.Told[0].Top {
			out.Likely = append(out.Likely, parity.Likely{Token: t.Token, LogProb: t.LogProb})
		}
	}
	return out
}

// Taps records what the engine computes of a sequence while it scores it, its prefix cache empty, so that all of it is computed.
func (r *rolloutSide) Taps(ctx context.Context, s parity.Sequence) (*taps.Set, error) {
	if err := r.engine.Flush(ctx); err != nil {
		return nil, err
	}
	return r.model.hear(s, r.about.Name, func() ([]float32, error) { return logProbsOf(ctx, r, s) })
}

// Twin returns the engine with another side's formats.
func (r *rolloutSide) Twin(ctx context.Context, other parity.About) (parity.Side, error) {
	s := r.spec
	var err error
	if s.built, err = s.built.like(other); err != nil {
		return nil, err
	}
	return r.job.openRollout(ctx, s)
}
