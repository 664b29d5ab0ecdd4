package rollout

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/rl"
)

// routed are requests of all kinds that ask for experts.
func routed(seed uint64) []rl.Request {
	r := rand.New(rand.NewPCG(seed, 4))
	reqs := requests(r, prompts(r, fewer(8, 3), 50), fewer(25, 10))
	for i := range reqs {
		reqs[i].Report.Experts = true
	}
	return reqs
}

// The experts of every token are those of the trainer's forward pass, in every layer, wherever the token's state came from.
func TestExpertsAreTheTrainers(t *testing.T) {
	all, m := backends(t), policy(dtype.BF16, 3)
	for _, tt := range []struct {
		name    string
		change  func(*Config)
		backend string
	}{
		{"plain", func(*Config) {}, "ref"},
		{"chunks of 3, fast kernels", func(c *Config) { c.PrefillTokens = 3 }, "cpu, 1 threads"},
		{"two threads, large pages", func(c *Config) { c.PageTokens = 29 }, "cpu, 2 threads"},
		{"few pages", func(c *Config) { c.TotalTokens = 100 }, "cpu, 2 threads"},
		{"no sharing", func(c *Config) { c.NoSharing = true }, "ref"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOracle(map[rl.Version]*dsv4.Model{1: m})
			cfg := settings()
			cfg.Experts = true
			tt.change(&cfg)
			e := serve(t, cfg, m, all[tt.backend])
			found := 0
			for range 2 { // the second time from a warm cache
				for _, s := range e.all(o.remember(routed(4))) {
					if err := o.check(s); err != nil {
						t.Fatal(err)
					}
					found += s.CachedTokens
				}
			}
			if st := e.Stats(); cfg.NoSharing != (found == 0) || !testing.Short() && cfg.TotalTokens > 0 && st.Retracted == 0 {
				t.Errorf("%d tokens found, %d retractions: this tests nothing", found, st.Retracted)
			}
			e.idle()
		})
	}
}

// An FP8 cache keeps experts as they are.
func TestExpertsInAnFP8Cache(t *testing.T) {
	m := policy(dtype.F32, 3)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	o.fp8 = true
	cfg := settings()
	cfg.Experts, cfg.KV = true, kv.FP8Format
	for _, s := range serve(t, cfg, m, ref.New[float32]()).all(o.remember(routed(5))) {
		if err := o.check(s); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows that a sample had when an update took its pages stay; those after them are of the new weights.
func TestExpertsOverAnUpdate(t *testing.T) {
	ctx := context.Background()
	models := map[rl.Version]*dsv4.Model{1: policy(dtype.F32, 3), 2: policy(dtype.F32, 4)}
	o := newOracle(models)
	cfg := settings()
	cfg.Experts = true
	for _, mode := range []Mode{Retract, InPlace} {
		e := serve(t, cfg, models[1], ref.New[float32]())
		q := ask(1, text(1, 20), 80)
		q.Report.Experts = true
		got := e.underway(q)
		err := errors.Join(e.PauseWith(ctx, mode), e.UpdateWith(ctx, snapshot{version: 2, m: models[2]}, UpdateOptions{Mode: mode}), e.Resume(ctx))
		if err != nil {
			t.Fatal(err)
		}
		s := (<-got)[1]
		row := len(models[1].Layers()) * models[1].Choices()
		if len(s.Versions) != 2 || len(s.Experts) != 99*row {
			t.Fatalf("%v: versions are %v, %d rows; want two versions and 99 rows", mode, s.Versions, len(s.Experts)/row)
		}
		had := (20 + s.Versions[0].Tokens - 1) * row // the last token of version 1 is computed under version 2
		old, young := o.trace(s, 1).experts, o.trace(s, 2).experts
		if !slices.Equal(s.Experts[:had], old[:had]) || slices.Equal(old[:had], young[:had]) {
			t.Errorf("%v: rows of version 1 are not those of its passes", mode)
		}
		if mode == Retract && !slices.Equal(s.Experts[had:], young[had:]) {
			t.Errorf("%v: rows of version 2 are not those of its passes", mode)
		}
		e.idle()
	}
}

// A sample that ends while it waits has the rows it had; one that was never computed has none.
func TestExpertsOfAborted(t *testing.T) {
	ctx := context.Background()
	m := policy(dtype.F32, 3)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	cfg := settings()
	cfg.Experts, cfg.MaxRunning = true, 1
	e := serve(t, cfg, m, ref.New[float32]())
	a, b := ask(1, text(1, 20), 80), ask(2, text(2, 20), 80)
	a.Report.Experts, b.Report.Experts = true, true
	got := e.underway(a, b)
	if err := errors.Join(e.PauseWith(ctx, Retract), e.Abort(ctx)); err != nil {
		t.Fatal(err)
	}
	all := <-got
	if want := o.trace(all[1], 1).experts; !slices.Equal(all[1].Experts, want) || len(want) == 0 {
		t.Errorf("experts are %v, want %v", all[1].Experts, want)
	}
	if len(all[2].Experts) != 0 {
		t.Errorf("a sample that never ran has experts %v", all[2].Experts)
	}
	e.idle()
}

// dense is a model that does not say where it sends tokens.
type dense struct{ model.Model }

func TestExpertsNeedSome(t *testing.T) {
	cfg := Default()
	cfg.Experts = true
	_, err := New(cfg, dense{dsv4.New(small(), dtype.F32)}, ref.New[float32]())
	if want := "--enable-return-routed-experts: the model has no experts"; err == nil || err.Error() != want {
		t.Errorf("New: %v, want %s", err, want)
	}
}
