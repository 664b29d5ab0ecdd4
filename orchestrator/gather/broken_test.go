package gather

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"furlong/rl"
	"furlong/rl/ticktest"
)

// A spoiler is an engine that hands back some samples broken.
type spoiler struct {
	*ticktest.Engine
	spoil func(*rl.Sample)
}

func (s *spoiler) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for x, err := range s.Engine.Generate(ctx, reqs) {
			if x != nil {
				s.spoil(x)
			}
			if !yield(x, err) {
				return
			}
		}
	}
}

// A broken sample counts as a failure of the engine: its group is asked for again, the others of its call are taken, and where nothing else comes the run ends and says why.
func TestBrokenSamples(t *testing.T) {
	for _, always := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(*Run) {})
			defer x.close()
			left := 5
			x.Gatherer.parts.Engine = &spoiler{x.engine, func(s *rl.Sample) {
				if left--; always || left >= 0 {
					s.LogProbs = s.LogProbs[1:]
				}
			}}
			if err := x.Begin(x.ctx, 1); err != nil {
				t.Fatal(err)
			}
			b, err := x.Await(x.ctx, 1)
			if always {
				if err == nil || !strings.Contains(err.Error(), "the rollout engine failed at 4 groups in a row: engine gave sample ") || !strings.Contains(err.Error(), " logprobs, want ") {
					t.Errorf("%v, want that all that came was broken, and how", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			x.train(b)
			if a := x.Account(); sum(a.Prompts.Dropped) != 0 || a.Prompts.Trained != 4 {
				t.Errorf("account is %+v, want 4 prompts trained and none dropped", a)
			}
		})
	}
}

// A batch with a sample that came apart on the way ends the run.
func TestBatchesOfBrokenSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(*Run) {})
		defer x.close()
		x.Gatherer.parts.Grade = func(ctx context.Context, all []*rl.Sample) error {
			all[1].LossMask = []bool{true}
			return gradeByPlace(ctx, all)
		}
		if err := x.Begin(x.ctx, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Await(x.ctx, 1); err == nil || err.Error() != "batch of cycle 1: prompt 0, sample 1: 3 tokens have 1 marks of tokens that train, want 3" {
			t.Errorf("%v, want the sample with a mask of another length", err)
		}
	})
}
