package rollout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
)

// longs are sixteen long requests, some of one prompt.
func longs(r *rand.Rand) (reqs []rl.Request) {
	ps := prompts(r, 5, 20)
	for i := range 16 {
		reqs = append(reqs, ask(int64(i), ps[i%len(ps)].Tokens, 60+r.IntN(30)))
	}
	return reqs
}

// midway updates e twice while reqs are generated, and returns the samples. Each time the engine is paused, as the loop does it.
func midway(t *testing.T, e *rig, reqs []rl.Request, mode Mode, later map[rl.Version]rl.Weights) []*rl.Sample {
	t.Helper()
	ctx := t.Context()
	done := make(chan error, 1)
	go func() {
		for v := rl.Version(2); v <= 3; v++ {
			passes := e.Stats().Passes
			e.wait(func(s Stats) bool { return s.Passes > passes+15 || s.Running+s.Queued == 0 && s.Finished+s.Aborted > 0 })
			err := errors.Join(e.Pause(ctx), e.UpdateWith(ctx, later[v], UpdateOptions{Mode: mode}), e.Resume(ctx))
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var out []*rl.Sample
	for s, err := range e.Generate(ctx, reqs) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing is lost in an update that does not mean to: each response has its length, each token its version.
func TestModes(t *testing.T) {
	k := ref.New[float32]()
	m := map[rl.Version]rl.Weights{}
	for v := rl.Version(1); v <= 3; v++ {
		m[v] = snapshot{version: v, m: policy(dtype.BF16, uint64(v))}
	}
	for _, mode := range []Mode{Retract, InPlace, Abort} {
		t.Run(mode.String(), func(t *testing.T) {
			cfg := settings()
			cfg.MaxRunning = 6
			e := begin(t, cfg, dtype.BF16, k)
			e.update(m[1])
			reqs := longs(rand.New(rand.NewPCG(8, 8)))
			samples := midway(t, e, reqs, mode, m)
			if len(samples) != len(reqs) {
				t.Fatalf("%d samples for %d requests", len(samples), len(reqs))
			}
			mixed, aborted := 0, 0
			for _, s := range samples {
				if err := spansFit(s); err != nil {
					t.Error(err)
				}
				if len(s.Versions) > 1 {
					mixed++
				}
				if s.Stop == rl.StopAbort {
					aborted++
				} else if len(s.Response) != s.Sampling.MaxTokens || s.Stop != rl.StopLength {
					t.Errorf("request %d has %d tokens (%v), want %d", s.Request, len(s.Response), s.Stop, s.Sampling.MaxTokens)
				}
			}
			st := e.Stats()
			switch {
			case (mode == Abort) != (aborted > 0):
				t.Errorf("%d samples were aborted", aborted)
			case (mode == Abort) != (mixed == 0):
				t.Errorf("%d samples have tokens of several versions", mixed)
			case (mode == Retract) != (st.Retracted > 0):
				t.Errorf("%d retractions", st.Retracted)
			case st.Updates != 3 || st.Version != 3 || st.Failed > 0:
				t.Errorf("%d updates, version %v, %d failed", st.Updates, st.Version, st.Failed)
			}
			e.idle()
		})
	}
}

// spansFit checks that versions ascend and sum to the response.
func spansFit(s *rl.Sample) error {
	n, last := 0, rl.Version(0)
	for _, sp := range s.Versions {
		if sp.Tokens < 1 || sp.Version <= last {
			return fmt.Errorf("request %d: versions are %v", s.Request, s.Versions)
		}
		n, last = n+sp.Tokens, sp.Version
	}
	if n != len(s.Response) || len(s.LogProbs) != n {
		return fmt.Errorf("request %d: versions of %d tokens, %d logprobs, want %d", s.Request, n, len(s.LogProbs), len(s.Response))
	}
	return nil
}

// A sample that goes on in place is what it would have been up to the update; a prompt that comes after it finds nothing of the old weights, not even
// what samples of the old version add while they go on.
func TestInPlaceCacheStaysApart(t *testing.T) {
	k := ref.New[float32]()
	m1, m2 := policy(dtype.F32, 1), policy(dtype.F32, 2)
	e := serve(t, settings(), m1, k)
	prompt := []int32{5, 4, 3, 2, 1, 6, 7, 8, 9, 10, 11, 12, 13}
	short, long := ask(1, prompt, 2), ask(2, prompt, 100)
	free := e.all([]rl.Request{long})[2]
	want := serve(t, settings(), m2, k).all([]rl.Request{ask(3, prompt, 30)})[3]
	for s, err := range e.Generate(t.Context(), []rl.Request{short, long}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Request == 1 {
			if err := e.UpdateWith(t.Context(), snapshot{version: 2, m: m2}, UpdateOptions{Mode: InPlace}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if s.Request == 1 && e.Stats().Running == 0 {
				t.Fatal("the long sample ended before the update")
			}
			got := e.all([]rl.Request{ask(3, prompt, 30)})[3]
			if err := same(got, want); err != nil {
				t.Errorf("beside and after a sample of version 1: %v", err)
			}
		}
		if s.Request != 2 {
			continue
		}
		if err := spansFit(s); err != nil || len(s.Versions) != 2 || s.CachedTokens == 0 {
			t.Errorf("the long sample has versions %v and found %d tokens, %v", s.Versions, s.CachedTokens, err)
		}
		old := s.Versions[0].Tokens
		if fmt.Sprint(s.LogProbs[:old]) != fmt.Sprint(free.LogProbs[:old]) || fmt.Sprint(s.LogProbs) == fmt.Sprint(free.LogProbs) {
			t.Error("tokens before the update changed, or those after it did not")
		}
	}
	e.idle()
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Retract, Abort, InPlace} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v parses as %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("in-place"); err == nil {
		t.Error("in-place was read")
	}
}
