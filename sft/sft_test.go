package sft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

// learner is a training engine that learns nothing: it notes what it is given, and may be told what to answer.
type learner struct {
	rl.TrainEngine
	batches [][]int // indices of the samples
	stale   int     // samples that came with an earlier pass's findings
	answer  func(step int) (rl.Stats, error)
}

func (l *learner) Step(_ context.Context, b *rl.Batch) (rl.Stats, error) {
	var batch []int
	for _, s := range b.Samples {
		batch = append(batch, s.Index)
		if s.TrainLogProbs != nil || s.Entropy != nil {
			l.stale++
		}
	}
	for _, s := range b.Samples {
		s.TrainLogProbs, s.Entropy = []float32{-1}, []float32{1}
	}
	l.batches = append(l.batches, batch)
	if b.Cycle != len(l.batches) {
		return nil, fmt.Errorf("cycle is %d, want %d", b.Cycle, len(l.batches))
	}
	if l.answer == nil {
		return rl.Stats{"train/loss": 1}, nil
	}
	return l.answer(b.Cycle)
}

// examples are n samples, the same ones in every pass.
func examples(n int) iter.Seq[*rl.Sample] {
	var all []*rl.Sample
	for i := range n {
		all = append(all, &rl.Sample{Prompt: &rl.Prompt{Tokens: []int32{1}}, Index: i, Response: []int32{2}})
	}
	return slices.Values(all)
}

func steps(n, batch int) Config {
	c := Default()
	c.Steps, c.Batch = n, batch
	return c
}

func quiet(int, rl.Stats) error { return nil }

func TestRunGoesThroughTheDataAgainAndAgain(t *testing.T) {
	for _, tt := range []struct {
		examples, steps, batch int
		want                   string
	}{
		{5, 3, 2, "[[0 1] [2 3] [4 0]]"},
		{5, 2, 5, "[[0 1 2 3 4] [0 1 2 3 4]]"},
		{2, 2, 5, "[[0 1 0 1 0] [1 0 1 0 1]]"}, // more than there is: some twice in a batch
		{100, 1, 3, "[[0 1 2]]"},
		{1, 3, 1, "[[0] [0] [0]]"},
	} {
		l := &learner{}
		if err := Run(t.Context(), steps(tt.steps, tt.batch), l, examples(tt.examples), quiet); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(l.batches); got != tt.want {
			t.Errorf("%d steps of %d from %d examples: %s, want %s", tt.steps, tt.batch, tt.examples, got, tt.want)
		}
		if l.stale != 0 {
			t.Errorf("%d steps of %d from %d examples: %d samples carry what an earlier pass found", tt.steps, tt.batch, tt.examples, l.stale)
		}
	}
}

func TestRunReportsEachStep(t *testing.T) {
	var got []string
	l := &learner{answer: func(step int) (rl.Stats, error) { return rl.Stats{"train/loss": float64(10 - step)}, nil }}
	err := Run(t.Context(), steps(3, 1), l, examples(1), func(step int, s rl.Stats) error {
		got = append(got, fmt.Sprint(step, s["train/loss"]))
		return nil
	})
	if err != nil || fmt.Sprint(got) != "[1 9 2 8 3 7]" {
		t.Errorf("reports are %v with %v, want steps 1 to 3 of loss 9 to 7", got, err)
	}
	full := errors.New("disk full")
	l = &learner{}
	if err := Run(t.Context(), steps(3, 1), l, examples(1), func(int, rl.Stats) error { return full }); !errors.Is(err, full) || len(l.batches) != 1 {
		t.Errorf("a report that fails: %v after %d steps, want %v after 1", err, len(l.batches), full)
	}
}

func TestRunStopsAfterSkippedStepsInARow(t *testing.T) {
	for _, tt := range []struct {
		skipped string // x for a skipped step
		steps   int    // taken before the end
		fails   bool
	}{
		{"....", 4, false}, {"xx.xx.", 6, false}, {"x.xxx.", 5, true}, {"xxxx", 3, true}, {".xx", 3, false},
	} {
		l := &learner{answer: func(step int) (rl.Stats, error) {
			if tt.skipped[step-1] == 'x' {
				return rl.Stats{"train/skipped_steps": 1}, nil
			}
			return rl.Stats{"train/skipped_steps": 0}, nil
		}}
		told := 0
		err := Run(t.Context(), steps(len(tt.skipped), 1), l, examples(1), func(step int, _ rl.Stats) error { told = step; return nil })
		if told != tt.steps {
			t.Errorf("%s: the last step reported is %d, want %d", tt.skipped, told, tt.steps)
		}
		if (err != nil) != tt.fails || len(l.batches) != tt.steps {
			t.Errorf("%s: %v after %d steps, want fails %v after %d", tt.skipped, err, len(l.batches), tt.fails, tt.steps)
		}
		if want := fmt.Sprintf("step %d: 3 steps in a row were skipped", tt.steps); tt.fails && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error is %v, want one with %q", tt.skipped, err, want)
		}
	}
}

func TestRunWrapsTheEnginesError(t *testing.T) {
	broken := errors.New("broken")
	l := &learner{answer: func(step int) (rl.Stats, error) {
		if step == 2 {
			return nil, broken
		}
		return rl.Stats{}, nil
	}}
	if err := Run(t.Context(), steps(5, 1), l, examples(1), quiet); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "step 2: ") {
		t.Errorf("error is %v, want step 2: %v", err, broken)
	}
}

// An engine may not look at the context, and there may be a step that ends just as it does.
func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &learner{}
	err := Run(ctx, steps(5, 1), l, examples(1), func(step int, _ rl.Stats) error {
		if step == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(l.batches) != 2 {
		t.Errorf("error is %v after %d steps, want %v after 2", err, len(l.batches), context.Canceled)
	}
}

func TestRunWithoutData(t *testing.T) {
	l := &learner{}
	if err := Run(t.Context(), steps(5, 1), l, examples(0), quiet); err == nil || len(l.batches) != 0 {
		t.Errorf("error is %v after %d steps, want one at once", err, len(l.batches))
	}
}

// A generator is left properly: its deferred work runs although nobody takes its last example.
func TestRunLeavesTheGenerator(t *testing.T) {
	left := false
	endless := func(yield func(*rl.Sample) bool) {
		defer func() { left = true }()
		for i := 0; ; i++ {
			if !yield(&rl.Sample{Index: i}) {
				return
			}
		}
	}
	if err := Run(t.Context(), steps(3, 2), &learner{}, endless, quiet); err != nil {
		t.Fatal(err)
	}
	if !left {
		t.Error("the generator still runs")
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	err := Config{}.Validate()
	for _, want := range []string{"--num-steps is 0, want at least 1", "--global-batch-size is 0", "--max-skipped-steps is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

func ExampleRun() {
	c := Default()
	c.Steps, c.Batch = 2, 3
	engine := &learner{answer: func(step int) (rl.Stats, error) { return rl.Stats{"train/loss": 1 / float64(step)}, nil }}
	err := Run(context.Background(), c, engine, examples(4), func(step int, s rl.Stats) error {
		fmt.Println("step", step, "loss", s["train/loss"])
		return nil
	})
	fmt.Println(engine.batches, err)
	// Output:
	// step 1 loss 1
	// step 2 loss 0.5
	// [[0 1 2] [3 0 1]] <nil>
}
