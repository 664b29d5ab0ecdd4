package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
)

// underway starts requests and returns their samples, which come once all have ended, when the first has some tokens.
func (r *rig) underway(reqs ...rl.Request) chan map[int64]*rl.Sample {
	r.t.Helper()
	got := make(chan map[int64]*rl.Sample, 1)
	passes := r.Stats().Passes
	go func() { got <- r.all(reqs) }()
	r.wait(func(s Stats) bool { return s.Passes > passes+5 })
	return got
}

func long() []rl.Request {
	return []rl.Request{ask(1, []int32{1, 2, 3}, 90), ask(2, []int32{4, 5, 6, 7}, 80), ask(3, []int32{1, 2, 9}, 85)}
}

// Whatever the mode of a pause, what goes on after it ends as if there had been none; what holds pages can't be flushed.
func TestPauseModes(t *testing.T) {
	ctx := context.Background()
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	want := e.all(long())
	for _, tt := range []struct {
		mode    Mode
		running int
		queued  int
		flushes bool
		stop    rl.Stop
		again   int // times a sample is computed again
	}{
		{InPlace, 3, 0, false, rl.StopLength, 0},
		{Retract, 0, 3, true, rl.StopLength, 1},
		{Abort, 0, 0, true, rl.StopAbort, 0},
	} {
		t.Run(tt.mode.String(), func(t *testing.T) {
			got := e.underway(long()...)
			for range 2 {
				if err := e.PauseWith(ctx, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			s := e.Stats()
			if s.Running != tt.running || s.Queued != tt.queued || !s.Paused || (s.HeldTokens > 0) != (tt.running > 0) || s.Lost != tt.queued {
				t.Errorf("%+v, want %d that run and %d that wait, paused", s, tt.running, tt.queued)
			}
			if err := e.Flush(ctx); (err == nil) != tt.flushes {
				t.Errorf("flush: %v, want that it succeeds: %v", err, tt.flushes)
			}
			if err := e.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			for id, s := range <-got {
				w := want[id]
				if tt.mode == Abort {
					w = beginning(w, s)
				}
				if err := same(s, w); err != nil {
					t.Error(err)
				}
				if s.Stop != tt.stop || s.Retractions != tt.again {
					t.Errorf("request %d stops by %v after %d retractions, want %v and %d", id, s.Stop, s.Retractions, tt.stop, tt.again)
				}
			}
			e.idle()
		})
	}
}

// Samples that lost their pages go before those that came later.
func TestRetractedGoFirst(t *testing.T) {
	ctx := context.Background()
	cfg := settings()
	cfg.MaxRunning = 1
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	got := e.underway(long()[0])
	if err := e.PauseWith(ctx, Retract); err != nil {
		t.Fatal(err)
	}
	late := make(chan map[int64]*rl.Sample)
	go func() { late <- e.all([]rl.Request{ask(9, []int32{5}, 1)}) }()
	e.wait(func(s Stats) bool { return s.Queued == 2 })
	if err := e.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	<-late
	if s := e.Stats(); s.Finished != 2 {
		t.Errorf("%d have finished when the late one has, want both", s.Finished)
	}
	<-got
	e.idle()
}

func TestAbortWhileFrozen(t *testing.T) {
	ctx := context.Background()
	for _, mode := range []Mode{InPlace, Retract} {
		e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
		want := e.all(long())
		got := e.underway(long()...)
		if err := e.PauseWith(ctx, mode); err != nil {
			t.Fatal(err)
		}
		if err := e.AbortAll(ctx); err != nil {
			t.Fatal(err)
		}
		for id, s := range <-got { // without a Resume
			n := len(s.Response)
			if s.Stop != rl.StopAbort || n == 0 || fmt.Sprint(s.Response) != fmt.Sprint(want[id].Response[:n]) || len(s.LogProbs) != n {
				t.Errorf("%v: request %d has %v (%v), want a beginning of %v", mode, id, s.Response, s.Stop, want[id].Response)
			}
		}
		e.idle()
	}
}

// What an aborted sample computed is found by who goes on with its tokens.
func TestAbortedPartIsFound(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	got := e.underway(long()...)
	if err := e.AbortAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := (<-got)[1]
	more := e.all([]rl.Request{ask(1, first.Tokens(), 1)})[1]
	if n := len(first.Tokens()) - 1; more.CachedTokens != n {
		t.Errorf("%d tokens are found, want %d", more.CachedTokens, n)
	}
	e.idle()
}

func TestRelease(t *testing.T) {
	ctx := context.Background()
	m := policy(dtype.F32, 1)
	e := serve(t, settings(), m, ref.New[float32]())
	want := e.all(long())
	got := e.underway(long()...)
	if err := e.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(ctx); err == nil || err.Error() != "rollout: release of attention state while 3 samples hold pages, want none" {
		t.Errorf("release of what is held: %v", err)
	}
	if err := e.PauseWith(ctx, Retract); err != nil {
		t.Fatal(err)
	}
	full := e.pages.Bytes()
	for range 2 {
		if err := errors.Join(e.Release(ctx), e.Resume(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	e.update(snapshot{version: 2, m: m})
	passes := e.Stats().Passes
	for range 20 {
		if err := e.Ping(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s := e.Stats(); !s.Released || s.Passes != passes || s.Queued != 3 || e.pages.Bytes() != 0 {
		t.Errorf("released: %+v, %d bytes; want no pass and no memory", s, e.pages.Bytes())
	}
	for range 2 {
		if err := e.Restore(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for id, s := range <-got {
		if err := same(s, want[id]); err != nil {
			t.Error(err)
		}
	}
	if e.pages.Bytes() != full || full == 0 {
		t.Errorf("%d bytes after all, want %d", e.pages.Bytes(), full)
	}
	e.idle()
}

// More may not wait than the limit says; who has a place does not wait, and while the engine is paused everybody does.
func TestMaxQueued(t *testing.T) {
	ctx := context.Background()
	cfg := settings()
	cfg.MaxRunning, cfg.MaxQueued = 2, 2
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	crowd := func(n int) (reqs []rl.Request) {
		for i := range n {
			reqs = append(reqs, ask(int64(i+1), []int32{1, 2, int32(i)}, 60))
		}
		return reqs
	}
	refused := func(what string, reqs []rl.Request) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // who is not refused may wait for ever
		defer cancel()
		for s, err := range e.Generate(ctx, reqs) {
			if !errors.Is(err, rl.ErrFull) || !strings.Contains(err.Error(), "would wait, want at most 2 (--max-queued-requests)") {
				t.Errorf("%s: %v, %v, want that it is refused", what, s, err)
			}
		}
	}
	refused("five at once", crowd(5))
	got := e.underway(crowd(4)...)
	refused("a fifth", []rl.Request{ask(9, []int32{7}, 1)})
	if n := len(<-got); n != 4 {
		t.Errorf("%d of 4 were served", n)
	}
	if err := e.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	refused("three while paused", crowd(3))
	held := make(chan map[int64]*rl.Sample)
	go func() { held <- e.all(crowd(2)) }()
	e.wait(func(s Stats) bool { return s.Queued == 2 })
	if err := e.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	<-held
	e.idle()
}

func TestStatsCountTokens(t *testing.T) {
	cfg := settings()
	cfg.TotalTokens = 100
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	reqs := long()
	drawn, prompts := 0, 0
	for _, s := range e.all(reqs) {
		drawn += len(s.Response)
		prompts += len(s.Prompt.Tokens)
	}
	s := e.Stats()
	if s.Requests != 3 || s.PromptTokens != prompts || s.DrawnTokens != drawn || s.Finished != 3 {
		t.Errorf("%+v, want 3 requests with prompts of %d and responses of %d tokens", s, prompts, drawn)
	}
	if s.Retracted == 0 || s.RetractedPromptTokens < 3*s.Retracted || s.RetractedResponseTokens < s.Retracted || s.Lost != 0 || s.HeldTokens != 0 {
		t.Errorf("%+v, want some retractions with their tokens, and nothing lost or held at the end", s)
	}
	e.idle()
}
