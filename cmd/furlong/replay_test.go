package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/kv"
	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/train"
)

// replayed are both choices of the rollout engine.
var replayed = train.Replay{Rollout: true, Entries: true}

// Whatever the formats, the cache, eviction, recomputation and threads do, the trainer uses exactly what rollout chose, for every token; with equal
// formats that is its own choice, and no logprob changes.
func TestReplayIsExact(t *testing.T) {
	for _, tt := range []struct {
		name string
		pairing
	}{
		{"equal", pairing{actor: "fp8", rollout: "fp8", threads: 2}},
		{"equal crowded recompute", pairing{actor: "bf16", rollout: "bf16", threads: 1, crowded: true, recompute: true}},
		{"fp8", pairing{actor: "bf16", rollout: "fp8", threads: 2, crowded: true}},
		{"fp8+fp4 recompute", pairing{actor: "bf16", rollout: "fp8+fp4", rolloutKV: kv.FP8Format, threads: 1, recompute: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "fp8+fp4_recompute", "equal_crowded_recompute")
			tt.rate, tt.records, tt.replay = 3e-3, true, replayed
			p := pairOf(t, tt.pairing)
			equal := tt.actor == tt.rollout
			for cycle := range 3 {
				p.push()
				samples := p.draw()
				if _, differ, _ := gap(samples); equal != (differ == 0) {
					t.Errorf("cycle %d: %d logprobs differ", cycle, differ)
				}
				stats := p.step(samples)
				for _, name := range []string{"moe/router_agreement", "indexer/agreement"} {
					if own := stats[name]; stats[name+"_used"] != 1 || equal != (own == 1) {
						t.Errorf("cycle %d: %s is %v, of what was used %v", cycle, name, own, stats[name+"_used"])
					}
				}
			}
			if s := p.roll.Stats(); s.CachedTokens == 0 || tt.crowded && s.Retracted+s.Evicted == 0 {
				t.Errorf("%d tokens came from the cache, %d retractions, %d evictions: this tests too little", s.CachedTokens, s.Retracted, s.Evicted)
			}
		})
	}
}

// An FP8 rollout differs less from a BF16 actor where the actor's tokens go where rollout's went: above all where the difference is largest.
func TestReplayShrinksTheGap(t *testing.T) {
	tails := map[bool]float64{}
	for _, on := range []bool{false, true} {
		with := pairing{actor: "bf16", rollout: "fp8+fp4", threads: 2, records: true}
		if on {
			with.replay = replayed
		}
		p := pairOf(t, with)
		p.push()
		var diffs []float64
		for _, s := range p.draw() {
			for i, lp := range s.LogProbs {
				diffs = append(diffs, max(float64(lp-s.TrainLogProbs[i]), float64(s.TrainLogProbs[i]-lp)))
			}
		}
		slices.Sort(diffs)
		for _, d := range diffs[len(diffs)*9/10:] {
			tails[on] += d
		}
		t.Logf("replay %v: %d tokens, median %.4f, 90 %% %.4f, largest %.4f", on, len(diffs), diffs[len(diffs)/2], diffs[len(diffs)*9/10], diffs[len(diffs)-1])
	}
	if tails[true] >= tails[false] {
		t.Errorf("the largest tenth of differences sum to %v with replay and %v without", tails[true], tails[false])
	}
}

// replay are the flags of a run that replays all.
var replay = []string{"--use-rollout-routing-replay", "--use-rollout-indexer-replay"}

// In equal formats a run that replays is the run that does not, and says that the engines choose alike.
func TestReplayingRun(t *testing.T) {
	model := tiny(t)
	want, got := trainTiny(t, model), trainTiny(t, model, replay...)
	if g, w := got.closing(t).Digest, want.closing(t).Digest; g != w {
		t.Errorf("weights have SHA-256 %s with replay, want %s", g, w)
	}
	for cycle, row := range cycles(t, got.dir) {
		for _, name := range []string{"moe/router_agreement", "moe/router_agreement_worst", "moe/router_agreement_used", "indexer/agreement_used"} {
			if row.Values[name] != 1 {
				t.Errorf("cycle %d: %s is %v, want 1", cycle, name, row.Values[name])
			}
			if _, ok := metrics.Lookup(name); !ok {
				t.Errorf("%s is in no table", name)
			}
		}
		e, err := rundir.ReadExperts(filepath.Join(got.dir, rundir.ExpertsFile(cycle)))
		if err != nil || slices.ContainsFunc(e.Agreement, func(a float32) bool { return a != 1 }) {
			t.Errorf("cycle %d: agreement is %v (%v), want 1", cycle, e.Agreement, err)
		}
	}
}

// Samples that wait in a checkpoint keep their choices: a run that was killed goes on as if it had not been.
func TestKilledReplayResumes(t *testing.T) {
	model, more := tiny(t), append([]string{"--loop", "one-step-off", "--rollout-format", "fp8"}, replay...)
	want := trainTiny(t, model, more...)
	dir := killIn(t, model, "one-step-off", "train 5", more...)
	for _, part := range []string{`"Experts":{"layers":`, `"Entries":{"rate":`} {
		raw, err := os.ReadFile(filepath.Join(checkpoints(dir), "step-000003", "loop.json"))
		if err != nil || strings.Count(string(raw), part) != 8 {
			t.Errorf("the checkpoint has %d samples with %s, %v, want 8", strings.Count(string(raw), part), part, err)
		}
	}
	sameRun(t, finished{dir, succeed(t, flags(model, dir, append(more, "--resume")...)...)}, want)
}

// Servers tell experts too.
func TestRemoteReplay(t *testing.T) {
	model, short := tiny(t), []string{"--num-rollout", "3", "--use-rollout-routing-replay"}
	unlessShort(t)
	want := trainTiny(t, model, short...)
	h := serving(t, model, t.TempDir(), "--enable-return-routed-experts")
	sameTraining(t, trainTiny(t, model, append(short, "--rollout-url", h.url)...), want)
}

func TestReplayIsRefusedAtStart(t *testing.T) {
	model := tiny(t)
	h := serving(t, model, t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	refuse(t, 1, flags(model, dir, "--use-rollout-routing-replay", "--rollout-url", h.url), "it does not tell which experts tokens went to", "start it with --enable-return-routed-experts")
	refuse(t, 2, flags(model, dir, "--use-rollout-indexer-replay", "--rollout-url", h.url), "--use-rollout-indexer-replay needs the engine inside, want it without --rollout-url")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused run has left a directory")
	}
	r := succeed(t, flags(model, dir, "--use-routing-replay", "--num-rollout", "1")...)
	if want := "a cycle takes one optimizer step, by the weights that score its samples: both passes choose alike"; !strings.Contains(fmt.Sprint(r.stderr), want) {
		t.Errorf("nothing is said of a replay that changes nothing:\n%s", r.stderr)
	}
}
