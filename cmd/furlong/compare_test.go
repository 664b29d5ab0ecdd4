package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// A finished is a run that has ended, and what it printed.
type finished struct {
	dir string
	result
}

// sameRun fails the test unless two runs ended with the same weights, measured the same in every cycle and evaluation, and drew and
// trained on the same samples.
func sameRun(t *testing.T, got, want finished) {
	t.Helper()
	if g, w := got.closing(t).Digest, want.closing(t).Digest; g != w || len(g) != 64 {
		t.Errorf("weights have SHA-256 %q, want %q", g, w)
	}
	if err := metrics.Compare(rows(t, got.dir), rows(t, want.dir)); err != nil {
		t.Errorf("metrics: %v", err)
	}
	sameSamples(t, got.dir, want.dir)
	if g, w := indexed(t, got.dir), indexed(t, want.dir); !maps.Equal(g, w) || len(w) == 0 {
		t.Errorf("index of samples holds\n%v, want\n%v", g, w)
	}
	sameEvaluations(t, got.dir, want.dir)
}

func rows(t *testing.T, dir string) []metrics.Row {
	t.Helper()
	all, bad, err := metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	if err != nil || len(bad) > 0 {
		t.Fatalf("%s: %v, rows that can't be read: %v", dir, err, bad)
	}
	return all
}

// cycles returns the cycle rows of a run that count, by cycle.
func cycles(t *testing.T, dir string) map[int]metrics.Row {
	t.Helper()
	merged, _ := metrics.Merge(rows(t, dir))
	out := map[int]metrics.Row{}
	for _, r := range merged {
		if r.Kind == metrics.Cycle {
			out[r.Cycle] = r
		}
	}
	return out
}

func sameSamples(t *testing.T, got, want string) {
	t.Helper()
	a, b := bodies(t, got), bodies(t, want)
	if g, w := strings.Join(a, " "), strings.Join(b, " "); g != w || len(b) == 0 {
		t.Fatalf("samples are in %q, want %q", g, w)
	}
	for _, name := range a {
		g, w := told(t, got, name), told(t, want, name)
		if len(g) != len(w) || len(w) == 0 {
			t.Errorf("%s: %d samples, want %d", name, len(g), len(w))
			continue
		}
		for i := range w {
			if g[i] != w[i] {
				t.Fatalf("%s: sample %d is\n%s, want\n%s", name, i, g[i], w[i])
			}
		}
	}
}

func bodies(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, rundir.SamplesDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if _, _, ok := samples.ParseName(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	return names
}

// told returns every sample of a body as text: all of it but the epoch of its versions, which counts the starts of the run, the tokens that came
// from a cache, which does not outlive the process, and the number of its set, which counts sets as they come to be written; the prompt names it.
func told(t *testing.T, dir, name string) []string {
	t.Helper()
	b, err := samples.OpenBody(filepath.Join(dir, rundir.SamplesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Verify(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range b.Rows {
		s, err := b.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		s.Row.Version, s.Row.Set = rl.NewVersion(0, s.Row.Version.Count()), 0
		for j := range s.Versions {
			s.Versions[j].Version = rl.NewVersion(0, s.Versions[j].Version.Count())
		}
		prompt, rest := *s.Prompt, *s.Sample.Sample
		rest.Prompt, rest.CachedTokens = nil, 0
		text := ""
		for _, r := range []**rl.Routes{&rest.Experts, &rest.TrainExperts} {
			if *r != nil {
				text += fmt.Sprintf("%+v ", **r)
			}
			*r = nil
		}
		text += fmt.Sprintf("%+v %+v %+v %q", prompt, rest, s.Row, s.Texts) // shortest decimals name floats exactly
		out = append(out, text)
	}
	return out
}

// indexed returns the rows of the index that count, by cycle and evaluation.
func indexed(t *testing.T, dir string) map[string]string {
	t.Helper()
	x, err := samples.OpenIndex(filepath.Join(dir, rundir.SamplesDir, "index"))
	if err != nil || len(x.Problems) > 0 {
		t.Fatalf("%s: %v, %v", dir, err, x.Problems)
	}
	defer x.Close()
	out := map[string]string{}
	for k, rows := range x.All() {
		if !x.Live(k) {
			continue
		}
		for _, r := range rows {
			r.Version = rl.NewVersion(0, r.Version.Count())
			out[samples.Name(k.Cycle, k.Eval)] += fmt.Sprintf("%+v\n", r)
		}
	}
	return out
}

func sameEvaluations(t *testing.T, got, want string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(want, "eval", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no evaluations: %v", want, err)
	}
	for _, f := range files {
		rel, err := filepath.Rel(want, f)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := problems(t, filepath.Join(got, rel)), problems(t, f); g != w {
			t.Errorf("%s holds\n%s, want\n%s", rel, g, w)
		}
	}
}

func problems(t *testing.T, path string) string {
	t.Helper()
	e, bad, err := rundir.ReadEval(path)
	if err != nil || len(bad) > 0 {
		t.Fatalf("%s: %v %v", path, err, bad)
	}
	return fmt.Sprintf("%d of version %d: %+v", e.Cycle, e.Version.Count(), e.Problems)
}
