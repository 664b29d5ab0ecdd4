package rltest

import (
	"errors"
	"slices"
	"testing"

	"furlong/rl"
)

// RunAsked holds an engine to what requests can ask for besides a plain sample. open is called once for each test.
func RunAsked(t *testing.T, open func(t *testing.T) Rig) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"a watcher sees every token and ends the response", watched},
		{"a constraint is asked and told, and ends the response", constrained},
		{"short responses don't end by a stop id", least},
		{"a response is scored as it was drawn", rescored},
		{"the likeliest and chosen tokens are told", told},
		{"nothing asked, nothing told", untold},
		{"a prompt alone", promptAlone},
		{"what can't be scored is refused", unscorable},
	} {
		runOne(t, open, tt.name, tt.run)
	}
}

// one returns the sample of a request, unchecked.
func (s *suite) one(r rl.Request) *rl.Sample {
	s.Helper()
	for sample, err := range s.Engine.Generate(s.ctx(), []rl.Request{r}) {
		if err != nil {
			s.Fatalf("generate: %v", err)
		}
		return sample
	}
	s.Fatalf("request %d was not answered", r.ID)
	return nil
}

func watched(t *testing.T, s *suite) {
	free := s.generate(s.request(0, 7, 20))[0]
	for _, end := range []int{20, 6, 1} {
		r := s.request(0, 7, 20)
		seen := 0
		r.Watch = func(a *rl.Sample) bool {
			if seen++; len(a.Response) != seen || len(a.LogProbs) != seen || a.Stop != rl.Unfinished {
				t.Errorf("call %d of a watcher sees %d tokens with %d logprobs, %v", seen, len(a.Response), len(a.LogProbs), a.Stop)
			}
			return seen == end
		}
		got := s.one(r)
		if want := (&rl.Sample{Response: free.Response[:end], LogProbs: free.LogProbs[:end]}); got.Stop != rl.StopText || seen != end {
			t.Errorf("ended after %d tokens, watched %d, by %v; want %d and %v", len(got.Response), seen, got.Stop, end, rl.StopText)
		} else {
			s.same("watched", got, want)
		}
	}
}

// A round is a constraint that allows two tokens in turn, for some tokens.
type round struct{ n, end int }

func (c *round) Allow(allowed []bool) {
	for t := range allowed {
		allowed[t] = t == 3+c.n%2
	}
}

func (c *round) Accept(token int32) {
	if token == int32(3+c.n%2) {
		c.n++
	}
}

func (c *round) Done() bool { return c.n == c.end }

func constrained(t *testing.T, s *suite) {
	r := s.request(1, 2, 20)
	c := &round{end: 5}
	r.Constraint = c
	got := s.one(r)
	if !slices.Equal(got.Response, []int32{3, 4, 3, 4, 3}) || got.Stop != rl.StopText || c.n != 5 {
		t.Errorf("response is %v (%v), the constraint was told of %d tokens", got.Response, got.Stop, c.n)
	}
}

func least(t *testing.T, s *suite) {
	free := s.generate(s.request(2, 3, 20))[0]
	r := s.request(2, 3, 20)
	r.Sampling.StopIDs = []int32{free.Response[0]}
	if got := s.generate(r)[0]; len(got.Response) != 1 {
		t.Fatalf("%d tokens, want the stop id alone", len(got.Response))
	}
	r.ID += 1000
	r.Sampling.MinTokens = 6
	got := s.generate(r)[0]
	if at := slices.Index(got.Response, free.Response[0]); len(got.Response) < 7 && got.Stop != rl.StopLength || at >= 0 && at < 6 {
		t.Errorf("response is %v, want no %d among the first six", got.Response, free.Response[0])
	}
}

// score returns a request for the logprobs of the last tokens of a prompt.
func (s *suite) score(tokens []int32, tail int) rl.Request {
	r := s.request(0, 1, 0)
	r.Prompt = &rl.Prompt{ID: "scored", Tokens: tokens}
	r.Report.Tail = tail
	return r
}

func rescored(t *testing.T, s *suite) {
	for prompt := range 3 {
		r := s.request(prompt, 1, 12)
		r.Sampling.Temperature = 0
		drawn := s.generate(r)[0]
		for range 2 { // the second time with what the first left
			got := s.one(s.score(drawn.Tokens(), 12))
			if len(got.Response) != 0 || got.Stop != rl.StopLength {
				t.Errorf("a request for no tokens has %v (%v)", got.Response, got.Stop)
			}
			s.same("scored", &rl.Sample{LogProbs: got.PromptLogProbs}, &rl.Sample{LogProbs: drawn.LogProbs})
		}
	}
}

func told(t *testing.T, s *suite) {
	r := s.request(1, 1, 8)
	r.Sampling.Temperature = 0
	drawn := s.generate(r)[0]
	r.ID += 1000
	r.Report = rl.Report{Top: 3, Among: []int32{drawn.Response[0], 2}}
	again := s.generate(r)[0]
	s.same("with a report", again, drawn)
	scored := s.score(drawn.Tokens(), 8)
	scored.Report.Top, scored.Report.Among = 3, r.Report.Among
	for name, told := range map[string][]rl.Told{"drawn": again.Told, "scored": s.one(scored).PromptTold} {
		if len(told) != 8 {
			t.Fatalf("%s: %d positions are told, want 8", name, len(told))
		}
		for i, p := range told {
			if len(p.Top) != 3 || len(p.Among) != 2 || p.Top[0].Token != drawn.Response[i] || p.Top[0].LogProb != drawn.LogProbs[i] {
				t.Errorf("%s: position %d is told %+v, want three with %d at %v first, and two", name, i, p, drawn.Response[i], drawn.LogProbs[i])
			}
			if !slices.IsSortedFunc(p.Top, likelier) {
				t.Errorf("%s: position %d: %+v, want likelier ones first", name, i, p.Top)
			}
		}
		if got := told[0].Among[0]; got != drawn.LogProbs[0] {
			t.Errorf("%s: the logprob of token %d is told as %v, want %v", name, drawn.Response[0], got, drawn.LogProbs[0])
		}
	}
}

func likelier(a, b rl.Alternative) int {
	switch {
	case a.LogProb > b.LogProb || a.LogProb == b.LogProb && a.Token < b.Token:
		return -1
	case a == b:
		return 0
	}
	return 1
}

func untold(t *testing.T, s *suite) {
	got := s.generate(s.request(0, 1, 4))[0]
	if got.Told != nil || got.PromptTold != nil || got.PromptLogProbs != nil || got.Experts != nil || got.Entries != nil {
		t.Errorf("told is %+v, want nothing", got)
	}
}

func promptAlone(t *testing.T, s *suite) {
	got := s.one(s.score([]int32{1, 2, 3}, 0))
	if got.Stop != rl.StopLength || len(got.Response)+len(got.LogProbs)+len(got.PromptLogProbs)+len(got.Versions) > 0 {
		t.Errorf("a prompt alone gives %+v, want nothing, by length", got)
	}
}

func unscorable(t *testing.T, s *suite) {
	var last error
	for _, err := range s.Engine.Generate(s.ctx(), []rl.Request{s.score([]int32{1, 2, 3}, 3)}) {
		last = err
	}
	if last == nil || errors.Is(last, rl.ErrAborted) {
		t.Errorf("scoring the first token ended with %v, want that it is refused", last)
	}
}
