package gather

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furlong/rl"
)

// longer returns lengths that grow with the number of the group.
func longer(group int64, index int) int { return 2 + int(group)%16 + index }

// A round of sixteen prompts, of which half train: never more are in flight, four make the batch, and the other four are the next one.
func TestOverSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(r *Run) { r.OverSampling, r.Filter = 16, "check_reward_nonzero_std" })
		defer x.close()
		b := x.batch(1)
		if got, want := numbers(b.Groups), []int64{0, 2, 4, 6}; !slices.Equal(got, want) {
			t.Errorf("the batch is %v, want %v", got, want)
		}
		if x.engine.Most != 32 {
			t.Errorf("%d requests were in flight at once, want the 32 of 16 groups", x.engine.Most)
		}
		if got := b.Stats; got["rollout/group_acceptance"] != 0.5 || got["rollout/dynamic_filter/drop_zero_std_0.0"] != 8 {
			t.Errorf("figures are %v, want half accepted and 8 groups dropped for zero_std_0.0", got)
		}
		x.train(b)
		x.checkFates()
		b = x.batch(2)
		if got, want := numbers(b.Groups), []int64{8, 10, 12, 14}; !slices.Equal(got, want) || x.prompts.Count != 16 {
			t.Errorf("the next batch is %v after %d prompts, want the surplus %v, and no new prompt", got, x.prompts.Count, want)
		}
		x.train(b)
		x.checkFates()
	})
}

// Never are more groups in flight than a round has, whatever is dropped and topped up.
func TestInFlightIsBounded(t *testing.T) {
	for _, policy := range []string{PromptOrder, First, Reservoir} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.OverSampling, r.Filter, r.Policy = 6, "check_reward_nonzero_std", policy })
			defer x.close()
			for c := 1; c <= 5; c++ {
				x.train(x.batch(c))
				x.checkFates()
			}
			if most := x.engine.Most; most > 12 || most < 10 {
				t.Errorf("%s: %d requests were in flight at once, want at most the 12 of 6 groups, and not much less", policy, most)
			}
		})
	}
}

// Eight groups are still being drawn when the batch is there: all come back, none trains, and they go on with the tokens and the rest of the budget
// that they had.
func TestPartialRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lengths := func(group int64, index int) int {
			if group < 4 {
				return 3
			}
			return 100 // the budget of 30 ends them
		}
		x := newRig(t, lengths, func(r *Run) { r.OverSampling, r.Policy, r.Partial = 12, First, true })
		defer x.close()
		b := x.batch(1)
		if got, want := numbers(b.Groups), []int64{0, 1, 2, 3}; !slices.Equal(got, want) {
			t.Fatalf("the batch is %v, want %v", got, want)
		}
		if n := len(x.stock.flying); n != 0 || x.engine.InFlight() != 0 {
			t.Errorf("%d groups and %d requests are in flight, want none", n, x.engine.InFlight())
		}
		if got, want := numbers(x.stock.begun), []int64{4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
			t.Errorf("begun are %v, want %v", got, want)
		}
		had := map[string][]int32{}
		tokens := 0
		for _, g := range x.stock.begun {
			for j, s := range g.Samples {
				if len(s.Response) < 3 || len(s.Response) > 4 {
					t.Errorf("group %d has %d tokens, want the 3 or 4 of its time", g.number(), len(s.Response))
				}
				had[fmt.Sprint(g.number(), j)] = slices.Clone(s.Response)
				tokens += len(s.Response)
			}
		}
		x.train(b)
		x.checkFates()
		before := x.engine.Drawn
		b = x.batch(2)
		if len(x.engine.Begun) < 8 {
			t.Fatalf("%d requests came with a beginning, want at least 8", len(x.engine.Begun))
		}
		for _, r := range x.engine.Begun {
			if got := had[fmt.Sprint(r.Prompt.Group, r.Index)]; !slices.Equal(r.Begun.Response, got) || r.Sampling.MaxTokens != 30 {
				t.Errorf("group %d goes on from %v with %d tokens at most, want %v and 30", r.Prompt.Group, r.Begun.Response, r.Sampling.MaxTokens, got)
			}
		}
		for _, s := range b.Samples() {
			if len(s.Response) != 30 || s.Stop != rl.StopLength {
				t.Errorf("group %d ends with %d tokens and %v, want 30 and length", s.Prompt.Group, len(s.Response), s.Stop)
			}
		}
		if drawn, rest := x.engine.Drawn-before, 16*30-tokens; drawn > rest+4*2*30 {
			t.Errorf("%d tokens were drawn, want the %d that were missing and those of four new groups at most", drawn, rest)
		}
		x.train(b)
		x.checkFates()
	})
}

// Without partial rollout what is cut off is dropped and counted.
func TestSurplusIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lengths := func(group int64, index int) int { return 3 + 20*int(group/4) }
		x := newRig(t, lengths, func(r *Run) { r.OverSampling, r.Policy = 8, First })
		defer x.close()
		b := x.batch(1)
		x.train(b)
		a := x.Account()
		if got := a.Prompts.Dropped[Surplus]; got != 4 || float64(a.Tokens.Dropped[Surplus]) != b.Stats["rollout/surplus_discarded_tokens"] || a.Tokens.Dropped[Surplus] == 0 {
			t.Errorf("%d groups with %d tokens were dropped as surplus, reported are %v, want 4 groups, some tokens, and the same", got, a.Tokens.Dropped[Surplus], b.Stats["rollout/surplus_discarded_tokens"])
		}
		x.checkFates()
	})
}

// Tokens of a partial rollout that an earlier version chose are masked when that is asked for, and accounted for.
func TestOldTokensAreMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(r *Run) { r.OverSampling, r.Policy, r.Partial, r.MaskOld = 8, First, true, true })
		defer x.close()
		x.train(x.batch(1))
		x.engine.Serve(2)
		b := x.batch(2)
		masked := 0
		for _, s := range b.Samples() {
			at := 0
			for _, sp := range s.Versions {
				for range sp.Tokens {
					open := s.LossMask == nil || s.LossMask[at]
					if old := sp.Version.Count() == 1; old == open {
						t.Errorf("group %d: token %d of version %v trains: %v", s.Prompt.Group, at, sp.Version, open)
					} else if old {
						masked++
					}
					at++
				}
			}
		}
		x.train(b)
		if got := x.Account().Tokens.Masked[OffPolicy]; masked == 0 || int(got) != masked {
			t.Errorf("%d tokens are masked and %d accounted for, want the same and some", masked, got)
		}
		x.checkFates()
	})
}

// Which groups make the batch, and what they hold, depends on no timing where order or seed decide.
func TestPoliciesAreDeterministic(t *testing.T) {
	for _, policy := range []string{PromptOrder, Reservoir} {
		runs := map[int][][]int64{}
		for seed := range 3 {
			synctest.Test(t, func(t *testing.T) {
				x := newRig(t, longer, func(r *Run) { r.OverSampling, r.Filter, r.Policy = 7, "check_reward_nonzero_std", policy })
				defer x.close()
				x.engine.Latency = func(call int) time.Duration { return time.Duration(rl.MixSeed(uint64(seed), uint64(call))%20) * tick }
				for c := 1; c <= 6; c++ {
					x.engine.Serve(c)
					b := x.batch(c)
					runs[seed] = append(runs[seed], numbers(b.Groups))
					for _, s := range b.Samples() {
						runs[seed] = append(runs[seed], []int64{int64(s.Versions[0].Version), int64(len(s.Response))})
					}
					x.train(b)
				}
			})
		}
		if !reflect.DeepEqual(runs[0], runs[1]) || !reflect.DeepEqual(runs[0], runs[2]) {
			t.Errorf("%s: three runs of different timing have batches\n%v\n%v\n%v", policy, runs[0], runs[1], runs[2])
		}
	}
}

// With order, a batch does not favour short responses; first does, which is why it must be asked for.
func TestPolicyAndLength(t *testing.T) {
	mean := map[string]float64{}
	for _, policy := range []string{PromptOrder, First} {
		synctest.Test(t, func(t *testing.T) {
			lengths := func(group int64, index int) int { return 1 + int(rl.MixSeed(3, uint64(group))%25) }
			x := newRig(t, lengths, func(r *Run) { r.OverSampling, r.Policy = 16, policy })
			defer x.close()
			n := 0.0
			for c := 1; c <= 20; c++ {
				b := x.batch(c)
				for _, s := range b.Samples() {
					mean[policy] += float64(len(s.Response))
					n++
				}
				x.train(b)
			}
			mean[policy] /= n
		})
	}
	if a, b := mean[PromptOrder], mean[First]; a < 11 || a > 15 || b > a-4 {
		t.Errorf("mean lengths are %.1f in the order of prompts and %.1f of the first that are finished, want about 13 and much less", a, b)
	}
}

// A filter that keeps nothing ends the run with what it saw.
func TestStarving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(r *Run) { r.Filter, r.MaxRounds = "pass-rate:0.9-1", 5 })
		defer x.close()
		if err := x.Begin(x.ctx, 1); err != nil {
			t.Fatal(err)
		}
		_, err := x.Await(x.ctx, 1)
		for _, want := range []string{"6 rounds of 4", "0 of 24 groups were kept by --dynamic-sampling-filter-path pass-rate:0.9-1", "12 of pass rate 0.0; 12 of pass rate 0.5;", "more --n-samples-per-prompt"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a filter that keeps nothing gives %v, want %q in it", err, want)
			}
		}
		x.checkFates()
	})
}

// A filter that keeps next to nothing is told of.
func TestAdvice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, longer, func(r *Run) { r.Filter, r.MaxRounds = "check_reward_nonzero_std", 0 })
		defer x.close()
		x.Gatherer.parts.Grade = func(_ context.Context, all []*rl.Sample) error {
			for _, s := range all {
				s.Verdict, s.Reward = rl.Wrong, 0
				if s.Prompt.Group%50 == 0 && s.Index == 0 {
					s.Verdict, s.Reward = rl.Right, 1
				}
			}
			return nil
		}
		x.train(x.batch(1))
		if len(x.advised) != 1 || !strings.Contains(x.advised[0], "kept 4 of 151 groups") {
			t.Errorf("advice is %q, want a line that 4 of 151 groups were kept", x.advised)
		}
	})
}

// A group that is ended from outside and asked for again has one place in the order, and its tokens.
func TestRetriedGroupsKeepTheirPlace(t *testing.T) {
	for _, partial := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newRig(t, longer, func(r *Run) { r.Unused, r.OverSampling, r.Partial = Retry, 8, partial })
			defer x.close()
			x.engine.Stray = func(call, tick int, r rl.Request) bool { return call <= 3 && tick == 2 }
			b := x.batch(1)
			if got, want := numbers(b.Groups), []int64{0, 1, 2, 3}; !slices.Equal(got, want) || len(x.engine.Begun) == 0 {
				t.Errorf("the batch is %v, with %d requests gone on with, want %v and some", got, len(x.engine.Begun), want)
			}
			x.train(b)
			x.checkFates()
		})
	}
}
