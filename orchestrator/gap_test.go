package orchestrator

import (
	"context"
	"math"
	"testing"

	"furlong/rl"
)

func TestGapByAge(t *testing.T) {
	stats := rl.Stats{}
	gapByAge(stats, []*rl.Sample{
		{LogProbs: []float32{-1, -1, -1}, TrainLogProbs: []float32{-2, -1, -5}, Versions: []rl.Span{{Version: 3, Tokens: 2}, {Version: 5, Tokens: 1}}},
		{LogProbs: []float32{-1, float32(math.Inf(-1))}, TrainLogProbs: []float32{0, -1}, Versions: []rl.Span{{Version: rl.NewVersion(1, 5), Tokens: 2}}},
		{LogProbs: []float32{-9}, Versions: []rl.Span{{Version: 1, Tokens: 1}}}, // it did not train
	}, 5)
	if len(stats) != 2 || stats["train/logp_diff/by_age/2"] != 0.5 || stats["train/logp_diff/by_age/0"] != 2.5 {
		t.Errorf("ages are %v", stats)
	}
}

// A report can ask the engine while it is told, and only where somebody answers; what comes of it is not the loop's business.
func TestReportsCanAsk(t *testing.T) {
	for _, kind := range []string{"sync", "one-step-off"} {
		d := &asking{}
		plain, want := newLoop(t.TempDir(), kind, 0, &d.diary)
		if err := runLoop(t, t.Context(), plain); err != nil {
			t.Fatal(err)
		}
		l, got := newLoop(t.TempDir(), kind, 0, nil)
		asked := 0
		l.Watch, l.Rescore = d, func(_ context.Context, s []*rl.Sample) (*rl.Rescored, error) {
			asked += len(s)
			return &rl.Rescored{}, nil
		}
		if err := runLoop(t, t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if asked != 6 || d.could != 6 || got.weights != want.weights {
			t.Errorf("%s: asked %d times, could %d, weights %x; want 6, 6, %x", kind, asked, d.could, got.weights, want.weights)
		}
		if d.reports[0].Rescore != nil {
			t.Error("a report can ask where nobody answers")
		}
	}
}

// An asking watcher has a sample of every cycle computed again.
type asking struct {
	diary
	could int
}

func (a *asking) Cycle(r *Report) error {
	if r.Rescore == nil {
		return a.diary.Cycle(r)
	}
	a.could++
	_, err := r.Rescore(r.Samples[:1])
	return err
}
