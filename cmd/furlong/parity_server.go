package main

import (
	"context"
	"errors"
	"sync"

	"furlong/parity"
	"furlong/remote/sglang"
	"furlong/rl"
)

// A serverSide is a server of SGLang's dialect as a side. Its weights stay what they are.
type serverSide struct {
	about  parity.About
	v      *sglang.Visitor
	atOnce int
}

// openServer gets to know a server.
func (p *parityJob) openServer(ctx context.Context, s sideSpec) (*serverSide, error) {
	c := sglang.Default()
	c.URLs, c.KeyFile, c.Wait = []string{s.place}, p.f.server.KeyFile, p.f.server.Wait
	routes, err := p.routesOf()
	if err != nil {
		return nil, err
	}
	v, err := sglang.Visit(ctx, c, routes)
	if err != nil {
		return nil, err
	}
	f := v.Found()
	side := &serverSide{v: v, atOnce: 8}
	side.about = parity.About{
		Side: s.text, Kind: "server", Name: "server " + f.URL, Model: f.Model, Version: f.Label, Context: f.Context, KV: f.Formats.State, Weights: heldAs(v),
		Facts: []parity.Fact{{Name: "program version", Value: f.Version}},
	}
	if f.Formats.Weights != "" { // ours, whose arithmetic is this binary's
		side.about.Arithmetic = "float32"
	}
	if err := side.learn(ctx); err != nil {
		return nil, err
	}
	return side, nil
}

// heldAs returns the formats of a server of ours, "" of others: what theirs are called says little of how they compute.
func heldAs(v *sglang.Visitor) string {
	plain := map[string]string{"auto": "bf16", "bfloat16": "bf16", "bf16": "bf16", "float32": "f32", "f32": "f32"}[v.Told("dtype")]
	switch recipe := v.Found().Formats.Weights; recipe {
	case "":
		return ""
	case "bf16":
		return plain
	default:
		return plain + " " + recipe
	}
}

// learn asks for what the server tells besides: digests, and what it makes of texts.
func (s *serverSide) learn(ctx context.Context) error {
	a, err := s.v.Attested(ctx)
	if err != nil {
		return err
	}
	if a != nil {
		s.about.State, s.about.Effective = a.State, a.Effective
	}
	for _, text := range parity.ProbeTexts {
		got, err := s.v.Tokenize(ctx, text)
		if err != nil {
			return nil //nolint:nilerr // a server without a tokenizer, or without the path, has nothing to compare
		}
		s.about.Tokenizer.Probes = append(s.about.Tokenizer.Probes, parity.Probe{Text: text, IDs: got})
	}
	return nil
}

// About says what the server is.
func (s *serverSide) About(context.Context) (parity.About, error) { return s.about, nil }

// Close leaves the server.
func (s *serverSide) Close() error { s.v.Close(); return nil }

// Score asks for the logprobs of prompts that end in the responses.
func (s *serverSide) Score(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	reqs := make([]rl.Request, len(seqs))
	for i, q := range seqs {
		reqs[i] = scoring(q)
		reqs[i].ID, reqs[i].Report.Experts = int64(i), s.v.Found().Experts
	}
	out, errs := make([]parity.Scores, len(seqs)), make([]error, len(seqs))
	err := s.samples(ctx, reqs, func(i int, a *rl.Sample) { out[i], errs[i] = scoresOf(a) }, done)
	return out, errors.Join(append(errs, err)...)
}

// Generate draws a response to each prompt.
func (s *serverSide) Generate(ctx context.Context, prompts []parity.Sequence, d parity.Drawing, done func(int)) ([]parity.Sequence, error) {
	out := append([]parity.Sequence(nil), prompts...)
	return out, s.samples(ctx, drawing(prompts, d), func(i int, a *rl.Sample) { out[i].Response, out[i].Generated = a.Response, a.LogProbs }, done)
}

// Draw draws one token.
func (s *serverSide) Draw(ctx context.Context, prompt []int32, temperature, topP float64, top int) (parity.Drawn, error) {
	a, err := s.v.Sample(ctx, probing(prompt, temperature, topP, top))
	if err != nil {
		return parity.Drawn{}, err
	}
	if len(a.Response) == 0 {
		return parity.Drawn{}, errDrawn
	}
	return drawnOf(a), nil
}

// samples asks for samples, some at a time, and hands each out with the place of its request, one at a time.
func (s *serverSide) samples(ctx context.Context, reqs []rl.Request, take func(i int, a *rl.Sample), done func(int)) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	places := make(chan int)
	var mu sync.Mutex
	var errs []error
	n := 0
	var all sync.WaitGroup
	for range min(s.atOnce, len(reqs)) {
		all.Go(func() {
			for i := range places {
				a, err := s.v.Sample(inner, reqs[i])
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
					stop()
				} else {
					take(i, a)
					n++
					done(n)
				}
				mu.Unlock()
			}
		})
	}
	for i := range reqs {
		select {
		case places <- i:
		case <-inner.Done():
		}
	}
	close(places)
	all.Wait()
	if len(errs) > 0 {
		return errs[0]
	}
	return errors.Join(context.Cause(ctx))
}
