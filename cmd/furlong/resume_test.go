package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
)

// strikeAt runs a run that sends itself signals some time after a step has begun.
func strikeAt(t *testing.T, step string, after time.Duration, signals string, args []string) result {
	t.Helper()
	return execute(t, exec.Command("furlong-struck", append([]string{step, after.String(), signals}, args[1:]...)...))
}

// steps are where a run is killed.
var steps = []struct {
	loop, step string
}{
	{"sync", "await 5"}, // generates and grades
	{"sync", "train 5"},
	{"sync", "publish 5"},
	{"sync", "save 6"},
	{"sync", "push 6"},
	{"sync", "eval 6"},
	{"sync", "eval 10"},
	{"one-step-off", "train 5"}, // and generates
	{"one-step-off", "sync 6"},
	{"one-step-off", "save 6"},
	{"one-step-off", "push 6"},
	{"one-step-off", "eval 6"},
	{"one-step-off", "push 10"},
}

// A run that is killed in its middle, whatever it does just then, and resumed, is the run that was not.
func TestKilledRunsResume(t *testing.T) {
	model := tiny(t)
	want := map[string]finished{}
	for _, loop := range []string{"sync", "one-step-off"} {
		want[loop] = trainTiny(t, model, "--loop", loop)
	}
	for _, tt := range steps {
		t.Run(tt.loop+"/"+tt.step, func(t *testing.T) {
			unlessShort(t, "save_6", "sync/train_5")
			t.Parallel()
			dir := killIn(t, model, tt.loop, tt.step)
			r := succeed(t, flags(model, dir, "--loop", tt.loop, "--resume")...)
			if !strings.Contains(r.stderr, "run taken over from a process that died") {
				t.Errorf("the takeover is not told:\n%s", r.stderr)
			}
			sameRun(t, finished{dir, r}, want[tt.loop])
		})
	}
}

// killIn returns the directory of a run that was killed in a step: as late in it as a few tries can, at its beginning if need be.
func killIn(t *testing.T, model, loop, step string, more ...string) string {
	t.Helper()
	for _, after := range []time.Duration{10 * time.Millisecond, 3 * time.Millisecond, time.Millisecond, 0} {
		dir := filepath.Join(t.TempDir(), "run")
		r := strikeAt(t, step, after, "kill", flags(model, dir, append(more, "--loop", loop)...))
		if r.code == -1 && !ended(t, dir, step) {
			return dir
		}
	}
	t.Fatalf("no run could be killed in %s", step)
	return ""
}

// ended reports whether a step has left its span.
func ended(t *testing.T, dir, step string) bool {
	t.Helper()
	spans, _, err := disk.ReadLines(filepath.Join(dir, rundir.SpansFile(1)), rundir.ParseSpan) // the last line may be torn
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		if fmt.Sprintf("%s %d", s.Name, s.Cycle) == step {
			return true
		}
	}
	return false
}

// A run that is killed again and again, also while it resumes, still is the run that was not.
func TestKilledAgain(t *testing.T) {
	model := tiny(t)
	for _, loop := range []string{"sync", "one-step-off"} {
		t.Run(loop, func(t *testing.T) {
			unlessShort(t, "one-step-off")
			t.Parallel()
			want, dir := trainTiny(t, model, "--loop", loop), killIn(t, model, loop, "train 2")
			for _, step := range []string{"push 0", "train 4", "push 3", "save 6", "eval 6"} {
				if r := strikeAt(t, step, 0, "kill", flags(model, dir, "--loop", loop, "--resume")); r.code != -1 {
					t.Fatalf("%s: exits with %d, want it killed:\n%s", step, r.code, r.stderr)
				}
			}
			sameRun(t, finished{dir, succeed(t, flags(model, dir, "--loop", loop, "--resume")...)}, want)
		})
	}
}

// An interrupt ends a run with a checkpoint, whatever it does just then, and the resumed run is the one that was not interrupted. It knows its settings.
func TestInterruptedRunsResume(t *testing.T) {
	model := tiny(t)
	want := map[string]finished{}
	for _, loop := range []string{"sync", "one-step-off"} {
		want[loop] = trainTiny(t, model, "--loop", loop)
	}
	for _, tt := range []struct {
		loop, step, signal string
		saved              int
	}{
		{"sync", "await 5", "int", 4},
		{"sync", "train 5", "term", 4},
		{"sync", "push 5", "int", 5},
		{"sync", "save 6", "int", 6},
		{"one-step-off", "train 5", "int", 4},
		{"one-step-off", "sync 6", "term", 5},
		{"one-step-off", "eval 6", "int", 6},
	} {
		t.Run(tt.loop+"/"+tt.step, func(t *testing.T) {
			unlessShort(t, "sync_6")
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			r := strikeAt(t, tt.step, 0, tt.signal, flags(model, dir, "--loop", tt.loop))
			last := fmt.Sprintf("furlong train: interrupted\nfurlong train: checkpoint %s/checkpoints/step-%06d is there; furlong train --run-dir %[1]s --resume goes on from it\n", dir, tt.saved)
			if r.code != exitInterrupted || !strings.HasSuffix(r.stderr, last) {
				t.Fatalf("exits with %d, want %d and %s:\n%s", r.code, exitInterrupted, last, r.stderr)
			}
			status, err := rundir.ReadStatus(dir)
			if err != nil || status.State != rundir.Stopped {
				t.Errorf("status is %+v, %v, want %s", status, err, rundir.Stopped)
			}
			if saved, err := orchestrator.Newest(checkpoints(dir)); err != nil || saved != tt.saved {
				t.Errorf("newest checkpoint is of cycle %d, %v, want %d", saved, err, tt.saved)
			}
			sameRun(t, finished{dir, succeed(t, "train", "--run-dir", dir, "--resume")}, want[tt.loop])
		})
	}
}

// A second interrupt does not wait for what the first one waits for.
func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := strikeAt(t, "train 2", 0, "int,int", flags(tiny(t), dir))
	if r.code != exitInterrupted || !strings.HasSuffix(r.stderr, "furlong: interrupted twice, leaving at once\n") {
		t.Errorf("exits with %d, want %d:\n%s", r.code, exitInterrupted, r.stderr)
	}
	if saved, err := orchestrator.Newest(checkpoints(dir)); saved != 0 || err != nil {
		t.Errorf("newest checkpoint is of cycle %d, %v, want none", saved, err)
	}
}
