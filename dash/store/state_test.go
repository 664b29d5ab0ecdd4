package store

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/dash/dashgen"
	"furlong/metrics/run"
)

// begun is when the runs of the state machine's table began.
const begun = 1764403200

// The state of a run by lock, status and beat, in this order.
func TestLife(t *testing.T) {
	here := run.Holder{PID: 1, Host: "here", Boot: "boot", Started: begun, Attempt: 1}
	there := run.Holder{PID: 1, Host: "there", Boot: "other", Started: begun, Attempt: 1}
	ended := here
	ended.Ended = begun + 100
	for _, tt := range []struct {
		name   string
		state  string
		holder run.Holder
		held   bool
		late   float64 // seconds since the beat
		want   run.State
		tone   string
	}{
		{"lock held", "running", here, true, 10, run.Running, "ok"},
		{"lock held, whatever the status says", "finished", here, true, 10, run.Running, "ok"},
		{"lock held, beat old", "running", here, true, 3600, run.Running, ""},
		{"finished", "finished", ended, false, 3600, run.Finished, "ok"},
		{"stopped", "stopped", ended, false, 3600, run.Stopped, "warn"},
		{"failed", "failed", ended, false, 3600, run.Failed, "bad"},
		{"killed", "running", here, false, 2, run.Crashed, "bad"},
		{"other host, beat fresh", "running", there, false, 30, run.Running, "ok"},
		{"other host, beat old", "running", there, false, 200, run.Silent, "warn"},
	} {
		dir := t.TempDir()
		h, s := tt.holder, run.Status{State: run.State(tt.state), PID: 1, Host: tt.holder.Host, Boot: tt.holder.Boot, Started: begun, Beat: begun + 1000, Attempt: 1, Cycle: 3, Planned: 9, Phase: "train"}
		for name, v := range map[string]any{run.LockFile: h, run.StatusFile: s} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if tt.held {
			release, err := dashgen.Hold(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
		}
		r, err := Open(dir, "r", Options{Now: func() time.Time { return time.UnixMicro(int64((begun + 1000 + tt.late) * 1e6)) }, Self: run.Holder{Host: "here", Boot: "boot"}})
		if err != nil {
			t.Fatal(err)
		}
		head, err := r.Head(false)
		if err != nil {
			t.Fatal(err)
		}
		if head.State != string(tt.want) {
			t.Errorf("%s: state is %s, want %s", tt.name, head.State, tt.want)
		}
		if v := head.Verdict[0]; v.ID != "alive" || v.Big == "" || tt.tone != "" && v.Tone != tt.tone {
			t.Errorf("%s: verdict is %+v, want tone %s", tt.name, v, tt.tone)
		}
		if (head.Crash != nil) != (tt.want == run.Crashed || tt.want == run.Failed) {
			t.Errorf("%s: crash is %v", tt.name, head.Crash)
		} else if head.Crash != nil && !strings.Contains(head.Crash.Command, "furlong train --run-dir "+dir+" --resume") {
			t.Errorf("%s: command is %q", tt.name, head.Crash.Command)
		}
		r.Close()
	}
}

// Whatever is missing or broken, the head answers, says what, and the rest works.
func TestIncompleteRuns(t *testing.T) {
	write := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	row := `{"kind":"cycle","cycle":1,"attempt":1,"time":1764403300,"rollout/raw_reward":0.5}` + "\n"
	for name, tt := range map[string]struct {
		files    map[string]string
		rows     int
		problems []string // files
	}{
		"empty folder":      {nil, 0, nil},
		"settings only":     {map[string]string{run.ConfigFile: "{}"}, 0, nil},
		"no rows":           {map[string]string{run.StatusFile: `{"state":"running","phase":"start","planned":5}`}, 0, nil},
		"one row":           {map[string]string{run.RowsFile: row}, 1, nil},
		"torn row":          {map[string]string{run.RowsFile: row + row[:20]}, 1, nil},
		"bad line between":  {map[string]string{run.RowsFile: row + "oops\n" + strings.Replace(row, `"cycle":1`, `"cycle":2`, 1)}, 2, []string{run.RowsFile}},
		"row without cycle": {map[string]string{run.RowsFile: row + `{"kind":"cycle","attempt":1,"x":3}` + "\n"}, 1, []string{run.RowsFile}},
		"bad status":        {map[string]string{run.RowsFile: row, run.StatusFile: "{"}, 1, []string{run.StatusFile}},
		"bad alarms":        {map[string]string{run.RowsFile: row, run.AlarmsFile: "x\n{}\n"}, 1, []string{run.AlarmsFile}},
		"hostile key":       {map[string]string{run.RowsFile: strings.Replace(row, "rollout/raw", strings.Repeat("k", 300)+`<b>\u0000`, 1)}, 1, nil},
	} {
		r := open(t, write(tt.files))
		h, err := r.Head(true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range h.Problems {
			got = append(got, p.File)
		}
		if h.Rows != tt.rows || !slices.Equal(got, tt.problems) || len(h.Verdict) != 4 {
			t.Errorf("%s: %d rows, problems %v, %d verdicts, want %d, %v, 4", name, h.Rows, h.Problems, len(h.Verdict), tt.rows, tt.problems)
		}
		if _, err := r.Rows(Ask{Keys: []string{rewardKey}, From: math.NaN(), To: math.NaN(), Pixels: 400, Average: -1, Fit: []string{rewardKey}}); err != nil {
			t.Errorf("%s: rows: %v", name, err)
		}
		if s, err := r.Samples(SampleAsk{}); err != nil || s.Count != 0 {
			t.Errorf("%s: samples: %v", name, err)
		}
		if _, err := r.Evals(); err != nil {
			t.Errorf("%s: evals: %v", name, err)
		}
		if l, err := r.Log(LogAsk{}); err != nil || len(l.Lines) != 0 {
			t.Errorf("%s: log: %v", name, err)
		}
		if _, err := json.Marshal(h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The page of a log: the last lines, older ones before them, newer ones behind, each once.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&b, `{"time":"2025-11-29T08:00:00Z","level":"%s","msg":"line","i":%d,"pad":"%s"}`+"\n", []string{"INFO", "WARN"}[i%2], i, strings.Repeat("x", i%300))
	}
	if err := os.WriteFile(filepath.Join(dir, run.LogFile), []byte(b.String()+`{"torn`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	var back []float64
	ask := LogAsk{Level: 4, Limit: 300} // WARN
	for {
		l, err := r.Log(ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range slices.Backward(l.Lines) {
			back = append(back, line.Attrs["i"].(float64))
		}
		if ask.Before = l.Before; ask.Before == nil {
			break
		}
	}
	if len(back) != n/2 || back[0] != n-1 || back[len(back)-1] != 1 {
		t.Fatalf("%d lines going back, from %v to %v, want %d", len(back), back[0], back[len(back)-1], n/2)
	}
	for i, v := range back {
		if v != float64(n-1-2*i) {
			t.Fatalf("line %d going back is %v", i, v)
		}
	}
	zero, forth := int64(0), 0
	ask = LogAsk{Level: -8, Limit: 700, After: &zero}
	for range n {
		l, err := r.Log(ask)
		if err != nil {
			t.Fatal(err)
		}
		forth += len(l.Lines)
		if len(l.Lines) == 0 {
			break
		}
		ask.After = &l.After
	}
	if forth != n {
		t.Errorf("%d lines going forth, want %d", forth, n)
	}
}

// Two runs: five settings differ, their curves lie beside each other, and equal runs pair to nothing.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	o := dashgen.Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Keys, o.Plain, o.Bodies = 30, 2, 2, 8, 40, true, "last:0"
	if err := dashgen.Make(filepath.Join(dir, "a"), o); err != nil {
		t.Fatal(err)
	}
	o.Pair = true
	if err := dashgen.Make(filepath.Join(dir, "b"), o); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, filepath.Join(dir, "a")), open(t, filepath.Join(dir, "b"))
	c, err := Compare(a, b, Ask{Keys: []string{rewardKey}, From: math.NaN(), To: math.NaN(), X: "tokens"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range c.Differ {
		for _, s := range g.Settings {
			got = append(got, g.Group+" "+s.Name)
		}
	}
	want := []string{"algorithm advantage-estimator", "algorithm eps-clip", "algorithm lr", "data rollout-seed", "sampling rollout-temperature"}
	if !slices.Equal(got, want) {
		t.Errorf("settings that differ are %q, want %q", got, want)
	}
	if len(c.Warn) != 1 || !strings.Contains(c.Warn[0], "temperatures") {
		t.Errorf("warnings are %q", c.Warn)
	}
	if !slices.Equal(c.RowsA.Cols[rewardKey], c.RowsB.Cols[rewardKey]) || len(c.RowsA.X) < 30 {
		t.Errorf("curves of one seed differ, or have %d points", len(c.RowsA.X))
	}
	if len(c.Evals) != 1 || c.Evals[0].CycleA != 30 || c.Evals[0].Paired.Diff != "0" || c.Evals[0].Paired.Unchanged != 30 {
		t.Errorf("evaluations are %+v", c.Evals)
	}
}

// A comparison names the damaged files of either run, and shows what is left.
func TestCompareNamesDamage(t *testing.T) {
	dir := t.TempDir()
	o := dashgen.Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Keys, o.Plain, o.Bodies = 30, 2, 2, 8, 40, true, "last:0"
	for _, name := range []string{"a", "b"} {
		if err := dashgen.Make(filepath.Join(dir, name), o); err != nil {
			t.Fatal(err)
		}
	}
	evals, err := filepath.Glob(filepath.Join(dir, "a", "eval", "*", "c000030*"))
	if err != nil || len(evals) != 1 {
		t.Fatalf("evaluations of the last cycle are %q, %v", evals, err)
	}
	for _, file := range []string{evals[0], filepath.Join(dir, "b", "config.json")} {
		if err := os.WriteFile(file, []byte("spoilt\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Compare(open(t, filepath.Join(dir, "a")), open(t, filepath.Join(dir, "b")), Ask{Keys: []string{rewardKey}, From: math.NaN(), To: math.NaN(), X: "cycle"})
	if err != nil {
		t.Fatal(err)
	}
	spoilt, _ := filepath.Rel(filepath.Join(dir, "a"), evals[0])
	if p := c.A.Problems; len(p) != 1 || p[0].File != filepath.ToSlash(spoilt) {
		t.Errorf("problems of a are %+v, want %s", p, spoilt)
	}
	if p := c.B.Problems; len(p) != 1 || p[0].File != "config.json" || len(c.Differ) > 0 || c.Same > 0 {
		t.Errorf("problems of b are %+v, want config.json, and %d settings differ, %d are equal", p, len(c.Differ), c.Same)
	}
	if len(c.Evals) != 1 || c.Evals[0].CycleA != 20 || c.Evals[0].CycleB != 20 {
		t.Errorf("evaluations are %+v, want those of cycle 20, the last that can be read of both", c.Evals)
	}
}

// An index that is gone or spoilt is said to be so, with what mends it; one of a run without samples is not.
func TestSpoiltIndexNamesItsRemedy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	o := dashgen.Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Keys, o.Plain, o.Bodies = 5, 2, 2, 8, 40, true, "all"
	if err := dashgen.Make(dir, o); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spoil func() error
		bad   string
	}{
		{"whole", func() error { return nil }, ""},
		{"tail", func() error {
			return os.WriteFile(filepath.Join(dir, "samples", "index", "tail.fli"), []byte("spoilt"), 0o644)
		}, "samples/index/tail.fli"},
		{"no index", func() error { return os.RemoveAll(filepath.Join(dir, "samples", "index")) }, "samples/index"},
		{"no samples", func() error { return os.RemoveAll(filepath.Join(dir, "samples")) }, ""},
	} {
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		s, err := open(t, dir).Samples(SampleAsk{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.bad == "" {
			if len(s.Bad) > 0 || s.Remedy != "" {
				t.Errorf("%s: %+v, %q; want nothing", tt.name, s.Bad, s.Remedy)
			}
			continue
		}
		if len(s.Bad) != 1 || s.Bad[0].File != tt.bad || !strings.Contains(s.Remedy, "furlong dash --reindex '"+dir+"'") {
			t.Errorf("%s: %+v, %q; want %s and the command", tt.name, s.Bad, s.Remedy, tt.bad)
		}
	}
}

// Experts without a token for twenty cycles are dead, and no others.
func TestDeadExperts(t *testing.T) {
	dir := t.TempDir()
	d, err := run.Create(dir, run.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Self: run.Holder{Host: "here", PID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for c := 1; c <= 60; c++ {
		e := run.Experts{Cycle: c, Sides: 1, Layers: 3, Experts: 8, Tokens: make([]uint32, 24), Agreement: make([]float32, 3)}
		for i := range e.Tokens {
			e.Tokens[i] = uint32(10 + i%8)
		}
		if c >= 30 {
			e.Tokens[2*8+5] = 0
		}
		if c == 45 {
			continue // a cycle without a file
		}
		if err := d.WriteExperts(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End(run.Finished, ""); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for cycle, want := range map[int]int{25: 0, 49: 0, 50: 1, 60: 1} {
		e, err := r.Experts(cycle, 2)
		if err != nil {
			t.Fatal(err)
		}
		if e.Cycle != cycle || len(e.Dead) != want || want == 1 && (e.Dead[0].Layer != 2 || e.Dead[0].Expert != 5) {
			t.Errorf("cycle %d: dead %v, want %d", cycle, e.Dead, want)
		}
		if n := len(e.History.Cycles); n != cycle-one(cycle > 45) || len(e.History.Load[0]) != e.Experts {
			t.Errorf("cycle %d: history of %d cycles", cycle, n)
		}
	}
	if e, err := r.Experts(45, -1); err != nil || e.Cycle != 44 {
		t.Errorf("a cycle without a file: %d, %v, want the one before", e.Cycle, err)
	}
}

// A folder of runs is listed, with names that do not collide, and new ones appear.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	put := func(name, reward string) {
		d := filepath.Join(dir, name)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"kind":"cycle","cycle":4,"attempt":1,"rollout/raw_reward":%s,"train/logp_diff/mean":0.5}`+"\n"+`{"kind":"eval","cycle":4,"attempt":1,"eval/a-pass@1":0.25}`+"\n"+`{"torn`, reward)
		if err := os.WriteFile(filepath.Join(d, run.RowsFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("x/same", "0.1")
	put("y/same", "0.2")
	s := NewShelf([]string{filepath.Join(dir, "x"), filepath.Join(dir, "y", "same")}, Options{Now: time.Now, Self: run.Holder{Host: "here"}})
	defer s.Close()
	list := func() map[string]string {
		l, err := s.List("", 100)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range l.Runs {
			got[r.Run] = string(r.Reward)
			if r.Cycle != 4 || r.Gap != "0.5" || r.Pass1 != "0.25" || len(r.Spark) != 1 {
				t.Errorf("%s is %+v", r.Run, r)
			}
		}
		return got
	}
	if got := list(); got["same"] != "0.1" || got["same~2"] != "0.2" {
		t.Errorf("runs are %v", got)
	}
	put("x/new", "0.30")
	if got := list(); got["new"] != "0.30" || len(got) != 3 {
		t.Errorf("runs are %v", got)
	}
	for i := range 4 {
		put(fmt.Sprint("x/n", i), "1")
		if err := s.Use(fmt.Sprint("n", i), func(r *Run) error { _, err := r.Head(false); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.open) > openMax {
		t.Errorf("%d runs are open, want at most %d", len(s.open), openMax)
	}
	if err := s.Use("none", func(*Run) error { return nil }); err == nil {
		t.Error("a run that is not there: no error")
	}
}
