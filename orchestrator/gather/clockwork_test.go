package gather

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furlong/rl"
)

const tick = time.Millisecond // of the bubble's clock: a token of every request in flight

// A clockwork is a rollout engine whose requests get a token a tick each. Tokens follow from prompt, sample, version and place alone.
type clockwork struct {
	version atomic.Uint32
	lengths func(group int64, index int) int // of whole responses

	mu      sync.Mutex
	ends    map[int64]chan struct{} // of requests in flight
	most    int                     // requests in flight at once
	drawn   int                     // tokens
	calls   int
	begun   []rl.Request                            // that came with a beginning
	fault   func(call int, reqs []rl.Request) error // before anything is drawn
	strike  func(call, tick int) error              // while it is drawn
	stray   func(call, tick int, r rl.Request) bool // ends a request though nobody asked
	latency func(call int) time.Duration            // before the first token
}

func newClockwork(lengths func(int64, int) int) *clockwork {
	e := &clockwork{lengths: lengths, ends: map[int64]chan struct{}{}}
	e.version.Store(uint32(rl.NewVersion(0, 1)))
	return e
}

func (e *clockwork) Version() rl.Version                      { return rl.Version(e.version.Load()) }
func (e *clockwork) Pause(context.Context) error              { return nil }
func (e *clockwork) Update(context.Context, rl.Weights) error { return nil }
func (e *clockwork) Resume(context.Context) error             { return nil }
func (e *clockwork) serve(n int)                              { e.version.Store(uint32(rl.NewVersion(0, n))) }

func (e *clockwork) Abort(_ context.Context, ids ...int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if end := e.ends[id]; end != nil {
			close(end)
			e.ends[id] = nil
		}
	}
	return nil
}

// admit takes requests into flight.
func (e *clockwork) admit(reqs []rl.Request) (call int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	call = e.calls
	if e.fault != nil {
		if err := e.fault(call, reqs); err != nil {
			return call, err
		}
	}
	for _, r := range reqs {
		if _, there := e.ends[r.ID]; there {
			return call, fmt.Errorf("request %d is in flight already", r.ID)
		}
		if err := r.CheckBegun(); err != nil {
			return call, err
		}
		if r.Begun != nil {
			e.begun = append(e.begun, r)
		}
	}
	for _, r := range reqs {
		e.ends[r.ID] = make(chan struct{})
	}
	e.most = max(e.most, len(e.ends))
	return call, nil
}

func (e *clockwork) forget(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ends, id)
}

func (e *clockwork) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		call, err := e.admit(reqs)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() {
			for _, r := range reqs {
				e.forget(r.ID)
			}
		}()
		if e.latency != nil {
			time.Sleep(e.latency(call))
		}
		live := make([]*rl.Sample, len(reqs))
		for i, r := range reqs {
			live[i] = r.Begin()
		}
		for n := 0; ; n++ {
			open := 0
			for i, s := range live {
				if s == nil {
					continue
				}
				if e.over(call, n, reqs[i], s) {
					e.forget(reqs[i].ID)
					live[i] = nil
					if !yield(s, nil) {
						return
					}
					continue
				}
				open++
			}
			if open == 0 {
				return
			}
			select {
			case <-time.After(tick):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			if e.strike != nil {
				if err := e.strike(call, n); err != nil {
					yield(nil, err)
					return
				}
			}
			for i, s := range live {
				if s != nil {
					e.grow(reqs[i], s)
				}
			}
		}
	}
}

// over reports whether a sample is finished, or was ended.
func (e *clockwork) over(call, n int, r rl.Request, s *rl.Sample) bool {
	want := e.lengths(r.Prompt.Group, r.Index)
	switch {
	case len(s.Response) >= r.Sampling.MaxTokens:
		s.Stop = rl.StopLength
	case len(s.Response) >= want:
		s.Stop = rl.StopToken
	case e.ended(r.ID), e.stray != nil && e.stray(call, n, r):
		s.Stop = rl.StopAbort
	}
	return s.Stop != rl.Unfinished
}

func (e *clockwork) ended(id int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	end, there := e.ends[id]
	return there && end == nil
}

func (e *clockwork) grow(r rl.Request, s *rl.Sample) {
	v := e.Version()
	token := tokenOf(v, r.Prompt.Group, r.Index, len(s.Response))
	s.Response, s.LogProbs = append(s.Response, token), append(s.LogProbs, -float32(token)/100)
	s.Label(v, 1)
	e.mu.Lock()
	e.drawn++
	e.mu.Unlock()
	if r.Watch != nil {
		r.Watch(s)
	}
}

// tokenOf returns the token that a version chooses.
func tokenOf(v rl.Version, group int64, index, i int) int32 {
	return int32(rl.MixSeed(0, uint64(v.Count()), uint64(group), uint64(index), uint64(i)) % 97)
}

// A row of prompts 0, 1, 2, ...
type row struct{ next uint64 }

func (c *row) Next(n int) (out []*rl.Prompt, err error) {
	for range n {
		out = append(out, &rl.Prompt{ID: fmt.Sprint(c.next), Group: int64(c.next), Tokens: []int32{1, 2}})
		c.next++
	}
	return out, nil
}

func (c *row) State() ([]byte, error) { return binary.LittleEndian.AppendUint64(nil, c.next), nil }

func (c *row) Restore(b []byte) error {
	if len(b) != 8 {
		return errors.New("no state")
	}
	c.next = binary.LittleEndian.Uint64(b)
	return nil
}

// A rig is a gatherer with its parts, in a bubble.
type rig struct {
	*Gatherer
	t       *testing.T
	engine  *clockwork
	prompts *row
	advised []string
	trained []*Group
	end     context.CancelFunc
	ctx     context.Context
}

// newRig returns a gatherer over a clockwork. Groups of even number have rewards that differ.
func newRig(t *testing.T, lengths func(int64, int) int, tell func(r *Run)) *rig {
	run := Run{Settings: Default(), Batch: 4, PerPrompt: 2, Seed: 7, Sampling: rl.DefaultSampling()}
	run.Sampling.MaxTokens = 30
	tell(&run)
	if err := run.Validate(); err != nil {
		t.Fatal(err)
	}
	x := &rig{t: t, engine: newClockwork(lengths), prompts: &row{}}
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
		if slices.ContainsFunc(g.Samples, func(s *rl.Sample) bool { return s.Verdict != rl.Invalid }) {
			x.trained = append(x.trained, g) // the others are dropped as invalid
		}
	}
	if _, err := x.Trained(b.Cycle, true); err != nil {
		x.t.Fatal(err)
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
			if want := tokenOf(sp.Version, s.Prompt.Group, s.Index, n); s.Response[n] != want || s.LogProbs[n] != -float32(want)/100 {
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
	there, gone := len(x.fates()), int(sum(a.Prompts.Dropped))
	if handed := int(x.prompts.next); there+gone != handed || int(a.Prompts.Generated) != handed {
		x.t.Errorf("%d prompts were handed out, want the sum of %d that trained or wait and %d that were dropped (%v)", handed, there, gone, a.Prompts.Dropped)
	}
}
