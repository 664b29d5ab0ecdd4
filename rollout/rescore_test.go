package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/tensor"
)

// rescoring asks for samples at several temperatures, with nothing that changes logits.
func rescoring(n int) (reqs []rl.Request) {
	for i := range n {
		q := ask(int64(i+1), []int32{5, 4, 3, 2, 1, 9, 8, 7, 6, 11, 12, 13, 14}[:4+i%9], 20)
		q.Sampling.Temperature = []float64{1, 0.7, 1.3, 0}[i%4]
		reqs = append(reqs, q)
	}
	return reqs
}

func list(all map[int64]*rl.Sample) (out []*rl.Sample) {
	for i := range int64(len(all)) {
		out = append(out, all[i+1])
	}
	return out
}

func (r *rig) rescore(format string, samples []*rl.Sample) *rl.Rescored {
	r.t.Helper()
	got, err := r.Rescore(r.t.Context(), dsv4.New(small(), dtype.BF16), samples)
	if err != nil {
		r.t.Fatalf("%s: %v", format, err)
	}
	return got
}

// apartFrom returns how many tokens of samples have other bits than said.
func apartFrom(samples []*rl.Sample, said [][]float32) (n int) {
	for i, s := range samples {
		for j, lp := range s.LogProbs {
			if !bits(lp, said[i][j]) {
				n++
			}
		}
	}
	return n
}

// An engine in which nothing is wrong is found so: a cold one and itself, asked again, say what the samples say, bit for bit. That holds in every format,
// after several updates, and while other samples are drawn; and nothing is left behind.
func TestRescoreOfASoundEngine(t *testing.T) {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	for _, tt := range []struct{ format, state string }{{"bf16", "auto"}, {"fp8", "auto"}, {"fp8+fp4", kv.FP8Format}} {
		for _, backend := range []kernels.Backend{k, ref.New[float32]()} {
			name := fmt.Sprintf("%s, cache %s, %s", tt.format, tt.state, backend.Name())
			cfg := settings()
			cfg.Format, cfg.KV = tt.format, tt.state
			e := beginOn(t, cfg, empty(t, tt.format), backend)
			for v := rl.Version(1); v <= 3; v++ {
				e.update(snapshot{version: v, m: stored(t, tt.format, uint64(v), backend)})
			}
			samples := list(e.all(rescoring(8)))
			before := e.Stats()
			done := make(chan map[int64]*rl.Sample)
			go func() { done <- e.all([]rl.Request{ask(100, []int32{3, 2, 1}, 60)}) }()
			got := e.rescore(name, samples)
			<-done
			if got.Version != 3 || len(got.Damaged)+len(got.Stale) != 0 {
				t.Errorf("%s: version %v, damaged %v, stale %v; want 3 and nothing", name, got.Version, got.Damaged, got.Stale)
			}
			if c, r := apartFrom(samples, got.Cold), apartFrom(samples, got.Running); c+r != 0 {
				t.Errorf("%s: %d tokens differ from a cold engine's, %d from the engine's own", name, c, r)
			}
			if after := e.Stats(); after.Updates != before.Updates || after.Version != 3 {
				t.Errorf("%s: %d updates, version %v after rescoring, want %d and 3", name, after.Updates, after.Version, before.Updates)
			}
			e.idle()
		}
	}
}

// Each fault that is planted in an engine shows where it is, and only there.
func TestRescoreFindsThePlantedFault(t *testing.T) {
	const embed, head = "model.embed_tokens.weight", "lm_head.weight"
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	for _, tt := range []struct {
		name           string
		plant          func(e *rig)
		damaged, stale string // what is named
		cold, running  bool   // whether these say what the samples say
	}{
		// The cold engine takes up what is in memory: that it is spoiled is what the digest says.
		{"a weight", func(e *rig) { e.idle(); spoilWeight(e.param(embed)) }, embed, "", true, true},
		{"a derived layout", func(e *rig) { e.idle(); spoilLayout(e.param(head)) }, "", head, false, true},
		{"pages of the cache", spoilPages, "", "", false, false},
	} {
		e := serve(t, settings(), policy(dtype.BF16, 1), k)
		e.all(rescoring(2)) // what is cached
		tt.plant(e)
		samples := list(e.all(rescoring(9)))
		got := e.rescore(tt.name, samples)
		if named := strings.Join(got.Damaged, " "); named != tt.damaged {
			t.Errorf("%s: damaged are %q, want %q", tt.name, named, tt.damaged)
		}
		if named := strings.Join(got.Stale, " "); named != tt.stale {
			t.Errorf("%s: stale are %q, want %q", tt.name, named, tt.stale)
		}
		if c, r := apartFrom(samples, got.Cold), apartFrom(samples, got.Running); (c == 0) != tt.cold || (r == 0) != tt.running {
			t.Errorf("%s: %d tokens differ from a cold engine's, %d from the engine's own; want none: %v, %v", tt.name, c, r, tt.cold, tt.running)
		}
	}
}

func (r *rig) param(name string) *tensor.Param {
	i := slices.IndexFunc(r.m.Params(), func(p *tensor.Param) bool { return p.Name == name })
	if i < 0 {
		r.t.Fatalf("no weight %s", name)
	}
	return r.m.Params()[i]
}

// spoilWeight changes every number of a weight.
func spoilWeight(p *tensor.Param) {
	for i := range p.Value.Mem {
		if i%2 == 1 {
			p.Value.Mem[i] ^= 0x80
		}
	}
}

// spoilLayout changes the signs of what was derived from a BF16 weight.
func spoilLayout(p *tensor.Param) {
	for _, part := range p.Value.Layout.Memory() {
		for i := 1; i < len(part); i += 2 {
			part[i] ^= 0x80
		}
	}
}

// spoilPages writes noise over every row of a cached prefix.
func spoilPages(e *rig) {
	r := rand.New(rand.NewPCG(1, 1))
	err := e.do(e.t.Context(), func() {
		var s kv.Sequence
		n := e.pages.Cache().Open(&s, "", rescoring(9)[8].Prompt.Tokens, 12)
		for layer, specs := range e.m.Layers() {
			for _, spec := range specs {
				for pos := range n {
					func() {
						defer func() { _ = recover() }() // rows that are long out of every window
						row := e.pages.Read(&s, layer, spec.Stream, pos)
						for i := range row {
							row[i] = float32(r.NormFloat64())
						}
					}()
				}
			}
		}
		e.pages.Release(&s)
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// askew is a backend whose norms are off by a thousandth.
type askew struct{ kernels.Backend }

func (a askew) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	a.Backend.RMSNorm(y, x, w, dim, eps)
	for i := range y.F32() {
		y.F32()[i] *= 1 + 1e-3
	}
}
func (a askew) Split(int) []kernels.Backend { return nil }

// An engine that computes otherwise than the trainer, and always did, says the same when it is asked again, cold too: it is not its state.
func TestRescoreOfOtherNumerics(t *testing.T) {
	m := policy(dtype.BF16, 1)
	e := serve(t, settings(), m, askew{ref.New[float32]()})
	samples := list(e.all(rescoring(4)))
	got := e.rescore("askew", samples)
	if c, r := apartFrom(samples, got.Cold), apartFrom(samples, got.Running); c+r != 0 || len(got.Damaged)+len(got.Stale) != 0 {
		t.Errorf("%d and %d tokens differ, damaged %v, stale %v; want nothing", c, r, got.Damaged, got.Stale)
	}
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	if o.check(samples[0]) == nil {
		t.Error("the backend is not askew at all")
	}
}

// An engine without weights says so.
func TestRescoreBeforeTheFirstUpdate(t *testing.T) {
	e := begin(t, settings(), dtype.BF16, ref.New[float32]())
	if _, err := e.Rescore(t.Context(), dsv4.New(small(), dtype.BF16), nil); err == nil || !strings.Contains(err.Error(), "there are no weights yet") {
		t.Errorf("error is %v", err)
	}
}
