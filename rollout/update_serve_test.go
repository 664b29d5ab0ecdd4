package rollout

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/weightsync"
)

// slow is weights whose buckets each wait to be let through.
type slow struct {
	rl.Weights
	next chan struct{}
}

func (s slow) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		for bucket, err := range s.Weights.Buckets(ctx) {
			select {
			case <-s.next:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(bucket, err) {
				return
			}
		}
	}
}

// While a version comes in slices the old one serves, up to the last of them; then all of the new one does.
func TestServesWhileItComes(t *testing.T) {
	a := attest(t, "fp8+fp4", ref.New[float32]())
	a.update(a.weights(1, weightsync.Everything))
	n := 0
	for range a.weights(2, 1<<14).Buckets(t.Context()) {
		n++
	}
	next, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- a.Update(t.Context(), slow{a.weights(2, 1<<14), next}) }()
	for range n {
		a.answers("before the last slice", 1)
		next <- struct{}{}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.holds("after the last slice", 2)
	a.answers("after the last slice", 2)
}

var errTrainerDied = errors.New("the trainer died")

// A sender that dies in the middle costs nothing: no sample in any mode, and not the version.
func TestDeadSenderCostsNothing(t *testing.T) {
	for _, mode := range []Mode{Retract, Abort, InPlace} {
		e := serve(t, settings(), policy(dtype.BF16, 1), ref.New[float32]())
		reqs := longs(rand.New(rand.NewPCG(1, 8)))
		want := e.all(reqs)
		ctx, die := context.WithCancelCause(t.Context())
		next, done := make(chan struct{}), make(chan error, 1)
		w := slow{snapshot{version: 2, m: policy(dtype.BF16, 2)}, next}
		go func() {
			for range 5 {
				next <- struct{}{}
			}
			die(errTrainerDied)
		}()
		go func() { done <- e.UpdateWith(ctx, w, UpdateOptions{Mode: mode}) }()
		for id, s := range e.all(reqs) {
			if err := same(s, want[id]); err != nil {
				t.Errorf("%v: %v", mode, err)
			}
		}
		if err := <-done; !errors.Is(err, errTrainerDied) || !strings.Contains(err.Error(), "140 of 145 tensors did not come whole: ") {
			t.Errorf("%v: error is %v", mode, err)
		}
		if s := e.Stats(); s.Refused != 1 || s.Updates != 1 || s.Version != 1 || s.Aborted != 0 || s.Retracted != 0 {
			t.Errorf("%v: %+v", mode, s)
		}
		e.idle()
	}
}

// What is wrong with a version after it has come costs nothing either.
func TestRefusedAtTheEndCostsNothing(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	bad := snapshot{2, policy(dtype.F32, 2), func(ts []rl.Tensor) []rl.Tensor {
		for i := range ts[0].Data {
			ts[0].Data[i] = 0x7f // numbers whose squares are infinite
		}
		return ts
	}}
	n := 0
	for s, err := range e.Generate(t.Context(), []rl.Request{ask(1, []int32{1, 2}, 1), ask(2, []int32{1, 2}, 100)}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Request == 1 {
			if err := e.UpdateWith(t.Context(), bad, UpdateOptions{Mode: Abort}); err == nil || !strings.Contains(err.Error(), "canary: ") {
				t.Errorf("error is %v", err)
			}
		}
		if s.Stop != rl.StopLength || len(s.Versions) != 1 || s.Versions[0].Version != 1 {
			t.Errorf("request %d ended by %v with versions %v", s.Request, s.Stop, s.Versions)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d samples, want 2", n)
	}
}
