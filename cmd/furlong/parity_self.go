package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"furlong/parity"
	"furlong/rl"
)

// parityOfOne holds one side against itself.
func (e *env) parityOfOne(ctx context.Context, f *parityFlags, args []string) int {
	rep, err := e.selfParity(ctx, f, args)
	if err == nil {
		err = e.tellSelf(rep, f.what)
	}
	if err != nil {
		return e.noVerdict(err)
	}
	return verdictCode(rep.Verdict)
}

func (e *env) tellSelf(rep *parity.SelfReport, f comparedFlags) error {
	var kept error
	if f.Out != "" {
		kept = keepSelf(f.Out, rep)
	}
	if f.JSON {
		return errors.Join(json.NewEncoder(e.stdout).Encode(rep), kept)
	}
	return errors.Join(rep.Text(e.stdout), kept)
}

func (e *env) selfParity(ctx context.Context, f *parityFlags, args []string) (*parity.SelfReport, error) {
	p := &parityJob{env: e, f: f}
	defer p.close()
	if err := p.prepare(f.what.Self); err != nil {
		return nil, err
	}
	side, err := p.open(ctx, p.specs[0])
	if err != nil {
		return nil, err
	}
	if err := p.answerBySelf(ctx, side); err != nil {
		return nil, err
	}
	o := parity.SelfOptions{
		Settings: p.settings(args), Made: time.Now().UTC().Format(time.RFC3339), Build: buildName(), Sequences: p.seqs, Tokenizer: p.words, Progress: p.progress,
	}
	switch s := side.(type) {
	case *rolloutSide:
		o.Exact, o.Trials = true, s.trials()
	case *trainerSide:
		o.Exact, o.Trials = true, s.trials()
	case *serverSide:
		o.Trials = s.trials()
	}
	return parity.Self(ctx, side, o)
}

// answerBySelf has the side answer the prompts, or a rollout engine for one that draws nothing.
func (p *parityJob) answerBySelf(ctx context.Context, side parity.Side) (err error) {
	if p.draw == nil {
		return nil
	}
	by, can := side.(parity.Generator)
	if !can {
		s := p.specs[0]
		if s.kind != "trainer" {
			return fmt.Errorf("%s draws no responses, want --sequences with some", s.text)
		}
		r, err := p.openRollout(ctx, sideSpec{text: "rollout", kind: "rollout", built: s.built})
		if err != nil {
			return err
		}
		defer r.Close()
		by = r
	}
	p.seqs, err = by.Generate(ctx, p.seqs, *p.draw, func(n int) { p.progress("drawing", n, len(p.seqs)) })
	p.draw = nil
	p.seqs = slices.DeleteFunc(p.seqs, func(s parity.Sequence) bool { return len(s.Response) == 0 })
	return err
}

// other returns a trial in which the engine is made otherwise.
func other(name, says string, open func(ctx context.Context) (parity.Side, error)) parity.Trial {
	return parity.Trial{Name: name, Says: says, Score: func(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
		s, err := open(ctx)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return s.Score(ctx, seqs, done)
	}}
}

// trials are conditions that must not matter to the rollout engine.
func (r *rolloutSide) trials() []parity.Trial {
	made := func(name, says string, change func(*builtSpec)) parity.Trial {
		return other(name, says, func(ctx context.Context) (parity.Side, error) {
			s := r.spec
			change(&s.built)
			return r.job.openRollout(ctx, s)
		})
	}
	return []parity.Trial{
		{Name: "cold cache", Says: "the prefix cache emptied before each sequence", Score: r.cold},
		{Name: "warm prefix", Says: "prompts are in the prefix cache", Score: r.warm},
		{Name: "retracted", Says: "sequences lose their pages on the way and are computed again", Score: r.retracted},
		{Name: "as drawn", Says: "logprobs with which the tokens were drawn, one a pass", Score: r.drawn},
		made("no sharing", "no prefix cache at all", func(b *builtSpec) { b.noCache = true }),
		made("chunks of 7", "prompts in pieces of 7 tokens", func(b *builtSpec) { b.chunk = 7 }),
		made("chunks of 4096", "prompts in one piece", func(b *builtSpec) { b.chunk = 4096 }),
		made("pages of 1", "the smallest pages", func(b *builtSpec) { b.page = 1 }),
		made("pages of 256", "large pages", func(b *builtSpec) { b.page = 256 }),
		made("1 sequence", "one sequence at a time in the engine", func(b *builtSpec) { b.running = 1 }),
		made("64 sequences", "up to 64 sequences at a time", func(b *builtSpec) { b.running = 64 }),
		made("1 thread", "one processor thread", func(b *builtSpec) { b.model.Threads = 1 }),
		made("3 threads", "three processor threads", func(b *builtSpec) { b.model.Threads = 3 }),
	}
}

// cold scores each sequence with an empty cache.
func (r *rolloutSide) cold(ctx context.Context, seqs []parity.Sequence, done func(int)) (out []parity.Scores, err error) {
	for i, s := range seqs {
		if err := r.engine.Flush(ctx); err != nil {
			return nil, err
		}
		got, err := r.Score(ctx, []parity.Sequence{s}, func(int) {})
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
		done(i + 1)
	}
	return out, nil
}

// warm computes the prompts first, and then scores.
func (r *rolloutSide) warm(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	reqs := make([]rl.Request, len(seqs))
	for i, s := range seqs {
		reqs[i] = rl.Request{Prompt: asPrompt(s, s.Prompt), Sampling: rl.DefaultSampling()}
		reqs[i].Sampling.MaxTokens = 0
	}
	if err := r.generate(ctx, reqs, func(int, *rl.Sample) {}, func(int) {}); err != nil {
		return nil, err
	}
	before := r.engine.Stats().CachedTokens
	out, err := r.Score(ctx, seqs, done)
	if err == nil && r.engine.Stats().CachedTokens == before && !r.cfg.NoSharing {
		err = fmt.Errorf("no token of %d prompts was found in the cache", len(seqs))
	}
	return out, err
}

// retracted scores in an engine that takes all samples' pages away, again and again, on their way.
func (r *rolloutSide) retracted(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	s := r.spec
	s.built.chunk, s.built.noCache = 7, true // several passes a sequence, all of which are lost
	o, err := r.job.openRollout(ctx, s)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	var orders sync.WaitGroup
	passes, next := 0, 2
	o.model.pass = func() {
		if passes++; passes < next {
			return
		}
		next += max(4, next) // ever rarer, so that there is an end
		given := make(chan struct{})
		orders.Go(func() { close(given); _ = o.engine.Retract(ctx) }) // carried out once this pass, or one soon after it, has ended
		<-given
	}
	out, err := o.Score(ctx, seqs, done)
	orders.Wait()
	if err == nil && o.engine.Stats().Retracted == 0 {
		err = errors.New("no sequence lost its pages")
	}
	return out, err
}

// drawn returns the logprobs with which responses were drawn.
func (r *rolloutSide) drawn(_ context.Context, seqs []parity.Sequence, done func(int)) (out []parity.Scores, err error) {
	for i, s := range seqs {
		if len(s.Generated) != len(s.Response) {
			return nil, fmt.Errorf("sequence %s was given, not drawn", s.ID)
		}
		out = append(out, parity.Scores{LogProbs: s.Generated})
		done(i + 1)
	}
	return out, nil
}

// trials are conditions that must not matter to the trainer.
func (t *trainerSide) trials() []parity.Trial {
	made := func(name, says string, change func(*builtSpec)) parity.Trial {
		return other(name, says, func(ctx context.Context) (parity.Side, error) {
			s := t.spec
			change(&s.built)
			return t.job.openTrainer(ctx, s)
		})
	}
	return []parity.Trial{
		made("micro-batch of 1", "each sequence in a micro-batch of its own", func(b *builtSpec) { b.tokens = 1 }),
		made("micro-batch of 256", "up to 256 tokens in a micro-batch", func(b *builtSpec) { b.tokens = 256 }),
		made("micro-batch of 8192", "up to 8192 tokens in a micro-batch", func(b *builtSpec) { b.tokens = 8192 }),
		made("recompute", "layers' inputs are kept and the rest computed again, or not", func(b *builtSpec) { b.recompute = !b.recompute }),
		made("1 thread", "one processor thread", func(b *builtSpec) { b.model.Threads = 1 }),
		made("3 threads", "three processor threads", func(b *builtSpec) { b.model.Threads = 3 }),
	}
}

// trials are what can be asked of a server without changing it for others, but for its cache.
func (s *serverSide) trials() []parity.Trial {
	many := func(n int) func(context.Context, []parity.Sequence, func(int)) ([]parity.Scores, error) {
		return func(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
			o := *s
			o.atOnce = n
			return o.Score(ctx, seqs, done)
		}
	}
	return []parity.Trial{
		{Name: "cold cache", Says: "the prefix cache flushed first", Score: func(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
			if err := s.v.Flush(ctx); err != nil {
				return nil, err
			}
			return s.Score(ctx, seqs, done)
		}},
		{Name: "warm cache", Says: "everything scored just before", Score: s.Score},
		{Name: "2 at once", Says: "two requests at a time", Score: many(2)},
		{Name: "32 at once", Says: "32 requests at a time", Score: many(32)},
	}
}
