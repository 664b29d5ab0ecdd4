package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rl"
	"furlong/rollout"
	"furlong/train"
)

// drifting has every kind of layer and both routers, sizes that are no multiples of a block or a group, and windows that a few tokens fill.
var drifting = dsv4.Config{
	Vocab: 48, Hidden: 136, Heads: 2, HeadDim: 80, RopeDim: 16, QRank: 36, OGroups: 2, ORank: 20, Window: 6,
	Layers: []dsv4.Layer{
		{Attention: dsv4.W, Router: dsv4.Hash},
		{Attention: dsv4.C4, Router: dsv4.Learned},
		{Attention: dsv4.C128, Router: dsv4.Learned},
		{Attention: dsv4.C4, Router: dsv4.Learned},
	},
	RateC4: 4, RateC128: 8, IndexHeads: 2, IndexDim: 32, IndexTopK: 2,
	Experts: 4, TopK: 2, ExpertDim: 36, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 2, SinkhornIter: 3, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
	MaxPositions: 256, InitRange: 0.15, BOS: 0, EOS: 1,
}

// A pair is two engines of one policy, as a run has them.
type pair struct {
	*testing.T
	roll  *rollout.Engine
	actor *train.Engine
	n     int // versions published
	told  rl.Report
}

// A pairing is what the two engines are told.
type pairing struct {
	actor, rollout     string // formats
	actorKV, rolloutKV string
	rate               float64
	recompute, crowded bool
	records            bool // choices come with samples
	replay             train.Replay
	threads            int
}

// pairOf opens two engines of one policy, the rollout engine with its cache on.
func pairOf(t *testing.T, p pairing) *pair {
	t.Helper()
	k := cpu.Open(cpu.Options{Threads: max(p.threads, 1), Sleepy: true})
	t.Cleanup(k.Close)
	return &pair{T: t, roll: sampler(t, p, k), actor: learner(t, p, k), told: rl.Report{Experts: p.records, Entries: p.records}}
}

func sampler(t *testing.T, p pairing, k kernels.Backend) *rollout.Engine {
	t.Helper()
	c := rollout.Default()
	c.Context, c.MaxRunning, c.PrefillTokens, c.PageTokens, c.Format = 64, 8, 16, 8, p.rollout
	if p.rolloutKV != "" {
		c.KV = p.rolloutKV
	}
	if p.crowded {
		c.TotalTokens, c.MaxRunning = 96, 3
	}
	c.Experts, c.Entries = p.records, p.records
	e, err := rollout.New(c, dsv4.New(drifting, dtype.BF16), k)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { _ = e.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return e
}

func learner(t *testing.T, p pairing, k kernels.Backend) *train.Engine {
	t.Helper()
	m := dsv4.New(drifting, dtype.BF16)
	m.Init(11)
	c := train.Default()
	c.Format, c.Recompute, c.MaxTokens, c.Planned, c.Optim.LR = p.actor, p.recompute, 100, 100, p.rate
	c.Replay = p.replay
	if p.actorKV != "" {
		c.KV = p.actorKV
	}
	e, err := train.New(c, m, nil, k, train.Files{ConfigJSON: drifting.JSON(), Layers: len(drifting.Layers), Experts: drifting.Experts})
	if err != nil {
		t.Fatal(err)
	}
	r, err := quant.ParseRecipe(p.rollout)
	if err == nil {
		err = e.PublishAs(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// push gives the actor's weights to the rollout engine, and returns the state that it attests.
func (p *pair) push() rl.Digest {
	p.Helper()
	p.n++
	if err := p.roll.Update(p.Context(), p.actor.Publish(rl.NewVersion(0, p.n))); err != nil {
		p.Fatal(err)
	}
	return p.roll.Attestation().State
}

// draw returns three samples of each of five prompts, which begin alike, scored by the actor: the same requests every time.
func (p *pair) draw() []*rl.Sample {
	p.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	var common []int32
	for range 18 {
		common = append(common, int32(2+r.IntN(46)))
	}
	var reqs []rl.Request
	for group := range 5 {
		prompt := &rl.Prompt{ID: fmt.Sprint(group), Group: int64(group), Tokens: append(common[:8+2*group:8+2*group], int32(3+group))}
		for i := range 3 {
			s := rl.DefaultSampling()
			s.Seed, s.MaxTokens, s.StopIDs = uint64(100*group+i), 14, []int32{1}
			reqs = append(reqs, rl.Request{ID: int64(len(reqs)), Prompt: prompt, Index: i, Sampling: s, Report: p.told})
		}
	}
	samples := make([]*rl.Sample, len(reqs))
	for s, err := range p.roll.Generate(p.Context(), reqs) {
		if err != nil {
			p.Fatal(err)
		}
		samples[s.Request] = s
	}
	if err := p.actor.Score(p.Context(), samples); err != nil {
		p.Fatal(err)
	}
	return samples
}

// step trains on samples. Half of each group is right.
func (p *pair) step(samples []*rl.Sample) rl.Stats {
	p.Helper()
	for _, s := range samples {
		s.Verdict, s.Reward = rl.Verdict(1+s.Index%2), float64(1-s.Index%2)
		s.Advantage = 2*s.Reward - 1
	}
	stats, err := p.actor.Step(p.Context(), &rl.Batch{Samples: samples, Cycle: p.n})
	if err != nil || stats["train/skipped_steps"] != 0 || stats["train/grad_norm"] == 0 {
		p.Fatalf("step: %v, gradient %v", err, stats["train/grad_norm"])
	}
	return stats
}

// gap returns the largest difference between the two engines' logprobs of a token, and how many tokens differ in any bit.
func gap(samples []*rl.Sample) (most float64, differ, tokens int) {
	for _, s := range samples {
		for i, lp := range s.LogProbs {
			tokens++
			if math.Float32bits(lp) != math.Float32bits(s.TrainLogProbs[i]) {
				differ++
			}
			most = max(most, math.Abs(float64(lp)-float64(s.TrainLogProbs[i])))
		}
	}
	return most, differ, tokens
}

// sayings prints all that samples say, floats by their bits.
func sayings(samples []*rl.Sample) (out []string) {
	for _, s := range samples {
		text := fmt.Sprint(s.Response, s.Stop)
		for i := range s.Response {
			text += fmt.Sprintf(" %08x/%08x", math.Float32bits(s.LogProbs[i]), math.Float32bits(s.TrainLogProbs[i]))
		}
		out = append(out, text)
	}
	return out
}

// Thirty updates that change nothing leave nothing behind: the same prompts and seeds give, bit for bit, the same samples, logprobs and gap, across
// formats too.
func TestNothingDriftsAtRateZero(t *testing.T) {
	for _, tt := range []pairing{
		{actor: "bf16", rollout: "fp8", threads: 2},
		{actor: "bf16", rollout: "fp8+fp4", rolloutKV: kv.FP8Format, threads: 1, crowded: true},
	} {
		t.Run(tt.rollout, func(t *testing.T) {
			unlessShort(t)
			p := pairOf(t, tt)
			state := p.push()
			first := p.draw()
			want := sayings(first)
			if most, _, _ := gap(first); most == 0 {
				t.Errorf("the gap is 0 between a BF16 actor and a rollout engine in %s: nothing is measured", tt.rollout)
			}
			for cycle := 1; cycle <= 30; cycle++ {
				p.step(first)
				if got := p.push(); got != state {
					t.Fatalf("cycle %d: state is %v, want %v", cycle, got, state)
				}
				first = p.draw()
				for i, got := range sayings(first) {
					if got != want[i] {
						t.Fatalf("cycle %d: sample %d is\n%s, want\n%s", cycle, i, got, want[i])
					}
				}
			}
			if s := p.roll.Stats(); s.CachedTokens == 0 || s.Updates != 31 {
				t.Errorf("%d tokens came from the cache, %d updates, want some and 31", s.CachedTokens, s.Updates)
			}
		})
	}
}

// Where both engines hold one format, of weights and of attention state, they are one policy: after every step, with the cache, under eviction, with
// and without recompute, on any number of threads.
func TestEqualFormatsHaveNoGap(t *testing.T) {
	for _, tt := range []struct {
		name string
		pairing
	}{
		{"fp8", pairing{actor: "fp8", rollout: "fp8", threads: 2}},
		{"fp8 crowded recompute one thread", pairing{actor: "fp8", rollout: "fp8", threads: 1, crowded: true, recompute: true}},
		{"fp8 crowded", pairing{actor: "fp8", rollout: "fp8", threads: 2, crowded: true}},
		{"fp8 recompute", pairing{actor: "fp8", rollout: "fp8", threads: 2, recompute: true}},
		{"fp8 one thread", pairing{actor: "fp8", rollout: "fp8", threads: 1}},
		{"fp8-weights", pairing{actor: "fp8-weights", rollout: "fp8-weights", threads: 2}},
		{"fp8 cache", pairing{actor: "bf16", rollout: "bf16", actorKV: kv.FP8Format, rolloutKV: kv.FP8Format, threads: 2}},
		{"fp8 with fp8 cache", pairing{actor: "fp8", rollout: "fp8", actorKV: kv.FP8Format, rolloutKV: kv.FP8Format, threads: 2, crowded: true, recompute: true}},
		{"fp8+fp4", pairing{actor: "fp8+fp4", rollout: "fp8+fp4", threads: 2}},
		{"fp8+fp4 crowded recompute", pairing{actor: "fp8+fp4", rollout: "fp8+fp4", threads: 1, crowded: true, recompute: true}},
		{"fp8+fp4 with fp8 cache", pairing{actor: "fp8+fp4", rollout: "fp8+fp4", actorKV: kv.FP8Format, rolloutKV: kv.FP8Format, threads: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "fp8_crowded_recompute_one_thread", "fp8+fp4_with_fp8_cache")
			tt.rate = 3e-3
			p := pairOf(t, tt.pairing)
			seen := map[rl.Digest]bool{}
			for cycle := range 3 {
				seen[p.push()] = true
				samples := p.draw()
				if most, differ, tokens := gap(samples); differ != 0 || tokens < 100 {
					t.Fatalf("cycle %d: %d of %d tokens differ, by up to %v", cycle, differ, tokens, most)
				}
				if stats := p.step(samples); stats["train/logp_diff/max"] != 0 {
					t.Errorf("cycle %d: the step finds a gap of %v", cycle, stats["train/logp_diff/max"])
				}
			}
			if len(seen) != 3 {
				t.Errorf("3 pushes had %d different states: the steps changed nothing", len(seen))
			}
			s := p.roll.Stats()
			if s.CachedTokens == 0 || tt.crowded && s.Evicted == 0 {
				t.Errorf("%d tokens came from the cache, %d pages were evicted", s.CachedTokens, s.Evicted)
			}
		})
	}
}

// What one engine rounds and the other doesn't is seen.
func TestUnequalFormatsHaveAGap(t *testing.T) {
	for _, tt := range []struct {
		name string
		pairing
	}{
		{"weights", pairing{actor: "bf16", rollout: "fp8"}},
		{"weights, the other way round", pairing{actor: "fp8", rollout: "bf16"}},
		{"activations", pairing{actor: "fp8-weights", rollout: "fp8"}},
		{"experts", pairing{actor: "fp8", rollout: "fp8+fp4"}},
		{"rollout's cache", pairing{actor: "fp8", rollout: "fp8", rolloutKV: kv.FP8Format}},
		{"actor's cache", pairing{actor: "fp8", rollout: "fp8", actorKV: kv.FP8Format}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pairOf(t, tt.pairing)
			p.push()
			most, differ, tokens := gap(p.draw())
			if most == 0 || math.IsInf(most, 0) || differ < tokens/2 {
				t.Errorf("%d of %d tokens differ, by up to %v; want most of them, by something finite", differ, tokens, most)
			}
		})
	}
}
