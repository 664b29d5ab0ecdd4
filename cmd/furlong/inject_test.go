package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rundir "furlong/metrics/run"
)

// A run that is given the samples of another one ends with its weights, whatever its own engine draws, and says how far the two agreed.
func TestInjectedRuns(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	run, details := dumped(t, model, "--num-rollout", "5")
	from := filepath.Join(details, "rollout_data", "{rollout_id}.safetensors")
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"the same engine":     {[]string{"--ci-inject-rollout-data-start-rollout-id", "2", "--ci-inject-rollout-data-min-match-ratio", "1"}, `"match":1,`},
		"an engine in fp8":    {[]string{"--ci-inject-rollout-data-start-rollout-id", "0", "--ci-inject-rollout-data-min-match-ratio", "0.3", "--rollout-format", "fp8", "--rollout-temperature", "1"}, `"at_least":0.3`},
		"one cycle ahead":     {[]string{"--ci-inject-rollout-data-start-rollout-id", "0", "--ci-inject-rollout-data-min-match-ratio", "0.3", "--loop", "one-step-off"}, `"least_match":0.8`},
		"weights of the past": {[]string{"--ci-inject-rollout-data-start-rollout-id", "0", "--ci-inject-rollout-data-min-match-ratio", "0", "--debug-skip-weight-update"}, `"least_match":0`},
	} {
		t.Run(name, func(t *testing.T) {
			got := trainTiny(t, model, append([]string{"--num-rollout", "5", "--ci-inject-rollout-data-path", from}, tt.args...)...)
			if g, w := got.closing(t).Digest, run.closing(t).Digest; g != w {
				t.Errorf("weights have SHA-256 %s, want %s", g, w)
			}
			log, err := os.ReadFile(filepath.Join(got.dir, rundir.LogFile))
			if err != nil || !strings.Contains(string(log), tt.says) {
				t.Errorf("%v, the log does not say %s:\n%.5000s", err, tt.says, log)
			}
		})
	}
}

// A recording of other prompts ends the run, and so does an engine that draws other tokens than recorded: it serves other weights.
func TestInjectionNotices(t *testing.T) {
	unlessShort(t)
	model := tiny(t)
	_, details := dumped(t, model, "--num-rollout", "5")
	from := filepath.Join(details, "rollout_data", "{rollout_id}.safetensors")
	inject := func(args ...string) []string {
		return flags(model, filepath.Join(t.TempDir(), "run"), append([]string{"--ci-inject-rollout-data-path", from, "--ci-inject-rollout-data-start-rollout-id", "0"}, args...)...)
	}
	refuse(t, exitFailed, inject("--num-rollout", "5", "--rollout-seed", "8"), "was drawn: want the recording of a run with the same prompts in the same order")
	refuse(t, exitFailed, inject("--num-rollout", "5", "--debug-skip-weight-update", "--ci-inject-rollout-data-min-match-ratio", "1"), "want at least 1: does the rollout engine serve the trainer's weights?")
	refuse(t, exitFailed, inject("--num-rollout", "6"), "--ci-inject-rollout-data-path: recorded rollouts of cycle 6, to be injected")
}

func TestInjectionRefusesFlags(t *testing.T) {
	refuse(t, exitUsage, []string{"train", "--ci-inject-rollout-data-path", "a", "--ci-inject-rollout-data-min-match-ratio", "2", "--debug-rollout-only"},
		`--ci-inject-rollout-data-path is "a", want a path with {cycle} or {rollout_id} in it`, "--ci-inject-rollout-data-start-rollout-id is -1, want 0 or more",
		"--ci-inject-rollout-data-min-match-ratio is 2, want 0 to 1", "which leave out one of them")
	refuse(t, exitUsage, []string{"train", "--ci-inject-rollout-data-start-rollout-id", "3"}, "there is no --ci-inject-rollout-data-path")
	refuse(t, exitUsage, []string{"train", "--num-rollout", "3", "--ci-inject-rollout-data-path", "{cycle}", "--ci-inject-rollout-data-start-rollout-id", "3"},
		"--ci-inject-rollout-data-path changes nothing: --ci-inject-rollout-data-start-rollout-id is 3, and --num-rollout 3 ends before")
}

// otherModel returns a copy of a model of which one file is edited.
func otherModel(t *testing.T, model, file string, edit func([]byte) []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "other")
	if err := os.CopyFS(dir, os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, file))
	if err != nil || len(found) == 0 {
		t.Fatalf("%v, %v: no %s in the model", found, err, file)
	}
	if err := os.WriteFile(found[0], edit(readFile(t, found[0])), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Recordings belong to the policy that their run began with: another one of the same vocabulary is refused by name, whether its shape differs or its weights do.
func TestRecordingsOfAnotherModel(t *testing.T) {
	model := tiny(t)
	run, details := dumped(t, model, "--num-rollout", "2")
	from := filepath.Join(details, "rollout_data", "{rollout_id}.safetensors")
	weights := otherModel(t, model, "*.safetensors", func(b []byte) []byte { b[len(b)-2] ^= 1; return b })
	shape := otherModel(t, model, "config.json", func(b []byte) []byte {
		return []byte(strings.Replace(string(b), `"rms_norm_eps": 1e-06`, `"rms_norm_eps": 1e-05`, 1))
	})
	for other, what := range map[string]string{weights: "other weights", shape: "another shape"} {
		want := "was recorded by a run that began with a policy of " + what + " (" + model
		load := flags(other, filepath.Join(t.TempDir(), "run"), "--num-rollout", "2", "--load-debug-rollout-data", from)
		refuse(t, exitFailed, load, want)
		inject := flags(other, filepath.Join(t.TempDir(), "run"), "--num-rollout", "2", "--ci-inject-rollout-data-path", from, "--ci-inject-rollout-data-start-rollout-id", "0")
		refuse(t, exitFailed, inject, want)
		refuse(t, exitFailed, []string{"replay", run.dir, "--hf-checkpoint", other, "--load-debug-rollout-data", from}, want)
	}
	moved := otherModel(t, model, "config.json", func(b []byte) []byte { return append(b, '\n') })
	succeed(t, flags(moved, filepath.Join(t.TempDir(), "run"), "--num-rollout", "2", "--load-debug-rollout-data", from)...)
}
