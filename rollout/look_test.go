package rollout

import (
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/tensor"
	"furlong/weightsync"
)

// What Look shows is what is served, and an engine that gave its other set of weights back takes up the next version all the same.
func TestLookAndShed(t *testing.T) {
	m1, m2 := policy(dtype.F32, 1), policy(dtype.F32, 2)
	e := serve(t, settings(), m1, ref.New[float32]())
	looks := func(want []*tensor.Param) {
		t.Helper()
		err := e.Look(t.Context(), func(ps []*tensor.Param) {
			if err := weightsync.SumsOf(ps).Diff(weightsync.SumsOf(want)); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	looks(m1.Params())
	if err := e.Shed(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.update(snapshot{version: 2, m: m2})
	looks(m2.Params())
}
