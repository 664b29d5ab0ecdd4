package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

// Evaluations with engines of their own end only after the next cycle was trained: if the loop waited for them, it would wait for ever. Each is of the weights
// of its cycle, and checkpoints come after it.
func TestExamsGoOnBeside(t *testing.T) {
	for _, kind := range []string{Synchronous, OneStepOff, FullyAsync} {
		t.Run(kind, func(t *testing.T) {
			d := &diary{}
			dir := t.TempDir()
			l, s := newLoop(dir, kind, 0, d)
			l.Config.EvalEvery, l.Config.SaveEvery, l.Config.Apart = 3, 3, true
			l.Eval = func(context.Context, int, int) error { return errors.New("the rollout engine was asked") }
			trained := make([]chan struct{}, 8)
			for c := range trained {
				trained[c] = make(chan struct{})
			}
			d.onCycle = func(c int) { close(trained[c]) }
			var got []string
			l.Examine = func(_ context.Context, c int, w rl.Weights) (func(context.Context) error, error) {
				weights := s.published(w.Version())
				if weights != s.weights || w.Version() != l.version {
					t.Errorf("cycle %d: weights %x of version %v, want %x of %v", c, weights, w.Version(), s.weights, l.version)
				}
				return func(context.Context) error {
					if c < 6 {
						<-trained[c+1]
					}
					if at, err := Newest(dir); err != nil || at > c {
						t.Errorf("checkpoint %d was there before the evaluation after cycle %d, %v", at, c, err)
					}
					got = append(got, fmt.Sprint(c))
					return nil
				}, nil
			}
			if err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := []string{"0", "3", "6"}; !slices.Equal(got, want) {
				t.Errorf("evaluated after cycles %v, want %v", got, want)
			}
		})
	}
}

// A failed evaluation ends the run where it is waited for, and an interrupt waits for the one that goes on before it saves.
func TestExamsEnd(t *testing.T) {
	l, _ := newLoop(t.TempDir(), Synchronous, 0, &diary{})
	l.Config.EvalEvery, l.Config.Apart = 2, true
	l.Eval = func(context.Context, int, int) error { return nil }
	l.Examine = func(_ context.Context, c int, _ rl.Weights) (func(context.Context) error, error) {
		return func(context.Context) error { return fmt.Errorf("no answer") }, nil
	}
	if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "evaluation after cycle 0: no answer") {
		t.Errorf("the run ended with %v, want the evaluation's error", err)
	}

	d := &diary{}
	l, _ = newLoop(t.TempDir(), Synchronous, 0, d)
	l.Config.EvalEvery, l.Config.SaveEvery, l.Config.Apart = 6, 6, true
	l.Eval = func(context.Context, int, int) error { return nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := false
	l.Examine = func(_ context.Context, _ int, _ rl.Weights) (func(context.Context) error, error) {
		return func(beside context.Context) error {
			<-ctx.Done()
			ended = beside.Err() == nil
			return nil
		}, nil
	}
	d.onCycle = func(c int) {
		if c == 2 {
			cancel()
		}
	}
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) || !ended || l.saved != 2 {
		t.Errorf("interrupted: %v, evaluation done %v, saved %d; want that it was done and cycle 2 saved", err, ended, l.saved)
	}
}
