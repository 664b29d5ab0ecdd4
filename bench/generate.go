package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furlong/rl"
	"furlong/rollout"
	"furlong/train"
)

// generate measures answers to batch prompts.
func (b *bencher) generate(ctx context.Context, batch int) error {
	b.begin()
	s, err := b.sampler(ctx, batch, b.cfg.Prompt+b.cfg.New)
	if err != nil {
		return err
	}
	t, err := b.answers(ctx, s, fmt.Sprint(Generate, " ", batch), batch)
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	shape := fmt.Sprintf("prompt %d, %d new, batch %d", b.cfg.Prompt, b.cfg.New, batch)
	tokens, prompts := batch*b.cfg.New, b.cost.prompts(batch, b.cfg.Prompt)
	b.add(
		newResult(Generate, shape, tokens, t.passes, runs{seconds: t.whole}, append(b.cost.steps(batch, b.cfg.Prompt+1, b.cfg.New-1), prompts)),
		newResult(Decode, shape, tokens, b.cfg.New, runs{seconds: t.decode}, b.cost.steps(batch, b.cfg.Prompt, b.cfg.New)))
	return nil
}

// answerTimes are those of whole answers, and of the same prompts answered again from the prefix cache.
type answerTimes struct {
	whole, decode []float64 // seconds of each run
	passes        int       // of a whole answer
}

// answers measures new prompts answered, and then the same ones again.
func (b *bencher) answers(ctx context.Context, s *sampler, what string, batch int) (t answerTimes, err error) {
	t.whole, err = b.repeat(ctx, what, func() (time.Duration, error) {
		prompts := s.prompts(batch, b.cfg.Prompt)
		all, n, err := s.answer(ctx, prompts, b.cfg.New, false)
		if err != nil {
			return 0, err
		}
		again, _, err := s.answer(ctx, prompts, b.cfg.New, true)
		t.decode, t.passes = append(t.decode, again.Seconds()), n
		return all, err
	})
	if err == nil {
		t.decode = t.decode[1:] // the first was to warm up
	}
	return t, err
}

// longestPage is the most tokens that a page holds: those that the slowest compression makes one entry of.
const longestPage = 128

// A sampler is a rollout engine at work.
type sampler struct {
	b    *bencher
	e    *rollout.Engine
	quit context.CancelFunc
	done chan error
	last int64 // request
}

// sampler starts an engine for so many sequences of so many tokens. What they leave in the prefix cache has room beside as many more; besides that,
// settings are the engine's own.
func (b *bencher) sampler(ctx context.Context, sequences, tokens int) (*sampler, error) {
	cfg := rollout.Default()
	cfg.MaxRunning, cfg.Context = sequences, tokens
	cfg.TotalTokens = 2 * sequences * (tokens + longestPage)
	m := b.model()
	e, err := rollout.New(cfg, m, b.o.Backend)
	if err != nil {
		return nil, err
	}
	run, quit := context.WithCancel(ctx)
	s := &sampler{b: b, e: e, quit: quit, done: make(chan error, 1)}
	go func() { s.done <- e.Run(run) }()
	if err := e.Update(ctx, train.Weights(rl.NewVersion(0, 1), m.Params())); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends the engine and waits for it.
func (s *sampler) stop() error {
	s.quit()
	if err := <-s.done; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// answer has prompts answered with exactly so many tokens, and returns the time it took and the passes. Known prompts must be found in
// the prefix cache, all but their last token.
func (s *sampler) answer(ctx context.Context, prompts []*rl.Prompt, tokens int, known bool) (took time.Duration, passes int, err error) {
	reqs := s.requests(prompts, tokens)
	before := s.e.Stats().Passes
	start := time.Now()
	for got, err := range s.e.Generate(ctx, reqs) {
		if err != nil {
			return 0, 0, err
		}
		if n := len(got.Response); n != tokens {
			return 0, 0, fmt.Errorf("response %d ended after %d tokens, want %d", got.Request, n, tokens)
		}
		if want := len(got.Prompt.Tokens) - 1; known && got.CachedTokens != want {
			return 0, 0, fmt.Errorf("response %d: %d tokens of its prompt were in the cache, want %d", got.Request, got.CachedTokens, want)
		}
	}
	took = time.Since(start)
	return took, s.e.Stats().Passes - before, nil
}

// prompts returns new prompts of so many random tokens.
func (s *sampler) prompts(n, tokens int) []*rl.Prompt {
	out := make([]*rl.Prompt, n)
	for i := range out {
		out[i] = &rl.Prompt{Tokens: s.b.ids(tokens)}
	}
	return out
}

func (s *sampler) requests(prompts []*rl.Prompt, tokens int) []rl.Request {
	draw := rl.DefaultSampling()
	draw.MaxTokens = tokens
	reqs := make([]rl.Request, len(prompts))
	for i, p := range prompts {
		s.last++
		draw.Seed = uint64(s.last)
		reqs[i] = rl.Request{ID: s.last, Prompt: p, Sampling: draw}
	}
	return reqs
}
