package main

import (
	"path/filepath"
	"testing"

	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
)

// formatFlags returns the flags of formats of weights and of attention state.
func formatFlags(actor, rollout, kv string) []string {
	return []string{"--actor-format", actor, "--rollout-format", rollout, "--actor-kv-format", kv, "--rollout-kv-format", kv}
}

// A run with quantised weights that is killed and resumed is the run that was not: the masters, which packing does not keep, come with the checkpoint.
func TestQuantisedRunsResume(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct {
		name, loop, step string
		formats          []string
	}{
		{"fp8 save", "sync", "save 6", formatFlags("fp8", "fp8", "auto")},
		{"fp8 train", "one-step-off", "train 5", formatFlags("fp8", "fp8", "auto")},
		{"fp8 push", "sync", "push 6", formatFlags("fp8", "fp8", "fp8_e4m3")},
		{"fp8+fp4 train", "sync", "train 5", formatFlags("fp8+fp4", "fp8+fp4", "fp8_e4m3")},
		{"fp8+fp4 save", "one-step-off", "save 6", formatFlags("fp8+fp4", "fp8+fp4", "auto")},
		{"mixed train", "sync", "train 5", formatFlags("bf16", "fp8+fp4", "auto")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "fp8_save")
			t.Parallel()
			want := trainTiny(t, model, append(tt.formats, "--loop", tt.loop)...)
			dir := killIn(t, model, tt.loop, tt.step, tt.formats...)
			if at, err := orchestrator.Newest(checkpoints(dir)); err != nil || at < 3 {
				t.Fatalf("killed with a checkpoint of cycle %d, %v, want one of cycle 3 or later", at, err)
			}
			got := finished{dir, succeed(t, "train", "--run-dir", dir, "--resume", "--quiet", "--json")}
			sameRun(t, got, want)
			if g, w := attested(t, dir), attested(t, want.dir); g[len(g)-1] != w[len(w)-1] {
				t.Errorf("the last state attested is %s, want %s", g[len(g)-1], w[len(w)-1])
			}
		})
	}
}

// Engines of two formats differ, which is told as a figure and is no alarm; engines of one format don't.
func TestMixedFormatsAreNoAlarm(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct {
		formats []string
		gap     bool
	}{{formatFlags("bf16", "fp8", "auto"), true}, {formatFlags("fp8", "fp8", "fp8_e4m3"), false}} {
		run := trainTiny(t, model, append(tt.formats, "--num-rollout", "3")...)
		for _, r := range cycles(t, run.dir) {
			if got := r.Values["train/logp_diff/max"]; (got > 0) != tt.gap {
				t.Errorf("%v: cycle %d: gap is %v", tt.formats, r.Cycle, got)
			}
		}
		alarms, _, err := disk.ReadLines(filepath.Join(run.dir, rundir.AlarmsFile), rundir.ParseAlarm)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range alarms {
			if a.ID == "gap" {
				t.Errorf("%v: alarm %+v", tt.formats, a)
			}
		}
	}
}

// A run goes on in the format it began in: what its checkpoint holds was rounded so.
func TestOtherFormatsAreNotResumed(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct {
		began, goes []string
		want        string
	}{
		{formatFlags("fp8", "fp8", "auto"), []string{"--actor-format", "bf16"}, `"BF16 fp8", want BF16: a run goes on in the format it began in`},
		{formatFlags("bf16", "fp8", "auto"), []string{"--actor-format", "fp8"}, `"BF16", want BF16 fp8: a run goes on in the format it began in`},
		{formatFlags("fp8", "fp8", "auto"), []string{"--actor-format", "fp8-weights"}, `"BF16 fp8", want BF16 fp8-weights: a run goes on in the format it began in`},
	} {
		run := trainTiny(t, model, append(tt.began, "--num-rollout", "3")...)
		args := append([]string{"train", "--run-dir", run.dir, "--resume", "--num-rollout", "4", "--quiet"}, tt.goes...)
		refuse(t, exitFailed, args, tt.want)
		succeed(t, "train", "--run-dir", run.dir, "--resume", "--num-rollout", "4", "--quiet") // nothing was spoiled
	}
}
