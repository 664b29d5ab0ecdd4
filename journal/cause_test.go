package journal

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"furlong/metrics/run"
	"furlong/orchestrator"
	"furlong/rl"
)

// differing returns a sample of n tokens of version 5, in whose token at the trainer differs by gap.
func differing(n, at int, gap float32) *rl.Sample {
	s := &rl.Sample{Prompt: &rl.Prompt{ID: "p", Tokens: []int32{1, 2}}, Versions: []rl.Span{{Version: 5, Tokens: n}}, CachedTokens: 1}
	for i := range n {
		s.Response = append(s.Response, int32(i))
		s.LogProbs, s.TrainLogProbs = append(s.LogProbs, -1), append(s.TrainLogProbs, -1)
	}
	s.TrainLogProbs[at] -= gap
	return s
}

// A patient is an engine that says something when it is asked again.
type patient struct {
	damaged, stale []string
	cold, running  float32 // added to what the samples say
	agree          bool    // instead of cold: what the trainer says
	err            error
}

func (p patient) rescore(samples []*rl.Sample) (*rl.Rescored, error) {
	r := &rl.Rescored{Version: 5, Damaged: p.damaged, Stale: p.stale}
	for _, s := range samples {
		var cold, running []float32
		for i := range s.Response {
			c := s.LogProbs[i] + p.cold
			if p.agree {
				c = s.TrainLogProbs[i]
			}
			cold, running = append(cold, c), append(running, c+p.running)
		}
		r.Cold, r.Running = append(r.Cold, cold), append(r.Running, running)
	}
	return r, p.err
}

// suspicious returns the report of a cycle with a gap of half a nat on the fourth token of a sample.
func suspicious(p *patient, age float64) *orchestrator.Report {
	r := &orchestrator.Report{Cycle: 7, Version: 5, Samples: []*rl.Sample{differing(3, 0, 0), differing(6, 3, 0.5)}}
	r.Stats = rl.Stats{"train/logp_diff/max": 0.5, "train/logp_diff/mean": 0.5, "rollout/staleness/max": age}
	if p != nil {
		r.Rescore = p.rescore
	}
	return r
}

// Whatever is wrong, the alarm names it, with figures and with what to do next.
func TestCauses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		patient *patient
		age     float64
		wants   []string
	}{
		{"prefix cache", &patient{agree: true}, 0, []string{"stale or damaged attention state in the running rollout engine", "at most 0 nats from the trainer", "up to 0.5", "on 4 suspicious tokens of 1 samples", "1 of the 1 samples began with rows from the cache", "--resume --sglang-disable-radix-cache"}},
		{"layout", &patient{agree: true, stale: []string{"lm_head.weight"}}, 0, []string{"stale or damaged derived state", "lm_head.weight", "at most 0 nats", "--check-weight-update-equal"}},
		{"weights", &patient{damaged: []string{"a", "b", "c", "d"}, stale: []string{"e"}}, 0, []string{"damaged weights", "a, b, c and 1 more are not what came with version 5", "furlong train --run-dir "}},
		{"numerics", &patient{}, 0, []string{"Likely cause: numerics", "bit for bit (4 suspicious tokens of 1 samples, up to 0.5 nats", "Next: furlong parity A B"}},
		{"something else", &patient{agree: true, running: 0.1}, 0, []string{"neither its weights nor what is derived", "on 4 tokens"}},
		{"age", &patient{}, 1, []string{"old tokens, not a fault", "--update-weights-interval"}},
		{"age, and damage", &patient{damaged: []string{"a"}}, 1, []string{"damaged weights"}},
		{"a server", nil, 0, []string{"not told apart: servers keep their state to themselves", "furlong parity A B"}},
		{"no answer", &patient{err: errors.New("engine is gone")}, 0, []string{"could not be computed again: engine is gone"}},
	} {
		j, path := newJournal(t)
		j.Mixed = tt.age > 0 // the alarm of equal formats is of fresh samples alone
		j.Blind, j.Parity = "servers keep their state to themselves", func() string { return "furlong parity A B" }
		if err := j.Cycle(suspicious(tt.patient, tt.age)); err != nil {
			t.Fatal(err)
		}
		all := alarmsOf(t, path)
		if len(all) != 1 {
			t.Fatalf("%s: alarms %s, want one", tt.name, kinds(all))
		}
		for _, want := range tt.wants {
			if !strings.Contains(all[0].Text, want) {
				t.Errorf("%s: the alarm does not say %q:\n%s", tt.name, want, all[0].Text)
			}
		}
	}
}

// Tokens of versions that serve no more are not held against a cold engine of the one that does.
func TestOldTokensOfAMixedSample(t *testing.T) {
	s := differing(6, 3, 0.5)
	s.Versions = []rl.Span{{Version: 4, Tokens: 4}, {Version: 5, Tokens: 2}}
	r, err := patient{cold: 1}.rescore([]*rl.Sample{s})
	if err != nil {
		t.Fatal(err)
	}
	c := compare([]*rl.Sample{s}, r)
	if c.old != 4 || c.tokens != 2 || c.moved != 2 || c.oldSaid != 0.5 || c.from != 4 {
		t.Errorf("the comparison is %+v", c)
	}
	s.Versions = []rl.Span{{Version: 4, Tokens: 6}}
	c = compare([]*rl.Sample{s}, r)
	c.to = 5
	if text := (&Journal{}).judge(c, true); !strings.Contains(text, "old tokens, not a fault: they were chosen by version 4 and later, before what serves now (5)") {
		t.Errorf("the cause is %s", text)
	}
}

// The engine is asked once for an alarm that stands, whatever it takes to tell several, and never about a cycle in which nothing begins.
func TestTheEngineIsAskedOnce(t *testing.T) {
	j, _ := newJournal(t)
	asked := 0
	for cycle, gap := range []float64{0, 0.5, 0.5, 0, 0.5} {
		r := suspicious(&patient{}, 0)
		r.Cycle, r.Stats["train/logp_diff/max"] = cycle+1, gap
		rescore := r.Rescore
		r.Rescore = func(s []*rl.Sample) (*rl.Rescored, error) { asked++; return rescore(s) }
		if err := j.Cycle(r); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// The worst tokens are what is asked about, within a budget.
func TestSuspects(t *testing.T) {
	var all []*rl.Sample
	for i := range 20 {
		all = append(all, differing(30, i, float32(i)))
	}
	all[3].TrainLogProbs[2] = float32(math.NaN())
	all[4].TrainLogProbs = nil // it did not train
	long := differing(suspectTokens+1, suspectTokens, 50)
	got := suspects(append(all, long))
	if len(got) != suspectSamples || len(got[0].Response) != 3 || len(got[1].Response) != 20 || len(got[7].Response) != 14 {
		t.Errorf("%d suspects, the first of them with %d and %d tokens", len(got), len(got[0].Response), len(got[1].Response))
	}
	if got := suspects([]*rl.Sample{differing(4, 0, 0), {}}); got != nil {
		t.Errorf("%d suspects where nothing differs", len(got))
	}
}

// A jump in the metrics of a run is an alarm with a cause, raised and cleared once; and a run that goes on from the middle of it knows both the level and
// what it has told.
func TestJumpIsToldOnceOverAResume(t *testing.T) {
	j, path := newJournal(t)
	j.Mixed = true
	cycle := func(j *Journal, c int, factor float64) {
		t.Helper()
		r := suspicious(&patient{agree: true}, 0)
		r.Cycle = c
		r.Stats["train/logp_diff/mean"], r.Stats["train/logp_diff/p99"] = 3e-3*factor*(1+float64(c%3)/10), 6e-2*factor*(1+float64(c%5)/10)
		if err := j.Cycle(r); err != nil {
			t.Fatal(err)
		}
	}
	for c := 1; c <= 14; c++ {
		cycle(j, c, 1)
	}
	cycle(j, 15, 20)
	again := &Journal{Dir: j.Dir, Log: j.Log, Tell: j.Tell, Mixed: true}
	if err := again.Recall(15); err != nil {
		t.Fatal(err)
	}
	cycle(again, 16, 20)
	cycle(again, 17, 1)
	cycle(again, 18, 1)
	all := alarmsOf(t, path)
	if got, want := kinds(all), "raised gap-jump, cleared gap-jump"; got != want {
		t.Fatalf("alarms %s, want %s", got, want)
	}
	if !strings.Contains(all[0].Text, "the gap has jumped: its mean is 0.06") || !strings.Contains(all[0].Text, "attention state") || all[0].Cycle != 15 {
		t.Errorf("the alarm is %+v", all[0])
	}
}

// What is lost between a checkpoint and the end of a run is told again: it happens again.
func TestRecallStopsAtTheCheckpoint(t *testing.T) {
	j, _ := newJournal(t)
	for i, kind := range []string{run.Raised, run.Cleared, run.Raised} {
		if err := j.Dir.WriteAlarm(run.Alarm{Kind: kind, ID: "truncated", Severity: "warning", Cycle: 10 * (i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for cycle, want := range map[int]bool{5: false, 15: true, 25: false, 30: true} {
		if err := j.Recall(cycle); err != nil || j.raised["truncated"] != want {
			t.Errorf("after cycle %d: %v, %v, want %v", cycle, j.raised, err, want)
		}
	}
}

// Numbers that are none are told by whose they are.
func TestNonFinite(t *testing.T) {
	text := nonfinite(rl.Stats{"train/nonfinite_tokens": 3, "train/nonfinite_tokens/rollout": 2, "train/nonfinite_tokens/trainer": 1})
	for _, want := range []string{"3 tokens", "of 2 the rollout engine", "of 1 the trainer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the alarm does not say %q: %s", want, text)
		}
	}
	if strings.Contains(text, "reference") {
		t.Errorf("the alarm speaks of the reference: %s", text)
	}
}

func Example_judge() {
	fmt.Println((&Journal{}).judge(comparison{Rescored: &rl.Rescored{Version: 4}, tokens: 90, samples: 8, said: 0.3}, true))
	// Output: Likely cause: numerics: a cold engine of version 4 gives the running one's logprobs bit for bit (90 suspicious tokens of 8 samples, up to 0.3 nats from the trainer's), and weights and what is derived from them are those that came: the two engines compute differently, or the trainer's own state is not what it published. Next: furlong parity
}
