package rltest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

var (
	_ rl.RolloutEngine = (*Fake)(nil)
	_ rl.Attester      = (*Fake)(nil)
	_ rl.Aborter       = (*Fake)(nil)
)

// dice is a policy over 30 tokens that depends on everything it may depend on.
func dice(v rl.Version, r rl.Request, soFar []int32) (int32, float32) {
	seed := r.Sampling.Seed
	if r.Sampling.Temperature == 0 {
		seed = 0
	}
	h := fnv.New64a()
	fmt.Fprintln(h, v, seed, append(slices.Clone(r.Prompt.Tokens), soFar...))
	x := h.Sum64() >> 32
	return int32(x % 30), -float32(x%1000) / 500
}

// prompts returns three prompts.
func prompts() (all []*rl.Prompt) {
	for i := range int32(3) {
		all = append(all, &rl.Prompt{ID: fmt.Sprint(i), Tokens: []int32{i, 5}})
	}
	return all
}

// tensors are two small ones.
func tensors(v rl.Version) rl.Weights {
	one := rl.Tensor{Name: "a", Type: "F32", Shape: []int{1}, Data: make([]byte, 4)}
	two := one
	two.Name = "b"
	return Weights{V: v, List: []rl.Tensor{one, two}}
}

func TestFake(t *testing.T) {
	open := func(*testing.T) Rig {
		return Rig{Engine: NewFake(dice), Prompts: prompts(), Weights: tensors, Long: 200}
	}
	RunRollout(t, open)
	RunAsked(t, open)
	RunBegun(t, open)
}

func TestFakeRefuses(t *testing.T) {
	r := rl.Request{ID: 1, Prompt: prompts()[0], Sampling: rl.DefaultSampling()}
	empty, long, tail, experts, entries := r, r, r, r, r
	empty.Prompt = &rl.Prompt{}
	long.Sampling.MaxTokens = -1
	tail.Report.Tail, experts.Report.Experts, entries.Report.Entries = 2, true, true
	serving := Serving(1, dice)
	for _, tt := range []struct {
		name   string
		engine *Fake
		req    rl.Request
		want   string
	}{
		{"no weights", NewFake(dice), r, "engine has no weights"},
		{"no prompt", serving, empty, "request 1 has no prompt"},
		{"no tokens", serving, long, "most tokens are -1, want at least 0"},
		{"the first token scored", serving, tail, "2 of 2 tokens of the prompt are to be scored"},
		{"experts", serving, experts, "its experts are asked for, but a fake has none"},
		{"entries", serving, entries, "the entries that it reads are asked for, but a fake has none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var last error
			for _, err := range tt.engine.Generate(t.Context(), []rl.Request{tt.req}) {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", last, tt.want)
			}
		})
	}
	if err := serving.Update(t.Context(), tensors(2)); err == nil || serving.Version() != 1 {
		t.Errorf("update of a running fake: %v, version %v", err, serving.Version())
	}
}

func TestWeightsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Serving(1, dice)
	if err := errors.Join(f.Pause(t.Context()), f.Update(ctx, tensors(2))); !errors.Is(err, context.Canceled) || f.Version() != 1 {
		t.Errorf("update is %v, version %v, want it cancelled", err, f.Version())
	}
}

func Example() {
	// An engine that answers every prompt with its own tokens and a stop.
	const stop = 257
	echo := Answers(func(r rl.Request) []int32 {
		return append(slices.Clip(r.Prompt.Tokens), stop)
	})
	engine := Serving(rl.NewVersion(0, 1), echo)

	sampling := rl.DefaultSampling()
	sampling.StopIDs = []int32{stop}
	reqs := []rl.Request{
		{ID: 1, Prompt: &rl.Prompt{ID: "long", Tokens: []int32{1, 2, 3}}, Sampling: sampling},
		{ID: 2, Prompt: &rl.Prompt{ID: "short", Tokens: []int32{4}}, Sampling: sampling},
	}
	for s, err := range engine.Generate(context.Background(), reqs) {
		fmt.Println(s.Prompt.ID, s.Response, s.Stop, s.Versions, err)
	}
	// Output:
	// short [4 257] stop [{1 2}] <nil>
	// long [1 2 3 257] stop [{1 4}] <nil>
}
