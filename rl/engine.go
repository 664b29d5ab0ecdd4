package rl

import (
	"context"
	"errors"
	"iter"
)

// What callers branch on.
var (
	ErrPaused  = errors.New("engine is paused")
	ErrAborted = errors.New("request was aborted")
	ErrFull    = errors.New("as many requests wait as may")
	ErrBroken  = errors.New("weights compute no finite numbers")
	ErrNoToken = errors.New("no token may follow")
)

// A RolloutEngine draws samples. Generate may be called from several goroutines at once. For an update the loop calls Pause, Update,
// Resume in this order; requests in flight stay and go on under the new version.
type RolloutEngine interface {
	// Generate yields the samples in the order in which they finish. It ends when all have, or after the first error.
	Generate(ctx context.Context, reqs []Request) iter.Seq2[*Sample, error]
	Pause(ctx context.Context) error
	// Update takes up new weights with all state derived from them, once it has checked both, or keeps the old ones and says why.
	Update(ctx context.Context, w Weights) error
	Resume(ctx context.Context) error
	Version() Version // 0 before the first Update
}

// An Aborter is a rollout engine that can be told to end requests. Abort may be called while Generate runs, and while the engine is paused.
type Aborter interface {
	// Abort ends the requests of these ids with StopAbort and what they have: Generate still yields them, those without a token with an empty response. Ids that
	// are not in flight are ignored, for they may just have finished.
	Abort(ctx context.Context, ids ...int64) error
}

// A TrainEngine holds the actor. Its methods are called by one goroutine at a time.
type TrainEngine interface {
	// Score fills TrainLogProbs and Entropy of every sample under the current weights, at the samples' own temperature.
	Score(ctx context.Context, s []*Sample) error
	// Step takes the optimizer steps of a batch, one if the engine was not told otherwise. A step that must not be taken (a gradient that is not finite, no
	// sample that may train) leaves the weights and is counted in Stats, in train/skipped_steps. Where there are several, train/steps_taken counts the others.
	Step(ctx context.Context, b *Batch) (Stats, error)
	// Publish returns the current weights under version v.
	Publish(v Version) Weights
	Save(ctx context.Context, dir string) error
	Load(ctx context.Context, dir string) error
}

// A Batch is what one cycle trains on: whole groups, advantages filled in.
type Batch struct {
	Samples []*Sample
	Cycle   int
}

// Stats are the figures of one step by metric name (train/loss, train/grad_norm, ...).
type Stats map[string]float64

// A Rewarder judges samples. It may be called from several goroutines at once. It fills Reward, Verdict and Why; an error means the
// grader itself broke, and the sample becomes Invalid.
type Rewarder interface {
	Reward(ctx context.Context, s *Sample) error
}

// A PromptSource hands out prompts in an order that depends on its settings alone.
type PromptSource interface {
	// Next returns the next n prompts.
	Next(n int) ([]*Prompt, error)
	// State returns what Restore needs to go on at this place.
	State() ([]byte, error)
	Restore(state []byte) error
}
