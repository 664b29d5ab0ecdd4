package hf

import (
	"fmt"
	"strings"

	"furlong/tensor"
)

// A Report is what loading did that its caller should know.
type Report struct {
	Scheme  Scheme
	Tensors int // read
	Bytes   int64
	Rounded []Rounding // tensors that lost something by becoming BF16
	Aside   []string   // tensors of draft layers, which were not read
}

// A Rounding counts the elements of a tensor that were not exact in the format wanted.
type Rounding struct {
	Name      string
	Count, Of int
}

// add counts a tensor that was read.
func (r *Report) add(name string, t *tensor.Tensor, rounded int) {
	r.Tensors++
	r.Bytes += int64(len(t.Mem))
	if rounded > 0 {
		r.Rounded = append(r.Rounded, Rounding{name, rounded, t.Len()})
	}
}

// String says it in a line, and one more each for roundings and draft layers where there are any.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %d tensors, %d bytes, named as in %v", r.Tensors, r.Bytes, r.Scheme)
	if len(r.Rounded) > 0 {
		count, of := 0, 0
		for _, x := range r.Rounded {
			count, of = count+x.Count, of+x.Of
		}
		fmt.Fprintf(&b, "\nrounded %d of %d numbers to BF16, in %d tensors, first %q", count, of, len(r.Rounded), r.Rounded[0].Name)
	}
	if len(r.Aside) > 0 {
		fmt.Fprintf(&b, "\nset %d tensors of draft layers aside, first %q", len(r.Aside), r.Aside[0])
	}
	return b.String()
}
