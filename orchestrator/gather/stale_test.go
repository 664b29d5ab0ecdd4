package gather

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furlong/rl"
	"furlong/rl/ticktest"
)

// shelf returns a stock in which groups 1 to 5 are finished, each chosen by the version of its number, three tokens a sample.
func shelf(unused string, bound int) *stock {
	r := Run{Settings: Default(), Batch: 2, PerPrompt: 2, Async: true}
	r.Bound, r.Unused = bound, unused
	s := newStock(r)
	for v := 1; v <= 5; v++ {
		g := &Group{Prompt: &rl.Prompt{Group: int64(v)}, From: rl.NewVersion(0, v)}
		for j := range 2 {
			g.Samples = append(g.Samples, &rl.Sample{
				Prompt: g.Prompt, Index: j, Response: []int32{1, 2, 3}, LogProbs: make([]float32, 3), Stop: rl.StopToken, Verdict: rl.Right,
				Versions: []rl.Span{{Version: g.From, Tokens: 3}},
			})
		}
		s.ready = append(s.ready, g)
		s.account.Prompts.Generated++
		s.account.Samples.Generated += 2
		s.account.Tokens.Generated += 6
	}
	return s
}

// A buffer holds versions 1 to 5 while 6 is served: with a bound of 2, groups 4 and 5 are taken, and the others handled as is asked for.
func TestStaleBuffer(t *testing.T) {
	for _, tt := range []struct {
		unused       string
		begun        []int64
		tokens, gone int64
	}{{Drop, nil, 18, 3}, {Retry, []int64{1, 2, 3}, 18, 0}, {Mask, nil, 18, 3}} {
		s := shelf(tt.unused, 2)
		s.sweep(6)
		if !s.complete() {
			t.Fatalf("%s: no batch", tt.unused)
		}
		got := s.pick(1)
		if !slices.Equal(numbers(got), []int64{4, 5}) || !slices.Equal(numbers(s.begun), tt.begun) {
			t.Errorf("%s: taken are %v and begun %v, want 4 and 5, and %v", tt.unused, numbers(got), numbers(s.begun), tt.begun)
		}
		a := s.waiting(got)
		if a.Tokens.Dropped[Stale] != tt.tokens || a.Prompts.Dropped[Stale] != tt.gone || a.Check() != nil {
			t.Errorf("%s: account is %+v (%v), want %d stale tokens and %d prompts", tt.unused, a, a.Check(), tt.tokens, tt.gone)
		}
		for _, g := range s.begun {
			if g.tokens() != 0 || g.From != 0 {
				t.Errorf("a prompt that is handed out again comes with %d tokens", g.tokens())
			}
		}
	}
}

// With mask a group stays for its fresh tokens alone.
func TestOldTokensOfFreshGroups(t *testing.T) {
	s := shelf(Mask, 2)
	for _, x := range s.ready[0].Samples {
		x.Versions = []rl.Span{{Version: 1, Tokens: 1}, {Version: 3, Tokens: 1}, {Version: 5, Tokens: 1}}
	}
	s.sweep(6)
	got := s.pick(1)
	if !slices.Equal(numbers(got), []int64{1, 4}) {
		t.Fatalf("taken are %v, want 1 for its last tokens, and 4", numbers(got))
	}
	s.veil(got, 6, 0)
	for _, x := range got[0].Samples {
		if !slices.Equal(x.LossMask, []bool{false, false, true}) {
			t.Errorf("mask is %v, want only the last of three", x.LossMask)
		}
	}
	if got[1].Samples[0].LossMask != nil || got[0].Masked[Stale] != 4 {
		t.Errorf("masked are %v, want 4 stale tokens, and none of group 4", got[0].Masked)
	}
	s.account.train(got[0], true)
	s.account.train(got[1], true)
	if a := s.waiting(); a.Check() != nil || a.Tokens.Trained != 8 || a.Tokens.Masked[Stale] != 4 || a.Prompts.Trained != 2 {
		t.Errorf("account is %+v (%v), want 8 tokens trained, 4 masked", a, a.Check())
	}
}

// Groups that were finished under an earlier version have no token that would train where such tokens are masked: they don't fill a batch.
func TestFinishedGroupsOfEarlierVersions(t *testing.T) {
	for _, tt := range []struct {
		unused string
		lag    int
		ready  []int64
		begun  []int64
	}{{Drop, 0, []int64{1}, nil}, {Mask, 0, []int64{1}, nil}, {Retry, 0, []int64{1}, []int64{2, 3, 4, 5}}, {Drop, 1, []int64{1, 5}, nil}} {
		s := shelf(tt.unused, -1)
		s.run.Async, s.run.Partial, s.run.MaskOld, s.run.Lag = false, true, true, tt.lag
		for _, x := range s.ready[0].Samples {
			x.Versions = []rl.Span{{Version: 1, Tokens: 2}, {Version: 6, Tokens: 1}}
		}
		s.sweep(6)
		if !slices.Equal(numbers(s.ready), tt.ready) || !slices.Equal(numbers(s.begun), tt.begun) {
			t.Errorf("%s, %d behind: ready are %v and begun %v, want %v and %v", tt.unused, tt.lag, numbers(s.ready), numbers(s.begun), tt.ready, tt.begun)
		}
		if a := s.waiting(); a.Check() != nil || a.Tokens.Dropped[Stale] != int64(6*(5-len(tt.ready))) {
			t.Errorf("%s, %d behind: account is %+v (%v), want the others dropped as stale", tt.unused, tt.lag, a, a.Check())
		}
	}
}

// A schedule is how a fully asynchronous run goes, drawn from a seed.
type schedule struct {
	unused, granularity string
	bound, cycles       int
	rnd                 *rand.Rand
}

func newSchedule(seed uint64) schedule {
	rnd := rand.New(rand.NewPCG(seed, 9))
	return schedule{[]string{Drop, Retry, Mask}[rnd.IntN(3)], []string{"sample", "group"}[rnd.IntN(2)], rnd.IntN(4) - 1, 8, rnd}
}

func (s schedule) run(r *Run) {
	r.Async, r.Unused, r.Granularity, r.Bound = true, s.unused, s.granularity, s.bound
	r.Capacity = 1 + 2*s.rnd.Float64()
	r.Concurrent = r.PerPrompt + s.rnd.IntN(12)
}

func (s schedule) String() string {
	return fmt.Sprintf("%s, bound %d, by %s", s.unused, s.bound, s.granularity)
}

// lengths spread widely, so that groups are overtaken.
func spread(seed uint64) func(int64, int) int {
	return func(group int64, index int) int { return 1 + int(rl.MixSeed(seed, uint64(group), uint64(index))%30) }
}

// Whatever the schedule, no token trains that is older than the bound, and nothing is lost.
func TestNoTokenIsTooOld(t *testing.T) {
	stale := map[string]int64{}
	for seed := range uint64(60) {
		s := newSchedule(seed)
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, spread(seed), s.run)
			defer x.close()
			x.Open(x.ctx)
			for c := 1; c <= s.cycles; c++ {
				b, err := x.Take(x.ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				checkAges(t, b, s, x.engine.Version())
				time.Sleep(time.Duration(s.rnd.IntN(25)) * tick) // the trainer is at work
				x.train(b)
				x.engine.Serve(c + 1)
				if s.rnd.IntN(4) == 0 {
					if err := x.Park(x.ctx); err != nil {
						t.Fatal(err)
					}
					x.checkFates()
					x.Open(x.ctx)
				}
			}
			if err := x.Park(x.ctx); err != nil {
				t.Fatal(err)
			}
			x.checkFates()
			if n := len(x.stock.ready); n > x.run.capacity() || x.engine.Most > x.run.budget() {
				t.Errorf("%d groups wait and %d requests flew, want at most %d and %d", n, x.engine.Most, x.run.capacity(), x.run.budget())
			}
			a := x.Account()
			if a.Prompts.Dropped[Surplus] != 0 {
				t.Errorf("%d groups were cut off, want all kept", a.Prompts.Dropped[Surplus])
			}
			stale[s.unused] += a.Tokens.Dropped[Stale] + a.Tokens.Masked[Stale]
		})
	}
	if len(stale) != 3 || stale[Drop] == 0 || stale[Retry] == 0 || stale[Mask] == 0 {
		t.Errorf("stale tokens by handler are %v, want some of each: the schedules show nothing", stale)
	}
}

func checkAges(t *testing.T, b *Batch, s schedule, served rl.Version) {
	t.Helper()
	for _, x := range b.Samples() {
		at := 0
		for _, sp := range x.Versions {
			for range sp.Tokens {
				old := s.bound >= 0 && served.Count()-sp.Version.Count() > s.bound
				open := x.LossMask == nil || x.LossMask[at]
				if old == open {
					t.Errorf("%v: token %d of version %v trains: %v, while %v is served", s, at, sp.Version, open, served)
				}
				at++
			}
		}
	}
}

// Whatever is saved in the middle of everything goes on elsewhere: each prompt has one fate, in one order, and the tokens that were there stay.
func TestStateInTheMiddle(t *testing.T) {
	for seed := range uint64(20) {
		s := newSchedule(seed)
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, spread(seed), s.run)
			x.Open(x.ctx)
			var b *Batch
			for c := 1; c <= 3; c++ {
				var err error
				if b, err = x.Take(x.ctx, c); err != nil {
					t.Fatal(err)
				}
				if c < 3 {
					x.train(b)
					x.engine.Serve(c + 1)
				}
				time.Sleep(time.Duration(s.rnd.IntN(20)) * tick)
			}
			y := x.revive()
			if y.batches[3] == nil || len(numbers(y.batches[3].Groups)) != 4 {
				t.Fatal("the batch that was taken and had not trained is not there")
			}
			had := map[int64]int{}
			for _, g := range y.stock.begun {
				had[g.number()] = g.tokens()
			}
			y.Open(y.ctx)
			defer y.close()
			for c := 3; c <= 6; c++ {
				b, err := y.Take(y.ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range b.Groups {
					if g.tokens() < had[g.number()] && s.bound < 0 {
						t.Errorf("group %d has %d tokens, want at least the %d that it had", g.number(), g.tokens(), had[g.number()])
					}
				}
				y.train(b)
				y.engine.Serve(c + 1)
			}
			if err := y.Park(y.ctx); err != nil {
				t.Fatal(err)
			}
			y.checkFates()
		})
	}
}

// revive parks x, and returns a rig with the same settings that goes on from its state as a file holds it. x is closed.
func (x *rig) revive() *rig {
	x.t.Helper()
	if err := x.Park(x.ctx); err != nil {
		x.t.Fatal(err)
	}
	s := x.saved(2)
	x.close()
	y := &rig{t: x.t, engine: x.engine, prompts: &ticktest.Prompts{}, trained: x.trained, tokens: x.tokens, samples: x.samples}
	y.ctx, y.end = context.WithCancel(x.t.Context())
	y.Gatherer = New(x.run, y.parts(gradeByPlace))
	if err := y.Restore(s); err != nil {
		x.t.Fatal(err)
	}
	if a, b := x.Account(), y.Account(); a.String() != b.String() || x.prompts.Count != y.prompts.Count {
		x.t.Errorf("the account is %v at prompt %d, want %v at %d", b, y.prompts.Count, a, x.prompts.Count)
	}
	return y
}

// A state that cannot be is refused with what is wrong with it.
func TestStatesThatCannotBe(t *testing.T) {
	for want, spoil := range map[string]func(s *State){
		"a group of the checkpoint has no prompt":                                          func(s *State) { s.Ready = []*Group{nil} },
		"prompt 0 of the checkpoint has 1 samples, want --n-samples-per-prompt (2)":        func(s *State) { g := s.Batches[0].Groups[0]; g.Samples = g.Samples[:1] },
		"prompt 0 of the checkpoint is finished with 1 samples that are not":               func(s *State) { s.Batches[0].Groups[0].Samples[1] = nil },
		"the account of prompts does not add up: 5 generated, but 0 trained, 0 masked, 4 ": func(s *State) { s.Account.Prompts.Generated++ },
		"no state": func(s *State) { s.Prompts = nil },
		"prompt 0, sample 1 of the checkpoint: 7 tokens have 6 logprobs, want 7": func(s *State) {
			x := s.Batches[0].Groups[0].Samples[1]
			x.Response, x.LogProbs, x.Versions = make([]int32, 7), make([]float32, 6), []rl.Span{{Version: 1, Tokens: 7}}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(*Run) {})
			defer x.close()
			x.batch(1)
			s := x.saved(0)
			spoil(s)
			y := newRig(t, longer, func(*Run) {})
			defer y.close()
			if err := y.Restore(s); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
