package taps_test

import (
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/model"
	"furlong/ops"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// BenchmarkPass is what it costs to be watched: by nobody, by a recorder that keeps nothing, by one that keeps all.
func BenchmarkPass(b *testing.B) {
	fast := cpu.New(1)
	defer fast.Close()
	cfg := tapstest.Larger()
	j := tapstest.Judge(fast, tapstest.Model(cfg, dtype.BF16, 1))
	ids := tapstest.Tokens(1, cfg, 128)
	for _, bb := range []struct {
		name string
		rec  *taps.Recorder
		keep func(int, string) bool
	}{
		{"off", nil, nil},
		{"nothing", taps.NewRecorder(j.Model), func(int, string) bool { return false }},
		{"all", taps.NewRecorder(j.Model), nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			mem := &tensor.Arena{}
			b.ReportAllocs()
			for b.Loop() {
				mem.Reset()
				c, in := ops.NewCtx(fast, mem, dtype.F32), tapstest.Sequence(ids)
				if bb.rec != nil {
					bb.rec.Keep = bb.keep
					bb.rec.Begin(in, taps.NewSet(ids))
					c.Watch = bb.rec.Watch
				}
				j.Model.Final(c, model.Forward(c, j.Model, in, j.StoreOf, false))
			}
		})
	}
}
