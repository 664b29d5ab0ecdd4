package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"furlong/rl"
)

// A batch is the samples of one cycle, on their way or there.
type batch struct {
	cycle   int
	samples []*rl.Sample // whole groups, in the order the prompts were handed out
	version rl.Version   // served when generation began
	before  []byte       // the prompt source's state before it handed these out

	done       chan struct{} // closed when samples or err is there
	err        error
	t0, t1, t2 time.Time // generation began, ended, grading ended
}

// start hands out the prompts of cycle c and begins to generate their samples.
func (l *Loop) start(ctx context.Context, c int) error {
	before, err := l.Prompts.State()
	if err != nil {
		return err
	}
	prompts, err := l.Prompts.Next(l.Config.Batch)
	if err != nil {
		return err
	}
	b := &batch{cycle: c, version: l.Rollout.Version(), before: before, done: make(chan struct{}), t0: l.Clock()}
	l.flying[c] = b
	l.wg.Go(func() {
		defer close(b.done)
		b.err = l.fill(ctx, b, l.requests(prompts))
	})
	return nil
}

// requests asks for Config.PerPrompt samples of each prompt. A sample's seed depends on the run's seed, its group and its place in it.
func (l *Loop) requests(prompts []*rl.Prompt) []rl.Request {
	n := l.Config.PerPrompt
	reqs := make([]rl.Request, 0, len(prompts)*n)
	for _, p := range prompts {
		for j := range n {
			s := l.Config.Sampling
			s.Seed = seed(l.Config.Seed, p.Group, j)
			reqs = append(reqs, rl.Request{ID: p.Group*int64(n) + int64(j), Prompt: p, Index: j, Sampling: s, Report: l.Config.Report})
		}
	}
	return reqs
}

// fill generates and grades b.
func (l *Loop) fill(ctx context.Context, b *batch, reqs []rl.Request) error {
	for s, err := range l.Rollout.Generate(ctx, reqs) {
		if err != nil {
			return err
		}
		s.Text = l.Decode(s.Response)
		b.samples = append(b.samples, s)
	}
	if len(b.samples) != len(reqs) {
		return fmt.Errorf("generate: %d samples for %d requests", len(b.samples), len(reqs))
	}
	slices.SortFunc(b.samples, func(x, y *rl.Sample) int {
		return cmp.Or(cmp.Compare(x.Prompt.Group, y.Prompt.Group), cmp.Compare(x.Index, y.Index))
	})
	b.t1 = l.Clock()
	err := l.Grade(ctx, b.samples)
	b.t2 = l.Clock()
	return err
}

// generated reports whether the batch is there, whole and graded.
func (b *batch) generated() bool {
	select {
	case <-b.done:
		return b.err == nil
	default:
		return false
	}
}

// await waits for the batch of cycle c.
func (l *Loop) await(ctx context.Context, c int) (*batch, error) {
	b := l.flying[c]
	select {
	case <-b.done:
		return b, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// seed returns the seed of sample number index of a group. It begins with a number of its own, so that no evaluation draws with the same.
func seed(run uint64, group int64, index int) uint64 {
	return rl.MixSeed(0x9e3779b97f4a7c15, run, uint64(group), uint64(index))
}
