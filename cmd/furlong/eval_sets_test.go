package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/eval"
	"furlong/metrics"
	rundir "furlong/metrics/run"
)

// twoSets are two held-out sets with settings of their own.
func twoSets(t *testing.T) []string {
	t.Helper()
	file, err := filepath.Abs("testdata/tiny/held-out.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "sets.json")
	text := `{"defaults": {"n_samples_per_eval_prompt": 4},
 "datasets": [
  {"name": "first", "path": "` + file + `", "temperature": 0.7},
  {"name": "second", "path": "` + file + `", "n_samples_per_eval_prompt": 2, "max_response_len": 12, "rm_type": "exact"}]}`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"--no-eval-prompt-data", "--eval-config", config}
}

// Two sets make one row an evaluation, and are summed up apart. Each is what it is alone.
func TestEvalOfTwoSets(t *testing.T) {
	model := tiny(t)
	run := trainTiny(t, model, append(twoSets(t), "--num-rollout", "4", "--json")...)
	evaluated := map[int]int{}
	for _, r := range rows(t, run.dir) {
		if r.Kind != metrics.Eval {
			continue
		}
		evaluated[r.Cycle]++
		for name, want := range map[string]float64{"eval/first-samples": 4, "eval/second-samples": 2, "eval/first-problems": 2, "eval/second-problems": 2} {
			if r.Values[name] != want {
				t.Errorf("cycle %d: %s is %v, want %v", r.Cycle, name, r.Values[name], want)
			}
		}
		for _, name := range []string{"eval/first", "eval/first-pass@4", "eval/first-maj@4_decode_lo", "eval/second-mean@2_hi", "eval/second/response_len/median", "eval/second-none_reward_ratio"} {
			if _, ok := r.Values[name]; !ok {
				t.Errorf("cycle %d has no %s", r.Cycle, name)
			}
		}
		if _, ok := r.Values["eval/second-pass@4"]; ok {
			t.Errorf("cycle %d has pass@4 of a set with two samples a problem", r.Cycle)
		}
	}
	if !reflect.DeepEqual(evaluated, map[int]int{0: 1, 2: 1, 4: 1}) {
		t.Errorf("rows of evaluations by cycle are %v, want one before the first cycle, after the second and after the last", evaluated)
	}
	sum := run.closing(t).Eval
	if sum.Name != "first" || len(sum.More) != 1 || sum.More[0].Name != "second" || !strings.Contains(run.stdout, "second pass@1") {
		t.Errorf("closing table has %+v", sum)
	}
	alone := trainTiny(t, model, "--num-rollout", "4", "--eval-prompt-data", "first", "testdata/tiny/held-out.jsonl", "--n-samples-per-eval-prompt", "4",
		"--eval-temperature", "0.7").closing(t).Eval
	if !reflect.DeepEqual(alone.After, sum.After) {
		t.Errorf("alone the first set gives %v, beside another %v", alone.After, sum.After)
	}
}

// A run of two sets that is killed while it evaluates, and resumed, neither loses an evaluation nor counts one twice; what was evaluated is not evaluated again.
func TestEvalOfTwoSetsResumes(t *testing.T) {
	model, sets := tiny(t), twoSets(t)
	want := trainTiny(t, model, sets...)
	dir := killIn(t, model, "sync", "eval 6", sets...)
	r := succeed(t, flags(model, dir, append(sets, "--resume")...)...)
	sameRun(t, finished{dir, r}, want)
	counts := map[int]int{}
	for _, row := range rows(t, dir) {
		if row.Kind == metrics.Eval {
			counts[row.Cycle]++
		}
	}
	for _, cycle := range []int{0, 2, 4, 8, 10} {
		if counts[cycle] != 1 {
			t.Errorf("cycle %d was evaluated %d times, want once", cycle, counts[cycle])
		}
	}
	if counts[6] < 1 || counts[6] > 2 {
		t.Errorf("cycle 6, in which the run was killed, was evaluated %d times, want once or twice", counts[6])
	}
}

// Where one of two sets is missing after a cycle, both are evaluated; where both are there, none is.
func TestEvaluatedMeansEverySet(t *testing.T) {
	model, sets := tiny(t), twoSets(t)
	whole := trainTiny(t, model, sets...)
	for _, lost := range []string{"", "first", "second"} {
		dir := killIn(t, model, "sync", "train 7", sets...)
		if lost != "" {
			if err := os.Remove(filepath.Join(dir, rundir.EvalFile(lost, 6))); err != nil {
				t.Fatal(err)
			}
		}
		r := succeed(t, flags(model, dir, append(sets, "--resume")...)...)
		n := 0
		for _, row := range rows(t, dir) {
			if row.Kind == metrics.Eval && row.Cycle == 6 {
				n++
			}
		}
		if want := map[string]int{"": 1, "first": 2, "second": 2}[lost]; n != want {
			t.Errorf("without the file of %q cycle 6 was evaluated %d times in all, want %d", lost, n, want)
		}
		sameRun(t, finished{dir, r}, whole)
	}
}

// evalArgs evaluate the small model.
func evalArgs(model string, more ...string) []string {
	return append([]string{
		"eval", "--recipe", "none", "--hf-checkpoint", model, "--eval-prompt-data", "held-out", "testdata/tiny/held-out.jsonl", "--input-key", "question",
		"--label-key", "answer", "--rm-type", "math", "--n-samples-per-eval-prompt", "4", "--rollout-max-response-len", "12", "--context-length", "64", "--quiet", "--json",
	}, more...)
}

// reported returns the result that furlong eval printed as JSON.
func reported(t *testing.T, r result) *evaluated {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var e evaluated
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil || e.Result == nil {
		t.Fatalf("last line is %.80q, want a result: %v", lines[len(lines)-1], err)
	}
	return &e
}

// A checkpoint that servers evaluate is worth what it is worth inside, sample by sample; so is it through servers that had other weights before.
func TestEvalOverServers(t *testing.T) {
	model := tiny(t)
	want := reported(t, succeed(t, evalArgs(model)...))
	h := serving(t, model, t.TempDir())
	for range 2 {
		got := reported(t, succeed(t, evalArgs(model, "--rollout-url", h.url)...))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("over a server: %v, want %v", got.Result, want.Result)
		}
	}
	refuse(t, exitUsage, evalArgs(model, "--rollout-url", h.url, "--sglang-page-size", "4"), "--sglang-page-size changes nothing: the servers of --rollout-url have it")
}

// An evaluation of a run, by its file, is held against one of its checkpoint, and against an earlier one of the run.
func TestCompareFilesOfRuns(t *testing.T) {
	run := trainTiny(t, tiny(t), "--num-rollout", "2", "--n-samples-per-eval-prompt", "4")
	file := func(cycle int) string { return filepath.Join(run.dir, rundir.EvalFile("held-out", cycle)) }
	out := filepath.Join(t.TempDir(), "eval.json")
	succeed(t, evalArgs(filepath.Join(run.dir, "checkpoints", "step-000002", "trainer", "model"), "--rollout-max-response-len", "16", "--output", out)...)
	for _, pair := range [][]string{{file(2), out}, {out, file(2)}} {
		r := succeed(t, "eval", "--compare", pair[0], pair[1], "--json")
		var c struct{ Sets []*eval.Comparison }
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil || len(c.Sets) != 1 {
			t.Fatalf("%v:\n%s", err, r.stdout)
		}
		if s := c.Sets[0]; s.Better+s.Worse != 0 || s.Scores[0].P != 1 || len(s.Scores) != 3 {
			t.Errorf("one evaluation against itself: %+v", s)
		}
	}
	r := succeed(t, "eval", "--compare", file(0), file(2))
	if lines := strings.Split(r.stdout, "\n"); !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "held-out: 2 problems, ") }) {
		t.Errorf("the comparison prints\n%s", r.stdout)
	}
}
