package cpu

import "furlong/kernels/cpu/asm"

type (
	gemm     func(c, a, b *float32, k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)
	gemmHalf func(c, a *float32, b *uint16, k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)
)

// The product functions by rows and vectors.
var (
	gemms = [7][9]gemm{
		1: {2: asm.Gemm1x16, 3: asm.Gemm1x24, 4: asm.Gemm1x32, 8: asm.Gemm1x64},
		2: {2: asm.Gemm2x16, 3: asm.Gemm2x24, 4: asm.Gemm2x32},
		3: {2: asm.Gemm3x16, 3: asm.Gemm3x24, 4: asm.Gemm3x32},
		4: {2: asm.Gemm4x16, 3: asm.Gemm4x24},
		5: {2: asm.Gemm5x16},
		6: {2: asm.Gemm6x16},
	}
	gemmHalves = [7][9]gemmHalf{
		1: {2: asm.Gemm1x16H, 3: asm.Gemm1x24H, 4: asm.Gemm1x32H, 8: asm.Gemm1x64H},
		2: {2: asm.Gemm2x16H, 3: asm.Gemm2x24H, 4: asm.Gemm2x32H},
		3: {2: asm.Gemm3x16H, 3: asm.Gemm3x24H, 4: asm.Gemm3x32H},
		4: {2: asm.Gemm4x16H, 3: asm.Gemm4x24H},
		5: {2: asm.Gemm5x16H},
		6: {2: asm.Gemm6x16H},
	}
)

// Bits of the product functions' mode.
const (
	modeFrom = 1
	modeAdd  = 2
)

// avx2 runs t in assembly.
func (t *tile) avx2() {
	mode := 0
	if t.from {
		mode |= modeFrom
	}
	if t.add {
		mode |= modeAdd
	}
	const f, h = 4, 2 // bytes
	pace := t.pace
	if t.rows > 3 && t.panels() == 1 { // these functions fetch once in four steps
		pace *= 4
	}
	if t.half != nil {
		gemmHalves[t.rows][t.vecs](&t.c[0], &t.a[0], &t.half[0], t.k, t.n, t.m, f*t.cs, f*t.as, f*t.at, f*t.ak, h*t.bk, h*t.bp, h*t.bm, h*t.ahead, h*pace, mode)
		return
	}
	gemms[t.rows][t.vecs](&t.c[0], &t.a[0], &t.b[0], t.k, t.n, t.m, f*t.cs, f*t.as, f*t.at, f*t.ak, f*t.bk, f*t.bp, f*t.bm, f*t.ahead, f*pace, mode)
}
