package journal

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/rl"
)

func newJournal(t *testing.T) (*Journal, string) {
	t.Helper()
	self, err := run.Self()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run")
	d, err := run.Create(path, run.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Self: self, Planned: 3,
		Text: func(id int32) []byte { return []byte{byte(id)} },
	})
	if err != nil {
		t.Skipf("a run directory can't be made here: %v", err)
	}
	t.Cleanup(func() { d.End(run.Finished, "test") })
	return &Journal{
		Dir: d, Log: slog.New(slog.DiscardHandler), Tell: func(int, string, rl.Stats) {},
		Load: func() [][]uint32 { return [][]uint32{{3, 1}, {2, 2}} },
	}, path
}

func report(cycle int, stats rl.Stats) *orchestrator.Report {
	p := &rl.Prompt{ID: "p", Text: "a", Tokens: []int32{'a'}, Label: "1"}
	s := &rl.Sample{
		Prompt: p, Response: []int32{'1'}, LogProbs: []float32{-1}, TrainLogProbs: []float32{-1}, Entropy: []float32{0.5},
		Versions: []rl.Span{{Version: 1, Tokens: 1}}, Stop: rl.StopLength, Text: "1", Verdict: rl.Right, Reward: 1,
	}
	return &orchestrator.Report{Cycle: cycle, Step: cycle, Version: 1, Samples: []*rl.Sample{s}, Stats: stats}
}

// What was told of a cycle can be read back: the row, the samples, the experts.
func TestCycleIsWrittenDown(t *testing.T) {
	j, path := newJournal(t)
	if err := j.Cycle(report(1, rl.Stats{"rollout/raw_reward": 1})); err != nil {
		t.Fatal(err)
	}
	rows, bad, err := metrics.ReadRows(filepath.Join(path, run.RowsFile))
	if err != nil || len(bad) > 0 || len(rows) != 1 || rows[0].Values["rollout/raw_reward"] != 1 {
		t.Errorf("rows %v, %v, %v", rows, bad, err)
	}
	body, err := samples.OpenBody(filepath.Join(path, run.SamplesDir, samples.Name(1, "")))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if len(body.Rows) != 1 || body.Rows[0].Reward != 1 {
		t.Errorf("samples %v, want one with reward 1", body.Rows)
	}
	e, err := run.ReadExperts(filepath.Join(path, run.ExpertsFile(1)))
	if err != nil || e.Layers != 2 || e.Tokens[0] != 3 {
		t.Errorf("experts %+v, %v", e, err)
	}
}

// An alarm is raised once, and cleared once.
func TestAlarms(t *testing.T) {
	j, path := newJournal(t)
	for cycle, gap := range []float64{0, 0.5, 0.5, 0} {
		if err := j.Cycle(report(cycle+1, rl.Stats{"train/logp_diff/max": gap, "rollout/staleness/max": 0})); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := kinds(alarmsOf(t, path)), "raised gap, cleared gap"; got != want {
		t.Errorf("alarms %s, want %s", got, want)
	}
}

// Between formats a gap is no fault, unless it is large; within one it is.
func TestMixedFormatsMayDiffer(t *testing.T) {
	for _, tt := range []struct {
		mixed bool
		mean  float64
		want  string
	}{{true, 0.05, ""}, {true, 0.2, "raised mixed-gap"}, {false, 0.05, "raised gap"}, {false, 0.2, "raised gap"}} {
		j, path := newJournal(t)
		j.Mixed = tt.mixed
		if err := j.Cycle(report(1, rl.Stats{"train/logp_diff/max": 1, "train/logp_diff/mean": tt.mean, "rollout/staleness/max": 0})); err != nil {
			t.Fatal(err)
		}
		if got := kinds(alarmsOf(t, path)); got != tt.want {
			t.Errorf("mixed %v, mean %v: alarms %q, want %q", tt.mixed, tt.mean, got, tt.want)
		}
	}
}

// A refused update is an alarm with its reason until one is taken; every update is a line of the log with what was published and attested.
func TestUpdatesAreWrittenDown(t *testing.T) {
	j, path := newJournal(t)
	j.Log = slog.New(j.Dir.LogHandler(slog.LevelInfo))
	good := orchestrator.Update{Cycle: 3, Version: 4, State: rl.Digest{0xab}, Tensors: 5, Bytes: 6, Attested: rl.Attestation{Version: 4, State: rl.Digest{0xab}, Effective: rl.Digest{0xcd}}}
	bad := good
	bad.Err = errors.New("lm_head.weight: digest is 1, want 2")
	for _, u := range []orchestrator.Update{good, bad, bad, good} {
		if err := j.Updated(&u); err != nil {
			t.Fatal(err)
		}
	}
	all := alarmsOf(t, path)
	if got, want := kinds(all), "raised update, cleared update"; got != want {
		t.Fatalf("alarms %s, want %s", got, want)
	}
	if a := all[0]; a.Severity != "error" || a.Cycle != 3 || a.Text != "version 4 does not serve: lm_head.weight: digest is 1, want 2" {
		t.Errorf("the alarm is %+v", a)
	}
	log, err := os.ReadFile(filepath.Join(path, run.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"weights updated": 2, "update refused": 2, `"state":"ab000000000000000000000000000000"`: 2, `"effective":"cd000000000000000000000000000000"`: 2,
		`"why":"lm_head.weight: digest is 1, want 2"`: 2, `"version":"4"`: 4, `"bytes":6`: 2,
	} {
		if got := strings.Count(string(log), text); got != want {
			t.Errorf("the log has %d times %s, want %d:\n%s", got, text, want, log)
		}
	}
}

// The status says which version serves: the last that was taken, whatever was refused since.
func TestStatusSaysWhatServes(t *testing.T) {
	j, path := newJournal(t)
	for v, refused := range []error{nil, nil, errors.New("digest is 1, want 2")} {
		if err := j.Updated(&orchestrator.Update{Cycle: v, Version: rl.NewVersion(0, v+1), Err: refused}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Dir.Beat(); err != nil {
		t.Fatal(err)
	}
	s, err := run.ReadStatus(path)
	if err != nil || s.Serving != 2 {
		t.Errorf("status says that version %v serves, %v, want 2", s.Serving, err)
	}
}

func alarmsOf(t *testing.T, path string) []run.Alarm {
	t.Helper()
	all, _, err := disk.ReadLines(filepath.Join(path, run.AlarmsFile), run.ParseAlarm)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func kinds(all []run.Alarm) string {
	var got []string
	for _, a := range all {
		got = append(got, a.Kind+" "+a.ID)
	}
	return strings.Join(got, ", ")
}

func TestWatches(t *testing.T) {
	for id, s := range map[string]rl.Stats{
		"gap": {"train/logp_diff/max": 1e-7, "rollout/staleness/max": 0}, "mixed-gap": {"train/logp_diff/mean": 0.2}, "nonfinite": {"train/nonfinite_tokens": 1}, "skipped": {"train/skipped_steps": 1},
		"invalid": {"reward/invalid": 0.06}, "truncated": {"rollout/truncated_ratio": 0.3}, "no-signal": {"rollout/zero_std/ratio": 1, "train/grad_norm": 0},
		"flat-loss": {"rollout/zero_std/ratio": 0.5, "train/grad_norm": 0},
	} {
		for _, w := range watches {
			if got := w.look(s) != ""; got != (w.id == id) {
				t.Errorf("%s: watch %s says %v", id, w.id, got)
			}
		}
	}
	if w := watches[0]; w.look(rl.Stats{"train/logp_diff/max": 1, "rollout/staleness/max": 1}) != "" {
		t.Error("samples of an older version raise the alarm of equal weights")
	}
	if w := watches[0]; w.look(rl.Stats{"train/logp_diff/max": 1, "rollout/staleness/max": 0, "rollout/staleness/steps": 1}) != "" {
		t.Error("samples of weights that the trainer has left raise the alarm of equal weights")
	}
}
