package cpu

import "furlong/kernels/cpu/asm"

// Layouts of narrow numbers are rows turned on their side by sixteen, in words of 16 bits: one number of bfloat16, two codes of E4M3, four of
// E2M1. The assembly turns squares of sixteen words; what is left of a row, and panels of fewer rows, the Go code does.

// mostTurned is the lines that one call of assembly makes: about 20 microseconds.
const mostTurned = 1 << 13

// turned returns how many of n lines the assembly makes.
func turned(simd bool, rows, n int) int {
	if !simd || rows < panel {
		return 0
	}
	return n / panel * panel
}

// inTurns calls f for n lines, from line i on m of them.
func inTurns(n int, f func(i, m int)) {
	for i := 0; i < n; i += mostTurned {
		f(i, min(mostTurned, n-i))
	}
}

// turnWords sets the first n lines of dst to sixteen rows of src, ld bytes apart.
func turnWords(dst, src []byte, n, ld int) {
	checkTurn(dst, src, n, ld)
	inTurns(n, func(i, m int) { asm.PackWords(&dst[i*unit], &src[2*i], m, ld) })
}

// turnPairs is turnWords for E4M3. It reports whether a code is NaN.
func turnPairs(dst, src []byte, n, ld int) (nan bool) {
	checkTurn(dst, src, n, ld)
	inTurns(n, func(i, m int) { nan = asm.PackPairs(&dst[i*unit], &src[2*i], m, ld) != 0 || nan })
	return nan
}

// turnQuads is turnWords for E2M1.
func turnQuads(dst, src []byte, n, ld int) {
	checkTurn(dst, src, n, ld)
	inTurns(n, func(i, m int) { asm.PackQuads(&dst[i*unit], &src[2*i], m, ld) })
}

// checkTurn panics unless there are n lines of dst, and of src what they are made of.
func checkTurn(dst, src []byte, n, ld int) {
	if n > 0 {
		_, _ = dst[:n*unit], src[:(panel-1)*ld+2*n]
	}
}
