package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/orchestrator/gather"
	"furlong/rl"
)

// A place names a sample: its group's number and its place in the group.
type samplePlace struct {
	group int64
	index int
}

// trainedOn returns the samples of all cycles of a run. A sample that two cycles trained on fails the test.
func trainedOn(t *testing.T, dir string) map[samplePlace]*rl.Sample {
	t.Helper()
	out := map[samplePlace]*rl.Sample{}
	for _, name := range bodies(t, dir) {
		if _, eval, _ := samples.ParseName(name); eval != "" {
			continue
		}
		b, err := samples.OpenBody(filepath.Join(dir, rundir.SamplesDir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows {
			s, err := b.Sample(i)
			if err != nil {
				t.Fatal(err)
			}
			at := samplePlace{s.Prompt.Group, s.Index}
			if out[at] != nil {
				t.Errorf("%s: sample %d of group %d has trained before", name, at.index, at.group)
			}
			out[at] = s.Sample.Sample
		}
		b.Close()
	}
	return out
}

// nothingLost fails the test unless a run whose samples are drawn without end did every cycle once, trained on no group twice, and accounts for every prompt that
// its source handed out.
func nothingLost(t *testing.T, got, want finished) {
	t.Helper()
	trained := trainedOn(t, got.dir)
	groups := map[int64]bool{}
	for at := range trained {
		groups[at.group] = true
	}
	if g, w := len(cycles(t, got.dir)), len(cycles(t, want.dir)); g != w {
		t.Errorf("%d cycles were told, want %d", g, w)
	}
	s := savedLast(t, got.dir)
	a := s.Account
	if err := a.Check(); err != nil {
		t.Error(err)
	}
	if int64(len(groups)) != a.Prompts.Trained || int64(len(trained)) != a.Samples.Trained {
		t.Errorf("%d groups and %d samples are on the disk, the account has %d and %d", len(groups), len(trained), a.Prompts.Trained, a.Samples.Trained)
	}
	var source struct{ Group int64 }
	if err := json.Unmarshal(s.Prompts, &source); err != nil || source.Group != a.Prompts.Generated {
		t.Errorf("the source has handed out %d prompts, %v, the account has %d", source.Group, err, a.Prompts.Generated)
	}
	row := cycles(t, got.dir)[10].Values
	for _, kind := range []string{"tokens", "samples", "prompts"} {
		v := func(what string) float64 { return row["account/"+kind+"/"+what] }
		if v("generated") != v("trained")+v("masked")+v("waiting")+v("dropped") || v("generated") == 0 {
			t.Errorf("account of %s: %v generated, %v trained, %v masked, %v waiting, %v dropped", kind, v("generated"), v("trained"), v("masked"), v("waiting"), v("dropped"))
		}
	}
}

func savedLast(t *testing.T, dir string) *orchestrator.Saved {
	t.Helper()
	path, err := orchestrator.Find(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := orchestrator.ReadSaved(path)
	if err != nil || len(s.Damage) > 0 {
		t.Fatalf("%s: %+v, %v", path, s, err)
	}
	return s
}

// partials returns the samples of a run's newest checkpoint that have some of their tokens.
func partials(t *testing.T, dir string) (list []*rl.Sample) {
	t.Helper()
	path, err := orchestrator.Find(dir, 0)
	if err != nil {
		return nil // killed before there was one
	}
	raw, err := os.ReadFile(filepath.Join(path, "loop.json"))
	if err != nil {
		t.Fatal(err)
	}
	var loop struct {
		Gather struct {
			Begun []struct {
				Prompt  *rl.Prompt
				Samples []*rl.Sample
			}
		}
	}
	if err := json.Unmarshal(raw, &loop); err != nil {
		t.Fatal(err)
	}
	for _, g := range loop.Gather.Begun {
		for _, s := range g.Samples {
			if s != nil && len(s.Response) > 0 && (s.Stop == rl.Unfinished || s.Stop == rl.StopAbort) {
				s.Prompt = g.Prompt
				list = append(list, s)
			}
		}
	}
	return list
}

// goOn fails the test unless the samples that were partial in a checkpoint begin with what they had there, as far as they have trained since; it returns how many
// did. One that was dropped as too old and drawn anew, which the account tells, begins with a later version.
func goOn(t *testing.T, dir string, partial []*rl.Sample) (kept int) {
	t.Helper()
	trained := trainedOn(t, dir)
	stale := savedLast(t, dir).Account.Tokens.Dropped[gather.Stale]
	for _, p := range partial {
		s := trained[samplePlace{p.Prompt.Group, p.Index}]
		if s == nil {
			continue // it waits, or was dropped, and the account has it
		}
		if s.Versions[0].Version != p.Versions[0].Version && stale >= int64(len(p.Response)) {
			continue
		}
		n := len(p.Response)
		if len(s.Response) < n || !slices.Equal(s.Response[:n], p.Response) || !slices.Equal(s.LogProbs[:n], p.LogProbs) {
			t.Errorf("sample %d of group %d had the tokens %v and trained with %v", p.Index, p.Prompt.Group, p.Response, s.Response)
		}
		kept++
	}
	return kept
}
