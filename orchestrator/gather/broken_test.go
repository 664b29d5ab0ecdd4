package gather

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
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
			var seen atomic.Int32 // calls overlap
			x.Gatherer.parts.Engine = &spoiler{x.engine, func(s *rl.Sample) {
				if n := seen.Add(1); always || n <= 5 {
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

// Samples may be replaced by others before they train, longer, shorter or with masks of their own. The account says what was drawn in vain, and adds up, whatever is saved beside.
func TestReplacedSamples(t *testing.T) {
	for _, restored := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.Lag = 1 })
			defer func() { x.close() }()
			b := x.batch(1)
			if restored {
				s := x.saved(0)
				y := newRig(t, longer, func(r *Run) { r.Lag = 1 })
				x.close()
				if err := y.Restore(s); err != nil {
					t.Fatal(err)
				}
				x, b = y, y.batch(1)
			}
			if err := x.Begin(x.ctx, 2); err != nil { // it is begun before the first has trained
				t.Fatal(err)
			}
			drawn, trained := int64(b.Groups[0].tokens()+b.Groups[1].tokens()), int64(0)
			for i, s := range b.Samples()[:4] { // of two groups
				*s = rl.Sample{Prompt: s.Prompt, Index: s.Index, Response: make([]int32, 40+i), LogProbs: make([]float32, 40+i), Versions: []rl.Span{{Version: 1, Tokens: 40 + i}}, Stop: rl.StopToken, Verdict: rl.Right}
				if trained += int64(40 + i); i == 3 {
					s.LossMask = make([]bool, 43)
					s.LossMask[7], trained = true, trained-42
				}
			}
			for _, g := range b.Groups[2:] {
				trained += int64(g.tokens())
			}
			then, err := x.Trained(1, true)
			if err != nil {
				t.Fatal(err)
			}
			if then.Tokens.Trained != trained || then.Tokens.Dropped[Replaced] != drawn || then.Tokens.Masked[Context] != 42 {
				t.Errorf("account is %v with masked %v, want %d trained, %d replaced and 42 of context", then, then.Tokens.Masked, trained, drawn)
			}
			s, err := x.State(1) // of the batch that is being made, that before it was begun
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Whole().Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
