package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furlong/rl"
	"furlong/rl/ticktest"
)

// saved returns the state after a cycle, by way of JSON.
func (x *rig) saved(cycle int) *State {
	x.t.Helper()
	s, err := x.State(cycle)
	if err != nil {
		x.t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		x.t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(raw, &back); err != nil {
		x.t.Fatal(err)
	}
	return &back
}

var errBroken = errors.New("the engine broke")

// spoil has the rig's engine and grader fail in every way that there is, at random.
func (x *rig) spoil(rnd *rand.Rand) {
	var mu sync.Mutex
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(n) == 0
	}
	x.engine.Fault = func(call, flying int, reqs []rl.Request) error {
		switch {
		case chance(12):
			return errBroken
		case chance(6) || flying+len(reqs) > 9 && flying > 0:
			return fmt.Errorf("no room: %w", rl.ErrFull)
		}
		return nil
	}
	x.engine.Strike = func(call, tick int) error {
		if chance(60) {
			return context.DeadlineExceeded // of a connection, say
		}
		return nil
	}
	x.engine.Stray = func(call, tick int, r rl.Request) bool {
		return chance(150)
	}
	x.Gatherer.parts.Grade = func(ctx context.Context, all []*rl.Sample) error {
		if chance(10) {
			return errors.New("the grader broke")
		}
		if err := gradeByPlace(ctx, all); err != nil {
			return err
		}
		for _, s := range all {
			if chance(9) { // the pool caught a panic
				s.Verdict, s.Reward = rl.Invalid, 0
			}
		}
		return nil
	}
}

// Whatever breaks, each prompt that was handed out has trained, waits, or was dropped with a reason, and all tokens are accounted for.
func TestNothingIsLost(t *testing.T) {
	reasons := map[string]int64{}
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 5))
			async := seed%2 == 0
			x := newRig(t, spread(seed), func(r *Run) {
				if r.Filter = []string{"", "check_reward_nonzero_std"}[rnd.IntN(2)]; async {
					newSchedule(seed).run(r)
					return
				}
				r.OverSampling, r.Unused = 4+rnd.IntN(6), []string{Drop, Retry}[rnd.IntN(2)]
				if r.Policy = []string{PromptOrder, First, Reservoir}[rnd.IntN(3)]; r.Policy != Reservoir {
					r.Partial = rnd.IntN(2) == 0
				}
				r.MaxRounds = 0
			})
			defer x.close()
			x.spoil(rnd)
			x.cycles(5, async)
			a := x.Account()
			for reason, n := range a.Prompts.Dropped {
				reasons[reason] += n
			}
			reasons["invalid tokens"] += a.Tokens.Dropped[Invalid]
			x.checkFates()
		})
	}
	for _, want := range []string{EngineError, GraderError, Aborted, Stale, Surplus, "filter:zero_std_0.0", "invalid tokens"} {
		if reasons[want] == 0 {
			t.Errorf("nothing was dropped for %s in %v: the faults show nothing", want, reasons)
		}
	}
}

// cycles trains so many, in either kind of loop, with a save in the middle.
func (x *rig) cycles(n int, async bool) {
	x.t.Helper()
	if async {
		x.Open(x.ctx)
	}
	for c := 1; c <= n; c++ {
		var b *Batch
		var err error
		if async {
			b, err = x.Take(x.ctx, c)
		} else if err = x.Begin(x.ctx, c); err == nil {
			b, err = x.Await(x.ctx, c)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "in a row") {
				x.t.Fatal(err)
			}
			return // as many failures in a row as a batch holds: the run ends, and nothing is lost
		}
		x.train(b)
		x.checkFates()
		x.engine.Serve(c + 1)
	}
	if async {
		if err := x.Park(x.ctx); err != nil {
			x.t.Fatal(err)
		}
	}
	x.saved(n)
}

// An engine that fails at everything ends the run with its error, after as many groups as a batch holds.
func TestEngineThatAlwaysFails(t *testing.T) {
	for _, async := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.Async = async })
			defer x.close()
			x.engine.Fault = func(int, int, []rl.Request) error { return errBroken }
			var err error
			if async {
				x.Open(x.ctx)
				_, err = x.Take(x.ctx, 1)
			} else if err = x.Begin(x.ctx, 1); err == nil {
				_, err = x.Await(x.ctx, 1)
			}
			if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "failed at 4 groups in a row") {
				t.Errorf("%v, want that the engine failed at 4 groups in a row, and why", err)
			}
			x.close()
			if got := x.Account().Prompts.Dropped[EngineError]; got < 4 || len(x.advised) < 4 {
				t.Errorf("%d prompts are dropped and %d lines said so, want at least 4", got, len(x.advised))
			}
			x.checkFates()
		})
	}
}

// What a call had drawn when it failed is gone on with. That failure counts against no group: the call was of all of them.
func TestTokensOutliveAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, func(int64, int) int { return 10 }, func(*Run) {})
		defer x.close()
		x.engine.Strike = func(call, tick int) error {
			if call == 1 && tick == 5 {
				return errBroken
			}
			return nil
		}
		b := x.batch(1)
		x.train(b)
		for _, g := range b.Groups {
			if g.Failed != 0 {
				t.Errorf("prompt %s has failed %d times, want 0", g.Prompt.ID, g.Failed)
			}
		}
		if n := len(x.engine.Begun); n != 8 {
			t.Fatalf("%d requests came with a beginning, want the 8 of the call that failed, all groups'", n)
		}
		for _, r := range x.engine.Begun {
			if len(r.Begun.Response) != 5 {
				t.Errorf("sample %d goes on after %d tokens, want 5", r.Index, len(r.Begun.Response))
			}
		}
		if x.engine.Drawn != 80 {
			t.Errorf("%d tokens were drawn, want none of the 80 twice", x.engine.Drawn)
		}
	})
}

// An engine without room for a group at once gets it in parts.
func TestFullEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(*Run) {})
		defer x.close()
		x.engine.Fault = func(_, flying int, reqs []rl.Request) error {
			if flying+len(reqs) > 1 {
				return rl.ErrFull
			}
			return nil
		}
		for c := 1; c <= 3; c++ {
			x.train(x.batch(c))
		}
		if x.engine.Most != 1 {
			t.Errorf("%d requests were in flight, want 1 at a time", x.engine.Most)
		}
		if a := x.Account(); sum(a.Prompts.Dropped) != 0 || a.Prompts.Trained != 12 {
			t.Errorf("account is %+v, want 12 prompts trained and none dropped", a)
		}
	})
}

// An interrupt ends everything that was started, whatever it waits for; the state is that before the batch was begun.
func TestInterrupt(t *testing.T) {
	for seed := range 12 {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.OverSampling = 6 })
			if seed%3 == 0 {
				x.engine.Fault = func(int, int, []rl.Request) error { return rl.ErrFull } // for ever
			}
			x.train(x.batchOr(1, seed%3 == 0))
			if err := x.Begin(x.ctx, 2); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(seed) * tick)
			x.close()
			if _, err := x.Await(t.Context(), 2); seed%3 == 0 && !errors.Is(err, context.Canceled) {
				t.Errorf("the batch ends with %v, want that it was interrupted", err)
			}
			s, err := x.State(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Whole().Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// batchOr returns the batch of a cycle, or an empty one where there will be none.
func (x *rig) batchOr(cycle int, none bool) *Batch {
	if none {
		b := &Batch{Cycle: cycle}
		x.batches[cycle] = b
		return b
	}
	return x.batch(cycle)
}

// A prompt source that fails ends the run.
func TestPromptsThatFail(t *testing.T) {
	for _, async := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.Async = async })
			defer x.close()
			x.Gatherer.parts.Prompts = &dry{Prompts: x.prompts, after: 6}
			var err error
			for c := 1; err == nil && c < 9; c++ {
				var b *Batch
				if async {
					x.Open(x.ctx)
					b, err = x.Take(x.ctx, c)
				} else if err = x.Begin(x.ctx, c); err == nil {
					b, err = x.Await(x.ctx, c)
				}
				if err == nil {
					x.train(b)
				}
			}
			if err == nil || !strings.Contains(err.Error(), "dry") {
				t.Errorf("%v, want that the source is dry", err)
			}
		})
	}
}

type dry struct {
	*ticktest.Prompts
	after int
}

func (d *dry) Next(n int) ([]*rl.Prompt, error) {
	if d.after--; d.after < 0 {
		return nil, errors.New("dry")
	}
	return d.Prompts.Next(n)
}

// FuzzGathering breaks what can break at random, in random settings: samples keep their shape, and every prompt, sample and token its place in the account.
func FuzzGathering(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed), uint8(7*seed))
	}
	f.Add(uint64(5), uint8(0x93), uint8(4)) // groups ended from outside and asked for again once counted twice
	f.Fuzz(func(t *testing.T, seed uint64, settings, sizes uint8) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 6))
			async := settings&1 == 0
			x := newRig(t, spread(seed), func(r *Run) {
				r.Batch, r.PerPrompt, r.MaxRounds, r.Retries = 1+int(sizes)%5, 1+int(sizes/8)%4, 0, int(settings/64)
				if r.PerPrompt > 1 && settings&2 != 0 {
					r.Filter = "check_reward_nonzero_std"
				}
				if async {
					newSchedule(seed).run(r)
					return
				}
				r.OverSampling, r.Bound = r.Batch+int(sizes/32), rnd.IntN(4)-1
				r.Policy = []string{PromptOrder, First, Reservoir}[rnd.IntN(3)]
				r.Partial = settings&4 != 0 && r.Policy != Reservoir
				r.MaskOld, r.Unused = r.Partial && settings&8 != 0, []string{Drop, Retry, Mask}[rnd.IntN(3)]
			})
			defer x.close()
			x.spoil(rnd)
			x.cycles(3, async)
			x.checkFates()
		})
	})
}
