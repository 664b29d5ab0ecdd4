package rl

import (
	"strings"
	"testing"
)

// drawn returns a request for all that can be asked for, with two tokens begun, and its answer of five.
func drawn() (Request, *Sample) {
	p := &Prompt{Tokens: []int32{1, 2, 3}}
	r := Request{Prompt: p, Index: 2, Sampling: Sampling{MaxTokens: 6}, Report: Report{Tail: 2, Top: 1, Experts: true, Entries: true}}
	s := &Sample{
		Prompt: p, Index: 2, Sampling: r.Sampling, Response: []int32{4, 5, 6, 7, 8}, LogProbs: []float32{-1, -2, -3, -4, -5}, TruncLogProbs: make([]float32, 5),
		Versions: []Span{{1, 2}, {NewVersion(1, 1), 1}, {3, 2}}, Stop: StopToken, PromptLogProbs: make([]float32, 2), PromptTold: make([]Told, 2), Told: make([]Told, 5),
		TrainLogProbs: make([]float32, 5), RefLogProbs: make([]float32, 5), Entropy: make([]float32, 5), LossMask: make([]bool, 5),
		Experts: NewRoutes(2, 1, 9), TrainExperts: NewRoutes(2, 1, 9), Entries: NewEntries([]int{0, 1}, 4, 1),
	}
	for range 7 {
		s.Experts.Add([]int32{1, 2})
		s.TrainExperts.Add([]int32{1, 2})
		s.Entries.Add(nil, nil)
	}
	r.Begun = &Sample{Prompt: p, Response: []int32{4, 5}, LogProbs: []float32{-1, -2}, Versions: []Span{{1, 1}, {1, 1}}}
	return r, s
}

// Each part that has another length than the rest, and each sample that is not the answer to what was asked for, is told.
func TestCheckSample(t *testing.T) {
	if r, s := drawn(); s.Check() != nil || r.CheckSample(s) != nil {
		t.Fatalf("a good sample: %v, %v", s.Check(), r.CheckSample(s))
	}
	for _, tt := range []struct {
		spoil func(r *Request, s *Sample)
		want  string
	}{
		{func(r *Request, s *Sample) { r.Prompt, s.Prompt = &Prompt{}, &Prompt{} }, "its prompt has no tokens"},
		{func(_ *Request, s *Sample) { s.LogProbs = s.LogProbs[1:] }, "5 tokens have 4 logprobs, want 5"},
		{func(_ *Request, s *Sample) { s.LogProbs = nil }, "5 tokens have 0 logprobs, want 5"},
		{func(_ *Request, s *Sample) { s.Response = append(s.Response, 1) }, "6 tokens have 5 logprobs, want 6"},
		{func(_ *Request, s *Sample) { s.TruncLogProbs = s.TruncLogProbs[1:] }, "5 tokens have 4 truncated logprobs, want 5"},
		{func(_ *Request, s *Sample) { s.LossMask = append(s.LossMask, true) }, "5 tokens have 6 marks of tokens that train, want 5"},
		{func(_ *Request, s *Sample) { s.LossMask = []bool{} }, "5 tokens have 0 marks of tokens that train, want 5"},
		{func(_ *Request, s *Sample) { s.Told = s.Told[:4] }, "5 tokens have 4 positions that are told of, want 5"},
		{func(_ *Request, s *Sample) { s.PromptLogProbs = make([]float32, 3) }, "5 tokens have 3 logprobs of the prompt, want 0 to 2"},
		{func(_ *Request, s *Sample) { s.PromptTold = s.PromptTold[1:] }, "1 positions of the prompt that are told of, want 2"},
		{func(_ *Request, s *Sample) { s.TrainLogProbs = s.TrainLogProbs[1:] }, "5 tokens have 4 trainer logprobs, want 5"},
		{func(_ *Request, s *Sample) { s.RefLogProbs = s.RefLogProbs[1:] }, "5 tokens have 4 reference logprobs, want 5"},
		{func(_ *Request, s *Sample) { s.Entropy = s.Entropy[1:] }, "5 tokens have 4 entropies, want 5"},
		{func(_ *Request, s *Sample) { s.Experts.Add([]int32{1, 2}) }, "5 tokens have 8 rows of experts, want 0 to 7"},
		{func(_ *Request, s *Sample) { s.TrainExperts.Add([]int32{1, 2}) }, "5 tokens have 8 rows of the trainer's experts, want 0 to 7"},
		{func(_ *Request, s *Sample) { s.Entries.Add(nil, nil) }, "5 tokens have 8 rows of entries, want 0 to 7"},
		{func(_ *Request, s *Sample) { s.Experts.Rows = s.Experts.Rows[1:] }, "its experts have 13 bytes, want a multiple of the 2 of a token"},
		{func(_ *Request, s *Sample) { s.TrainExperts.Layers = 0 }, "the trainer's experts have 14 bytes, want a multiple of the 0 of a token"},
		{func(_ *Request, s *Sample) { s.Entries.Rows = s.Entries.Rows[1:] }, "its entries have rows of 1 layers, want 2"},
		{func(_ *Request, s *Sample) { s.Versions = s.Versions[1:] }, "5 tokens have versions [{1.1 1} {3 2}], which are of 3"},
		{func(_ *Request, s *Sample) { s.Versions = nil }, "5 tokens have versions [], which are of 0"},
		{func(_ *Request, s *Sample) { s.Versions[0].Tokens = 0 }, "want at least one token in each span"},
		{func(_ *Request, s *Sample) { s.Versions[1].Version = 1 }, "want spans of one version merged"},
		{func(_ *Request, s *Sample) { s.Versions[0].Version = 2 }, "want none before an earlier one"},

		{func(r *Request, _ *Sample) { r.Index = 1 }, "it is sample 2 of its prompt, or of another prompt, want sample 1"},
		{func(r *Request, _ *Sample) { r.Prompt = &Prompt{Tokens: []int32{1, 2, 4}} }, "or of another prompt"},
		{func(_ *Request, s *Sample) { s.Prompt = nil }, "or of another prompt"},
		{func(_ *Request, s *Sample) { s.Sampling.MaxTokens = 4 }, "it has 5 tokens, want at most 4"},
		{func(r *Request, _ *Sample) { r.Begun.Response = []int32{4, 5, 6, 7, 8, 9} }, "it has 5 tokens, want at least the 6 that were begun"},
		{func(r *Request, _ *Sample) { r.Begun.Versions = []Span{{2, 2}} }, "its first 2 tokens are of versions [{1 2}], want [{2 2}] as they were begun"},
		{func(r *Request, _ *Sample) { r.Begun.Response[1] = 4 }, "token 1 of 5 is 5 with logprob -2, want 4 with -2 as it was begun"},
		{func(r *Request, _ *Sample) { r.Begun.LogProbs[0] = -7 }, "token 0 of 5 is 4 with logprob -1, want 4 with -7 as it was begun"},
		{func(_ *Request, s *Sample) { s.Stop = Unfinished }, "it has 5 tokens and does not say why it ended"},
		{func(_ *Request, s *Sample) { s.Experts = s.Experts.Head(6) }, "5 tokens have 6 rows of experts, want 7"},
		{func(_ *Request, s *Sample) { s.Entries.Tokens = 6 }, "5 tokens have 6 rows of entries, want 7"},
		{func(_ *Request, s *Sample) { s.Experts = nil }, "5 tokens have 0 rows of experts, want 7"},
		{func(_ *Request, s *Sample) { s.Told = nil }, "5 tokens have 0 positions that are told of, want 5"},
		{func(_ *Request, s *Sample) { s.PromptLogProbs, s.PromptTold = nil, nil }, "5 tokens have 0 logprobs of the prompt, want 2 to 3"},
	} {
		r, s := drawn()
		tt.spoil(&r, s)
		if err := r.CheckSample(s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// What may be left out is no fault: rows of a sample that was aborted, what was begun under a larger budget, lists that nobody asked for.
func TestCheckSampleAllows(t *testing.T) {
	for name, change := range map[string]func(r *Request, s *Sample){
		"aborted": func(_ *Request, s *Sample) {
			s.Stop, s.Experts, s.Entries.Tokens, s.PromptLogProbs, s.PromptTold = StopAbort, s.Experts.Head(2), 3, nil, nil
		},
		"a smaller budget": func(r *Request, s *Sample) { s.Sampling.MaxTokens, r.Begun = 3, s },
		"nothing asked for": func(r *Request, s *Sample) {
			r.Report = Report{}
			s.Experts, s.Entries, s.Told, s.PromptLogProbs, s.PromptTold, s.TruncLogProbs, s.LossMask = nil, nil, nil, nil, nil, nil, nil
		},
		"no token": func(r *Request, s *Sample) {
			*s = Sample{Prompt: s.Prompt, Index: s.Index, Stop: StopAbort}
			r.Begun, r.Report = nil, Report{}
		},
	} {
		r, s := drawn()
		change(&r, s)
		if err := r.CheckSample(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A sample that is cut is one that came so far, with all of its parts.
func TestCut(t *testing.T) {
	for n := range 7 {
		r, s := drawn()
		s.Cut(n)
		if err := s.Check(); err != nil || s.Len() != min(n, 5) {
			t.Errorf("cut to %d it has %d tokens: %v", n, s.Len(), err)
		}
		if n < 5 && (s.Stop != Unfinished || len(s.TruncLogProbs) != n || len(s.LossMask) != n || len(s.Told) != n || s.Experts.Len() != 2+n || s.Entries != nil || cap(s.Response) > n) {
			t.Errorf("cut to %d it is %+v", n, s)
		}
		if n >= 2 && n < 5 && r.goesOn(s) != nil {
			t.Errorf("cut to %d it does not go on from what was begun: %v", n, r.goesOn(s))
		}
	}
	s := &Sample{}
	if s.Cut(-1); s.Check() == nil || s.Len() != 0 {
		t.Errorf("%+v", s)
	}
}
