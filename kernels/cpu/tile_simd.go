package cpu

import "furlong/kernels/cpu/asm"

type (
	gemm     func(c, a, b *float32, k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)
	gemmHalf func(c, a *float32, b *uint16, k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)
)

// gemms are the product functions of an instruction set, by rows and vectors of eight columns.
type gemms struct {
	whole [tallest + 1][2*widest + 1]gemm
	half  [tallest + 1][2*widest + 1]gemmHalf
	fours bool // those of one panel and more than three rows fetch once in four steps
}

var (
	byEight = gemms{
		whole: [tallest + 1][2*widest + 1]gemm{
			1: {2: asm.Gemm1x16, 3: asm.Gemm1x24, 4: asm.Gemm1x32, 8: asm.Gemm1x64},
			2: {2: asm.Gemm2x16, 3: asm.Gemm2x24, 4: asm.Gemm2x32},
			3: {2: asm.Gemm3x16, 3: asm.Gemm3x24, 4: asm.Gemm3x32},
			4: {2: asm.Gemm4x16, 3: asm.Gemm4x24},
			5: {2: asm.Gemm5x16},
			6: {2: asm.Gemm6x16},
		},
		half: [tallest + 1][2*widest + 1]gemmHalf{
			1: {2: asm.Gemm1x16H, 3: asm.Gemm1x24H, 4: asm.Gemm1x32H, 8: asm.Gemm1x64H},
			2: {2: asm.Gemm2x16H, 3: asm.Gemm2x24H, 4: asm.Gemm2x32H},
			3: {2: asm.Gemm3x16H, 3: asm.Gemm3x24H, 4: asm.Gemm3x32H},
			4: {2: asm.Gemm4x16H, 3: asm.Gemm4x24H},
			5: {2: asm.Gemm5x16H},
			6: {2: asm.Gemm6x16H},
		},
		fours: true,
	}
	bySixteen = gemms{
		whole: [tallest + 1][2*widest + 1]gemm{
			1: {2: asm.GemmWide1x16, 3: asm.GemmWide1x24, 4: asm.GemmWide1x32, 8: asm.GemmWide1x64},
			2: {2: asm.GemmWide2x16, 3: asm.GemmWide2x24, 4: asm.GemmWide2x32, 8: asm.GemmWide2x64},
			3: {2: asm.GemmWide3x16, 3: asm.GemmWide3x24, 4: asm.GemmWide3x32, 8: asm.GemmWide3x64},
			4: {2: asm.GemmWide4x16, 3: asm.GemmWide4x24, 4: asm.GemmWide4x32, 8: asm.GemmWide4x64},
			5: {2: asm.GemmWide5x16, 3: asm.GemmWide5x24, 4: asm.GemmWide5x32, 8: asm.GemmWide5x64},
			6: {2: asm.GemmWide6x16, 3: asm.GemmWide6x24, 4: asm.GemmWide6x32, 8: asm.GemmWide6x64},
		},
		half: [tallest + 1][2*widest + 1]gemmHalf{
			1: {2: asm.GemmWide1x16H, 3: asm.GemmWide1x24H, 4: asm.GemmWide1x32H, 8: asm.GemmWide1x64H},
			2: {2: asm.GemmWide2x16H, 3: asm.GemmWide2x24H, 4: asm.GemmWide2x32H, 8: asm.GemmWide2x64H},
			3: {2: asm.GemmWide3x16H, 3: asm.GemmWide3x24H, 4: asm.GemmWide3x32H, 8: asm.GemmWide3x64H},
			4: {2: asm.GemmWide4x16H, 3: asm.GemmWide4x24H, 4: asm.GemmWide4x32H, 8: asm.GemmWide4x64H},
			5: {2: asm.GemmWide5x16H, 3: asm.GemmWide5x24H, 4: asm.GemmWide5x32H, 8: asm.GemmWide5x64H},
			6: {2: asm.GemmWide6x16H, 3: asm.GemmWide6x24H, 4: asm.GemmWide6x32H, 8: asm.GemmWide6x64H},
		},
	}
)

// Bits of the product functions' mode.
const (
	modeFrom = 1
	modeAdd  = 2
)

// call runs t in assembly.
func (t *tile) call(g *gemms) {
	mode := 0
	if t.from {
		mode |= modeFrom
	}
	if t.add {
		mode |= modeAdd
	}
	const f, h = 4, 2 // bytes
	pace := t.pace
	if g.fours && t.rows > 3 && t.panels() == 1 {
		pace *= 4
	}
	if t.half != nil {
		g.half[t.rows][t.vecs](&t.c[0], &t.a[0], &t.half[0], t.k, t.n, t.m, f*t.cs, f*t.as, f*t.at, f*t.ak, h*t.bk, h*t.bp, h*t.bm, h*t.ahead, h*pace, mode)
		return
	}
	g.whole[t.rows][t.vecs](&t.c[0], &t.a[0], &t.b[0], t.k, t.n, t.m, f*t.cs, f*t.as, f*t.at, f*t.ak, f*t.bk, f*t.bp, f*t.bm, f*t.ahead, f*pace, mode)
}
