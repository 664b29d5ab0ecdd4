package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"furlong/reward"
	"furlong/rl"
)

// firstID keeps the ids of evaluation requests apart from those of a run's rollouts, which count up from 0.
const firstID = 1 << 62

// Run draws n samples for each prompt and returns what they are worth. sampling holds for all, and its seed is the
// evaluation's: sample j of prompt i is drawn with a seed made of that, i and j, so that the first prompts give the same
// samples however many follow. decode may leave out special tokens; it is asked where the engine gives no text. progress,
// which may be nil, is told after each sample. A rewarder that is no [reward.Pool] runs in one with default settings.
func Run(ctx context.Context, engine rl.RolloutEngine, prompts []*rl.Prompt, n int, sampling rl.Sampling, rewarder rl.Rewarder,
	decode func([]int32) string, progress func(done, total int),
) (*Result, error) {
	reqs, err := requests(prompts, n, sampling)
	if err != nil {
		return nil, err
	}
	samples, err := generate(ctx, engine, reqs, progress)
	if err != nil {
		return nil, err
	}
	for _, s := range samples {
		if s.Text == "" {
			s.Text = decode(s.Response)
		}
	}
	pool, ok := rewarder.(*reward.Pool)
	if !ok {
		pool = reward.NewPool(rewarder, reward.Default())
	}
	if _, err := pool.Grade(ctx, samples); err != nil {
		return nil, fmt.Errorf("grading: %w", err)
	}
	r, err := Summarize(samples, n, sampling.Seed)
	if err != nil {
		return nil, err
	}
	r.Set, r.Sampling, r.Prompts = prompts[0].Set, sampling, fingerprint(prompts)
	return r, nil
}

// fingerprint returns the SHA-256 of what the problems are.
func fingerprint(prompts []*rl.Prompt) string {
	h := sha256.New()
	for _, p := range prompts {
		fmt.Fprintf(h, "%q %q %q\n", p.ID, p.Text, p.Label)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// requests returns n requests for each prompt.
func requests(prompts []*rl.Prompt, n int, sampling rl.Sampling) ([]rl.Request, error) {
	if len(prompts) == 0 {
		return nil, errors.New("no prompts, want at least one")
	}
	if n < 1 {
		return nil, fmt.Errorf("samples for each prompt are %d, want at least 1", n)
	}
	reqs := make([]rl.Request, 0, n*len(prompts))
	for i, p := range prompts {
		for j := range n {
			own := sampling
			own.Seed = seed(sampling.Seed, i, j)
			reqs = append(reqs, rl.Request{ID: firstID + int64(len(reqs)), Prompt: p, Index: j, Sampling: own})
		}
	}
	return reqs, nil
}

// seed makes one seed of three numbers.
func seed(evaluation uint64, problem, sample int) uint64 {
	return rl.MixSeed(0, evaluation, uint64(problem), uint64(sample))
}

// generate returns the samples in the order of their requests, whatever the order in which they finish.
func generate(ctx context.Context, engine rl.RolloutEngine, reqs []rl.Request, progress func(done, total int)) ([]*rl.Sample, error) {
	samples := make([]*rl.Sample, len(reqs))
	done := 0
	for s, err := range engine.Generate(ctx, reqs) {
		if err != nil {
			return nil, fmt.Errorf("engine, after %d of %d samples: %w", done, len(reqs), err)
		}
		if err := accept(samples, s); err != nil {
			return nil, err
		}
		if done++; progress != nil {
			progress(done, len(reqs))
		}
	}
	if done < len(reqs) {
		return nil, fmt.Errorf("engine gave %d samples, want %d", done, len(reqs))
	}
	return samples, nil
}

// accept puts a sample in its place. An evaluation is complete, so one that somebody stopped ends it.
func accept(samples []*rl.Sample, s *rl.Sample) error {
	i := s.Request - firstID
	switch {
	case i < 0 || i >= int64(len(samples)):
		return fmt.Errorf("engine gave a sample of request %d, want %d to %d", s.Request, int64(firstID), firstID+int64(len(samples))-1)
	case samples[i] != nil:
		return fmt.Errorf("engine gave two samples of request %d", s.Request)
	case s.Stop != rl.StopToken && s.Stop != rl.StopLength:
		return fmt.Errorf("problem %s, sample %d: ended by %v, want a stop token or the limit: %w", s.Prompt.ID, s.Index, s.Stop, rl.ErrAborted)
	}
	samples[i] = s
	return nil
}
