package cpu

import (
	"golang.org/x/sys/cpu"

	"furlong/kernels/cpu/asm"
)

// avx2 is the vector unit of amd64 machines with AVX2 and FMA.
type avx2 struct{}

// detect returns the best vector unit of the machine.
func detect() vector {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return avx2{}
	}
	return plain{}
}

func pause(n int) { asm.Pause(n) }

func (avx2) name() string { return "avx2" }

type (
	gemm     func(c, a, b *float32, k, n, cs, as, ak, bk, bp, ahead, mode int)
	gemmHalf func(c, a *float32, b *uint16, k, n, cs, as, ak, bk, bp, ahead, mode int)
)

// The product functions by rows and panels.
var (
	gemms = [7][5]gemm{
		1: {1: asm.Gemm1x16, 2: asm.Gemm1x32, 4: asm.Gemm1x64},
		2: {1: asm.Gemm2x16, 2: asm.Gemm2x32},
		3: {1: asm.Gemm3x16, 2: asm.Gemm3x32},
		4: {1: asm.Gemm4x16},
		5: {1: asm.Gemm5x16},
		6: {1: asm.Gemm6x16},
	}
	gemmHalves = [7][5]gemmHalf{
		1: {1: asm.Gemm1x16H, 2: asm.Gemm1x32H, 4: asm.Gemm1x64H},
		2: {1: asm.Gemm2x16H, 2: asm.Gemm2x32H},
		3: {1: asm.Gemm3x16H, 2: asm.Gemm3x32H},
		4: {1: asm.Gemm4x16H},
		5: {1: asm.Gemm5x16H},
		6: {1: asm.Gemm6x16H},
	}
)

// Bits of the product functions' mode.
const (
	modeFrom = 1
	modeAdd  = 2
)

func (avx2) multiply(t *tile) {
	t.check()
	mode := 0
	if t.from {
		mode |= modeFrom
	}
	if t.add {
		mode |= modeAdd
	}
	const f, h = 4, 2 // bytes
	if t.half != nil {
		gemmHalves[t.rows][t.panels](&t.c[0], &t.a[0], &t.half[0], t.k, t.n, f*t.cs, f*t.as, f*t.ak, h*t.bk, h*t.bp, h*t.ahead, mode)
		return
	}
	gemms[t.rows][t.panels](&t.c[0], &t.a[0], &t.b[0], t.k, t.n, f*t.cs, f*t.as, f*t.ak, f*t.bk, f*t.bp, f*t.ahead, mode)
}

func (avx2) packRows(dst, b []float32, n, ld int) {
	_, _ = dst[n*panel-1], b[(n-1)*ld+panel-1]
	asm.PackRows(&dst[0], &b[0], n, 4*ld)
}

func (avx2) widen(dst []float32, half []uint16, n int) {
	_, _ = dst[n*panel-1], half[n*panel-1]
	asm.Widen(&dst[0], &half[0], n)
}

func (avx2) widenRows(dst []float32, b []uint16, n, ld int) {
	_, _ = dst[n*panel-1], b[(n-1)*ld+panel-1]
	asm.WidenRows(&dst[0], &b[0], n, 2*ld)
}
