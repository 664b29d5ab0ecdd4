package suspect_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity/paritytest"
	"furlong/tensor"
)

// hidden are mistakes that the model of the reference vectors does not show: no table row of it names an expert twice, and no choice of experts is so near that
// a rounded bias turns it.
var hidden = []string{"duplicate experts overwritten", "correction bias in bfloat16"}

// The model of the reference vectors, whose weights were not made for these tests, shows the same mistakes in the same places.
func TestMistakesAreFoundInTheVectorsModel(t *testing.T) {
	k := cpu.New(1)
	t.Cleanup(k.Close)
	e := vectors(t, k)
	b := bench{right: e, wrong: &paritytest.Engine{Model: e.Model, K: paritytest.Other(k)}}
	cfg := e.Model.Config()
	for _, m := range paritytest.All() {
		places := m.Places(cfg)
		if len(places) == 0 || m.Least > 200 {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			at := places[len(places)-1]
			if m.Fault == paritytest.Faint {
				at = paritytest.Everywhere
			}
			v := b.judge(t, m, at)
			if v.f.Found == slices.Contains(hidden, m.Name) {
				t.Errorf("%s is %s, want it found unless the model hides it", m.Name, v.place())
				return
			}
			if v.f.Found {
				check(t, m, cfg, at, v)
			}
		})
	}
}

// vectors returns the model that the reference vectors are of.
func vectors(t *testing.T, k kernels.Backend) *paritytest.Engine {
	t.Helper()
	dir := filepath.Join("..", "..", "oracle", "testdata", "vectors")
	raw, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m := dsv4.New(cfg, dtype.F32)
	for _, p := range m.Params() {
		v, err := f.Tensor(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Value.Type == dtype.I32 {
			for i, e := range v.I64() {
				p.Value.I32()[i] = int32(e)
			}
			continue
		}
		copy(p.Value.F32(), v.F32())
	}
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, dtype.F32), m)
	return &paritytest.Engine{Model: m, K: k}
}
