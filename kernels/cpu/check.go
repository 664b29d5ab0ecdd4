package cpu

import (
	"fmt"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// want panics unless t has rows entries of width elements, its trailing axes grouped in any way.
func want(kernel, name string, t *tensor.Tensor, rows, width int) {
	if t == nil || len(t.Shape) == 0 || t.Shape[0] != rows || wide(t) != width {
		seen := "nil"
		if t != nil {
			seen = dims(t.Shape)
		}
		panic(fmt.Sprintf("%s: %s is %s, want %s", kernel, name, seen, dims([]int{rows, width})))
	}
}

// wantMaybe is want for a tensor that may be nil.
func wantMaybe(kernel, name string, t *tensor.Tensor, rows, width int) {
	if t != nil {
		want(kernel, name, t, rows, width)
	}
}

// wantLen panics unless a list of n has size entries.
func wantLen(kernel, name string, n, size int) {
	if n != size {
		panic(fmt.Sprintf("%s: %s has %d entries, want %d", kernel, name, n, size))
	}
}

// wantView panics unless v serves queries queries with rows of width channels.
func wantView(kernel, name string, v kernels.View, queries, width int) {
	if len(v.Lo) != queries || len(v.Hi) != queries {
		panic(fmt.Sprintf("%s: %s is of %d and %d queries, want %d", kernel, name, len(v.Lo), len(v.Hi), queries))
	}
	if v.Pool == nil {
		panic(fmt.Sprintf("%s: %s.Pool is nil, want [R, %d]", kernel, name, width))
	}
	if wide(v.Pool) != width {
		panic(fmt.Sprintf("%s: %s.Pool is %s, want [R, %d]", kernel, name, dims(v.Pool.Shape), width))
	}
}

// wide returns the number of elements of one entry of the first axis.
func wide(t *tensor.Tensor) int {
	n := 1
	for _, s := range t.Shape[1:] {
		n *= s
	}
	return n
}

// dims prints a shape as error messages have it: [4, 64].
func dims(shape []int) string {
	return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + "]"
}

// values returns the elements of an F32 tensor, nil of a nil one.
func values(t *tensor.Tensor) []float32 {
	if t == nil {
		return nil
	}
	return t.F32()
}

// sums returns the elements of a gradient, zeros if it was fresh.
func (b *Backend) sums(t *tensor.Tensor) []float32 {
	if takeFresh(t) {
		b.Zero(t)
	}
	return values(t)
}

// takeFresh reports whether t is a fresh gradient, and takes the mark away: the caller zeroes it, best while it is in the cache, or writes without reading.
func takeFresh(t *tensor.Tensor) bool {
	if t == nil || !t.Fresh {
		return false
	}
	t.Fresh = false
	return true
}

// either returns one of two functions of assembly: the first for what is asked, or else the second.
func either[F any](first bool, f, g F) F {
	if first {
		return f
	}
	return g
}

// single reports whether all tensors are F32 (or nil): what the assembly reads.
func single(ts ...*tensor.Tensor) bool {
	for _, t := range ts {
		if t != nil && t.Type != dtype.F32 {
			return false
		}
	}
	return true
}
