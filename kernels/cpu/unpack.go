package cpu

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

// packRows copies 16 columns of n rows of b, ld apart, to dst [n, 16].
func packRows(simd bool, dst, b []float32, n, ld int) {
	_, _ = dst[n*panel-1], b[(n-1)*ld+panel-1]
	if simd {
		asm.PackRows(&dst[0], &b[0], n, 4*ld)
		return
	}
	for i := range n {
		copy(dst[i*panel:][:panel], b[i*ld:])
	}
}

// mostCopied is the elements that one call of assembly copies: about 20 microseconds.
const mostCopied = 1 << 15

// packPanels copies the columns of so many panels of n rows of b, ld apart, to dst [panels, n, 16].
func packPanels(simd bool, dst, b []float32, n, panels, ld int) {
	_, _ = dst[panels*n*panel-1], b[(n-1)*ld+panels*panel-1]
	most := max(1, mostCopied/(panels*panel))
	for i := 0; i < n; i += most {
		rows := min(most, n-i)
		if simd {
			asm.PackPanels(&dst[i*panel], &b[i*ld], rows, panels, ld, n*panel)
			continue
		}
		for j := i; j < i+rows; j++ {
			for p := range panels {
				copy(dst[(p*n+j)*panel:][:panel], b[j*ld+p*panel:])
			}
		}
	}
}

// packTile copies h of each of n rows of a, ld apart, to dst [n, h].
func packTile(simd bool, dst, a []float32, n, ld, h int) {
	last := n - 1
	if simd && last > 0 {
		_, _ = dst[last*h+7-h], a[(last-1)*ld+7]
		asm.PackTile(&dst[0], &a[0], last, ld, h)
	} else {
		last = 0
	}
	for i := last; i < n; i++ {
		copy(dst[i*h:][:h], a[i*ld:])
	}
}

// widenRows is packRows for bfloat16.
func widenRows(simd bool, dst []float32, b []uint16, n, ld int) {
	_, _ = dst[n*panel-1], b[(n-1)*ld+panel-1]
	if simd {
		asm.WidenRows(&dst[0], &b[0], n, 2*ld)
		return
	}
	for i := range n {
		for j, h := range b[i*ld:][:panel] {
			dst[i*panel+j] = dtype.FromBF16(h)
		}
	}
}

// widenPanel sets dst [n, 16] to n lines of a panel of bfloat16.
func widenPanel(simd bool, dst []float32, half []uint16, n int) {
	_, _ = dst[n*panel-1], half[n*panel-1]
	if simd {
		asm.Widen(&dst[0], &half[0], n)
		return
	}
	for i := range n {
		row, h := dst[i*panel:][:panel], half[i*panel:][:panel]
		for j := range panel / 2 {
			row[j], row[j+8] = dtype.FromBF16(h[2*j]), dtype.FromBF16(h[2*j+1])
		}
	}
}
