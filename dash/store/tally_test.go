package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furlong/metrics/run"
)

// writeEval writes the file of an evaluation with a few problems, the first of which has c right answers.
func writeEval(t testing.TB, dir string, cycle, c int, more ...string) {
	t.Helper()
	lines := []string{fmt.Sprintf(`{"kind":"eval","name":"held","cycle":%d,"attempt":1,"version":%d,"time":5,"settings":{"n":4}}`, cycle, cycle+1)}
	for i := range 3 {
		lines = append(lines, fmt.Sprintf(`{"id":"p%d","n":4,"c":%d,"truncated":%d,"group":%d,"samples":[{"slot":0,"verdict":"right","reward":1,"length":3,"truncated":false}]}`, i, max(c-i, 0), i, i))
	}
	path := filepath.Join(dir, run.EvalFile("held", cycle))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	put := path + ".new"
	if err := os.WriteFile(put, []byte(strings.Join(append(lines, more...), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(put, path); err != nil {
		t.Fatal(err)
	}
}

// Evaluations are read once, and again when their files are others; one that cannot be read is named, and the others are shown.
func TestEvaluationsAreReadOnce(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []int{10, 20, 30} {
		writeEval(t, dir, c, 2)
	}
	r := open(t, dir)
	evals := func(read, n int) *struct{ bad []string } {
		t.Helper()
		before := r.tallies.read
		e, err := r.Evals()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.tallies.read - before; got != read || len(e.Evals) != n {
			t.Errorf("%d files were read and %d evaluations listed, want %d and %d", got, len(e.Evals), read, n)
		}
		out := &struct{ bad []string }{}
		for _, b := range e.Bad {
			out.bad = append(out.bad, b.File+": "+b.Error)
		}
		return out
	}
	if b := evals(3, 3); len(b.bad) > 0 {
		t.Errorf("sound files are called bad: %q", b.bad)
	}
	evals(0, 3)
	writeEval(t, dir, 20, 4)
	evals(1, 3)
	m, err := r.Eval(EvalAsk{Name: "held", A: 10, B: 20, K: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Problems[0].Cells[1]; len(m.Problems) != 3 || m.Paired == nil || m.Paired.Gained[0] != "p0" || c.N != 4 {
		t.Errorf("matrix is %+v", m)
	}

	// The same size and time, but another file.
	old, err := os.Stat(filepath.Join(dir, run.EvalFile("held", 10)))
	if err != nil {
		t.Fatal(err)
	}
	writeEval(t, dir, 10, 3)
	if err := os.Chtimes(filepath.Join(dir, run.EvalFile("held", 10)), time.Time{}, old.ModTime()); err != nil {
		t.Fatal(err)
	}
	evals(1, 3)

	writeEval(t, dir, 20, 4, `{"id":"p3","n":`, `{"id":"p\u0034","n":4,"c":1,"truncated":0,"group":4,"samples":[]}`)
	if err := os.WriteFile(filepath.Join(dir, run.EvalFile("held", 30)), []byte("nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	writeEval(t, dir, 40, 1)
	if err := os.Rename(filepath.Join(dir, run.EvalFile("held", 40)), filepath.Join(dir, run.EvalFile("held", 50))); err != nil {
		t.Fatal(err)
	}
	b := evals(3, 2)
	if all := strings.Join(b.bad, "; "); len(b.bad) != 3 || !strings.Contains(all, "eval/held/c000020.jsonl: ") || !strings.Contains(all, "eval/held/c000030.jsonl: ") || !strings.Contains(all, `c000050.jsonl: file holds evaluation "held" of cycle 40`) {
		t.Errorf("what could not be read is %q", b.bad)
	}
	m, err = r.Eval(EvalAsk{Name: "held", A: -1, B: -1})
	if err != nil || len(m.Bad) != 3 || len(m.Cycles) != 2 || len(m.Problems) != 4 {
		t.Errorf("matrix with files that cannot be read: %+v, %v", m, err)
	}
}

// A problem's line is read as encoding/json reads it, or left to that.
func TestQuickProblem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	quick := 0
	for range 2000 {
		want := run.Problem{ID: []string{"a", "a b", "ä", `q"q`, "<b>", ""}[rng.IntN(6)], N: rng.IntN(20), C: rng.IntN(1 << 40), Truncated: rng.IntN(3), Group: int64(rng.IntN(1 << 40))}
		want.Samples = make([]run.Answer, rng.IntN(3))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			raw[rng.IntN(len(raw))] = "0x\"}- "[rng.IntN(6)]
		}
		got, ok := quickProblem(raw)
		if !ok {
			continue
		}
		quick++
		var std run.Problem
		if json.Unmarshal(raw, &std) != nil {
			continue // within the answers, which are not looked at
		}
		if std.Samples = nil; got.ID != std.ID || got.N != std.N || got.C != std.C || got.Truncated != std.Truncated || got.Group != std.Group {
			t.Fatalf("%s: read as %+v, want %+v", raw, got, std)
		}
	}
	if quick < 500 {
		t.Errorf("%d of 2,000 lines were read quickly, want most of those without escapes", quick)
	}
}
