package rollout

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/rl"
)

// routed are requests of all kinds that ask for all choices.
func routed(seed uint64) []rl.Request {
	r := rand.New(rand.NewPCG(seed, 4))
	reqs := requests(r, prompts(r, fewer(8, 3), 50), fewer(25, 10))
	for i := range reqs {
		reqs[i].Report.Experts, reqs[i].Report.Entries = true, true
	}
	return reqs
}

// The experts of every token, and the entries that it reads, are those of the trainer's forward pass, in every layer, wherever the token's state came from.
func TestChoicesAreTheTrainers(t *testing.T) {
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
			cfg.Experts, cfg.Entries = true, true
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

// An FP8 cache keeps choices as they are.
func TestChoicesInAnFP8Cache(t *testing.T) {
	m := policy(dtype.F32, 3)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	o.fp8 = true
	cfg := settings()
	cfg.Experts, cfg.Entries, cfg.KV = true, true, kv.FP8Format
	for _, s := range serve(t, cfg, m, ref.New[float32]()).all(o.remember(routed(5))) {
		if err := o.check(s); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows that a sample had when an update took its pages stay; those after them are of the new weights.
func TestChoicesOverAnUpdate(t *testing.T) {
	ctx := context.Background()
	models := map[rl.Version]*dsv4.Model{1: policy(dtype.F32, 3), 2: policy(dtype.F32, 4)}
	o := newOracle(models)
	cfg := settings()
	cfg.Experts, cfg.Entries = true, true
	for _, mode := range []Mode{Retract, InPlace} {
		e := serve(t, cfg, models[1], ref.New[float32]())
		q := ask(1, text(1, 20), 80)
		q.Report.Experts, q.Report.Entries = true, true
		got := e.underway(q)
		err := errors.Join(e.PauseWith(ctx, mode), e.UpdateWith(ctx, snapshot{version: 2, m: models[2]}, UpdateOptions{Mode: mode}), e.Resume(ctx))
		if err != nil {
			t.Fatal(err)
		}
		s := (<-got)[1]
		if len(s.Versions) != 2 || s.Experts.Len() != 99 || s.Entries.Len() != 99 {
			t.Fatalf("%v: versions are %v, %d and %d rows; want two versions and 99 rows", mode, s.Versions, s.Experts.Len(), s.Entries.Len())
		}
		entries, err := unpacked(s.Entries)
		if err != nil {
			t.Fatal(err)
		}
		had := 20 + s.Versions[0].Tokens - 1 // the last token of version 1 is computed under version 2
		old, young := o.trace(s, 1), o.trace(s, 2)
		for _, c := range []struct {
			what            string
			got, old, young [][]int32
		}{
			{"experts", rowsOf(s.Experts.From(0), 99, 1), rowsOf(old.experts, 99, 1), rowsOf(young.experts, 99, 1)},
			{"entries", rowsOf(entries, 99, 2), rowsOf(old.entries, 99, 2), rowsOf(young.entries, 99, 2)},
		} {
			if !reflect.DeepEqual(c.got[:had], c.old[:had]) || reflect.DeepEqual(c.old[:had], c.young[:had]) {
				t.Errorf("%v: %s of version 1 are not those of its passes", mode, c.what)
			}
			if mode == Retract && !reflect.DeepEqual(c.got[had:], c.young[had:]) {
				t.Errorf("%v: %s of version 2 are not those of its passes", mode, c.what)
			}
		}
		e.idle()
	}
}

// rowsOf returns choices token by token. They lie in blocks, one after the other, each of all tokens.
func rowsOf(x []int32, tokens, blocks int) [][]int32 {
	out := make([][]int32, tokens)
	w := len(x) / tokens / blocks
	for b := range blocks {
		for t := range tokens {
			out[t] = append(out[t], x[(b*tokens+t)*w:][:w]...)
		}
	}
	return out
}

// A sample that ends while it waits has the rows it had; one that was never computed has none.
func TestChoicesOfAborted(t *testing.T) {
	ctx := context.Background()
	m := policy(dtype.F32, 3)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	cfg := settings()
	cfg.Experts, cfg.Entries, cfg.MaxRunning = true, true, 1
	e := serve(t, cfg, m, ref.New[float32]())
	a, b := ask(1, text(1, 20), 80), ask(2, text(2, 20), 80)
	a.Report.Experts, b.Report.Experts, a.Report.Entries, b.Report.Entries = true, true, true, true
	got := e.underway(a, b)
	if err := errors.Join(e.PauseWith(ctx, Retract), e.AbortAll(ctx)); err != nil {
		t.Fatal(err)
	}
	all := <-got
	if want := o.trace(all[1], 1).experts; !slices.Equal(all[1].Experts.From(0), want) || len(want) == 0 {
		t.Errorf("experts are %v, want %v", all[1].Experts.From(0), want)
	}
	if err := o.checkEntries(all[1], a); err != nil {
		t.Error(err)
	}
	if all[2].Experts.Len()+all[2].Entries.Len() != 0 {
		t.Errorf("a sample that never ran has choices %v, %v", all[2].Experts, all[2].Entries)
	}
	e.idle()
}

// Experts beyond number 255 take two bytes, and come through pages and prefix hits as they are.
func TestManyExperts(t *testing.T) {
	c := small()
	c.Experts = 300
	m := dsv4.New(c, dtype.F32)
	m.Init(5)
	cfg := settings()
	cfg.Experts = true
	e := beginOn(t, cfg, dsv4.New(c, dtype.F32), ref.New[float32]())
	e.update(snapshot{version: 1, m: m})
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	high, found := 0, 0
	for range 2 {
		q := ask(1, text(1, 30), 20)
		q.Report.Experts = true
		s := e.all([]rl.Request{q})[1]
		got := s.Experts.From(0)
		if want := o.trace(s, 1).experts; !slices.Equal(got, want) {
			t.Fatalf("experts are %v, want %v", got, want)
		}
		if n := len(s.Experts.Rows); n != 2*len(got) {
			t.Errorf("%d experts take %d bytes, want two each", len(got), n)
		}
		for _, x := range got {
			if x > 255 {
				high++
			}
		}
		found += s.CachedTokens
	}
	if high == 0 || found == 0 {
		t.Errorf("%d numbers above 255, %d tokens found: this tests nothing", high, found)
	}
}

// What is kept is not what is told: a request that asks for nothing gets nothing.
func TestChoicesNeedAsking(t *testing.T) {
	m := policy(dtype.F32, 3)
	q := ask(1, text(1, 20), 10)
	q.Report.Entries = true
	for err := range errorsOf(serve(t, settings(), m, ref.New[float32]()), q) {
		if err == nil || !strings.Contains(err.Error(), "this engine does not keep them") {
			t.Errorf("entries from an engine that does not keep them: %v", err)
		}
	}
	cfg := settings()
	cfg.Experts, cfg.Entries = true, true
	if s := serve(t, cfg, m, ref.New[float32]()).all([]rl.Request{ask(1, text(1, 20), 10)})[1]; s.Experts != nil || s.Entries != nil {
		t.Errorf("choices that nobody asked for: %v, %v", s.Experts, s.Entries)
	}
}

func errorsOf(r *rig, q rl.Request) iter.Seq[error] {
	return func(yield func(error) bool) {
		for _, err := range r.Generate(context.Background(), []rl.Request{q}) {
			if !yield(err) {
				return
			}
		}
	}
}

// dense is a model that does not say where it sends tokens.
type dense struct{ model.Model }

func TestChoicesNeedAModelThatChooses(t *testing.T) {
	plain := small()
	plain.Layers = plain.Layers[:1]
	for _, tt := range []struct {
		m    model.Model
		c    func(*Config)
		want string
	}{
		{dense{dsv4.New(small(), dtype.F32)}, func(c *Config) { c.Experts = true }, "--enable-return-routed-experts: the model has no experts"},
		{dsv4.New(plain, dtype.F32), func(c *Config) { c.Entries = true }, "the choices of indexers are to be kept, but no layer of the model has one"},
	} {
		cfg := Default()
		tt.c(&cfg)
		if _, err := New(cfg, tt.m, ref.New[float32]()); err == nil || err.Error() != tt.want {
			t.Errorf("New: %v, want %s", err, tt.want)
		}
	}
}
