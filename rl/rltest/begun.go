package rltest

import (
	"context"
	"math"
	"slices"
	"testing"

	"furlong/rl"
)

// RunBegun holds an engine to what is said of requests that were begun earlier, and of those that are told to end: it must be an rl.Aborter. open is called
// once for each test.
func RunBegun(t *testing.T, open func(t *testing.T) Rig) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"a response in pieces is the one drawn at once", pieces},
		{"what is told of a response in pieces", piecesTold},
		{"what has reached its end comes back at once", reached},
		{"what another version begun keeps its tokens", begunBefore},
		{"what is begun must fit", begunWrong},
		{"who is aborted ends with a beginning, and goes on from it", aborted},
		{"who is aborted while paused ends", abortedPaused},
		{"unknown ids are ignored", abortedNobody},
	} {
		runOne(t, open, tt.name, tt.run)
	}
}

// inPieces draws what a request asks for in pieces that end after so many tokens, under one id.
func (s *suite) inPieces(r rl.Request, ends ...int) *rl.Sample {
	s.Helper()
	most := r.Sampling.MaxTokens
	for _, end := range append(ends, most) {
		r.Sampling.MaxTokens = end
		r.Begun = s.generate(r)[0]
	}
	return r.Begun
}

// equal reports a difference between two samples that should be one.
func (s *suite) equal(what string, got, want *rl.Sample) {
	s.Helper()
	s.same(what, got, want)
	bits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if !slices.EqualFunc(got.TruncLogProbs, want.TruncLogProbs, bits) || got.Stop != want.Stop || !slices.Equal(got.Versions, want.Versions) {
		s.Errorf("%s: ends by %v, versions %v, truncated logprobs %v, want %v, %v, %v", what, got.Stop, got.Versions, got.TruncLogProbs, want.Stop, want.Versions, want.TruncLogProbs)
	}
}

func pieces(_ *testing.T, s *suite) {
	for name, change := range map[string]func(*rl.Sampling){
		"plain":            func(*rl.Sampling) {},
		"top-k":            func(p *rl.Sampling) { p.TopK = 4 },
		"temperature 0":    func(p *rl.Sampling) { p.Temperature = 0 },
		"penalties":        func(p *rl.Sampling) { p.FrequencyPenalty, p.PresencePenalty, p.RepetitionPenalty = 0.75, 0.5, 1.25 },
		"at least so many": func(p *rl.Sampling) { p.MinTokens, p.StopIDs = 3, []int32{3, 4} },
		"a late stop id":   func(p *rl.Sampling) { p.StopIDs = []int32{s.late()} },
	} {
		r := s.request(1, 11, 20)
		change(&r.Sampling)
		want := s.generate(r)[0]
		s.equal(name, s.inPieces(r, 4, 5, 12), want)
	}
}

// late returns a token that a response has first in its second half, or its last one.
func (s *suite) late() int32 {
	free := s.generate(s.request(1, 11, 20))[0].Response
	for i := len(free) / 2; i < len(free); i++ {
		if slices.Index(free, free[i]) == i {
			return free[i]
		}
	}
	return free[len(free)-1]
}

func piecesTold(t *testing.T, s *suite) {
	r := s.request(2, 5, 12)
	r.Report = rl.Report{Top: 2, Among: []int32{1, 6}}
	if n := len(r.Prompt.Tokens); n > 1 {
		r.Report.Tail = n - 1
	}
	want := s.generate(r)[0]
	got := s.inPieces(r, 5)
	s.equal("told", got, want)
	same := func(a, b rl.Told) bool { return slices.Equal(a.Top, b.Top) && slices.Equal(a.Among, b.Among) }
	if !slices.EqualFunc(got.Told, want.Told, same) || !slices.EqualFunc(got.PromptTold, want.PromptTold, same) || !slices.Equal(got.PromptLogProbs, want.PromptLogProbs) {
		t.Errorf("told is %v and of the prompt %v %v, want %v and %v %v", got.Told, got.PromptLogProbs, got.PromptTold, want.Told, want.PromptLogProbs, want.PromptTold)
	}
}

func reached(t *testing.T, s *suite) {
	r := s.request(0, 3, 8)
	whole := s.generate(r)[0]
	for _, most := range []int{8, 5} {
		r.Sampling.MaxTokens, r.Begun = most, whole
		if got := s.one(r); got.Stop != rl.StopLength {
			t.Errorf("with %d tokens of %d begun it ended by %v", len(whole.Response), most, got.Stop)
		} else {
			s.same("as it was begun", got, whole)
		}
	}
	r.Sampling.MaxTokens, r.Sampling.StopIDs = 20, whole.Response[7:]
	if got := s.one(r); got.Stop != rl.StopToken || len(got.Response) != 8 {
		t.Errorf("begun up to a stop id it has %d tokens and ended by %v, want 8 and %v", len(got.Response), got.Stop, rl.StopToken)
	}
}

func begunBefore(t *testing.T, s *suite) {
	first := s.version
	r := s.request(1, 4, 9)
	r.Begun = s.generate(r)[0]
	before := slices.Clone(r.Begun.Response)
	s.update(rl.NewVersion(0, 2))
	r.Sampling.MaxTokens = 15
	got := s.generate(r)[0]
	if want := []rl.Span{{Version: first, Tokens: 9}, {Version: s.version, Tokens: 6}}; !slices.Equal(got.Versions, want) {
		t.Errorf("versions are %v, want %v", got.Versions, want)
	}
	if !slices.Equal(got.Response[:9], before) || !slices.Equal(got.LogProbs[:9], r.Begun.LogProbs) || !slices.Equal(r.Begun.Response, before) || r.Begun.Versions[0].Tokens != 9 {
		t.Errorf("%v %v were begun and are now %v, and %v %v is what came of them", before, r.Begun.LogProbs, r.Begun.Response, got.Response, got.LogProbs)
	}
}

func begunWrong(t *testing.T, s *suite) {
	r := s.request(1, 4, 9)
	b := s.generate(r)[0]
	b.LogProbs = b.LogProbs[1:]
	r.Begun, r.Sampling.MaxTokens = b, 15
	var last error
	for _, err := range s.Engine.Generate(s.ctx(), []rl.Request{r}) {
		last = err
	}
	if last == nil {
		t.Error("9 tokens with 8 logprobs were gone on with, want an error")
	}
	r.Begun = nil
	s.generate(r) // the id is free again
}

// aborter returns the engine as one that ends requests.
func (s *suite) aborter() rl.Aborter {
	s.Helper()
	a, ok := s.Engine.(rl.Aborter)
	if !ok {
		s.Fatal("the engine has no Abort")
	}
	return a
}

// The abort comes with the short sample, while the long ones are under way. One that was over by then says nothing, and is asked for again.
func aborted(t *testing.T, s *suite) {
	whole := s.generate(s.request(1, 2, s.Long))[0]
	reqs := []rl.Request{s.request(0, 1, 1), s.request(1, 2, s.Long), s.request(2, 3, s.Long/2)}
	part := s.abortSecond(reqs)
	for tries := 1; part.Stop == rl.StopLength && tries < mostTries; tries++ {
		part = s.abortSecond(reqs)
	}
	if part.Stop != rl.StopAbort || len(part.Response) >= s.Long {
		t.Fatalf("the aborted sample has %d tokens and ended by %v, want fewer than %d and %v; in %d tries, a larger Rig.Long may help", len(part.Response), part.Stop, s.Long, rl.StopAbort, mostTries)
	}
	n := len(part.Response)
	s.same("aborted", part, &rl.Sample{Response: whole.Response[:n], LogProbs: whole.LogProbs[:n]})
	reqs[1].Begun = part
	s.equal("gone on with", s.generate(reqs[1])[0], whole)
}

// abortSecond asks for three samples, ends the second when the first is there, and returns it.
func (s *suite) abortSecond(reqs []rl.Request) (part *rl.Sample) {
	s.Helper()
	for sample, err := range s.Engine.Generate(s.ctx(), reqs) {
		if err != nil {
			s.Fatal(err)
		}
		switch sample.Request {
		case reqs[0].ID:
			if err := s.aborter().Abort(s.ctx(), reqs[1].ID, reqs[0].ID, 1<<40); err != nil {
				s.Fatal(err)
			}
		case reqs[1].ID:
			part = sample
		default:
			s.check(sample, reqs[2])
		}
	}
	if part == nil {
		s.Fatal("the aborted sample did not come back")
	}
	return part
}

// Nobody knows when a request is in flight, so it is aborted until it has ended.
func abortedPaused(t *testing.T, s *suite) {
	ctx := s.ctx()
	if err := s.Engine.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	r := s.request(0, 1, 5)
	ended, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		var err error
		for err == nil && ended.Err() == nil {
			err = s.aborter().Abort(ctx, r.ID)
		}
		over <- err
	}()
	got := s.one(r)
	stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if got.Stop != rl.StopAbort || len(got.Response) != 0 || len(got.Versions) != 0 {
		t.Errorf("aborted while paused it has %v of %v and ended by %v, want nothing", got.Response, got.Versions, got.Stop)
	}
	if err := s.Engine.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	r.Begun = got
	s.generate(r)
}

func abortedNobody(t *testing.T, s *suite) {
	r := s.request(0, 1, 5)
	for _, ids := range [][]int64{nil, {r.ID, 1 << 40}} {
		if err := s.aborter().Abort(s.ctx(), ids...); err != nil {
			t.Errorf("abort of %v: %v", ids, err)
		}
	}
	s.generate(r)
}
