package quant

import (
	"fmt"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// BenchmarkCopy is what the machine's memory allows: bytes read and bytes written count, here and in the others.
func BenchmarkCopy(b *testing.B) {
	x, y := tensor.New(dtype.F32, 4096, 4096), tensor.New(dtype.F32, 4096, 4096)
	b.SetBytes(int64(2 * len(x.Mem)))
	for b.Loop() {
		copy(y.Mem, x.Mem)
	}
}

func BenchmarkPack(b *testing.B) {
	eachFormat(b, func(q, w *tensor.Tensor) { Pack(q, w) })
}

func BenchmarkUnpack(b *testing.B) {
	eachFormat(b, func(q, w *tensor.Tensor) { Unpack(w, q) })
}

func eachFormat(b *testing.B, f func(q, w *tensor.Tensor)) {
	for _, format := range []Format{FP8, activations, FP4} {
		for _, t := range []dtype.Type{dtype.F32, dtype.BF16} {
			b.Run(fmt.Sprintf("%v-%dx%d/%v", format.Code, format.Block.Rows, format.Block.Cols, t), func(b *testing.B) {
				w, q := tensor.New(t, 4096, 4096), format.New(1, 4096, 4096)
				fillWeights(w)
				Pack(q, w)
				b.SetBytes(int64(len(w.Mem) + len(q.Mem) + len(q.Scale.Mem)))
				b.ReportAllocs()
				for b.Loop() {
					f(q, w)
				}
			})
		}
	}
}

// fillWeights sets numbers spread as a model's weights are.
func fillWeights(w *tensor.Tensor) {
	seed := uint64(7)
	for i := range w.Len() {
		var x float32
		for range 4 {
			seed = seed*6364136223846793005 + 1442695040888963407
			x += float32(int64(seed)>>40) * 0x1p-29
		}
		if w.Type == dtype.F32 {
			w.F32()[i] = x
		} else {
			w.BF16()[i] = dtype.ToBF16(x)
		}
	}
}
