package main

import (
	"path/filepath"
	"slices"
	"testing"

	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
)

// A run keeps which experts every token of its samples went to, under both engines, who choose alike where they compute the same bits; with
// --keep-experts none it keeps nothing. What is trained is the same.
func TestExpertsOfSamples(t *testing.T) {
	model := tiny(t)
	told := trainTiny(t, model, "--num-rollout", "2")
	mute := trainTiny(t, model, "--num-rollout", "2", "--keep-experts", "none")
	if a, b := told.closing(t).Digest, mute.closing(t).Digest; a != b {
		t.Errorf("weights have SHA-256 %s with experts and %s without", a, b)
	}
	for _, name := range bodies(t, told.dir) {
		_, eval, _ := samples.ParseName(name)
		for i, s := range readBody(t, told.dir, name) {
			n := len(s.Prompt.Tokens) + len(s.Response) - 1
			if s.Experts.Len() != n || s.Experts.Layers*s.Experts.Choices == 0 {
				t.Fatalf("%s: sample %d of %d tokens has experts of %d", name, i, n+1, s.Experts.Len())
			}
			if eval == "" && (s.TrainExperts == nil || !slices.Equal(s.TrainExperts.Rows, s.Experts.Rows)) || eval != "" && s.TrainExperts != nil {
				t.Errorf("%s: sample %d: the trainer chose %v, the rollout engine %v", name, i, s.TrainExperts, s.Experts)
			}
		}
	}
	for _, name := range bodies(t, mute.dir) {
		for i, s := range readBody(t, mute.dir, name) {
			if s.Chosen != nil {
				t.Errorf("%s: sample %d has experts, and none were to stay", name, i)
			}
		}
	}
	const agreement = "moe/router_agreement"
	if v, ok := cycles(t, told.dir)[1].Values[agreement]; !ok || v != 1 {
		t.Errorf("%s is %v, %v, want 1", agreement, v, ok)
	}
	if v, ok := cycles(t, mute.dir)[1].Values[agreement]; ok {
		t.Errorf("%s is %v where nobody told", agreement, v)
	}
}

func readBody(t *testing.T, dir, name string) (all []*samples.Stored) {
	t.Helper()
	b, err := samples.OpenBody(filepath.Join(dir, rundir.SamplesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range b.Rows {
		s, err := b.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
