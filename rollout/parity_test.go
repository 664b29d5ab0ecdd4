package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/rl"
)

// small settings: pages of 4 tokens, windows that reach 6.
func settings() Config {
	return Config{MaxRunning: 8, Context: 120, PrefillTokens: 64, PageTokens: 1, UpdateMode: "retract", CheckUpdates: true}
}

// backends returns what must all give the same bits.
func backends(t testing.TB) map[string]kernels.Backend {
	out := map[string]kernels.Backend{"ref": ref.New[float32]()}
	for threads := 1; threads <= 2; threads++ {
		b := cpu.Open(cpu.Options{Threads: threads, Sleepy: true})
		t.Cleanup(b.Close)
		out[fmt.Sprintf("cpu, %d threads", threads)] = b
	}
	return out
}

// fewer returns n, or short when tests shall be short: under the race detector kernels are fifteen times slower.
func fewer(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// An FP8 cache keeps what a whole pass reads that rounds its rows, whatever the settings; and that is not what an exact cache keeps.
func TestFP8Cache(t *testing.T) {
	all, m := backends(t), policy(dtype.F32, 5)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	o.fp8 = true
	r := rand.New(rand.NewPCG(6, 6))
	reqs := o.remember(requests(r, prompts(r, fewer(6, 3), 50), fewer(20, 12)))
	for name, k := range all {
		cfg := settings()
		cfg.KV, cfg.PrefillTokens = kv.FP8Format, 7
		for _, s := range serve(t, cfg, m, k).all(reqs) {
			if err := o.check(s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	exact := newOracle(o.m)
	exact.remember(reqs)
	for _, s := range serve(t, settings(), m, all["ref"]).all(reqs) {
		if err := exact.check(s); err != nil {
			t.Fatal(err)
		}
		if len(s.Response) > 3 && o.check(s) == nil {
			t.Errorf("request %d: rounding the cache changed no bit of %d tokens", s.Request, len(s.Response))
		}
	}
}

// The logprob of every token is the trainer's, bit for bit, and the answers are the same, whatever the settings.
func TestLogProbsAreTheTrainers(t *testing.T) {
	all := backends(t)
	for _, format := range []dtype.Type{dtype.BF16, dtype.F32}[:fewer(2, 1)] {
		m := policy(format, 3)
		o := newOracle(map[rl.Version]*dsv4.Model{1: m})
		r := rand.New(rand.NewPCG(4, 4))
		reqs := o.remember(requests(r, prompts(r, fewer(9, 3), 50), fewer(30, 12)))
		first := serve(t, settings(), m, all["ref"]).all(reqs)
		for _, s := range first {
			if err := o.check(s); err != nil {
				t.Fatalf("%v: %v", format, err)
			}
		}
		for _, tt := range []struct {
			name    string
			change  func(*Config)
			backend string
		}{
			{"chunks of 1", func(c *Config) { c.PrefillTokens = 1 }, "ref"},
			{"chunks of 3", func(c *Config) { c.PrefillTokens = 3 }, "ref"},
			{"chunks of 7", func(c *Config) { c.PrefillTokens = 7 }, "ref"},
			{"one at a time", func(c *Config) { c.MaxRunning = 1 }, "ref"},
			{"all at a time", func(c *Config) { c.MaxRunning, c.PrefillTokens = 100, 1000 }, "ref"},
			{"large pages", func(c *Config) { c.PageTokens = 29 }, "ref"},
			{"no sharing", func(c *Config) { c.NoSharing = true }, "ref"},
			{"few pages", func(c *Config) { c.TotalTokens = 80 }, "ref"},
			{"few recent pages", func(c *Config) { c.RecentTokens = 24 }, "ref"},
			{"few pages, small chunks", func(c *Config) { c.TotalTokens, c.PrefillTokens = 100, 5 }, "ref"},
			{"fast kernels", func(*Config) {}, "cpu, 1 threads"},
			{"fast kernels, two threads, few pages", func(c *Config) { c.TotalTokens = 100 }, "cpu, 2 threads"},
		} {
			t.Run(fmt.Sprint(format, " ", tt.name), func(t *testing.T) {
				cfg := settings()
				tt.change(&cfg)
				e := serve(t, cfg, m, all[tt.backend])
				for range 2 { // the second time everything is found in the cache
					for id, s := range e.all(reqs) {
						if err := same(s, first[id]); err != nil {
							t.Fatal(err)
						}
					}
				}
				if s := e.Stats(); !testing.Short() && (cfg.TotalTokens > 0 || cfg.RecentTokens > 0) && s.Retracted+s.Evicted == 0 {
					t.Errorf("few pages, but nothing gave way: %+v", s)
				}
				e.idle()
			})
		}
	}
}

// Random requests under random settings, on one engine after the other: one answer, and no page is lost.
func TestRandomSettings(t *testing.T) {
	m := policy(dtype.BF16, 5)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	for seed := range uint64(fewer(6, 1)) {
		r := rand.New(rand.NewPCG(seed, 5))
		reqs := o.remember(requests(r, prompts(r, 1+r.IntN(12), 1+r.IntN(60)), 1+r.IntN(40)))
		var first map[int64]*rl.Sample
		for range 5 {
			cfg := Config{MaxRunning: 1 + r.IntN(20), Context: 120, PrefillTokens: 1 + r.IntN(80), PageTokens: 1 + r.IntN(20), NoSharing: r.IntN(4) == 0, UpdateMode: "retract"}
			if r.IntN(2) == 0 {
				cfg.TotalTokens = 120 + r.IntN(100)
			}
			if r.IntN(2) == 0 {
				cfg.RecentTokens = 40 + r.IntN(100)
			}
			e := serve(t, cfg, m, k)
			r.Shuffle(len(reqs), func(i, j int) { reqs[i], reqs[j] = reqs[j], reqs[i] })
			got := e.all(reqs)
			if first == nil {
				first = got
			}
			for id, s := range got {
				if err := same(s, first[id]); err != nil {
					t.Fatalf("seed %d, %+v: %v", seed, cfg, err)
				}
			}
			e.idle()
			e.stop()
		}
		for _, s := range first {
			if err := o.check(s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// A request alone answers as it does among fifty others.
func TestAloneAndInCompany(t *testing.T) {
	m := policy(dtype.F32, 6)
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	r := rand.New(rand.NewPCG(7, 7))
	reqs := requests(r, prompts(r, 25, 40), fewer(25, 8))[:51]
	cfg := settings()
	cfg.MaxRunning = 64
	company := serve(t, cfg, m, k).all(reqs)
	e := serve(t, cfg, m, k)
	for _, q := range reqs[:fewer(10, 3)] {
		if err := same(e.all([]rl.Request{q})[q.ID], company[q.ID]); err != nil {
			t.Error(err)
		}
	}
}

// The samples of one prompt compute it once.
func TestPromptIsComputedOnce(t *testing.T) {
	m := policy(dtype.F32, 6)
	e := serve(t, settings(), m, ref.New[float32]())
	p := prompts(rand.New(rand.NewPCG(2, 2)), 1, 60)[0]
	p.Tokens = append(p.Tokens, make([]int32, 60-len(p.Tokens))...)
	var reqs []rl.Request
	for i := range 8 {
		s := rl.DefaultSampling()
		s.MaxTokens, s.Seed = 5, uint64(i)
		reqs = append(reqs, rl.Request{ID: int64(i), Prompt: p, Index: i, Sampling: s})
	}
	for id, s := range e.all(reqs) {
		want := 59
		if id == 0 {
			want = 0
		}
		if s.CachedTokens != want {
			t.Errorf("sample %d found %d tokens of its prompt, want %d", id, s.CachedTokens, want)
		}
	}
	if s := e.Stats(); s.PrefillTokens != 60 || s.DecodeTokens != 7+8*4 || s.CachedTokens != 7*59 {
		t.Errorf("%d tokens of prompts computed, %d one at a time, %d found; want 60, %d, %d", s.PrefillTokens, s.DecodeTokens, s.CachedTokens, 7+8*4, 7*59)
	}
}

// Callers, aborts, pauses, updates, retractions and flushes at random, over equal weights under changing versions: whoever is served to the end
// gets the one answer, whoever is aborted a beginning of it, and no page is lost.
func TestRandomOperations(t *testing.T) {
	m := policy(dtype.BF16, 8)
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	for seed := range uint64(fewer(5, 1)) {
		r := rand.New(rand.NewPCG(seed, 6))
		reqs := requests(r, prompts(r, 10, 40), 40)
		cfg := Config{MaxRunning: 1 + r.IntN(12), Context: 100, PrefillTokens: 1 + r.IntN(40), PageTokens: 1 + r.IntN(12), TotalTokens: 100 + r.IntN(200), UpdateMode: "retract"}
		e := serve(t, cfg, m, k)
		want := e.all(reqs)
		callers := make(chan error)
		for i := 0; i < len(reqs); i += 3 {
			go func() { callers <- e.call(reqs[i:min(i+3, len(reqs))], want, 1+int(seed+uint64(i))%4) }()
		}
		ended := e.disturb(r, m, callers, (len(reqs)+2)/3)
		for _, err := range ended {
			if err != nil {
				t.Errorf("seed %d, %+v: %v", seed, cfg, err)
			}
		}
		e.idle()
		e.stop()
	}
}

// call asks for reqs, loses interest after some samples, and compares those.
func (r *rig) call(reqs []rl.Request, want map[int64]*rl.Sample, patience int) error {
	for s, err := range r.Generate(context.Background(), reqs) {
		if err != nil {
			return err
		}
		w := want[s.Request]
		if s.Stop == rl.StopAbort {
			w = beginning(w, s)
		}
		if err := same(s, w); err != nil {
			return err
		}
		if patience--; patience == 0 {
			return nil
		}
	}
	return nil
}

// disturb does random things until all callers have ended.
func (r *rig) disturb(d *rand.Rand, m *dsv4.Model, callers chan error, n int) (ended []error) {
	ctx := context.Background()
	for v := rl.Version(2); len(ended) < n; v++ {
		select {
		case err := <-callers:
			ended = append(ended, err)
			continue
		default:
		}
		var err error
		switch d.IntN(16) {
		case 0:
			err = r.Abort(ctx, int64(d.IntN(30)))
		case 1:
			err = errors.Join(r.Pause(ctx), r.Update(ctx, snapshot{version: v, m: m}), r.Resume(ctx))
		case 2:
			err = r.Update(ctx, snapshot{version: v, m: m})
		case 3:
			err = r.Retract(ctx)
		case 4:
			_ = r.Flush(ctx) // refused while samples run
		case 5:
			err = errors.Join(r.PauseWith(ctx, Retract), r.Release(ctx), r.Ping(ctx), r.Abort(ctx, int64(d.IntN(30))), r.Restore(ctx), r.Resume(ctx))
		case 6:
			err = errors.Join(r.PauseWith(ctx, Mode(d.IntN(2))), r.Flush(ctx), r.Resume(ctx))
		default:
			err = r.do(ctx, func() {})
		}
		if err != nil {
			r.t.Error(err)
		}
	}
	return ended
}
