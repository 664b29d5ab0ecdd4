package tensor

import (
	"fmt"
	"slices"

	"furlong/dtype"
)

// A Tensor is a dense row-major array. Whoever made it (New, an Arena, a file) owns Mem.
type Tensor struct {
	Type  dtype.Type
	Shape []int
	Mem   []byte // little endian, 64-byte aligned when made here

	// Layout is what a backend derived from the values, such as packed panels. Only
	// kernels.Backend.Prepare writes it, and it must be called again whenever the values change.
	Layout any
}

// New returns a tensor of zeros on the Go heap.
func New(t dtype.Type, shape ...int) *Tensor {
	return &Tensor{Type: t, Shape: slices.Clone(shape), Mem: aligned(t.Bytes(count(shape)))}
}

// Of returns a float32 tensor over a copy of values.
func Of(values []float32, shape ...int) *Tensor {
	t := New(dtype.F32, shape...)
	if len(values) != t.Len() {
		panic(fmt.Sprintf("tensor: %d values for shape %v, want %d", len(values), shape, t.Len()))
	}
	copy(t.F32(), values)
	return t
}

// Len returns the number of elements.
func (t *Tensor) Len() int { return count(t.Shape) }

// Dim returns the size of the last axis.
func (t *Tensor) Dim() int { return t.Shape[len(t.Shape)-1] }

// Rows returns the number of rows when all axes but the last are one.
func (t *Tensor) Rows() int { return count(t.Shape[:len(t.Shape)-1]) }

// Zero sets every element to zero.
func (t *Tensor) Zero() { clear(t.Mem) }

// View returns a tensor over the same memory with another shape of the same size.
func (t *Tensor) View(shape ...int) *Tensor {
	if count(shape) != t.Len() {
		panic(fmt.Sprintf("tensor: view of %v as %v", t.Shape, shape))
	}
	return &Tensor{Type: t.Type, Shape: slices.Clone(shape), Mem: t.Mem}
}

// Slice returns rows lo up to hi (of the first axis) over the same memory.
func (t *Tensor) Slice(lo, hi int) *Tensor {
	n := t.Type.Bytes(count(t.Shape[1:]))
	shape := slices.Clone(t.Shape)
	shape[0] = hi - lo
	return &Tensor{Type: t.Type, Shape: shape, Mem: t.Mem[lo*n : hi*n : hi*n]}
}

// Clone returns a copy on the Go heap, without the Layout.
func (t *Tensor) Clone() *Tensor {
	c := New(t.Type, t.Shape...)
	copy(c.Mem, t.Mem)
	return c
}

// String returns format and shape, as error messages print them.
func (t *Tensor) String() string { return fmt.Sprintf("%v%v", t.Type, t.Shape) }

func count(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
