package rollout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/tensor"
)

// Updates in the middle of long samples: each token's logprob is the trainer's under the version that chose it, nothing is lost, and
// nothing found in the cache is older than the weights.
func TestUpdateInTheMiddle(t *testing.T) {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	versions := map[rl.Version]*dsv4.Model{}
	for v := range rl.Version(4) {
		versions[v+1] = policy(dtype.BF16, uint64(v+1))
	}
	o := newOracle(versions)
	cfg := settings()
	cfg.TotalTokens = 200
	e := serve(t, cfg, versions[1], k)
	r := rand.New(rand.NewPCG(3, 3))
	ps := prompts(r, 6, 30)
	var reqs []rl.Request
	for i := range fewer(24, 8) {
		q := ask(int64(i), ps[i%len(ps)].Tokens, 20+r.IntN(60))
		reqs = append(reqs, q)
	}
	go func() {
		for v := rl.Version(2); v <= 4; v++ {
			passes := e.Stats().Passes
			e.wait(func(s Stats) bool { return s.Passes > passes+25 || s.Finished == len(reqs) })
			if err := errors.Join(e.Pause(context.Background()), e.Update(context.Background(), snapshot{version: v, m: versions[v]}), e.Resume(context.Background())); err != nil {
				t.Error(err)
			}
		}
	}()
	mixed := 0
	for _, s := range e.all(reqs) {
		if err := o.check(s); err != nil {
			t.Error(err)
		}
		if len(s.Versions) > 1 {
			mixed++
		}
		if len(s.Response) != s.Sampling.MaxTokens || s.Stop != rl.StopLength {
			t.Errorf("request %d has %d tokens (%v), want %d", s.Request, len(s.Response), s.Stop, s.Sampling.MaxTokens)
		}
	}
	if mixed == 0 {
		t.Error("no sample spans two versions")
	}
	e.wait(func(s Stats) bool { return s.Version == 4 && !s.Paused })
	e.idle()
}

// The same prompt before and after an update: the second answer is a cold engine's.
func TestCacheNeverCrossesVersions(t *testing.T) {
	m1, m2 := policy(dtype.F32, 1), policy(dtype.F32, 2)
	k := ref.New[float32]()
	reqs := []rl.Request{ask(1, []int32{5, 4, 3, 2, 1, 6, 7, 8, 9, 10, 11, 12, 13}, 9)}
	e := serve(t, settings(), m1, k)
	e.all(reqs)
	if s := e.all(reqs)[1]; s.CachedTokens != 12 {
		t.Errorf("found %d tokens under the same version, want 12", s.CachedTokens)
	}
	for _, v := range []rl.Version{2, rl.NewVersion(1, 2)} {
		e.update(snapshot{version: v, m: m2})
		got := e.all(reqs)[1]
		if got.CachedTokens != 0 {
			t.Errorf("found %d tokens right after the update to %v, want 0", got.CachedTokens, v)
		}
		want := serve(t, settings(), m2, k).all(reqs)[1]
		if err := same(got, want); err != nil {
			t.Errorf("version %v: %v", v, err)
		}
		if want := []rl.Span{{Version: v, Tokens: len(got.Response)}}; !slices.Equal(got.Versions, want) {
			t.Errorf("versions are %v, want %v", got.Versions, want)
		}
	}
}

// Every tensor counts: one that changes alone, after the engine has served, changes the answers as in an engine that never knew another.
func TestEveryTensorIsTakenUp(t *testing.T) {
	k := ref.New[float32]()
	r := rand.New(rand.NewPCG(9, 9))
	reqs := requests(r, prompts(r, 2, 20), 6)
	e := serve(t, settings(), policy(dtype.F32, 1), k)
	for i, p := range dsv4.New(small(), dtype.F32).Params() {
		if testing.Short() && i%10 > 0 {
			continue
		}
		m := policy(dtype.F32, 1)
		disturb(m.Params()[i].Value)
		e.update(snapshot{version: rl.Version(i + 2), m: m})
		fresh := serve(t, settings(), m, k)
		want := fresh.all(reqs)
		for id, s := range e.all(reqs) {
			if err := same(s, want[id]); err != nil {
				t.Errorf("after a change of %s: %v", p.Name, err)
			}
		}
		fresh.stop()
	}
}

func disturb(t *tensor.Tensor) {
	if t.Type == dtype.I32 {
		slices.Reverse(t.I32())
		return
	}
	for i := range t.F32() {
		t.F32()[i] = t.F32()[i]*1.5 + 0.1
	}
}

func TestRefusedUpdateChangesNothing(t *testing.T) {
	m1, m2 := policy(dtype.F32, 1), policy(dtype.F32, 2)
	e := serve(t, settings(), m1, ref.New[float32]())
	reqs := []rl.Request{ask(1, []int32{5, 4, 3, 2, 1}, 9)}
	want := e.all(reqs)[1]
	embed, head := m2.Params()[0].Name, m2.Head().Name
	for _, tt := range []struct {
		name string
		w    rl.Weights
		want string
	}{
		{"one missing", snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { return ts[:len(ts)-1] }}, head + " is not in the manifest"},
		{
			"many missing",
			snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { return ts[:139] }},
			"lm_head.weight is not in the manifest; model.hc_head.hc_base is not in the manifest; model.hc_head.hc_fn is not in the manifest; and 3 more",
		},
		{"one twice", snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { return append(ts, ts[3]) }}, "manifest: " + m2.Params()[3].Name + " is listed twice"},
		{
			"a stranger",
			snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { ts[5].Name = "model.x"; return ts }},
			m2.Params()[5].Name + " is not in the manifest; model.x is no tensor of this model",
		},
		{"a shape", snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { ts[0].Shape = []int{16, 40}; return ts }}, embed + ": shape is [16 40], want [40 16]"},
		{
			"too few bytes",
			snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { ts[0].Data = ts[0].Data[:8]; return ts }},
			"manifest: " + embed + ": 8 bytes are said to hold F32[40 16], want 2560",
		},
		{"a format", snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor { ts[0].Type = "I32"; return ts }}, embed + ": format is I32, want F32"},
		{"a narrower format", snapshot{version: 2, m: policy(dtype.BF16, 2)}, "lm_head.weight: format is BF16, want F32; model.embed_tokens.weight: format is BF16, want F32; model.layers.0.mlp.experts.down_proj: format is BF16, want F32; and 68 more"},
		{"version 0", snapshot{version: 0, m: m2}, "version 0 is no version"},
		{"a broken sender", broken{snapshot{version: 2, m: m2}}, "the wire was cut; 145 of 145 tensors did not come whole: model.embed_tokens.weight (0 of 2560 bytes); model.layers.0.attn_hc.fn (0 of 1024 bytes); model.layers.0.attn_hc.base (0 of 32 bytes); and 142 more"},
		{"no manifest", mute{snapshot{version: 2, m: m2}}, "manifest: the wire was cut"},
		{"nonsense", snapshot{2, m2, func(ts []rl.Tensor) []rl.Tensor {
			for i := range ts[0].Data {
				ts[0].Data[i] = 0xff
			}
			return ts
		}}, "canary: logprob of token 0 is NaN, want a finite one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := e.Stats()
			err := e.Update(context.Background(), tt.w)
			if want := fmt.Sprintf("rollout: update to version %v: %s", tt.w.Version(), tt.want); err == nil || err.Error() != want {
				t.Errorf("error is %v, want %s", err, want)
			}
			got := e.all(reqs)[1]
			if err := same(got, want); err != nil {
				t.Error(err)
			}
			if e.Version() != 1 || got.Versions[0].Version != 1 {
				t.Errorf("version is %v, tokens have %v, want 1", e.Version(), got.Versions)
			}
			if s := e.Stats(); s.Refused != before.Refused+1 || s.Updates != 1 {
				t.Errorf("%d refused and %d taken, want %d and 1", s.Refused, s.Updates, before.Refused+1)
			}
		})
	}
	m2 = policy(dtype.F32, 2)
	e.update(snapshot{version: 2, m: m2})
	if err := same(e.all(reqs)[1], want); err == nil {
		t.Error("the good update changed nothing")
	}
}

// broken is a sender that dies before its first bucket.
type broken struct{ rl.Weights }

var errCut = errors.New("the wire was cut")

func (broken) Buckets(context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) { yield(nil, errCut) }
}

// mute is a sender that dies before its manifest.
type mute struct{ rl.Weights }

func (mute) Manifest(context.Context) ([]byte, error) { return nil, errCut }

// The same version taken up three times leaves the same engine.
func TestUpdateTwice(t *testing.T) {
	m := policy(dtype.BF16, 1)
	k := cpu.Open(cpu.Options{Threads: 1, Sleepy: true})
	t.Cleanup(k.Close)
	e := serve(t, settings(), m, k)
	reqs := []rl.Request{ask(1, []int32{5, 4, 3, 2, 1}, 9)}
	want := e.all(reqs)[1]
	for range 3 {
		e.update(snapshot{version: 1, m: m})
		if err := same(e.all(reqs)[1], want); err != nil {
			t.Error(err)
		}
	}
	if math.IsNaN(float64(want.LogProbs[0])) {
		t.Error("logprob is NaN")
	}
}
