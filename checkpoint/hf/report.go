package hf

import (
	"fmt"
	"strings"

	"furlong/tensor"
)

// A Report is what loading did that its caller should know.
type Report struct {
	Scheme  Scheme
	Tensors int // read, scales included
	Bytes   int64
	Ways    [Repacked + 1]int // weights by the Way they came
	Rounded []Rounding        // weights that lost something
	Aside   []string          // tensors of draft layers, which were not read
}

// A Rounding counts the elements of a tensor that were not exact in the format wanted.
type Rounding struct {
	Name      string
	Way       Way
	Count, Of int
}

// add counts a weight that was read.
func (r *Report) add(name string, t *tensor.Tensor, way Way, rounded int) {
	r.Tensors++
	r.Bytes += int64(len(t.Mem))
	if t.Quantised() {
		r.Tensors++
		r.Bytes += int64(len(t.Scale.Mem))
	}
	r.Ways[way]++
	if rounded > 0 {
		r.Rounded = append(r.Rounded, Rounding{name, way, rounded, t.Len()})
	}
}

// String says it in a line, and one more each for codes, roundings and draft layers where there are any.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %d tensors, %d bytes, named as in %v", r.Tensors, r.Bytes, r.Scheme)
	var ways []string
	for w := Unpacked; w <= Repacked; w++ {
		if n := r.Ways[w]; n > 0 {
			ways = append(ways, fmt.Sprintf("%s %d", w, n))
		}
	}
	if len(ways) > 0 {
		fmt.Fprintf(&b, "\n%s weights", strings.Join(ways, ", "))
	}
	for w := range Repacked + 1 {
		r.printRounded(&b, w)
	}
	if len(r.Aside) > 0 {
		fmt.Fprintf(&b, "\nset %d tensors of draft layers aside, first %q", len(r.Aside), r.Aside[0])
	}
	return b.String()
}

// printRounded says what was lost on one way.
func (r *Report) printRounded(b *strings.Builder, w Way) {
	count, of, tensors, first := 0, 0, 0, ""
	for _, x := range r.Rounded {
		if x.Way == w {
			if count, of, tensors = count+x.Count, of+x.Of, tensors+1; first == "" {
				first = x.Name
			}
		}
	}
	if tensors > 0 {
		fmt.Fprintf(b, "\nrounded %d of %d numbers that were %v, in %d tensors, first %q", count, of, w, tensors, first)
	}
}
