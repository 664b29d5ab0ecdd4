package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// weightOf returns a prepared weight of small numbers: F32, BF16, FP8 or FP4.
func (g benchInputs) weightOf(b *Backend, format string, shape ...int) *tensor.Tensor {
	w := g.of(shape...)
	switch format {
	case "BF16":
		h := tensor.New(dtype.BF16, shape...)
		for i, x := range w.F32() {
			h.BF16()[i] = dtype.ToBF16(x)
		}
		w = h
	case "FP8", "FP4":
		q := map[string]quant.Format{"FP8": quant.FP8, "FP4": quant.FP4}[format].New(1, shape...)
		quant.Pack(q, w)
		w = q
	}
	b.Prepare(w)
	return w
}

// BenchmarkCodes is products with weights of all formats, on one thread: the same weight again and again, and at one row also as many as
// make 48 million elements, which no cache holds.
func BenchmarkCodes(b *testing.B) {
	const many = 48 << 20
	k := New(1)
	defer k.Close()
	g := benchInputs{rand.New(rand.NewPCG(1, 2))}
	for _, s := range [][2]int{{512, 512}, {2048, 1024}} {
		for _, format := range []string{"F32", "BF16", "FP8", "FP4"} {
			w := g.weightOf(k, format, s[0], s[1])
			for _, rows := range []int{1, 4, 6, 16, 256} {
				g.product(b, k, "near", format, rows, []*tensor.Tensor{w})
			}
			cold := []*tensor.Tensor{w}
			for len(cold)*w.Len() < many {
				c := w.Clone()
				k.Prepare(c)
				cold = append(cold, c)
			}
			g.product(b, k, "far", format, 1, cold)
		}
	}
}

// product runs rows tokens through one weight after the other.
func (g benchInputs) product(b *testing.B, k *Backend, where, format string, rows int, weights []*tensor.Tensor) {
	w := weights[0]
	x, y := g.of(rows, w.Shape[1]), g.of(rows, w.Shape[0])
	b.Run(fmt.Sprintf("%s/%s/%dx%d/rows=%d", where, format, w.Shape[0], w.Shape[1], rows), func(b *testing.B) {
		b.ReportAllocs()
		used, i := processor(), 0
		for b.Loop() {
			k.Linear(y, x, weights[i%len(weights)], 1)
			i++
		}
		ns := float64((processor() - used).Nanoseconds()) / float64(b.N)
		b.ReportMetric(ns/1000, "us")
		b.ReportMetric(2*float64(rows*w.Len())/ns, "GFLOP/s")
	})
}

// BenchmarkCodesBackward is both gradients of 256 tokens, on one thread.
func BenchmarkCodesBackward(b *testing.B) {
	k := New(1)
	defer k.Close()
	g := benchInputs{rand.New(rand.NewPCG(1, 2))}
	const rows, n, d = 256, 512, 512
	x, dy, dx, dw := g.of(rows, d), g.of(rows, n), g.of(rows, d), g.of(n, d)
	for _, format := range []string{"F32", "BF16", "FP8", "FP4"} {
		w := g.weightOf(k, format, n, d)
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				k.LinearBackward(dx, dw, dy, x, w, 1)
			}
		})
	}
}

// BenchmarkPrepare is the packing of a weight that was packed before, on one thread.
func BenchmarkPrepare(b *testing.B) {
	k := New(1)
	defer k.Close()
	g := benchInputs{rand.New(rand.NewPCG(1, 2))}
	for _, format := range []string{"F32", "BF16", "FP8", "FP4"} {
		w := g.weightOf(k, format, 2048, 1024)
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.Prepare(w)
			}
		})
	}
}

// BenchmarkRound is a row of 4096 activations.
func BenchmarkRound(b *testing.B) {
	k := New(1)
	defer k.Close()
	g := benchInputs{rand.New(rand.NewPCG(1, 2))}
	x, y := g.of(1, 4096), g.of(1, 4096)
	b.SetBytes(int64(len(x.Mem)))
	for b.Loop() {
		k.Round(y, x, 4096, quant.ActivationE4M3.Cols)
	}
}
