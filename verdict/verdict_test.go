package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/rl"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// rows returns n cycles; change may alter each, which is counted from 1.
func rows(n int, change func(c int, v map[string]float64)) []metrics.Row {
	var all []metrics.Row
	for c := 1; c <= n; c++ {
		v := map[string]float64{
			"perf/step_time": 41, "rollout/raw_reward": 0.5, "rollout/samples": 256, "reward/invalid_samples": 0, "rollout/truncated_ratio": 0.01,
			"train/tokens": 1000, "train/logp_diff/mean": 0, "train/logp_diff/max": 0, "train/nonfinite_tokens": 0, "update/attested": 1, "update/version": float64(c), "update/retries": 0,
		}
		if change != nil {
			change(c, v)
		}
		all = append(all, metrics.Row{Kind: metrics.Cycle, Cycle: c, Attempt: 1, Version: rl.NewVersion(0, c), Time: seconds(noon) - float64(41*(n-c)), Values: v})
	}
	return all
}

func running1(n, planned int, change func(c int, v map[string]float64)) Run {
	r := FromRows(rows(n, change))
	r.Now = noon.Add(12 * time.Second)
	r.Life = run.Life{State: run.Running, Status: run.Status{Cycle: n + 1, Planned: planned, Phase: "rollout", PhaseSince: seconds(noon), WaitingFor: "3 of 256 answers", Started: seconds(noon) - 9000}}
	return r
}

func of1(t *testing.T, r Run, id string) Sentence {
	t.Helper()
	for _, s := range Of(r) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no sentence %q", id)
	return Sentence{}
}

func (s Sentence) want(t *testing.T, tone Tone, text string) {
	t.Helper()
	if got := s.String(); got != text || s.Tone != tone {
		t.Errorf("%s\ngot  %s %q\nwant %s %q", s.ID, s.Tone, got, tone, text)
	}
}

func TestAlive(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *Run)
		tone   Tone
		want   string
	}{
		{"running", func(*Run) {}, OK, "Running, cycle 186 of 200. 41 s a cycle, about 10 min left. The newest row is of version v185."},
		{"stalled", func(r *Run) { r.Now = noon.Add(7 * time.Minute) }, Warn, "No cycle for 7 min. The usual one takes 41 s. In phase rollout for 7 min, waiting for 3 of 256 answers."},
		{"slow", func(r *Run) { r.Now = noon.Add(4 * time.Minute) }, OK, "Running, cycle 186 of 200. 41 s a cycle, about 10 min left. The newest row is of version v185."},
		{"pushed", func(r *Run) { r.Life.Status.Serving = rl.NewVersion(0, 186) }, OK, "Running, cycle 186 of 200. 41 s a cycle, about 10 min left. Version v186 serves."},
		{"pushed by an earlier start", func(r *Run) { r.Life.Status.Serving, r.Newest.Version = rl.NewVersion(0, 186), rl.NewVersion(1, 150) }, OK, "Running, cycle 186 of 200. 41 s a cycle, about 10 min left. The newest row is of version 2·v150."},
		{"resumed", func(r *Run) { r.Newest.Version = rl.NewVersion(1, 185) }, OK, "Running, cycle 186 of 200. 41 s a cycle, about 10 min left. The newest row is of version 2·v185."},
		{"finished", func(r *Run) { r.Life.State, r.Newest.Cycle = run.Finished, 200 }, OK, "Finished, 200 of 200 cycles. 2 h 06 min of cycles, 41 s each."},
		{"stopped", func(r *Run) { r.Life.State, r.Life.Status.Exit = run.Stopped, "interrupted" }, Warn, "Stopped after 185 of 200 cycles. It said: interrupted. 2 h 06 min of cycles, 41 s each."},
		{"failed", func(r *Run) { r.Life.State, r.Life.Status.Exit = run.Failed, "disk is full\x1b[2J" }, Bad, "Failed in cycle 186. It said: disk is fullU+001B[2J. 2 h 06 min of cycles, 41 s each."},
		{"crashed", func(r *Run) { r.Life.State, r.Life.Status.Beat = run.Crashed, seconds(noon)+123 }, Bad, "Ended without a word. Last sign of life at 12:02 in cycle 186, phase rollout. 2 h 06 min of cycles, 41 s each."},
		{"a row newer than the status", func(r *Run) { r.Life.Status.Cycle, r.Life.Status.Beat = 181, seconds(noon)-4 }, OK, "Running, cycle 185 of 200. 41 s a cycle, about 10 min left. The newest row is of version v185."},
		{"begun anew", func(r *Run) { r.Life.Status.Cycle, r.Life.Status.Beat = 0, seconds(noon)+4 }, OK, "Running, cycle 185 of 200. 41 s a cycle, about 10 min left. The newest row is of version v185."},
		{"crashed after a row", func(r *Run) {
			r.Life.State, r.Life.Status.Cycle, r.Life.Status.Beat = run.Crashed, 181, seconds(noon)-4
		}, Bad, "Ended without a word. Last sign of life at 12:00 after cycle 185. 2 h 06 min of cycles, 41 s each."},
		{"silent", func(r *Run) {
			r.Life = run.Life{State: run.Silent, Status: r.Life.Status, Age: time.Hour, Holder: run.Holder{Host: "far"}}
		}, Warn, "No sign of life for 1 h 00 min. It was in cycle 186, phase rollout on host far, which can't be asked from here."},
		{"none", func(r *Run) { r.Life.State = run.None }, None, "No run here. A run begins with furlong train --run-dir and the name of a directory."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := running1(185, 200, nil)
			tt.change(&r)
			of1(t, r, "alive").want(t, tt.tone, tt.want)
		})
	}
	r := Run{Now: noon, Life: run.Life{State: run.Running, Status: run.Status{Planned: 200, Phase: "load", PhaseSince: seconds(noon) - 12}}}
	of1(t, r, "alive").want(t, OK, "Running, cycle 1 of 200. No cycle is finished yet. In phase load for 12 s.")
}

// climb is a reward that rises by 0.0009 a cycle under noise that repeats.
func climb(c int, v map[string]float64) {
	v["rollout/raw_reward"] = 0.42 + 0.0009*float64(c) + 0.03*math.Sin(float64(c)*2.4)
}

func evals(r *Run, set string, first, last float64) {
	r.Points["eval/"+set+"-pass@1"] = Points{X: []float64{0, 180}, Y: []float64{first, last}}
}

func TestLearning(t *testing.T) {
	r := running1(185, 200, climb)
	of1(t, r, "learning").want(t, OK, "Reward 0.45 → 0.56. +0.090 per 100 cycles [+0.084, +0.096]. There is no evaluation yet.")
	evals(&r, "aime", 0.39, 0.49)
	of1(t, r, "learning").want(t, OK, "Reward 0.45 → 0.56. +0.090 per 100 cycles [+0.084, +0.096]. Held-out pass@1 0.39 → 0.49.")
	r.Held = map[string]Difference{"aime": {0.10, 0.04, 0.16}}
	of1(t, r, "learning").want(t, OK, "Reward 0.45 → 0.56. +0.090 per 100 cycles [+0.084, +0.096]. Held-out pass@1 0.39 → 0.49: +0.10 [+0.04, +0.16].")
	r.Held["aime"] = Difference{-0.10, -0.16, -0.04}
	of1(t, r, "learning").want(t, Bad, "Reward 0.45 → 0.56, held-out falls. +0.090 per 100 cycles [+0.084, +0.096]. Held-out pass@1 0.39 → 0.49: −0.10 [−0.16, −0.04]: reward rises and skill falls.")
	evals(&r, "b", 0.1, 0.1)
	r.Held = map[string]Difference{"b": {0, -0.02, 0.02}}
	of1(t, r, "learning").want(t, OK, "Reward 0.45 → 0.56. +0.090 per 100 cycles [+0.084, +0.096]. Held-out pass@1 of aime 0.39 → 0.49. Held-out pass@1 of b 0.10 → 0.10: 0.00 [−0.02, +0.02], not distinguishable from none.")
}

func TestLearningNothing(t *testing.T) {
	flat := running1(50, 200, func(c int, v map[string]float64) { v["rollout/raw_reward"] = 0.5 + 0.01*float64(c*7%5) })
	if s := of1(t, flat, "learning"); !strings.Contains(s.Text, "not distinguishable from flat.") || s.Tone != None {
		t.Errorf("a flat reward: %s %q", s.Tone, s)
	}
	down := running1(50, 200, func(c int, v map[string]float64) { v["rollout/raw_reward"] = 0.5 - 0.01*float64(c) })
	if s := of1(t, down, "learning"); s.Tone != Warn || !strings.HasPrefix(s.Text, "−1.000 per 100 cycles [−1.000, −1.000].") {
		t.Errorf("a falling reward: %s %q", s.Tone, s)
	}
	few := running1(9, 200, climb)
	of1(t, few, "learning").want(t, None, "Reward 0.43. 9 rows: too few for a trend, 10 are enough. There is no evaluation yet.")
	of1(t, Run{Now: noon}, "learning").want(t, None, "Nothing measured yet. The first cycle's reward comes with its row. There is no evaluation yet.")
	odd := running1(12, 200, func(_ int, v map[string]float64) { v["rollout/raw_reward"] = math.NaN() })
	of1(t, odd, "learning").want(t, Bad, "Reward is no number. No row has a finite one. There is no evaluation yet.")
	taught := running1(12, 0, func(c int, v map[string]float64) {
		delete(v, "rollout/raw_reward")
		v["train/loss"] = 2 - 0.1*float64(c)
	})
	of1(t, taught, "learning").want(t, OK, "Loss 1.75 → 0.95. −10.000 per 100 cycles [−10.000, −10.000]. There is no evaluation yet.")
}

func TestHonest(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 1))
	mixed := func(c int, v map[string]float64) {
		v["train/logp_diff/mean"], v["train/logp_diff/max"] = 0.089+0.004*noise.NormFloat64(), 2
		v["reward/invalid_samples"] = 1
	}
	of1(t, running1(186, 200, nil), "honest").want(t, OK, "Gap 0, the same bits. 0 in all 186 cycles: the same bits for 186,000 tokens. No invalid rewards. Every update attested.")
	s := of1(t, running1(186, 200, mixed), "honest")
	if !strings.HasPrefix(s.Big, "Gap 0.089") || !strings.HasSuffix(s.Big, " nats, flat") || !strings.HasSuffix(s.Text, "Invalid rewards 0.39 %. Every update attested.") || s.Tone != OK {
		t.Errorf("a flat gap: %s %q", s.Tone, s)
	}
	for _, tt := range []struct {
		name   string
		change func(c int, v map[string]float64)
		tone   Tone
		want   string // is in it
	}{
		{"one token", func(c int, v map[string]float64) {
			if c == 30 {
				v["train/logp_diff/max"], v["train/logp_diff/mean"] = 1e-3, 1e-6
			}
		}, OK, "Gap 1.67e−8 nats, flat"},
		{"drift", func(c int, v map[string]float64) {
			v["train/logp_diff/mean"], v["train/logp_diff/max"] = 0.1+0.001*float64(c), 1
		}, Warn, "nats, rising. Trend +0.100 per 100 cycles [+0.100, +0.100]."},
		{"slight rise", func(c int, v map[string]float64) {
			v["train/logp_diff/mean"], v["train/logp_diff/max"] = 0.1+0.00001*float64(c), 1
		}, OK, "nats, nearly flat. Trend +0.00100 per 100 cycles [+0.00100, +0.00100]."},
		{"not finite", func(c int, v map[string]float64) {
			if c == 30 {
				v["train/logp_diff/max"], v["train/logp_diff/mean"], v["train/nonfinite_tokens"] = math.Inf(1), math.Inf(1), 2
			}
		}, Bad, "Gap 0 nats, flat, not all finite. "},
		{"invalid", func(_ int, v map[string]float64) { v["reward/invalid_samples"] = 26 }, Warn, "Invalid rewards 10 %."},
		{"cut", func(_ int, v map[string]float64) { v["rollout/truncated_ratio"] = 0.55 }, Warn, "55 % of the last cycle's answers are cut at the length limit."},
		{"unattested", func(c int, v map[string]float64) {
			if c > 57 {
				v["update/attested"] = 0
			}
		}, Warn, "3 of 60 updates not attested."},
		{"attests nothing", func(_ int, v map[string]float64) { v["update/attested"] = 0 }, Warn, "No update attested: the engine attests nothing."},
		{"retried", func(c int, v map[string]float64) { v["update/retries"] = float64(c / 60) }, OK, "Every update attested. 1 update sent again."},
		{"after updates", func(c int, v map[string]float64) {
			v["update/version"] = float64(c / 4)
			v["train/logp_diff/max"], v["train/logp_diff/mean"] = 1, 0.1+0.01*float64(c%7)
			if c%4 == 0 {
				v["train/logp_diff/mean"] += 0.2
			}
		}, Warn, "After updates it is higher by 0.2"},
		{"not after updates", func(c int, v map[string]float64) {
			v["update/version"], v["train/logp_diff/max"] = float64(c/4), 1
			v["train/logp_diff/mean"] = 0.1 + 0.01*float64(c%7)
		}, OK, "No rise after updates."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s := of1(t, running1(60, 200, tt.change), "honest"); !strings.Contains(s.String(), tt.want) || s.Tone != tt.tone {
				t.Errorf("got  %s %q\nwant %s %q", s.Tone, s, tt.tone, tt.want)
			}
		})
	}
	of1(t, Run{Now: noon}, "honest").want(t, None, "Gap not measured. No row has logprobs of both engines.")
}

func TestAlarms(t *testing.T) {
	raise := func(cycle, attempt int, id, text string) run.Alarm {
		return run.Alarm{Kind: run.Raised, ID: id, Severity: "warning", Cycle: cycle, Attempt: attempt, Text: text}
	}
	clear1 := func(cycle, attempt int, id string) run.Alarm {
		return run.Alarm{Kind: run.Cleared, ID: id, Cycle: cycle, Attempt: attempt}
	}
	all := Fold([]run.Alarm{
		raise(5, 1, "invalid", "old"), clear1(9, 1, "invalid"), raise(37, 1, "gap-jump", "gap rose\u202e"), raise(50, 1, "lost", "of cycles that ran again"),
		clear1(8, 1, "never raised"), raise(52, 2, "truncated", "cut"), raise(53, 2, "truncated", "told twice"),
	}, map[int]int{1: 1, 2: 48})
	var got []string
	for _, a := range all {
		got = append(got, fmt.Sprint(a.ID, a.Cycle, a.Cleared, a.Until))
	}
	if want := []string{"gap-jump37 false 0", "truncated52 false 0", "invalid5 true 9"}; !slices.Equal(got, want) {
		t.Fatalf("alarms are %q, want %q", got, want)
	}
	r := running1(60, 200, nil)
	of1(t, r, "alarms").want(t, OK, "None. No alarm was raised.")
	r.Alarms = all
	of1(t, r, "alarms").want(t, Warn, "2 standing. Since cycle 37: gap roseU+202E. Since cycle 52: cut. Earlier: 1.")
	r.Alarms[1].Severity = "error"
	if s := of1(t, r, "alarms"); s.Tone != Bad {
		t.Errorf("an error has the tone %s", s.Tone)
	}
	r.Alarms = all[2:]
	of1(t, r, "alarms").want(t, OK, "None. Earlier: 1.")
	r.Twice = []metrics.Repeat{{Kind: metrics.Cycle, Cycle: 3}, {Kind: metrics.Cycle, Cycle: 4, Differ: []string{"train/loss"}}}
	of1(t, r, "alarms").want(t, Bad, "1 standing. Cycles that ran twice with unequal values: 4. Earlier: 1.")
}

func TestBegun(t *testing.T) {
	all := append(rows(5, nil), metrics.Row{Kind: metrics.Eval, Cycle: 0, Attempt: 2}, metrics.Row{Kind: metrics.Cycle, Cycle: 4, Attempt: 2}, metrics.Row{Kind: metrics.Cycle, Cycle: 5, Attempt: 2})
	if got := Begun(all); len(got) != 2 || got[1] != 1 || got[2] != 4 {
		t.Errorf("attempts began with %v, want 1 and 4", got)
	}
}

func TestPaired(t *testing.T) {
	evaluation := func(right int, ids ...string) run.Evaluation {
		e := run.Evaluation{Name: "s", Settings: map[string]any{"seed": 7.0}}
		for _, id := range ids {
			e.Problems = append(e.Problems, run.Problem{ID: id, N: 4, C: right})
		}
		return e
	}
	a, b := evaluation(1, "x", "y", "gone"), evaluation(3, "new", "y", "x")
	d, ok, err := Paired(a, b, 1)
	if err != nil || !ok || d.Value != 0.5 || d.Lo != 0.5 || d.Hi != 0.5 {
		t.Errorf("difference is %+v %v %v, want 0.5 without doubt", d, ok, err)
	}
	if _, ok, err := Paired(a, evaluation(1, "other"), 1); ok || err != nil {
		t.Errorf("evaluations without a common problem differ by something, %v", err)
	}
	if _, ok, err := Paired(a, b, 8); ok || err != nil {
		t.Errorf("pass@8 of four answers is something, %v", err)
	}
	b.Problems[2].Samples = []run.Answer{{Verdict: rl.Invalid.String()}, {Verdict: rl.Invalid.String()}}
	if p := Problems(b)[2]; p.N != 2 || p.Invalid != 2 {
		t.Errorf("a problem with two invalid answers of four counts %d and %d", p.N, p.Invalid)
	}
}

// A page that gets the sentences finds a list of links, and only names of the table.
func TestJSON(t *testing.T) {
	raw, err := json.Marshal(Of(Run{Now: noon}))
	if err != nil || strings.Contains(string(raw), "null") || !strings.Contains(string(raw), `{"id":"alive","big":"No run here"`) {
		t.Errorf("as JSON: %s, %v", raw, err)
	}
	for _, name := range []string{"perf/step_time", "rollout/raw_reward", "train/logp_diff/mean", "update/attested"} {
		if _, ok := metrics.Lookup(name); !Reads(name) || !ok {
			t.Errorf("%s is read %v, and in the table %v", name, Reads(name), ok)
		}
	}
	if Reads("train/grad_norm") || Reads("eval/x/response_len/mean") || !Reads("eval/x-pass@1") {
		t.Error("the wrong series are read")
	}
}
