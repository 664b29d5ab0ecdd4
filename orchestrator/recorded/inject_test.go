package recorded

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"furlong/metrics/rollouts"
	"furlong/rl"
)

// takes is a trainer that remembers what it was given.
type takes struct {
	Still
	got *[]*rl.Sample
}

func (k takes) Step(_ context.Context, b *rl.Batch) (rl.Stats, error) {
	*k.got = slices.Clone(b.Samples)
	return rl.Stats{"x": 1}, nil
}

// drawnLike returns samples as an engine would have drawn them now: under version 7, with one token of the third changed, and other requests.
func drawnLike(c, groups int) []*rl.Sample {
	all := cycleOf(c, groups)
	for i, s := range all {
		s.Request, s.Reward = int64(50+i), 0
		s.Versions = []rl.Span{{Version: rl.NewVersion(1, 7), Tokens: 3}}
	}
	all[2].Response[1] = 9
	return all
}

func injector(path rollouts.Path, got *[]*rl.Sample) *Injector {
	return &Injector{TrainEngine: takes{got: got}, Path: path, From: 2, MinMatch: 0.9, Limits: Limits{Vocab: 10, Context: 8}}
}

// From its first cycle on the recorded samples train, in the place of the drawn ones; before it the drawn ones do.
func TestInjection(t *testing.T) {
	var got []*rl.Sample
	in := injector(write(t, 3, 4), &got)
	var told []Match
	in.Told = func(cycle int, path string, m Match) error {
		if cycle != 2 || path != in.Path.Of(2) {
			t.Errorf("told of cycle %d, %s", cycle, path)
		}
		told = append(told, m)
		return nil
	}
	for c := 1; c <= 2; c++ {
		drawn := drawnLike(c, 4)
		keep := slices.Clone(drawn[2].Response)
		stats, err := in.Step(t.Context(), &rl.Batch{Cycle: c, Samples: drawn})
		if err != nil || stats["x"] != 1 || len(got) != 8 {
			t.Fatalf("cycle %d: %v, %v, %d samples", c, stats, err, len(got))
		}
		s := got[2]
		if injected := !slices.Equal(s.Response, keep); injected != (c == 2) || s != drawn[2] {
			t.Errorf("cycle %d trains on %v, drawn was %v", c, s.Response, keep)
		}
		if c == 1 {
			continue
		}
		want := []rl.Span{{Version: rl.NewVersion(1, 7), Tokens: 2}, {Version: rl.NewVersion(1, 6), Tokens: 1}}
		if s.Reward != 0.5 || s.Request != 52 || !slices.Equal(s.Versions, want) || s.Response[2] != 2 {
			t.Errorf("cycle 2 trains on %+v, want the recorded sample under versions %v", s, want)
		}
	}
	if want := 1 - 1.0/3/8; len(told) != 1 || told[0].Mean < want-1e-12 || told[0].Mean > want+1e-12 || told[0].Least != 1-1.0/3 {
		t.Errorf("told %+v, want one of 8 samples with one of 3 tokens amiss", told)
	}
}

// What is injected must be a recording of this batch, and what was drawn nearly the same.
func TestInjectionRefuses(t *testing.T) {
	path := write(t, 3, 4)
	for want, change := range map[string]func(*Injector, []*rl.Sample) []*rl.Sample{
		"holds 8 samples, want 6": func(_ *Injector, d []*rl.Sample) []*rl.Sample { return d[:6] },
		"it is sample 0 of prompt 1, and sample 0 of prompt 3 was drawn": func(_ *Injector, d []*rl.Sample) []*rl.Sample {
			return append(append(append([]*rl.Sample{}, d[:2]...), d[6:]...), d[2:6]...)
		},
		"are the recorded ones (of one response 0.0000), want at least 0.9": func(_ *Injector, d []*rl.Sample) []*rl.Sample {
			d[5].Response = []int32{9, 9, 9}
			return d
		},
		"the model knows 2": func(in *Injector, d []*rl.Sample) []*rl.Sample { in.Vocab = 2; return d },
		"sample 0: no experts": func(in *Injector, d []*rl.Sample) []*rl.Sample {
			in.Fits = func(*rl.Sample) error { return errors.New("no experts") }
			return d
		},
		"no such file": func(in *Injector, d []*rl.Sample) []*rl.Sample { in.Path += "x"; return d },
	} {
		var got []*rl.Sample
		in := injector(path, &got)
		_, err := in.Step(t.Context(), &rl.Batch{Cycle: 2, Samples: change(in, drawnLike(2, 4))})
		if err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%v, %d samples trained, want none and %q", err, len(got), want)
		}
	}
}

// The files are looked at before the run, and the cycle that they hold when its turn comes.
func TestInjectionNeedsItsFiles(t *testing.T) {
	var got []*rl.Sample
	in := injector(write(t, 3, 4), &got)
	if err := in.Probe(3); err != nil {
		t.Error(err)
	}
	if err := in.Probe(4); err == nil || !strings.Contains(err.Error(), "recorded rollouts of cycle 4, to be injected") {
		t.Errorf("%v, want the fourth file to be missed", err)
	}
	if err := os.Rename(in.Path.Of(3), in.Path.Of(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Step(t.Context(), &rl.Batch{Cycle: 2, Samples: drawnLike(2, 4)}); err == nil || !strings.Contains(err.Error(), "holds cycle 3 of its run, want 2") {
		t.Errorf("%v, want the file of another cycle to be refused", err)
	}
}

// Places count to the end of the longer response.
func TestAgreement(t *testing.T) {
	for _, tt := range []struct {
		a, b []int32
		want float64
	}{{nil, nil, 1}, {[]int32{1}, nil, 0}, {[]int32{1, 2, 3, 4}, []int32{1, 2}, 0.5}, {[]int32{1, 2}, []int32{2, 2}, 0.5}, {[]int32{5, 6}, []int32{5, 6}, 1}} {
		if got := agreement(tt.a, tt.b); got != tt.want {
			t.Errorf("%v and %v agree to %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// Versions keep their ages. Those that would come before the first are one span of it, for neighbours of one version are merged wherever samples are checked.
func TestMovedVersions(t *testing.T) {
	had := []rl.Span{{Version: rl.NewVersion(0, 3), Tokens: 2}, {Version: rl.NewVersion(1, 4), Tokens: 1}, {Version: rl.NewVersion(1, 9), Tokens: 5}}
	for served, want := range map[int][]rl.Span{
		12: {{Version: rl.NewVersion(2, 6), Tokens: 2}, {Version: rl.NewVersion(2, 7), Tokens: 1}, {Version: rl.NewVersion(2, 12), Tokens: 5}},
		6:  {{Version: rl.NewVersion(2, 1), Tokens: 3}, {Version: rl.NewVersion(2, 6), Tokens: 5}},
		1:  {{Version: rl.NewVersion(2, 1), Tokens: 8}},
	} {
		got := moved(had, rl.NewVersion(2, served), 9)
		if !slices.Equal(got, want) {
			t.Errorf("while %d is served they are %v, want %v", served, got, want)
		}
		s := rl.Sample{Prompt: &rl.Prompt{Tokens: []int32{1}}, Response: make([]int32, 8), LogProbs: make([]float32, 8), Versions: got}
		if err := s.Check(); err != nil {
			t.Errorf("while %d is served: %v", served, err)
		}
	}
}
