package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// The assembly lays weights out as the Go code does: whole panels, ragged ones, rows that squares of sixteen words don't cover, NaN codes.
func TestLayoutsAreTheSameInBothUnits(t *testing.T) {
	if !asm.Available() {
		t.Skip("no assembly on this machine")
	}
	fast, slow := open(Options{Threads: 2, Sleepy: true}, best()), open(Options{Threads: 1}, plain)
	defer fast.Close()
	defer slow.Close()
	r := rand.NewChaCha8([32]byte{1})
	for _, shape := range [][]int{{16, 16}, {16, 64}, {5, 64}, {35, 48}, {64, 70}, {32, 34}, {33, 514}, {3, 32, 192}, {2, 40, 98}, {16, 2 * (3*mostTurned + 16)}} {
		for _, w := range []*tensor.Tensor{
			tensor.New(dtype.F32, shape...), tensor.New(dtype.BF16, shape...),
			tensor.NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, shape...),
			tensor.NewQuantised(dtype.E2M1, dtype.E8M0, [2]int{1, 32}, 1, shape...),
		} {
			_, _ = r.Read(w.Mem)
			if w.Quantised() {
				_, _ = r.Read(w.Scale.Mem)
			}
			for _, rare := range []bool{false, true} {
				if rare && w.Type == dtype.E4M3 {
					tame(w.Mem)
				}
				checkLayouts(t, w, fast, slow)
			}
		}
	}
}

// tame leaves one NaN among codes, in the last row.
func tame(codes []byte) {
	for i, c := range codes {
		if c&0x7f == 0x7f {
			codes[i] = 1
		}
	}
	codes[len(codes)-3] = 0xff
}

func checkLayouts(t *testing.T, w *tensor.Tensor, fast, slow *Backend) {
	t.Helper()
	a, b := w.Clone(), w.Clone()
	fast.Prepare(a)
	for _, part := range a.Layout.Memory() { // nothing may depend on what the memory held
		for i := range part {
			part[i] = 0xa5
		}
	}
	fast.Prepare(a)
	slow.Prepare(b)
	for i, want := range b.Layout.Memory() {
		if got := a.Layout.Memory()[i]; !bytes.Equal(got, want) {
			t.Errorf("%v: part %d of the layout is not what the Go code makes", w, i)
		}
	}
}

func BenchmarkLayout(b *testing.B) {
	k := Open(Options{})
	b.Cleanup(k.Close)
	for _, w := range []*tensor.Tensor{
		tensor.New(dtype.BF16, 32, 768, 768), tensor.New(dtype.F32, 32, 768, 384),
		tensor.NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, 32, 768, 768),
		tensor.NewQuantised(dtype.E2M1, dtype.E8M0, [2]int{1, 32}, 1, 32, 768, 768),
	} {
		b.Run(w.Type.String(), func(b *testing.B) {
			k.Prepare(w)
			b.SetBytes(int64(2 * len(w.Mem)))
			for b.Loop() {
				k.Prepare(w)
			}
		})
	}
	x, y := tensor.New(dtype.BF16, 32, 768, 768), tensor.New(dtype.BF16, 32, 768, 768)
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(2 * len(x.Mem)))
		for b.Loop() {
			k.each(32, 1<<20, func(lo, hi int, _ *scratch) {
				n := len(x.Mem) / 32
				copy(y.Mem[lo*n:hi*n], x.Mem[lo*n:])
			})
		}
	})
}

// What has grown is what Prepare makes, and Grow has returned all of it.
func TestGrow(t *testing.T) {
	k := Open(Options{Threads: 1})
	defer k.Close()
	r := rand.New(rand.NewPCG(3, 3))
	for _, shape := range [][]int{{16, 32}, {5, 64}, {35, 48}, {3, 32, 192}, {4, 40, 98}} {
		for _, of := range []dtype.Type{dtype.F32, dtype.BF16} {
			w := tensor.New(of, shape...)
			for i := range w.Mem {
				w.Mem[i] = byte(r.Uint32())
			}
			ready := w.Clone()
			k.Prepare(ready)
			for range 3 {
				var all []byte
				n, step := 0, 1+r.IntN(w.Len())
				for ok := true; ok; ok = n < w.Len() {
					fresh, grows := k.Grow(w, n)
					if !grows {
						t.Fatalf("%v does not grow", w)
					}
					all = append(all, fresh...)
					n = min(n+step, w.Len())
				}
				fresh, _ := k.Grow(w, w.Len())
				all = append(all, fresh...)
				if want := ready.Layout.Memory()[0]; !bytes.Equal(w.Layout.Memory()[0], want) || !bytes.Equal(all, want) {
					t.Errorf("%v, %d elements at a time: the layout is not what Prepare makes", w, step)
				}
			}
		}
	}
	for _, w := range []*tensor.Tensor{tensor.New(dtype.F32, 9), tensor.NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, 16, 16)} {
		if _, ok := k.Grow(w, 0); ok {
			t.Errorf("%v grows", w)
		}
	}
}
