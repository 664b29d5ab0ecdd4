package rltest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"furlong/rl"
)

// A Rig is an engine under test, fresh, and what the suite has to know about it.
type Rig struct {
	Engine  rl.RolloutEngine
	Prompts []*rl.Prompt // three or more, different, to which the policy gives different answers at temperature 1
	// Weights returns a policy under a version. All versions may be the same policy. It has two tensors or more, each in a chunk of its own.
	Weights func(v rl.Version) rl.Weights
	// Long is a response length that takes so long that an update can come in between, and that fits the engine.
	Long int
}

// patience is how long anything in the suite may take before it counts as hung.
const patience = time.Minute

// RunRollout holds the engine to its contract. open is called once for each test. The suite first gives the engine its
// weights in the way that the loop does: Pause, Update, Resume. A consumer of samples that is busy must not keep Pause from
// returning.
func RunRollout(t *testing.T, open func(t *testing.T) Rig) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"every request is answered once", answered},
		{"no requests, no samples", nothing},
		{"order and company do not matter", company},
		{"seeds matter", seeds},
		{"temperature 0 ignores the seed", greedy},
		{"a stop id ends and belongs to the response", stops},
		{"truncated sampling reports both logprobs", truncated},
		{"two requests with one id are refused", duplicates},
		{"callers at once", concurrent},
		{"a paused engine answers nothing", paused},
		{"an update keeps requests and labels tokens", updated},
		{"damaged updates are refused", refused},
		{"the end of the context ends generation", cancelled},
		{"a consumer may leave", left},
	} {
		runOne(t, open, tt.name, tt.run)
	}
}

// runOne runs a test on an engine that has its first weights.
func runOne(t *testing.T, open func(t *testing.T) Rig, name string, run func(*testing.T, *suite)) {
	t.Run(name, func(t *testing.T) {
		s := &suite{T: t, Rig: open(t), version: rl.NewVersion(0, 1)}
		s.update(s.version)
		run(t, s)
	})
}

// A suite is one test under way.
type suite struct {
	*testing.T
	Rig
	version rl.Version
	lastID  int64
}

// ctx returns a context that ends when the suite loses patience.
func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	s.Cleanup(cancel)
	return ctx
}

// update takes the engine to version v.
func (s *suite) update(v rl.Version) {
	s.Helper()
	ctx := s.ctx()
	err := errors.Join(s.Engine.Pause(ctx), s.Engine.Update(ctx, s.Weights(v)), s.Engine.Resume(ctx))
	if err != nil {
		s.Fatalf("update to version %v: %v", v, err)
	}
	if got := s.Engine.Version(); got != v {
		s.Fatalf("engine serves version %v, want %v", got, v)
	}
	s.version = v
}

// request returns a request for a prompt, at temperature 1 and without stop ids.
func (s *suite) request(prompt int, seed uint64, tokens int) rl.Request {
	s.lastID++
	p := rl.DefaultSampling()
	p.Seed, p.MaxTokens = seed, tokens
	return rl.Request{ID: s.lastID, Prompt: s.Prompts[prompt%len(s.Prompts)], Index: int(seed), Sampling: p}
}

// generate returns the samples of requests in the requests' order, each of them checked.
func (s *suite) generate(reqs ...rl.Request) []*rl.Sample {
	s.Helper()
	samples := make([]*rl.Sample, len(reqs))
	for sample, err := range s.Engine.Generate(s.ctx(), reqs) {
		if err != nil {
			s.Fatalf("generate: %v", err)
		}
		s.place(samples, reqs, sample)
	}
	for i, sample := range samples {
		if sample == nil {
			s.Fatalf("request %d was not answered", reqs[i].ID)
		}
	}
	return samples
}

// place checks a sample and puts it where its request stands.
func (s *suite) place(samples []*rl.Sample, reqs []rl.Request, sample *rl.Sample) {
	s.Helper()
	i := slices.IndexFunc(reqs, func(r rl.Request) bool { return r.ID == sample.Request })
	if i < 0 || samples[i] != nil {
		s.Fatalf("sample of request %d came, want one of each request", sample.Request)
	}
	samples[i] = sample
	s.check(sample, reqs[i])
}

// check checks what holds for every finished sample.
func (s *suite) check(a *rl.Sample, r rl.Request) {
	s.Helper()
	n := len(a.Response)
	if a.Prompt != r.Prompt || a.Index != r.Index || a.Sampling.Seed != r.Sampling.Seed {
		s.Errorf("request %d: sample is of prompt %v, index %d, seed %d", r.ID, a.Prompt, a.Index, a.Sampling.Seed)
	}
	if n == 0 || n > r.Sampling.MaxTokens || len(a.LogProbs) != n {
		s.Errorf("request %d: %d tokens with %d logprobs, want as many and 1 to %d", r.ID, n, len(a.LogProbs), r.Sampling.MaxTokens)
	}
	for i, lp := range a.LogProbs {
		if !(lp <= 1e-5) || math.IsInf(float64(lp), 0) { // rounding may leave the likeliest a little above 0
			s.Errorf("request %d: logprob of token %d is %v, want a finite one of at most 0", r.ID, i, lp)
		}
	}
	labelled := 0
	for _, span := range a.Versions {
		if labelled += span.Tokens; span.Tokens < 1 || span.Version == 0 {
			s.Errorf("request %d: versions are %v", r.ID, a.Versions)
		}
	}
	if labelled != n {
		s.Errorf("request %d: %d tokens have a version, want %d", r.ID, labelled, n)
	}
	s.checkStop(a, r)
}

// checkStop checks that the response ended where it had to and for the reason given.
func (s *suite) checkStop(a *rl.Sample, r rl.Request) {
	s.Helper()
	want, n := rl.StopLength, len(a.Response)
	at := slices.IndexFunc(a.Response, func(id int32) bool { return slices.Contains(r.Sampling.StopIDs, id) })
	if at >= 0 {
		want = rl.StopToken
	}
	if a.Stop != want || at >= 0 && at != n-1 || at < 0 && n != r.Sampling.MaxTokens {
		s.Errorf("request %d: ended by %v after %d of %d tokens with a stop id at %d", r.ID, a.Stop, n, r.Sampling.MaxTokens, at)
	}
}

// same reports a difference between two samples that should be one, in tokens or in the bits of logprobs.
func (s *suite) same(what string, got, want *rl.Sample) {
	s.Helper()
	bits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if !slices.Equal(got.Response, want.Response) || !slices.EqualFunc(got.LogProbs, want.LogProbs, bits) {
		s.Errorf("%s: response is %v %v, want %v %v", what, got.Response, got.LogProbs, want.Response, want.LogProbs)
	}
}
