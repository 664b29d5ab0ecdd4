package rollout

import (
	"context"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// The checker: a snapshot, noise over everything, a comparison that sees it, and after an update one that doesn't.
func TestScrambleAndCompare(t *testing.T) {
	a := attest(t, "fp8+fp4", ref.New[float32]())
	a.update(a.weights(1, weightsync.Everything))
	a.update(a.weights(1, weightsync.Everything)) // so that both sets of weights have layouts
	before, err := a.Sums(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Scramble(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	after, err := a.Sums(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range after {
		if s.Source == before[i].Source || s.Layout == before[i].Layout && s.Layout != (rl.Digest{}) {
			t.Errorf("%s is as it was, or what was derived from it", s.Name)
		}
	}
	if err := a.Compare(t.Context(), before); err == nil || !strings.Contains(err.Error(), "lm_head.weight: digest is ") {
		t.Errorf("noise compares as %v", err)
	}
	if at := a.Attestation(); at.Version != 0 || a.Version() != 0 {
		t.Errorf("noise has the version %v, attested is %+v", a.Version(), at)
	}
	for _, err := range a.Generate(t.Context(), []rl.Request{ask(1, []int32{1, 2}, 3)}) {
		if err == nil || !strings.Contains(err.Error(), "there are no weights yet") {
			t.Errorf("a request to noise ends with %v", err)
		}
	}
	if err := a.Update(t.Context(), damaged{a.weights(1, weightsync.OneTensor), "lm_head.weight", func(*rl.Chunk) bool { return false }}); err == nil || a.Version() != 0 {
		t.Errorf("a damaged update over noise: %v, version %v", err, a.Version())
	}
	a.update(a.weights(1, weightsync.Everything))
	if err := a.Compare(t.Context(), before); err != nil {
		t.Error(err)
	}
	a.answers("after noise", 1)
}

// Samples in flight fail when their weights become noise; they are not answered from it.
func TestScrambleFailsWhatIsInFlight(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	var last error
	n := 0
	for _, err := range e.Generate(t.Context(), []rl.Request{ask(1, []int32{1, 2, 3}, 1), ask(2, []int32{1, 2, 3}, 110)}) {
		if n++; n == 1 {
			if err := e.Scramble(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "overwritten with noise") {
		t.Errorf("the sample in flight ended with %v", last)
	}
}

// forgetful derives layouts only once: as if a copy that kernels read were not refreshed.
type forgetful struct {
	kernels.Backend
	of *bool
}

func (f forgetful) Prepare(w *tensor.Tensor) {
	if *f.of && w.Layout != nil && len(w.Shape) == 2 && w.Shape[0] == small().Vocab {
		return
	}
	f.Backend.Prepare(w)
}

// A derivation that leaves something stale is found by comparison with a fresh one, and the old version serves on.
func TestStaleDerivationIsRefused(t *testing.T) {
	stale := false
	m1, m2 := policy(dtype.BF16, 1), policy(dtype.BF16, 2)
	e := serve(t, settings(), m1, forgetful{ref.New[float32](), &stale})
	e.update(snapshot{version: 1, m: m1})
	stale = true
	err := e.Update(t.Context(), snapshot{version: 2, m: m2})
	if err == nil || !strings.Contains(err.Error(), "lm_head.weight: what was derived differs from a fresh derivation (1 weights do)") {
		t.Errorf("error is %v", err)
	}
	if err := e.Compare(t.Context(), weightsync.SumsOf(m1.Params())); err != nil || e.Version() != 1 {
		t.Errorf("version %v serves: %v", e.Version(), err)
	}
	if err := e.UpdateWith(t.Context(), snapshot{version: 2, m: m2}, UpdateOptions{}); err != nil {
		t.Errorf("nobody asked for the comparison: %v", err)
	}
	if a := e.Attestation(); a.Cold || a.Version != 2 {
		t.Errorf("attested is %+v", a)
	}
}

// broody panics in a kernel or in a derivation when told to.
type broody struct {
	kernels.Backend
	prepare, attend *bool
}

func (b broody) Prepare(w *tensor.Tensor) {
	if *b.prepare {
		panic("prepare: out of luck")
	}
	b.Backend.Prepare(w)
}

func (b broody) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if *b.attend {
		panic("attend: out of luck")
	}
	b.Backend.Attend(o, lse, q, sink, heads, views...)
}

// A panic on the way is a refusal that says where.
func TestPanicsRefuse(t *testing.T) {
	var prepare, attend bool
	m1, m2 := policy(dtype.F32, 1), policy(dtype.F32, 2)
	e := serve(t, settings(), m1, broody{ref.New[float32](), &prepare, &attend})
	reqs := []rl.Request{ask(1, []int32{5, 4, 3}, 9)}
	want := e.all(reqs)[1]
	for _, tt := range []struct {
		on   *bool
		want string
	}{{&prepare, "model.layers.0.attn_hc.fn: its layout: prepare: out of luck"}, {&attend, "canary: layer 0: attend: out of luck"}} {
		*tt.on = true
		if err := e.Update(t.Context(), snapshot{version: 2, m: m2}); err == nil || !strings.Contains(err.Error(), "update to version 2: "+tt.want) {
			t.Errorf("error is %v, want one with %q", err, tt.want)
		}
		*tt.on = false
		if err := same(e.all(reqs)[1], want); err != nil || e.Version() != 1 {
			t.Errorf("version %v: %v", e.Version(), err)
		}
	}
}
