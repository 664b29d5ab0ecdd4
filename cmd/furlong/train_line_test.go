package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/progress"
	"furlong/rl"
)

// Below a live line stand reward and gap of all cycles, those of earlier starts of the run included.
func TestProgressLine(t *testing.T) {
	var b bytes.Buffer
	now := time.Time{}
	l := &progressLine{
		Line:   progress.New(&b, progress.Options{Title: "train", Unit: "cycles", Total: 3, Live: true, Now: func() time.Time { return now }}),
		window: 3, blocks: true,
	}
	stats := func(reward float64) rl.Stats {
		return rl.Stats{"rollout/raw_reward": reward, "train/logp_diff/max": 0}
	}
	l.recall([]metrics.Row{
		{Kind: metrics.Cycle, Cycle: 1, Attempt: 1, Values: stats(9)},
		{Kind: metrics.Cycle, Cycle: 1, Attempt: 2, Values: stats(0.25)},
		{Kind: metrics.Eval, Cycle: 1, Attempt: 2, Values: stats(7)},
	})
	now = now.Add(time.Second)
	l.done(2, stats(0.5))
	l.done(3, rl.Stats{})
	now = now.Add(time.Second)
	l.at(3, "push")
	for _, want := range []string{"reward  ▁█ ", "gap     ▁▁ ", "push"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the terminal shows %q, want %q in it", b.String(), want)
		}
	}
	if got := row("reward", []float64{0.25, 0.5}, 3); got.Note != "average 0.375" {
		t.Errorf("a row says %q, want the average 0.375", got.Note)
	}
}

// A person reads four digits, a program all of them.
func TestNewLog(t *testing.T) {
	for _, tt := range []struct {
		terminal, color bool
		want            string
	}{{true, false, "INF cycle reward=0.3333 n=7"}, {false, false, `"reward":0.3333333333333333`}} {
		var b bytes.Buffer
		newLog(&b, tt.terminal, tt.color).Info("cycle", "reward", 1.0/3, "n", 7)
		if !strings.Contains(b.String(), tt.want) || strings.Contains(b.String(), "\x1b[") {
			t.Errorf("terminal %v: %q, want %q and no colour", tt.terminal, b.String(), tt.want)
		}
	}
	var b bytes.Buffer
	if newLog(&b, true, true).Warn("x"); !strings.Contains(b.String(), "\x1b[") {
		t.Errorf("with colour: %q", b.String())
	}
}
