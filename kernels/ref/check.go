package ref

import (
	"fmt"
	"strings"

	"furlong/kernels"
	"furlong/tensor"
)

// check panics unless t has the wanted first axis, and the wanted product of the others.
func check(kernel, name string, t *tensor.Tensor, want ...int) {
	switch {
	case t == nil:
		panic(fmt.Sprintf("%s: %s is nil, want %s", kernel, name, dims(want)))
	case len(t.Shape) == 0 || t.Shape[0] != want[0] || width(t) != count(want[1:]):
		panic(fmt.Sprintf("%s: %s is %s, want %s", kernel, name, dims(t.Shape), dims(want)))
	}
}

// checkWanted is check for a tensor that may be nil.
func checkWanted(kernel, name string, t *tensor.Tensor, want ...int) {
	if t != nil {
		check(kernel, name, t, want...)
	}
}

// checkLen panics unless a list of numbers has the wanted length.
func checkLen(kernel, name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("%s: %s has %d entries, want %d", kernel, name, got, want))
	}
}

// checkView panics unless v serves queries queries with rows of width channels.
func checkView(kernel, name string, v kernels.View, queries, width int) {
	checkLen(kernel, name+".Lo", len(v.Lo), queries)
	checkLen(kernel, name+".Hi", len(v.Hi), queries)
	if v.Pool == nil {
		panic(fmt.Sprintf("%s: %s.Pool is nil, want [R, %d]", kernel, name, width))
	}
	check(kernel, name+".Pool", v.Pool, v.Pool.Shape[0], width)
}

// width returns the number of elements of one entry of the first axis.
func width(t *tensor.Tensor) int { return count(t.Shape[1:]) }

func count(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// dims prints a shape as error messages have it: [4, 64].
func dims(shape []int) string {
	return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + "]"
}
