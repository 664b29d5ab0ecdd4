package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/metrics"
	"furlong/metrics/rollouts"
	"furlong/rl"
)

// dumped runs the small model with all that it trains on written down, and returns the run and the folder.
func dumped(t *testing.T, model string, more ...string) (finished, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "details")
	return trainTiny(t, model, append([]string{"--dump-details", dir}, more...)...), dir
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func readRollouts(t *testing.T, path string) []*rl.Sample {
	t.Helper()
	r, err := rollouts.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return r.Samples
}

// Training on what a run wrote down ends with its weights, by the same figures: from its dumps, from its bodies, over a resume, and where choices of experts are
// replayed, which bodies do not have.
func TestTrainOnlyIsTheRun(t *testing.T) {
	model := tiny(t)
	for name, more := range map[string][]string{
		"sync": nil, "one-step-off": {"--loop", "one-step-off"}, "replay": {"--use-rollout-routing-replay", "--rollout-format", "fp8"},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "sync")
			more := append([]string{"--num-rollout", "5"}, more...)
			run, details := dumped(t, model, more...)
			want := run.closing(t).Digest
			again := func(from string, also ...string) finished {
				return trainTiny(t, model, append(append([]string{"--debug-train-only", "--load-debug-rollout-data", from}, more...), also...)...)
			}
			after := filepath.Join(t.TempDir(), "{rollout_id}.safetensors")
			got := again(filepath.Join(details, "rollout_data", "{rollout_id}.safetensors"), "--save-debug-train-data", after)
			if g := got.closing(t).Digest; g != want || g == "" {
				t.Errorf("weights have SHA-256 %s, want %s", g, want)
			}
			for c, row := range cycles(t, run.dir) {
				for _, name := range metrics.Differ(row, cycles(t, got.dir)[c]) {
					if !strings.HasPrefix(name, "update/") {
						t.Errorf("cycle %d: %s differs", c, name)
					}
				}
			}
			for c := 1; c <= 5; c++ {
				a, b := readRollouts(t, rollouts.Path(after).Of(c)), readRollouts(t, rollouts.Path(filepath.Join(details, "train_data", "{rollout_id}.safetensors")).Of(c))
				if !reflect.DeepEqual(a, b) || a[0].TrainLogProbs == nil {
					t.Errorf("cycle %d: the trainer left other samples", c)
				}
			}
			if g := again(filepath.Join(run.dir, "samples", "c{cycle:06}.fls")).closing(t).Digest; g != want {
				t.Errorf("from bodies, weights have SHA-256 %s, want %s", g, want)
			}
			if name == "replay" {
				bare := trainTiny(t, model, append(slices.Clone(more), "--keep-experts", "none")...)
				from := filepath.Join(bare.dir, "samples", "c{cycle:06}.fls")
				refuse(t, exitFailed, flags(model, filepath.Join(t.TempDir(), "run"), append([]string{"--load-debug-rollout-data", from}, more...)...), "sample 0")
			}
		})
	}
}

// A train-only run that is broken off goes on to the same end.
func TestTrainOnlyResumes(t *testing.T) {
	model := tiny(t)
	run, details := dumped(t, model)
	dir := filepath.Join(t.TempDir(), "run")
	only := []string{"--load-debug-rollout-data", filepath.Join(details, "rollout_data", "{rollout_id}.safetensors")}
	succeed(t, flags(model, dir, append(only, "--debug-exit-after-rollout", "4")...)...)
	got := succeed(t, "train", "--run-dir", dir, "--resume", "--debug-exit-after-rollout", "0", "--quiet", "--json").closing(t)
	if want := run.closing(t).Digest; got.Digest != want {
		t.Errorf("weights have SHA-256 %s, want %s", got.Digest, want)
	}
}

// What a run without a trainer draws first is what the run draws first, to the bit; what it draws later is by the same weights still.
func TestRolloutOnlyDrawsTheSame(t *testing.T) {
	model := tiny(t)
	_, details := dumped(t, model)
	only := filepath.Join(t.TempDir(), "d", "{cycle}.safetensors")
	r := trainTiny(t, model, "--debug-rollout-only", "--save-debug-rollout-data", only)
	path := func(cycle int) string { return rollouts.Path(only).Of(cycle) }
	a, b := readRollouts(t, path(1)), readRollouts(t, filepath.Join(details, "rollout_data", "0.safetensors"))
	for i := range b { // what the engine still had of a prompt depends on which sample was done first
		a[i].CachedTokens = b[i].CachedTokens
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("the first cycle is another one")
	}
	for c := 1; c <= 10; c++ {
		for _, s := range readRollouts(t, path(c)) {
			if s.Versions[0].Version.Count() != 1 {
				t.Errorf("cycle %d: a sample is of version %v, want the first", c, s.Versions[0].Version)
			}
		}
	}
	if before := trainTiny(t, model, "--num-rollout", "1", "--lr", "0").closing(t).Digest; r.closing(t).Digest != before {
		t.Error("the weights moved")
	}
	for c, row := range cycles(t, r.dir) {
		if _, ok := row.Values["train/loss"]; ok {
			t.Errorf("cycle %d has a loss", c)
		}
	}
}

// Without pushes every sample is of the first version; without the optimizer the weights stay, and gradients are computed all the same.
func TestSkippedParts(t *testing.T) {
	model := tiny(t)
	for flag, check := range map[string]func(t *testing.T, r finished, row metrics.Row){
		"--debug-skip-weight-update": func(t *testing.T, _ finished, row metrics.Row) {
			if v := row.Values["rollout/weight_version/max"]; v != 1 {
				t.Errorf("samples of version %v, want 1", v)
			}
		},
		"--debug-disable-optimizer": func(t *testing.T, r finished, row metrics.Row) {
			if row.Values["train/lr-pg_0"] != 0 || row.Values["train/grad_norm"] == 0 && row.Cycle == 1 {
				t.Errorf("learning rate %v, gradient norm %v", row.Values["train/lr-pg_0"], row.Values["train/grad_norm"])
			}
			if before := trainTiny(t, model, "--num-rollout", "1", "--lr", "0").closing(t).Digest; r.closing(t).Digest != before {
				t.Error("the weights moved")
			}
		},
	} {
		t.Run(flag, func(t *testing.T) {
			r := trainTiny(t, model, "--num-rollout", "3", flag)
			for _, row := range cycles(t, r.dir) {
				check(t, r, row)
			}
		})
	}
}

// A share of the groups is trained on where that is asked for.
func TestSubsample(t *testing.T) {
	model := tiny(t)
	_, details := dumped(t, model, "--num-rollout", "2")
	r := trainTiny(t, model, "--num-rollout", "2", "--load-debug-rollout-data", filepath.Join(details, "rollout_data", "{rollout_id}.safetensors"), "--load-debug-rollout-data-subsample", "0.5")
	if n := cycles(t, r.dir)[1].Values["rollout/samples"]; n != 4 {
		t.Errorf("%v samples, want 4 of 8", n)
	}
}

// What is wrong with recordings or with what is asked for is said before there is a run.
func TestDebugRefuses(t *testing.T) {
	model := tiny(t)
	_, details := dumped(t, model, "--num-rollout", "2")
	from := filepath.Join(details, "rollout_data", "{rollout_id}.safetensors")
	torn, pickle := filepath.Join(t.TempDir(), "torn.safetensors"), filepath.Join(t.TempDir(), "0.pt")
	raw := readFile(t, rollouts.Path(from).Of(1))
	raw[len(raw)-3] ^= 4
	for path, content := range map[string][]byte{torn: raw, pickle: []byte("PK\x03\x04not a zip of ours")} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		code int
		args string
		want string
	}{
		{exitUsage, "--debug-train-only", "--debug-train-only needs --load-debug-rollout-data"},
		{exitUsage, "--debug-train-only --debug-rollout-only --load-debug-rollout-data " + from, "want one of them"},
		{exitUsage, "--load-debug-rollout-data x{y}", "--load-debug-rollout-data: \"x{y}\" has {y}"},
		{exitUsage, "--save-debug-rollout-data x", "want {cycle} or {rollout_id} in it"},
		{exitUsage, "--load-debug-rollout-data-subsample 0.5", "there is no --load-debug-rollout-data"},
		{exitUsage, "--load-debug-rollout-data x --load-debug-rollout-data-subsample 0", "want more than 0"},
		{exitUsage, "--debug-exit-after-rollout -1", "want 0 or more"},
		{exitFailed, "--load-debug-rollout-data " + from, "recorded rollouts of cycle 3 of 10"},
		{exitFailed, "--num-rollout 2 --rollout-batch-size 4 --load-debug-rollout-data " + from, "holds 2 groups, want --rollout-batch-size (4)"},
		{exitFailed, "--num-rollout 2 --n-samples-per-prompt 2 --load-debug-rollout-data " + from, "--n-samples-per-prompt"},
		{exitFailed, "--num-rollout 2 --load-debug-rollout-data " + torn, "is damaged"},
		{exitFailed, "--num-rollout 2 --load-debug-rollout-data " + pickle, "0.pt"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		refuse(t, tt.code, flags(model, dir, strings.Fields(tt.args)...), tt.want)
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s left a directory", tt.args)
		}
	}
}

// replayOf runs furlong replay and returns what it found.
func replayOf(t *testing.T, code int, args ...string) (found replayReport) {
	t.Helper()
	r := furlong(t, append([]string{"replay", "--json", "--quiet"}, args...)...)
	if r.code != code {
		t.Fatalf("furlong replay %v exits with %d, want %d:\n%s", args, r.code, code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil {
		t.Fatalf("%q: %v", r.stdout, err)
	}
	return found
}

// Every cycle of a run is trained again to the same bits, from whatever checkpoint, on recorded samples and on ones that are drawn again.
func TestReplayedCycleIsTheSame(t *testing.T) {
	model := tiny(t)
	run := trainTiny(t, model, "--save-keep", "9")
	for _, args := range [][]string{{"--cycle", "1"}, {"--cycle", "3"}, {"--cycle", "8"}, nil, {"--cycle", "5", "--generate"}, {"--cycle", "2", "--generate"}} {
		found := replayOf(t, exitOK, append(args, run.dir)...)
		for _, c := range found.Cycles {
			if c.Differs || c.State[0] == "" || c.State[0] != c.State[1] || len(c.Figures) < 20 || c.Trainer.Tokens == 0 {
				t.Errorf("%v: cycle %d: %+v", args, c.Cycle, c)
			}
			if found.Drawn && (c.Draws.Samples != 8 || c.Draws.Missing+c.Draws.Differ != 0) {
				t.Errorf("%v: cycle %d: samples %+v", args, c.Cycle, c.Draws)
			}
		}
		if n := len(found.Cycles); n == 0 || n > 3 {
			t.Errorf("%v: %d cycles were trained again, want one to three: checkpoints are three apart", args, n)
		}
	}
}

// A replay tells a difference where there is one: in the run's figures, which is a failure, and from another setting, which is what was asked for.
func TestReplayTellsDifferences(t *testing.T) {
	model := tiny(t)
	run := trainTiny(t, model, "--num-rollout", "2")
	if found := replayOf(t, exitOK, run.dir, "--lr", "1e-3"); len(found.Changed) != 1 || !found.Cycles[1].Differs {
		t.Errorf("another learning rate: %+v", found)
	}
	at := filepath.Join(run.dir, "metrics.jsonl")
	raw := string(readFile(t, at))
	i := strings.LastIndex(raw, `"train/grad_norm":`) + len(`"train/grad_norm":`)
	if err := os.WriteFile(at, []byte(raw[:i]+"1"+raw[i:]), 0o644); err != nil {
		t.Fatal(err)
	}
	if found := replayOf(t, exitFailed, run.dir); found.Cycles[0].Differs || !found.Cycles[1].Differs {
		t.Errorf("another gradient norm: %+v", found)
	}
	refuse(t, exitFailed, []string{"replay", run.dir, "--cycle", "3"}, "its cycles are 1 to 2")
	refuse(t, exitFailed, []string{"replay", model}, "is no directory of a run")
	if err := os.RemoveAll(filepath.Join(run.dir, "samples")); err != nil {
		t.Fatal(err)
	}
	refuse(t, exitFailed, []string{"replay", run.dir}, "--generate draws them again")
	if found := replayOf(t, exitFailed, run.dir, "--generate"); found.Cycles[0].Differs || found.Cycles[0].Blind == "" {
		t.Errorf("without samples: %+v", found)
	}
}

// What is given to a replay acts on it, or is refused by name.
func TestReplayRefusesIdleFlags(t *testing.T) {
	model := tiny(t)
	run := trainTiny(t, model, "--num-rollout", "1")
	refuse(t, exitUsage, []string{"replay", run.dir, "--rollout-batch-size", "2", "--run-dir", "elsewhere", "--eval-interval", "3", "--rm-type", "math", "--use-wandb", "--lr", "1e-3"},
		"--rollout-batch-size has no effect on a replay; with --generate", "--run-dir has no effect on a replay", "--eval-interval has no effect on a replay",
		"--rm-type has no effect on a replay; with --generate", "--use-wandb has no effect")
	refuse(t, exitUsage, []string{"replay", run.dir, "--generate", "--save-interval", "3", "--load-debug-rollout-data", "x"}, "--save-interval has no effect on a replay", "--load-debug-rollout-data has no effect")
	if found := replayOf(t, exitOK, run.dir, "--generate", "--rollout-temperature", "0.5", "--threads", "1"); len(found.Changed) == 0 {
		t.Errorf("another temperature: %+v", found)
	}
	if found := replayOf(t, exitOK, run.dir, "--load-debug-rollout-data", filepath.Join(run.dir, "samples", "c{cycle:06}.fls")); found.Cycles[0].Differs {
		t.Errorf("from bodies that are named: %+v", found)
	}
}
