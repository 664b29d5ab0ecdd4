package suspect_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/parity/diverge"
	"furlong/parity/paritytest"
	"furlong/quant"
)

// Engines of equal quantised weights are held to float32 rounding: what only they can do wrong is found and explained as exactly.
func TestMistakesOfFormatsAreFound(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for i, cfg := range paritytest.Shapes() {
		e := paritytest.New(cfg, 1, k, paritytest.Small(true))
		f := diverge.Formats{Weights: "fp8"}
		b := bench{right: e, wrong: &paritytest.Engine{Model: e.Model, K: paritytest.Other(k)}, c: diverge.Case{Of: f, Against: f}}
		for _, m := range append(paritytest.Quantised(), paritytest.None()) {
			for _, at := range m.Places(cfg) {
				t.Run(fmt.Sprintf("%d/%s/%d", i+1, m.Name, at), func(t *testing.T) {
					v := b.judge(t, m, at)
					check(t, m, cfg, at, v)
					t.Log(v.place(), v.why())
				})
			}
		}
	}
}

// An engine in float32 that rounds its activations is told apart from one that does not.
func TestRoundedActivationsAreFound(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for _, b := range equals(k) {
		m, cfg := paritytest.Rounded(), b.right.Model.Config()
		for _, at := range m.Places(cfg) {
			check(t, m, cfg, at, b.judge(t, m, at))
		}
	}
}

// A side with FP8 weights is held against a judge whose weights are BF16: what is above the noise of the format is named where it is, or not named at all,
// and explained right, or not at all.
func TestMistakesAreFoundAcrossFormats(t *testing.T) {
	k := cpu.New(1)
	t.Cleanup(k.Close)
	cfg := paritytest.Shapes()[0]
	plain, packed := paritytest.NewBF16(cfg, 1, k, quant.Recipe{}), paritytest.NewBF16(cfg, 1, k, paritytest.Small(true))
	b := bench{right: plain, wrong: packed, c: diverge.Case{Of: diverge.Formats{Weights: "fp8", Plain: "BF16"}, Against: diverge.Formats{Plain: "BF16"}}}
	all := append(paritytest.All(), paritytest.None())
	lines := make([]string, len(all))
	t.Run("each", func(t *testing.T) {
		for i, m := range all {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				places := m.Places(cfg)
				if len(places) == 0 {
					places = []int{paritytest.Everywhere}
				}
				at := places[len(places)-1]
				v := b.judge(t, m, at)
				lines[i] = row(m, v.why(), where(cfg, at), v.place())
				checkAcross(t, m, b, at, v)
			})
		}
	})
	golden(t, filepath.Join("testdata", "found-fp8.txt"), head("planted in", "found at"), lines)
}

func checkAcross(t *testing.T, m paritytest.Mistake, b bench, at int, v verdict) {
	t.Helper()
	if !v.f.Found {
		return
	}
	cfg := b.right.Model.Config()
	if layer, ops := m.First(cfg, at); v.layer != layer || !slices.Contains(ops, v.op) {
		t.Errorf("%s, planted in %s: %s (%s), want %v of layer %d", m.Name, where(cfg, at), v.place(), v.f.Says, ops, layer)
		return
	}
	if want := explained[m.Name]; len(v.names) > 0 && !slices.Contains(v.names, want) {
		t.Errorf("%s, planted in %s: %s is explained by %q, want %q or nothing: %+v", m.Name, where(cfg, at), v.place(), v.names, want, v.left)
	}
}

// A side that scales its blocks by float32 numbers where the judge has powers of two holds other weights: the first product shows it, and no mistake of the library
// explains it, since what was rounded away can't be had again.
func TestOtherScalesAreFound(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	free := paritytest.Small(true)
	free.Dense.Scale, free.Experts.Scale = dtype.F32, dtype.F32
	for i, cfg := range paritytest.Shapes() {
		f := diverge.Formats{Weights: "fp8"}
		b := bench{right: paritytest.New(cfg, 1, k, paritytest.Small(true)), wrong: paritytest.New(cfg, 1, k, free), c: diverge.Case{Of: f, Against: f}}
		if v := b.judge(t, paritytest.None(), paritytest.Everywhere); v.layer != 0 || v.op != "q_latent" || v.names != nil {
			t.Errorf("model %d: %s is explained by %s, want L0.q_latent by nothing", i+1, v.place(), v.why())
		}
	}
}
