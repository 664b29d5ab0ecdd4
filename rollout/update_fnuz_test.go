package rollout

import (
	"fmt"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model"
	"furlong/ops"
	"furlong/quant"
	"furlong/tensor"
	"furlong/weightsync"
)

// turned is a policy with one weight in FNUZ.
func turned(t *testing.T, name string) model.Model {
	t.Helper()
	m := stored(t, "fp8", 2, ref.New[float32]())
	for _, p := range m.Params() {
		if p.Name == name {
			if err := quant.ToFNUZ(p.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// A weight in the other flavour of E4M3, where each byte means half as much, is no weight for products here, and no update: both say so.
func TestFNUZIsRefused(t *testing.T) {
	const name = "model.layers.1.self_attn.kv_proj.weight"
	a := attest(t, "fp8", ref.New[float32]())
	a.update(a.weights(1, weightsync.Everything))
	m := turned(t, name)
	err := a.Update(t.Context(), weightsync.Of(2, weightsync.Flatten(m.Params()), weightsync.Everything))
	if want := name + ": format is F8_E4M3FNUZ, want F8_E4M3"; err == nil || !strings.Contains(err.Error(), want) || a.Version() != 1 {
		t.Errorf("an update in FNUZ: %v, version %v; want an error with %q", err, a.Version(), want)
	}
	fast := cpu.Open(cpu.Options{Threads: 1, Sleepy: true})
	t.Cleanup(fast.Close)
	for _, k := range []kernels.Backend{ref.New[float32](), fast} {
		said := panics(func() { model.Prepare(ops.NewCtx(k, &tensor.Arena{}, dtype.F32), m) })
		if want := "prepare: weight is F8_E4M3FNUZ["; !strings.Contains(said, want) || !strings.Contains(said, "want F8_E4M3 by ") {
			t.Errorf("%s says %q of a weight in FNUZ, want %q", k.Name(), said, want)
		}
	}
}

// panics returns what f panics with.
func panics(f func()) (said string) {
	defer func() { said = fmt.Sprint(recover()) }()
	f()
	return ""
}
