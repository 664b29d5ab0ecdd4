package cpu

import (
	"fmt"

	"furlong/tensor"
)

// want panics unless t has rows rows of width elements, its axes grouped in any way.
func want(kernel, name string, t *tensor.Tensor, rows, width int) {
	if t.Shape[0] != rows || t.Len() != rows*width {
		panic(fmt.Sprintf("%s: %s is %v, want [%d, %d]", kernel, name, t.Shape, rows, width))
	}
}

// wantLen panics unless n is size.
func wantLen(kernel, name string, n, size int) {
	if n != size {
		panic(fmt.Sprintf("%s: %s has %d entries, want %d", kernel, name, n, size))
	}
}
