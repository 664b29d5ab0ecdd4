package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that goes on from another's checkpoint ends as that run would have, and leaves that run as it is.
func TestLoadFromAnotherRun(t *testing.T) {
	model := tiny(t)
	for _, loop := range []string{"sync", "one-step-off"} {
		t.Run(loop, func(t *testing.T) {
			unlessShort(t, "sync")
			t.Parallel()
			want := trainTiny(t, model, "--loop", loop).closing(t).Digest
			other := trainTiny(t, model, "--loop", loop, "--num-rollout", "7", "--save-keep", "9")
			before, err := digest(other.dir)
			if err != nil {
				t.Fatal(err)
			}
			for name, load := range map[string][]string{
				"newest":        {"--load", other.dir, "--start-rollout-id", "7"},
				"of a cycle":    {"--load", other.dir, "--ckpt-step", "3"},
				"by its folder": {"--load", checkpoints(other.dir), "--ckpt-step", "6"},
				"by itself":     {"--load", filepath.Join(checkpoints(other.dir), "step-000003")},
			} {
				if name == "newest" && loop != "sync" {
					continue // the other run ended there, and drew no batch ahead
				}
				got := trainTiny(t, model, append(load, "--loop", loop, "--no-quiet")...)
				if d := got.closing(t).Digest; d != want {
					t.Errorf("%s: weights have SHA-256 %s, want %s", name, d, want)
				}
				if !strings.Contains(got.stderr, "start 1: goes on from another run") || !strings.Contains(got.stderr, "the next version is 1.") {
					t.Errorf("%s: banner says\n%s", name, banner(got.result))
				}
			}
			if after, err := digest(other.dir); after != before || err != nil {
				t.Errorf("the other run was changed, %v", err)
			}
		})
	}
}

// What was killed before its first checkpoint loads the other run's again when it resumes; later it does not.
func TestLoadedRunsResume(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model).closing(t).Digest
	other := trainTiny(t, model, "--num-rollout", "3")
	for _, step := range []string{"train 5", "train 8"} {
		dir := filepath.Join(t.TempDir(), "run")
		args := flags(model, dir, "--load", other.dir)
		if r := strikeAt(t, step, 0, "kill", args); r.code != -1 {
			t.Fatalf("%s: exits with %d, want it killed:\n%s", step, r.code, r.stderr)
		}
		if step == "train 8" { // from now on it stands alone
			if err := os.RemoveAll(other.dir); err != nil {
				t.Fatal(err)
			}
		}
		got := succeed(t, "train", "--run-dir", dir, "--resume", "--quiet", "--json")
		if d := got.closing(t).Digest; d != want {
			t.Errorf("%s: weights have SHA-256 %s, want %s\n%s", step, d, want, got.stderr)
		}
		distinctVersions(t, dir)
	}
}

func TestLoadIsRefused(t *testing.T) {
	model, none := tiny(t), filepath.Join(t.TempDir(), "new")
	other := trainTiny(t, model, "--num-rollout", "3")
	for name, tt := range map[string]struct {
		code int
		more []string
		want string
	}{
		"no such step":         {exitFailed, []string{"--load", other.dir, "--ckpt-step", "2"}, "holds no checkpoint of cycle 2, but of [3]"},
		"no checkpoint":        {exitFailed, []string{"--load", model}, "--load: " + model + " holds no checkpoint"},
		"step alone":           {exitUsage, []string{"--ckpt-step", "3"}, "--ckpt-step is 3 without --load"},
		"step of nothing":      {exitFailed, []string{"--load", none + "2", "--ckpt-step", "3"}, "holds nothing, want the checkpoint of cycle 3"},
		"other start":          {exitFailed, []string{"--load", other.dir, "--start-rollout-id", "0"}, "--start-rollout-id is 0, and the run's state is that before rollout 3"},
		"start without a load": {exitFailed, []string{"--start-rollout-id", "5"}, "--start-rollout-id is 5, and the run's state is that before rollout 0"},
		"weights alone":        {exitUsage, []string{"--load", other.dir, "--finetune"}, "--hf-checkpoint DIR/trainer/model begins another"},
		"no optimizer":         {exitUsage, []string{"--load", other.dir, "--no-load-optim"}, "a run goes on with all of its state or with none"},
	} {
		t.Run(name, func(t *testing.T) {
			refuse(t, tt.code, flags(model, none, tt.more...), tt.want)
			if there(none) {
				t.Errorf("%s was made", none)
				os.RemoveAll(none)
			}
		})
	}
}

// Launch lines name one folder for loading and saving: the first start finds nothing there, and later ones go on.
func TestLoadOfTheRunItself(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	want := trainTiny(t, model)
	args := flags(model, dir, "--load", dir)
	if r := strikeAt(t, "train 5", 0, "kill", args); r.code != -1 {
		t.Fatalf("exits with %d, want it killed:\n%s", r.code, r.stderr)
	}
	sameRun(t, finished{dir, succeed(t, args...)}, want)

	empty := t.TempDir()
	r := trainTiny(t, model, "--load", empty, "--num-rollout", "1", "--no-quiet")
	if !strings.Contains(r.stderr, "begins anew, since --load "+empty+" holds nothing yet") {
		t.Errorf("banner says\n%s", banner(r.result))
	}
}

// Each checkpoint that has its name has its export, whole and with the same bytes, also after a kill.
func TestSaveHF(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	exports := t.TempDir()
	more := []string{"--save-hf", filepath.Join(exports, "{rollout_id}", "weights-{cycle}"), "--save-keep", "9", "--async-save"}
	if r := strikeAt(t, "train 8", 0, "kill", flags(model, dir, more...)); r.code != -1 {
		t.Fatalf("exits with %d, want it killed:\n%s", r.code, r.stderr)
	}
	if err := os.Remove(filepath.Join(exports, "8", "weights-9", completeMarker)); err == nil {
		t.Fatal("a later checkpoint has been exported")
	}
	succeed(t, flags(model, dir, append(more, "--resume")...)...)
	for id, c := range map[string]string{"2": "3", "5": "6", "8": "9", "9": "10"} {
		got := filepath.Join(exports, id, "weights-"+c)
		if !there(got, completeMarker) {
			t.Errorf("%s is not marked as whole", got)
		}
		os.Remove(filepath.Join(got, completeMarker))
		saved := filepath.Join(checkpoints(dir), "step-"+strings.Repeat("0", 6-len(c))+c, "trainer", "model")
		a, errA := digestBelow(got)
		b, errB := digestBelow(saved)
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s is not the model of %s: %v, %v", got, saved, errA, errB)
		}
	}
	succeed(t, "eval", "--hf-checkpoint", filepath.Join(exports, "9", "weights-10"), "--recipe", "none", "--eval-prompt-data", "held-out", "testdata/tiny/held-out.jsonl",
		"--input-key", "question", "--label-key", "answer", "--rm-type", "math", "--rollout-max-response-len", "16", "--context-length", "64", "--quiet")
}

// digestBelow is digest of the names below dir alone.
func digestBelow(dir string) (string, error) {
	was, err := os.Getwd()
	if err != nil {
		return "", err
	}
	defer os.Chdir(was)
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	return digest(".")
}

// A directory with anything else in it is not written over.
func TestSaveHFRefuses(t *testing.T) {
	model, to := tiny(t), t.TempDir()
	mine := filepath.Join(to, "1", "notes.txt")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	refuse(t, exitFailed, flags(model, dir, "--save-interval", "1", "--save-hf", to+"/{cycle}"), "--save-hf: "+filepath.Dir(mine)+" holds notes.txt")
	refuse(t, exitUsage, flags(model, dir, "--save-hf", to), "want {cycle} or {rollout_id} in it")
	if b, err := os.ReadFile(mine); string(b) != "mine" || err != nil {
		t.Errorf("notes are %q, %v", b, err)
	}
}

// Checkpoints without the optimizer say so: when the run begins, and when somebody wants to go on from one.
func TestNoSaveOptim(t *testing.T) {
	run := trainTiny(t, tiny(t), "--no-save-optim", "--num-rollout", "3", "--no-quiet")
	if !strings.Contains(run.stderr, "without the optimizer (--no-save-optim), so that no run can go on from them") {
		t.Errorf("banner says\n%s", banner(run.result))
	}
	refuse(t, exitFailed, []string{"train", "--run-dir", run.dir, "--resume", "--num-rollout", "4", "--quiet"}, "optimizer.safetensors", "saved with --no-save-optim?")
	succeed(t, "inspect", filepath.Join(checkpoints(run.dir), "step-000003", "trainer", "model"))
}

// A file that is there before the first cycle is answered after it, and is gone then.
func TestSaveTriggerSentinel(t *testing.T) {
	now := filepath.Join(t.TempDir(), "now")
	if err := os.WriteFile(now, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run := trainTiny(t, tiny(t), "--save-trigger-sentinel", now, "--save-interval", "0", "--num-rollout", "3")
	if !there(checkpoints(run.dir), "step-000001") || there(checkpoints(run.dir), "step-000002") || there(now) {
		t.Errorf("checkpoints are not those after cycles 1 and 3, or the file that asks is still there")
	}
}
