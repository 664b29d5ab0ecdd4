package rltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/rl"
)

func answered(t *testing.T, s *suite) {
	var reqs []rl.Request
	for i := range 12 {
		reqs = append(reqs, s.request(i, uint64(i), 1+i))
	}
	for _, sample := range s.generate(reqs...) {
		if len(sample.Versions) != 1 || sample.Versions[0].Version != s.version {
			t.Errorf("request %d: versions are %v, want %v", sample.Request, sample.Versions, s.version)
		}
	}
}

func nothing(t *testing.T, s *suite) {
	for sample, err := range s.Engine.Generate(s.ctx(), nil) {
		t.Errorf("got %v, %v, want nothing", sample, err)
	}
}

func company(t *testing.T, s *suite) {
	alone := s.generate(s.request(0, 7, 20))[0]
	var reqs []rl.Request
	for i := range 9 {
		reqs = append(reqs, s.request(i, uint64(i), 3+4*i))
	}
	reqs = append(reqs, s.request(0, 7, 20))
	crowd := s.generate(reqs...)
	s.same("among others", crowd[9], alone)
	slices.Reverse(reqs)
	for i := range reqs {
		reqs[i].ID += 1000
	}
	for i, sample := range s.generate(reqs...) {
		s.same("in reverse order", sample, crowd[9-i])
	}
}

func seeds(t *testing.T, s *suite) {
	different := map[string]bool{}
	for seed := range uint64(8) {
		different[string(runes(s.generate(s.request(0, seed, 20))[0].Response))] = true
	}
	if len(different) < 2 {
		t.Error("8 seeds gave one response, want different ones")
	}
}

// runes makes a response comparable.
func runes(ids []int32) (r []rune) { return append(r, ids...) }

func greedy(t *testing.T, s *suite) {
	one, two := s.request(1, 1, 20), s.request(1, 2, 20)
	one.Sampling.Temperature, two.Sampling.Temperature = 0, 0
	samples := s.generate(one, two)
	s.same("at temperature 0 with another seed", samples[1], samples[0])
}

func stops(t *testing.T, s *suite) {
	free := s.generate(s.request(2, 3, 20))[0]
	stop := free.Response[len(free.Response)/2]
	end := slices.Index(free.Response, stop) + 1
	r := s.request(2, 3, 20)
	r.Sampling.StopIDs = []int32{stop}
	want := &rl.Sample{Response: free.Response[:end], LogProbs: free.LogProbs[:end]}
	s.same("with a stop id", s.generate(r)[0], want)
}

func truncated(t *testing.T, s *suite) {
	plain, top := s.request(0, 5, 10), s.request(0, 5, 10)
	top.Sampling.TopK = 2
	samples := s.generate(plain, top)
	if samples[0].TruncLogProbs != nil {
		t.Errorf("plain sampling reports %d truncated logprobs, want none", len(samples[0].TruncLogProbs))
	}
	if got := len(samples[1].TruncLogProbs); got != 10 {
		t.Fatalf("top-k 2 reports %d truncated logprobs, want 10", got)
	}
	for i, lp := range samples[1].TruncLogProbs {
		if !(lp >= samples[1].LogProbs[i]-1e-5 && lp <= 1e-5) { // the kept tokens share all of the mass
			t.Errorf("token %d has logprob %v after top-k, %v before", i, lp, samples[1].LogProbs[i])
		}
	}
}

func duplicates(t *testing.T, s *suite) {
	a, b := s.request(0, 1, 5), s.request(1, 2, 5)
	b.ID = a.ID
	var last error
	for _, err := range s.Engine.Generate(s.ctx(), []rl.Request{a, b}) {
		last = err
	}
	if last == nil {
		t.Fatal("two requests with one id were served, want an error")
	}
	s.generate(a) // the id is free again
}

func concurrent(t *testing.T, s *suite) {
	const callers = 4
	reqs := make([][]rl.Request, callers)
	var want []*rl.Sample
	for i := range reqs {
		reqs[i] = []rl.Request{s.request(i, 1, 15), s.request(i, 2, 10)}
		want = append(want, s.generate(reqs[i]...)...)
	}
	got := make([]*rl.Sample, 2*callers)
	var wg sync.WaitGroup
	for i := range reqs {
		wg.Go(func() {
			for sample, err := range s.Engine.Generate(s.ctx(), reqs[i]) {
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				got[2*i+int(sample.Request-reqs[i][0].ID)] = sample
			}
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] == nil {
			t.Fatalf("sample %d did not come", i)
		}
		s.same("beside other callers", got[i], want[i])
	}
}

// A request made while the engine is paused may wait or be refused with ErrPaused, but it must not be served.
func paused(t *testing.T, s *suite) {
	if err := s.Engine.Pause(s.ctx()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(s.ctx(), 50*time.Millisecond)
	defer cancel()
	var last error
	for sample, err := range s.Engine.Generate(short, []rl.Request{s.request(0, 1, 5)}) {
		if last = err; err == nil {
			t.Fatalf("a paused engine gave %v", sample.Response)
		}
	}
	if !errors.Is(last, rl.ErrPaused) && !ended(last) {
		t.Errorf("a paused engine ended with %v, want it to wait for the context or ErrPaused", last)
	}
	if err := s.Engine.Resume(s.ctx()); err != nil {
		t.Fatal(err)
	}
	s.generate(s.request(0, 1, 5))
}

// ended reports whether err says that a context ended.
func ended(err error) bool {
	return errors.Is(err, rl.ErrAborted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// mostTries is how often something is tried that has to come while samples are under way: an engine may be quick.
const mostTries = 100

// The update begins when the short sample comes, while the long ones are under way.
func updated(t *testing.T, s *suite) {
	for range mostTries {
		before := s.version
		after := rl.NewVersion(before.Epoch(), before.Count()+1)
		if both := s.updateInFlight(after); both > 0 {
			return
		}
	}
	t.Errorf("no response of %d tokens lived through an update in %d tries, want a larger Rig.Long or an engine that keeps requests", s.Long, mostTries)
}

// updateInFlight updates the engine to v during generation and returns how many samples have tokens of both versions.
func (s *suite) updateInFlight(v rl.Version) (both int) {
	s.Helper()
	before := s.version
	reqs := []rl.Request{s.request(0, 1, 1), s.request(1, 2, s.Long), s.request(2, 3, s.Long)}
	samples := make([]*rl.Sample, len(reqs))
	for sample, err := range s.Engine.Generate(s.ctx(), reqs) {
		if err != nil {
			s.Fatalf("generate: %v", err)
		}
		s.place(samples, reqs, sample)
		if sample.Request == reqs[0].ID {
			s.update(v)
		}
	}
	for i, sample := range samples {
		if sample == nil {
			s.Fatalf("request %d was lost in an update", reqs[i].ID)
		}
		switch vs := sample.Versions; {
		case len(vs) == 2 && vs[0].Version == before && vs[1].Version == v:
			both++
		case len(vs) != 1 || vs[0].Version != before && vs[0].Version != v:
			s.Errorf("request %d: versions are %v, want %v and then %v", reqs[i].ID, vs, before, v)
		}
	}
	return both
}

// damages are what can happen to a version on its way. Each must be refused with the name of the tensor.
var damages = []struct {
	name string
	edit func([]rl.Chunk) ([]rl.Chunk, error)
	want string // in the error, besides the tensor's name
}{
	{"the sender dies", func(c []rl.Chunk) ([]rl.Chunk, error) { return c[:1], errors.New("connection was reset") }, "connection was reset"},
	{"a byte flips", func(c []rl.Chunk) ([]rl.Chunk, error) { c[1].Data[0] ^= 4; return c, nil }, "digest"},
	{"a tensor is missing", func(c []rl.Chunk) ([]rl.Chunk, error) { return append(c[:1:1], c[2:]...), nil }, "0 of"},
	{"a tensor has another format", func(c []rl.Chunk) ([]rl.Chunk, error) { c[1].Type = "U8"; return c, nil }, "U8"},
}

func refused(t *testing.T, s *suite) {
	before := s.generate(s.request(0, 1, 10))[0]
	for _, d := range damages {
		s.refuse(d.name, edited{s.Weights(rl.NewVersion(0, 2)), d.edit}, d.want)
		s.same("after a refused update: "+d.name, s.generate(s.request(0, 1, 10))[0], before)
	}
}

// refuse wants an update to fail with what is wrong, and with the name of the second chunk's tensor.
func (s *suite) refuse(what string, w rl.Weights, want string) {
	s.Helper()
	ctx := s.ctx()
	if err := s.Engine.Pause(ctx); err != nil {
		s.Fatal(err)
	}
	name := s.second()
	if err := s.Engine.Update(ctx, w); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
		s.Errorf("%s: update ended with %v, want an error with %q and %s", what, err, want, name)
	}
	if err := s.Engine.Resume(ctx); err != nil {
		s.Fatal(err)
	}
	if got := s.Engine.Version(); got != s.version {
		s.Errorf("%s: the engine serves version %v, want %v", what, got, s.version)
	}
}

// second returns the name of the second chunk's tensor.
func (s *suite) second() string {
	s.Helper()
	var names []string
	for bucket, err := range s.Weights(s.version).Buckets(s.ctx()) {
		if err != nil {
			s.Fatal(err)
		}
		for _, c := range bucket {
			names = append(names, c.Name)
		}
	}
	if len(names) < 2 || names[0] == names[1] {
		s.Fatalf("the Rig's weights have the chunks %v, want two tensors or more, in chunks of their own", names)
	}
	return names[1]
}

func cancelled(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(s.ctx())
	defer cancel()
	var last error
	reqs := []rl.Request{s.request(0, 1, 1), s.request(1, 2, s.Long), s.request(2, 3, s.Long)}
	for sample, err := range s.Engine.Generate(ctx, reqs) {
		if last = err; err != nil {
			break
		}
		if sample.Request == reqs[0].ID {
			cancel()
		}
	}
	if last != nil && !ended(last) {
		t.Errorf("generation ended with %v, want ErrAborted or the context's error", last)
	}
	if last == nil {
		t.Errorf("generation of %d tokens went on after its context had ended", s.Long)
	}
	s.generate(reqs[1]) // the ids are free again, and the engine serves
}

func left(t *testing.T, s *suite) {
	reqs := []rl.Request{s.request(0, 1, 1), s.request(1, 2, s.Long)}
	for _, err := range s.Engine.Generate(s.ctx(), reqs) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	s.generate(reqs...)
}
