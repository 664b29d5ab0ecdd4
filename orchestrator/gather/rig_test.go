package gather

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"furlong/rl"
	"furlong/rl/ticktest"
)

const tick = ticktest.Tick

// A rig is a gatherer with its parts, in a bubble.
type rig struct {
	*Gatherer
	t       *testing.T
	engine  *ticktest.Engine
	prompts *ticktest.Prompts
	advised []string
	trained []*Group
	tokens  int64 // that have trained
	samples int64
	end     context.CancelFunc
	ctx     context.Context //nolint:containedctx // a rig is one test
}

// newRig returns a gatherer over a clockwork. Groups of even number have rewards that differ.
func newRig(t *testing.T, lengths func(int64, int) int, tell func(r *Run)) *rig {
	run := Run{Settings: Default(), Batch: 4, PerPrompt: 2, Seed: 7, Sampling: rl.DefaultSampling()}
	run.Sampling.MaxTokens = 30
	tell(&run)
	if err := run.Validate(); err != nil {
		t.Fatal(err)
	}
	x := &rig{t: t, engine: ticktest.New(lengths), prompts: &ticktest.Prompts{}}
	x.ctx, x.end = context.WithCancel(t.Context())
	x.Gatherer = New(run, x.parts(gradeByPlace))
	return x
}

func (x *rig) parts(grade func(context.Context, []*rl.Sample) error) Parts {
	return Parts{
		Engine: x.engine, Prompts: x.prompts, Grade: grade, Decode: func(ids []int32) string { return fmt.Sprint(ids) },
		Clock: time.Now, After: time.After, Advise: func(s string) { x.advised = append(x.advised, s) }, Watches: true,
	}
}

// gradeByPlace finds the first sample of groups of even number right, and all others wrong.
func gradeByPlace(_ context.Context, all []*rl.Sample) error {
	for _, s := range all {
		s.Verdict, s.Reward = rl.Wrong, 0
		if s.Prompt.Group%2 == 0 && s.Index == 0 {
			s.Verdict, s.Reward = rl.Right, 1
		}
	}
	return nil
}

// batch begins and awaits the batch of a cycle.
func (x *rig) batch(cycle int) *Batch {
	x.t.Helper()
	if err := x.Begin(x.ctx, cycle); err != nil {
		x.t.Fatal(err)
	}
	b, err := x.Await(x.ctx, cycle)
	if err != nil {
		x.t.Fatal(err)
	}
	return b
}

// train says that a batch has trained, and holds the account against an independent count.
func (x *rig) train(b *Batch) {
	x.t.Helper()
	for _, g := range b.Groups {
		checkGroup(x.t, g, x.run)
		x.count(g)
		if slices.ContainsFunc(g.Samples, func(s *rl.Sample) bool { return s.Verdict != rl.Invalid }) {
			x.trained = append(x.trained, g) // the others are dropped as invalid
		}
	}
	then, err := x.Trained(b.Cycle, true)
	if err != nil {
		x.t.Fatal(err)
	}
	if then.Tokens.Trained != x.tokens || then.Samples.Trained != x.samples {
		x.t.Errorf("cycle %d is told to have trained %d tokens of %d samples so far, want %d of %d", b.Cycle, then.Tokens.Trained, then.Samples.Trained, x.tokens, x.samples)
	}
}

// count counts what trains of a group, on its own.
func (x *rig) count(g *Group) {
	for _, s := range g.Samples {
		n := 0
		for i := range s.Response {
			if s.Verdict != rl.Invalid && (s.LossMask == nil || s.LossMask[i]) {
				n++
			}
		}
		x.tokens += int64(n)
		x.samples += int64(btoi(n > 0))
	}
}

// close ends everything.
func (x *rig) close() {
	x.end()
	x.Close()
}

// checkGroup holds what must be true of a group in a batch.
func checkGroup(t *testing.T, g *Group, r Run) {
	t.Helper()
	if len(g.Samples) != r.PerPrompt {
		t.Errorf("group %d has %d samples, want %d", g.number(), len(g.Samples), r.PerPrompt)
	}
	for j, s := range g.Samples {
		if s == nil || !over(s) || s.Index != j || s.Prompt.Group != g.number() {
			t.Fatalf("group %d: sample %d is %+v, want it finished and in its place", g.number(), j, s)
		}
		checkSample(t, s, r)
	}
}

// checkSample holds the lengths and the tokens of a sample against the versions that chose them.
func checkSample(t *testing.T, s *rl.Sample, r Run) {
	t.Helper()
	n := 0
	for i, sp := range s.Versions {
		if i > 0 && s.Versions[i-1].Version == sp.Version || sp.Tokens < 1 {
			t.Errorf("group %d: versions %v are not merged", s.Prompt.Group, s.Versions)
		}
		for range sp.Tokens {
			if want := ticktest.TokenOf(sp.Version, s.Prompt.Group, s.Index, n); s.Response[n] != want || s.LogProbs[n] != -float32(want)/100 {
				t.Fatalf("group %d: token %d is %d, want %d of version %v", s.Prompt.Group, n, s.Response[n], want, sp.Version)
			}
			n++
		}
	}
	if n != len(s.Response) || n != len(s.LogProbs) || s.LossMask != nil && len(s.LossMask) != n || n > r.Sampling.MaxTokens {
		t.Errorf("group %d: %d tokens, %d logprobs, versions of %d, mask of %d, want one length of at most %d", s.Prompt.Group, len(s.Response), len(s.LogProbs), n, len(s.LossMask), r.Sampling.MaxTokens)
	}
}

func numbers(groups []*Group) (out []int64) {
	for _, g := range groups {
		out = append(out, g.number())
	}
	return out
}

// fates returns the numbers of all prompts that trained or wait, in order; a number twice is an error. The lock is held.
func (x *rig) fates() []int64 {
	x.t.Helper()
	all := numbers(x.trained)
	all = append(append(all, numbers(x.stock.begun)...), numbers(x.stock.ready)...)
	for n := range x.stock.flying {
		all = append(all, n)
	}
	for _, b := range x.batches {
		all = append(all, numbers(b.Groups)...)
	}
	slices.Sort(all)
	for i := range all {
		if i > 0 && all[i] == all[i-1] {
			x.t.Errorf("prompt %d has two fates", all[i])
		}
	}
	return all
}

// checkFates holds the account against what is there.
func (x *rig) checkFates() {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.account()
	if err := a.Check(); err != nil {
		x.t.Error(err)
	}
	if a.Tokens.Trained != x.tokens || a.Samples.Trained != x.samples {
		x.t.Errorf("%d tokens of %d samples have trained by the account, want %d of %d", a.Tokens.Trained, a.Samples.Trained, x.tokens, x.samples)
	}
	there, gone := len(x.fates()), int(sum(a.Prompts.Dropped))
	if handed := int(x.prompts.Count); there+gone != handed || int(a.Prompts.Generated) != handed {
		x.t.Errorf("%d prompts were handed out, want the sum of %d that trained or wait and %d that were dropped (%v)", handed, there, gone, a.Prompts.Dropped)
	}
}
