package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/rollout"
)

// generate measures answers to batch prompts: with all their tokens, and with one. The difference is decoding.
func (b *bencher) generate(ctx context.Context, batch int) error {
	b.begin()
	s, err := b.sampler(ctx, batch, b.cfg.Prompt+b.cfg.New)
	if err != nil {
		return err
	}
	t, err := b.answers(ctx, s, fmt.Sprint(Generate, " ", batch), batch, b.cfg.Prompt)
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	shape := fmt.Sprintf("prompt %d, %d new, batch %d", b.cfg.Prompt, b.cfg.New, batch)
	prompts, steps := b.cost.generation(batch, b.cfg.Prompt, b.cfg.New)
	b.rep.Results = append(b.rep.Results,
		newResult(Generate, shape, batch*b.cfg.New, t.passes, t.whole, append(steps, prompts)),
		newResult(Decode, shape, batch*(b.cfg.New-1), b.cfg.New-1, t.decode, steps))
	return nil
}

// answerTimes are the seconds of each run: whole answers, their first token, and what lies between.
type answerTimes struct {
	whole, first, decode []float64
	passes               int // of a whole answer
}

// answers measures batch prompts answered with one token and with all.
func (b *bencher) answers(ctx context.Context, s *sampler, what string, batch, prompt int) (t answerTimes, err error) {
	t.whole, err = b.repeat(ctx, what, func() (time.Duration, error) {
		one, _, err := s.answer(ctx, batch, prompt, 1)
		if err != nil {
			return 0, err
		}
		all, n, err := s.answer(ctx, batch, prompt, b.cfg.New)
		t.first, t.passes = append(t.first, one.Seconds()), n
		return all, err
	})
	if err != nil {
		return t, err
	}
	t.first = t.first[1:] // the first was to warm up
	t.decode, err = less(t.whole, spreadOf(t.first).Median)
	return t, err
}

// less takes the time of a first token from each time of a whole answer.
func less(whole []float64, first float64) ([]float64, error) {
	out := make([]float64, len(whole))
	for i, w := range whole {
		if out[i] = w - first; out[i] <= 0 {
			return nil, fmt.Errorf("a whole answer took %.2g s, its first token alone %.2g s in the median: the machine is too busy to tell them apart", w, first)
		}
	}
	return out, nil
}

// A sampler is a rollout engine at work.
type sampler struct {
	b    *bencher
	e    *rollout.Engine
	quit context.CancelFunc
	done chan error
	last int64 // request
}

// sampler starts an engine for so many sequences of so many tokens.
func (b *bencher) sampler(ctx context.Context, sequences, tokens int) (*sampler, error) {
	cfg := rollout.Default()
	cfg.MaxRunning, cfg.Context, cfg.NoSharing = sequences, tokens, true
	m := b.model()
	e, err := rollout.New(cfg, m, b.o.Backend)
	if err != nil {
		return nil, err
	}
	run, quit := context.WithCancel(ctx)
	s := &sampler{b: b, e: e, quit: quit, done: make(chan error, 1)}
	go func() { s.done <- e.Run(run) }()
	if err := e.Update(ctx, held{m}); err != nil {
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

// answer has new prompts answered with exactly so many tokens, and returns the time it took and the passes.
func (s *sampler) answer(ctx context.Context, batch, prompt, tokens int) (took time.Duration, passes int, err error) {
	reqs := s.requests(batch, prompt, tokens)
	before := s.e.Stats().Passes
	start := time.Now()
	for got, err := range s.e.Generate(ctx, reqs) {
		if err != nil {
			return 0, 0, err
		}
		if n := len(got.Response); n != tokens {
			return 0, 0, fmt.Errorf("response %d ended after %d tokens, want %d", got.Request, n, tokens)
		}
	}
	took = time.Since(start)
	return took, s.e.Stats().Passes - before, nil
}

func (s *sampler) requests(batch, prompt, tokens int) []rl.Request {
	draw := rl.DefaultSampling()
	draw.MaxTokens = tokens
	reqs := make([]rl.Request, batch)
	for i := range reqs {
		s.last++
		draw.Seed = uint64(s.last)
		reqs[i] = rl.Request{ID: s.last, Prompt: &rl.Prompt{Tokens: s.b.ids(prompt), Group: s.last}, Sampling: draw}
	}
	return reqs
}

// held are the weights that a model has already.
type held struct{ m *dsv4.Model }

func (held) Version() rl.Version { return rl.NewVersion(0, 1) }

func (h held) Tensors(context.Context) iter.Seq2[rl.Tensor, error] {
	return func(yield func(rl.Tensor, error) bool) {
		for _, p := range h.m.Params() {
			if !yield(rl.Tensor{Name: p.Name, Type: p.Value.Type.String(), Shape: p.Value.Shape, Data: p.Value.Mem}, nil) {
				return
			}
		}
	}
}
