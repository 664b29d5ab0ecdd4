package rl

import (
	"reflect"
	"testing"
)

func TestBegin(t *testing.T) {
	p := &Prompt{Tokens: []int32{1, 2}}
	told := []Told{{Among: []float32{-1}}, {Among: []float32{-2}}}
	r := Request{ID: 7, Prompt: p, Index: 3, Report: Report{Among: []int32{4}, Tail: 1}, Begun: &Sample{
		Request: 1, Prompt: &Prompt{Tokens: []int32{1, 2}}, Response: []int32{5, 6}, LogProbs: []float32{-1, -2}, Versions: []Span{{1, 1}, {1, 1}},
		Told: told, PromptTold: told[:1], PromptLogProbs: []float32{-3}, Experts: NewRoutes(1, 1, 4), Retractions: 2, Stop: StopAbort, Text: "x", CachedTokens: 9,
	}}
	if err := r.CheckBegun(); err != nil {
		t.Fatal(err)
	}
	want := &Sample{
		Request: 7, Prompt: p, Index: 3, Response: []int32{5, 6}, LogProbs: []float32{-1, -2}, Versions: []Span{{1, 2}},
		Told: told, PromptTold: told[:1], PromptLogProbs: []float32{-3}, Retractions: 2,
	}
	got := r.Begin()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("begun is %+v, want %+v", got, want)
	}
	got.Response[0], got.LogProbs[0], got.Told[0] = 0, 0, Told{}
	if got.Label(1, 5); r.Begun.Response[0] != 5 || r.Begun.LogProbs[0] != -1 || r.Begun.Told[0].Among == nil || r.Begun.Versions[0].Tokens != 1 {
		t.Errorf("what was begun is now %+v", r.Begun)
	}
	r.Begun = &Sample{Retractions: 1, PromptLogProbs: []float32{-1}, Experts: NewRoutes(1, 1, 4)} // it ended in its prompt
	if got, want := r.Begin(), (&Sample{Request: 7, Prompt: p, Index: 3, Retractions: 1}); !reflect.DeepEqual(got, want) || r.CheckBegun() != nil {
		t.Errorf("without a token %+v is begun (%v), want %+v", got, r.CheckBegun(), want)
	}
}

func TestLabel(t *testing.T) {
	s := &Sample{}
	for _, span := range []Span{{1, 2}, {1, 1}, {2, 0}, {1, 1}, {3, 1}} {
		s.Label(span.Version, span.Tokens)
	}
	if want := []Span{{1, 4}, {3, 1}}; !reflect.DeepEqual(s.Versions, want) {
		t.Errorf("versions are %v, want %v", s.Versions, want)
	}
}
