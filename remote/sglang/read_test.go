package sglang

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	api "furlong/api/sglang"
	"furlong/rl"
)

// whole returns a request and a good answer to it.
func whole() (*reading, *rl.Sample) {
	r := rl.Request{ID: 7, Prompt: &rl.Prompt{Tokens: []int32{1, 2, 3, 4}}, Sampling: rl.Sampling{MaxTokens: 3, StopIDs: []int32{9}}}
	r.Report = rl.Report{Tail: 2, Top: 1, Among: []int32{5, 6}, Experts: true}
	experts := "AQAAAAIAAAADAAAABAAAAAUAAAA=" // 1 to 5
	routes := rl.NewRoutes(1, 1, 6)
	routes.Add([]int32{1, 2, 3, 4, 5})
	m := api.Meta{
		ID: "r", PromptTokens: 4, CompletionTokens: 2, CachedTokens: 3, Retractions: 1, WeightVersion: "2", Finish: &api.Finish{Type: api.FinishStop, Token: new(int32(9))},
		WeightVersions: []api.Span{{Version: "1", Start: 0, End: 1}, {Version: "2", Start: 1, End: 2}},
		OutputLogProbs: api.Triples{{Token: 8, LogProb: -0.25}, {Token: 9, LogProb: -1}},
		InputLogProbs:  api.Triples{{Token: 2, LogProb: float32(math.NaN())}, {Token: 3, LogProb: -2}, {Token: 4, LogProb: -3}},
		OutputTop:      []api.Triples{{{Token: 8, LogProb: -0.25}}, {{Token: 5, LogProb: -0.5}}},
		OutputAmong:    []api.Triples{{{Token: 6, LogProb: -6}, {Token: 5, LogProb: -5}}, {{Token: 5, LogProb: -0.5}, {Token: 6, LogProb: -7}}},
		InputTop:       []api.Triples{nil, {{Token: 1, LogProb: -1}}, {{Token: 1, LogProb: -2}}},
		InputAmong:     []api.Triples{nil, {{Token: 5, LogProb: -1}, {Token: 6, LogProb: -1}}, {{Token: 5, LogProb: -1}, {Token: 6, LogProb: -1}}},
		RoutedExperts:  &experts,
	}
	want := &rl.Sample{
		Request: 7, Prompt: r.Prompt, Sampling: r.Sampling, Response: []int32{8, 9}, LogProbs: []float32{-0.25, -1}, CachedTokens: 3, Retractions: 1, Stop: rl.StopToken,
		Versions: []rl.Span{{Version: 1, Tokens: 1}, {Version: 2, Tokens: 1}}, PromptLogProbs: []float32{-2, -3}, Experts: routes,
		Told: []rl.Told{
			{Top: []rl.Alternative{{Token: 8, LogProb: -0.25}}, Among: []float32{-5, -6}}, {Top: []rl.Alternative{{Token: 5, LogProb: -0.5}}, Among: []float32{-0.5, -7}},
		},
		PromptTold: []rl.Told{{Top: []rl.Alternative{{Token: 1, LogProb: -1}}, Among: []float32{-1, -1}}, {Top: []rl.Alternative{{Token: 1, LogProb: -2}}, Among: []float32{-1, -1}}},
	}
	return &reading{r: r, rid: "r", a: &api.Answer{OutputIDs: []int32{8, 9}, Meta: m}, sent: 1, given: map[string]rl.Version{"1": 1, "2": 2}, shape: routes.Like()}, want
}

func TestReading(t *testing.T) {
	x, want := whole()
	got, err := x.sample()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v (%v)\nwant %+v", got, err, want)
	}
}

func TestEndings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		finish api.Finish
		last   int32
		most   int
		want   rl.Stop
		stray  bool
	}{
		{"stop id", api.Finish{Type: "stop", Token: new(int32(9))}, 9, 3, rl.StopToken, false},
		{"stop id on the last slot", api.Finish{Type: "length", Length: 2}, 9, 2, rl.StopToken, false},
		{"length", api.Finish{Type: "length", Length: 2}, 8, 2, rl.StopLength, false},
		{"text", api.Finish{Type: "stop", Matched: new("x")}, 8, 3, rl.StopText, false},
		{"a stop of the server's own", api.Finish{Type: "stop", Token: new(int32(8))}, 8, 3, rl.StopToken, true},
		{"abort", api.Finish{Type: "abort", Message: "Aborted"}, 8, 3, rl.StopAbort, false},
	} {
		x, _ := whole()
		x.a.Meta.Finish, x.r.Sampling.MaxTokens, x.a.OutputIDs[1], x.a.Meta.OutputLogProbs[1].Token = &tt.finish, tt.most, tt.last, tt.last
		s, err := x.sample()
		if err != nil || s.Stop != tt.want || x.stray != tt.stray || len(s.Response) != 2 {
			t.Errorf("%s: %+v, stray %v, %v", tt.name, s, x.stray, err)
		}
	}
}

// An abort out of the queue has nothing, and says little.
func TestAbortedInTheQueue(t *testing.T) {
	x, _ := whole()
	x.a = &api.Answer{Meta: api.Meta{ID: "r", WeightVersion: "2", Finish: &api.Finish{Type: "abort", Message: "Abort in waiting queue"}}}
	x.sent = 2
	s, err := x.sample()
	if err != nil || s.Stop != rl.StopAbort || len(s.Response) != 0 || len(s.Versions) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*reading)
		is   error
		want string
	}{
		"id":            {func(x *reading) { x.a.Meta.ID = "q" }, errBad, `id is "q", want "r"`},
		"prompt":        {func(x *reading) { x.a.Meta.PromptTokens = 5 }, errBad, "prompt_tokens is 5, want 4"},
		"no finish":     {func(x *reading) { x.a.Meta.Finish = nil }, errBad, "no finish_reason"},
		"finish":        {func(x *reading) { x.a.Meta.Finish.Type = "done" }, errBad, `"done"`},
		"count":         {func(x *reading) { x.a.Meta.CompletionTokens = 3 }, errBad, "3 tokens with 2 logprobs"},
		"too many":      {func(x *reading) { x.r.Sampling.MaxTokens = 1 }, errBad, "at most 1"},
		"ids":           {func(x *reading) { x.a.OutputIDs[0] = 7 }, errBad, "output_ids differ"},
		"NaN":           {func(x *reading) { x.a.Meta.OutputLogProbs[1].LogProb = float32(math.NaN()) }, errBad, "token 1: token is 9 with logprob NaN"},
		"positive":      {func(x *reading) { x.a.Meta.OutputLogProbs[0].LogProb = 0.5 }, errBad, "token 0"},
		"negative id":   {func(x *reading) { x.a.Meta.OutputLogProbs[0].Token = -1 }, errBad, "token is -1"},
		"stop":          {func(x *reading) { x.a.Meta.Finish.Token = new(int32(4)) }, errBad, "stopped at token 4, and the last is 9"},
		"NaN happened":  {func(x *reading) { x.a.Meta.Finish = &api.Finish{Type: "stop", Matched: new(nanHappened)} }, rl.ErrBroken, nanHappened},
		"gap":           {func(x *reading) { x.a.Meta.WeightVersions[1].Start = 2 }, errBad, "spans without gaps"},
		"short":         {func(x *reading) { x.a.Meta.WeightVersions = x.a.Meta.WeightVersions[:1] }, errBad, "spans without gaps"},
		"unknown":       {func(x *reading) { x.a.Meta.WeightVersions[1].Version = "default" }, errStale, `"default"`},
		"no spans":      {func(x *reading) { x.a.Meta.WeightVersions = nil }, errBad, "began under version 1 and ended under 2"},
		"scored ids":    {func(x *reading) { x.a.Meta.InputLogProbs[1].Token = 8 }, errBad, "token 0 of the scored ones is 8, want 3"},
		"scored":        {func(x *reading) { x.a.Meta.InputLogProbs = nil }, errBad, "0 logprobs of the prompt, want 3"},
		"top":           {func(x *reading) { x.a.Meta.OutputTop = nil }, errBad, "alternatives of 0 and 2 positions, want 2"},
		"among":         {func(x *reading) { x.a.Meta.OutputAmong[0][0].Token = 1 }, errBad, "position 0 does not tell token 6"},
		"experts":       {func(x *reading) { x.a.Meta.RoutedExperts = new("AQAAAA==") }, errBad, "routed_experts have 4 bytes for 5 tokens"},
		"few experts":   {func(x *reading) { x.shape = rl.NewRoutes(1, 1, 5) }, errBad, "token 4 goes to expert 5, want less than 5"},
		"more layers":   {func(x *reading) { x.shape = rl.NewRoutes(5, 1, 6) }, errBad, "want 20 a token: 1 experts in each of 5 layers"},
		"clipped":       {func(x *reading) { x.a.Meta.Finish = &api.Finish{Type: "length", Length: 2}; x.r.Sampling.StopIDs = nil }, nil, "room for 2 tokens of a response, want 3"},
		"no experts":    {func(x *reading) { x.a.Meta.RoutedExperts = nil }, nil, "--enable-return-routed-experts"},
		"failed inside": {func(x *reading) { x.a.Meta.Finish = &api.Finish{Type: "abort", Status: 500, Message: "broke"} }, nil, "500: broke"},
	} {
		x, _ := whole()
		tt.edit(x)
		s, err := x.sample()
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want an error with %q", name, s, err, tt.want)
		}
		if tt.is == nil && status(err) == 0 {
			t.Errorf("%s: %v has no status", name, err)
		}
	}
}
