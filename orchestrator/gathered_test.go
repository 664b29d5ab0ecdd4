package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furlong/metrics"
	"furlong/rl"
	"furlong/rl/ticktest"
)

// A logbook takes down what roles do, one line each; the same line twice is one.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if n := len(l.lines); n == 0 || l.lines[n-1] != line {
		l.lines = append(l.lines, line)
	}
}

// without returns the lines that are not of a kind.
func (l *logbook) without(kind string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(l.lines), func(s string) bool { return strings.HasPrefix(s, kind) }), ", ")
}

// roles are the parts of a loop that take down what they do. A step takes twelve ticks, a save ten.
type roles struct {
	*sum
	*diary
	book    *logbook
	engine  *ticktest.Engine
	prompts *ticktest.Prompts
	resting []int    // requests in flight at each save
	trained []string // prompts, in the order of training
}

func (r *roles) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	time.Sleep(12 * ticktest.Tick)
	r.book.note("step %d", b.Cycle)
	stats, err := r.sum.Step(ctx, b)
	if err == nil {
		for _, s := range b.Samples {
			if s.Index == 0 {
				r.trained = append(r.trained, s.Prompt.ID)
			}
		}
	}
	return stats, err
}

func (r *roles) Publish(v rl.Version) rl.Weights {
	r.book.note("publish %v", v)
	return r.sum.Publish(v)
}

func (r *roles) Save(ctx context.Context, dir string) error {
	r.book.note("save")
	r.resting = append(r.resting, r.engine.InFlight())
	time.Sleep(10 * ticktest.Tick)
	return r.sum.Save(ctx, dir)
}

func (r *roles) Cycle(report *Report) error {
	r.book.note("report %d", report.Cycle)
	return r.diary.Cycle(report)
}

func (r *roles) Next(n int) ([]*rl.Prompt, error) {
	r.book.note("draw")
	return r.prompts.Next(n)
}

func (r *roles) State() ([]byte, error)     { return r.prompts.State() }
func (r *roles) Restore(state []byte) error { return r.prompts.Restore(state) }

// timed returns a loop of roles, which must run in a bubble.
func timed(dir, kind string, epoch int) (*Loop, *roles) {
	l, s := newLoop(dir, kind, epoch, nil)
	lengths := func(group int64, index int) int { return 1 + int(rl.MixSeed(4, uint64(group), uint64(index))%25) }
	r := &roles{sum: s, diary: &diary{}, book: &logbook{}, engine: ticktest.New(lengths), prompts: &ticktest.Prompts{}}
	l.Rollout, l.Train, l.Prompts, l.Watch = r.engine, r, r, r
	l.Config.Sampling.MaxTokens = 25
	l.Clock, l.After, l.Watches = time.Now, time.After, true
	return l, r
}

// What the roles are asked for, in order: a save comes before the push, an evaluation after it, and the first push before everything.
func TestOrderOfRoles(t *testing.T) {
	for kind, want := range map[string]string{
		Synchronous: "publish 1, eval 0, draw, step 1, report 1, publish 2, eval 1, draw, step 2, report 2, save, publish 3, eval 2, draw, step 3, report 3, save, publish 4, eval 3",
		OneStepOff:  "publish 1, eval 0, draw, step 1, report 1, publish 2, eval 1, draw, step 2, report 2, save, publish 3, eval 2, step 3, report 3, save, publish 4, eval 3",
		FullyAsync:  "publish 1, eval 0, step 1, report 1, publish 2, eval 1, step 2, report 2, save, publish 3, eval 2, step 3, report 3, save, publish 4, eval 3",
	} {
		synctest.Test(t, func(t *testing.T) {
			l, r := timed(t.TempDir(), kind, 0)
			l.Config.Cycles, l.Config.SaveEvery, l.Config.EvalEvery = 3, 2, 1
			l.Eval = func(_ context.Context, c, _ int) error { r.book.note("eval %d", c); return nil }
			if err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(r.book.lines, ", ")
			if kind == FullyAsync {
				got = r.book.without("draw")
			}
			if got != want {
				t.Errorf("%s: roles are asked for\n%s\nwant\n%s", kind, got, want)
			}
			flew := slices.Max(r.engine.Updates)
			if drains := kind != FullyAsync; (flew == 0) != drains || slices.Max(r.resting) != 0 {
				t.Errorf("%s: %v requests were in flight at updates, %v at saves: want some at updates of the loop without end alone, and none at saves", kind, r.engine.Updates, r.resting)
			}
			for name := range r.reports[1].Stats {
				if _, ok := metrics.Lookup(name); !ok {
					t.Errorf("%s is not in the table of series", name)
				}
			}
		})
	}
}

// Each loop says how long its engines stood still: less where they work at once.
func TestOverlap(t *testing.T) {
	bubbles := map[string]float64{}
	for _, kind := range []string{Synchronous, OneStepOff, FullyAsync} {
		synctest.Test(t, func(t *testing.T) {
			l, r := timed("", kind, 0)
			if err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := r.reports[3].Stats
			bubbles[kind] = s["perf/bubble_ratio"]
			if over := s["perf/overlap_ratio"]; (over > 0.4) != (kind != Synchronous) || kind == Synchronous && over != 0 {
				t.Errorf("%s: the trainer works during %.2f of rollout, want none of it in the synchronous loop, else a good part", kind, over)
			}
		})
	}
	if a, b, c := bubbles[Synchronous], bubbles[OneStepOff], bubbles[FullyAsync]; a != 0.5 || b >= a || c > b {
		t.Errorf("the engines stand still for %v, want half of the time where one waits for the other, and less and less", bubbles)
	}
}

// An interrupt at any step of the loop without end saves what is in flight; the resumed run trains each prompt once, in the end as many as were asked for, and
// has an account that adds up.
func TestInterruptWithoutEnd(t *testing.T) {
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		l, r := timed("", FullyAsync, 0)
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		steps = r.diary.steps
	})
	partial := 0
	for kill := 1; kill <= steps; kill += 3 {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l, r := timed(dir, FullyAsync, 0)
			r.killAt, r.cancel = kill, cancel
			if err := l.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if at, err := Newest(dir); err != nil || at != l.trained {
				t.Fatalf("the newest checkpoint is of cycle %d (%v), want %d", at, err, l.trained)
			}
			if l.trained > 0 {
				saved, err := ReadSaved(Checkpoint(dir, l.trained))
				if err != nil {
					t.Fatal(err)
				}
				if err := saved.Account.Check(); err != nil {
					t.Error(err)
				}
				partial += saved.Begun.Partial
			}
			next, rest := timed(dir, FullyAsync, 1)
			if err := runLoop(t, t.Context(), next); err != nil {
				t.Fatal(err)
			}
			checkOnce(t, append(r.trained, rest.trained...), 18)
			if a := next.gather.Account(); a.Check() != nil || a.Prompts.Trained != 18 || a.Prompts.Waiting != a.Prompts.Generated-18 {
				t.Errorf("interrupted at step %d: account is %+v (%v), want 18 prompts trained and all others waiting", kill, a, a.Check())
			}
		})
	}
	if partial == 0 {
		t.Error("no checkpoint holds a partial sample")
	}
}

// checkOnce makes sure that so many prompts have trained, and none twice.
func checkOnce(t *testing.T, ids []string, want int) {
	t.Helper()
	times := map[string]int{}
	for _, id := range ids {
		times[id]++
	}
	if most := slices.Max(slices.Collect(maps.Values(times))); len(ids) != want || most != 1 {
		t.Errorf("%d prompts have trained, one %d times: want %d, once each", len(ids), most, want)
	}
}

// Errors of any role end the loop, and all that it started with it.
func TestErrorsEndTheLoop(t *testing.T) {
	for _, kind := range []string{Synchronous, OneStepOff, FullyAsync} {
		for kill := 1; kill <= 12; kill++ {
			synctest.Test(t, func(t *testing.T) {
				l, r := timed(t.TempDir(), kind, 0)
				r.killAt = kill
				if err := l.Run(t.Context()); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				if n := r.engine.InFlight(); n != 0 {
					t.Errorf("%s: %d requests are in flight after the end", kind, n)
				}
			})
		}
	}
}

// A resumed run with a filter, over-sampling and order by prompts is the unbroken run, wherever it is killed.
func TestFilteredResumeIsExact(t *testing.T) {
	filtered := func(dir string, epoch int) (*Loop, *roles) {
		l, r := timed(dir, Synchronous, epoch)
		l.Config.Filter, l.Config.OverSampling, l.Config.SaveEvery = "check_reward_nonzero_std", 7, 3
		return l, r
	}
	var want *roles
	synctest.Test(t, func(t *testing.T) {
		var l *Loop
		l, want = filtered(t.TempDir(), 0)
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want.reports[5].Stats["account/prompts/dropped"] == 0 {
			t.Error("the filter has dropped nothing")
		}
	})
	for kill := 2; kill < want.diary.steps; kill += 7 {
		for _, gently := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l, broken := filtered(dir, 0)
				if broken.killAt = kill; gently {
					broken.cancel = cancel
				}
				_ = l.Run(ctx)
				l, got := filtered(dir, 1)
				if err := runLoop(t, t.Context(), l); err != nil {
					t.Fatal(err)
				}
				if got.weights != want.weights {
					t.Errorf("killed at step %d: weights are %x, want %x", kill, got.weights, want.weights)
				}
				checkCycles(t, append(broken.reports, got.reports...), want.reports)
			})
		}
	}
}
