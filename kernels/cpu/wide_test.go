package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/kernels/cpu/asm"
)

// odd are the numbers that arithmetic treats apart.
var odd = []float32{
	float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 88.9, -87.4, 1, -1,
}

// numbers returns n numbers, of which some are odd if any may be.
func numbers(r *rand.Rand, n int, any bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 3)
		if any && r.IntN(40) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

// sameBits fails the test unless all numbers are the same, any NaN for any other.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, g := range got {
		if w := want[i]; math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			t.Fatalf("%s: number %d of %d is %v, want %v", what, i, len(got), g, w)
		}
	}
}

// needWide skips the test where there is no AVX-512.
func needWide(t *testing.T) {
	if best() != avx512 {
		t.Skip("no AVX-512 on this machine")
	}
}

// The gates of sixteen elements have the bits of two times eight.
func TestWideGates(t *testing.T) {
	needWide(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, dim := range []int{16, 48, 160} {
		for n := 1; n <= 3; n++ {
			for _, any := range []bool{false, true} {
				testWideGates(t, r, n, dim, any)
			}
		}
	}
}

func testWideGates(t *testing.T, r *rand.Rand, n, dim int, any bool) {
	gu, w, dy := numbers(r, 2*n*dim, any), numbers(r, n, any), numbers(r, n*dim, any)
	dgu, dw := numbers(r, 2*n*dim, any), numbers(r, n, any)
	for _, limit := range []float32{1.5, float32(math.Inf(1))} {
		run := func(gate func(y, gu, w *float32, rows, dim int, limit float32), grads ...func(dgu, dw, dy, gu, w *float32, rows, dim int, limit float32)) (all []float32) {
			y := make([]float32, n*dim)
			gate(&y[0], &gu[0], &w[0], n, dim, limit)
			for _, grad := range grads {
				d, s := slices.Clone(dgu), slices.Clone(dw)
				grad(&d[0], &s[0], &dy[0], &gu[0], &w[0], n, dim, limit)
				all = append(append(all, d...), s...)
			}
			return append(all, y...)
		}
		want := run(asm.SwiGLU, asm.SwiGLUGrad, asm.SwiGLUGradFirst)
		got := run(asm.SwiGLUWide, asm.SwiGLUGradWide, asm.SwiGLUGradFirstWide)
		sameBits(t, fmt.Sprintf("gates: %d rows of %d, limit %v", n, dim, limit), got, want)
	}
}
