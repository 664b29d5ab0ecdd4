package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/eval"
	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/reward"
	"furlong/rl"
)

// A file of prompts goes all the way: it is read, drawn for, judged, trained on and evaluated. What is reported as reward is what the grader says of
// the responses that were written down.
func TestDataFiles(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct {
		name, file, input, label, grader string
	}{
		{"gsm8k as math", "gsm8k-form.jsonl", "question", "answer", "math"},
		{"gsm8k", "gsm8k-form.jsonl", "question", "answer", "gsm8k"},
		{"dapo form", "dapo-form.jsonl", "prompt", "label", "furlong"},
		{"dapo as math", "dapo-form.jsonl", "prompt", "label", "math"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "dapo_form")
			t.Parallel()
			file := filepath.Join("testdata", "tiny", tt.file)
			run := trainTiny(t, model, "--prompt-data", file, "--input-key", tt.input, "--label-key", tt.label, "--rm-type", tt.grader,
				"--eval-prompt-data", "held-out", file, "--num-rollout", "3", "--rollout-batch-size", "3", "--context-length", "160", "--lr", "1e-4")
			for cycle, row := range cycles(t, run.dir) {
				got := judged(t, run.dir, samples.Name(uint32(cycle), ""), tt.grader)
				if want := row.Values["rollout/raw_reward"]; math.Abs(got-want) > 1e-12 || row.Values["reward/invalid"] != 0 {
					t.Errorf("cycle %d: reward is reported as %v with %v invalid, want %v and none", cycle, want, row.Values["reward/invalid"], got)
				}
			}
			after := run.closing(t).Eval
			if got, want := after.After["pass@1"], judged(t, run.dir, samples.Name(3, "held-out"), tt.grader); math.Abs(got-want) > 1e-12 || after.Name != "held-out" {
				t.Errorf("%s: pass@1 is reported as %v, want %v", after.Name, got, want)
			}
		})
	}
}

// judged returns the mean reward of the samples of a body, judged again.
func judged(t *testing.T, dir, name, grader string) float64 {
	t.Helper()
	r, err := reward.New(grader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := samples.OpenBody(filepath.Join(dir, rundir.SamplesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sum, right := 0.0, 0
	for i := range b.Rows {
		s, err := b.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		again := &rl.Sample{Prompt: s.Prompt, Response: s.Response, Text: s.Text, Stop: s.Stop}
		if err := r.Reward(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if again.Reward != s.Reward || again.Verdict != s.Verdict {
			t.Errorf("%s: sample %d is %v with %v, judged again %v with %v", name, i, s.Verdict, s.Reward, again.Verdict, again.Reward)
		}
		sum += again.Reward
		if again.Verdict == rl.Right {
			right++
		}
	}
	if right == 0 || right == len(b.Rows) {
		t.Errorf("%s: %d of %d are right: this shows nothing", name, right, len(b.Rows))
	}
	return sum / float64(len(b.Rows))
}

// A held-out problem that cannot be judged counts neither as wrong nor as right: the closing table says what the evaluations said.
func TestUnjudgedProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "held-out.jsonl")
	lines := `{"id":"f","question":"Which digit goes with f?","answer":"1"}
{"id":"x","question":"Which digit goes with x?","answer":"none"}
`
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	run := trainTiny(t, tiny(t), "--num-rollout", "1", "--rm-type", "gsm8k", "--eval-prompt-data", "held-out", file, "--n-samples-per-eval-prompt", "8")
	closing := run.closing(t).Eval
	for _, r := range rows(t, run.dir) {
		if r.Kind != metrics.Eval {
			continue
		}
		figures := closing.Before
		if r.Cycle == 1 {
			figures = closing.After
		}
		if got, want := figures["pass@1"], r.Values["eval/held-out-pass@1"]; got != want || want == 0 || r.Values["eval/held-out-invalid_ratio"] != 0.5 {
			t.Errorf("cycle %d: pass@1 is %v with %v invalid, in the closing table %v", r.Cycle, want, r.Values["eval/held-out-invalid_ratio"], got)
		}
	}
	if closing.Diff["pass@1"] == nil || closing.Diff["pass@8"] == nil {
		t.Errorf("difference is %v, want pass@1 to pass@8", closing.Diff)
	}
}

// furlong eval finds in a run's checkpoint what the run found in it.
func TestEvalAgreesWithTheRun(t *testing.T) {
	run := trainTiny(t, tiny(t), "--num-rollout", "2", "--n-samples-per-eval-prompt", "4")
	r := succeed(t, "eval", "--recipe", "none", "--hf-checkpoint", filepath.Join(run.dir, "checkpoints", "step-000002", "trainer", "model"),
		"--eval-prompt-data", "held-out", "testdata/tiny/held-out.jsonl", "--input-key", "question", "--label-key", "answer", "--rm-type", "math",
		"--n-samples-per-eval-prompt", "4", "--rollout-max-response-len", "16", "--context-length", "64", "--quiet", "--json")
	var got eval.Result
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	want := run.closing(t).Eval.After
	for _, s := range got.Scores {
		at := fmt.Sprintf("pass@%d", s.K)
		if s.Value != want[at] || s.Low != want[at+"_lo"] || s.High != want[at+"_hi"] {
			t.Errorf("%s is %v, want %v [%v, %v]", at, s.Interval, want[at], want[at+"_lo"], want[at+"_hi"])
		}
	}
	if len(got.Scores) != 3 {
		t.Errorf("%d scores, want pass@1, pass@2 and pass@4", len(got.Scores))
	}
}
