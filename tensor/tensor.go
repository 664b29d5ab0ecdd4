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

	// Scale makes a tensor quantised: its elements are codes (E4M3, E2M1), and each tile of Block rows and columns of the last two axes
	// shares one factor: [..., Fused*⌈R/Fused/Block[0]⌉, ⌈C/Block[1]⌉], E8M0 or F32. Else it is nil.
	Scale *Tensor
	Block [2]int
	Fused int // matrices of a stack that lie one below the other in each entry and have blocks of their own: 2 for gate and up

	// Fresh marks a gradient that nothing has been added to: its elements hold anything and count as zeros. What adds to it takes the mark
	// away. Views and slices don't share the mark.
	Fresh bool

	// Layout is what a backend derived from the values, such as packed panels. Only
	// kernels.Backend.Prepare writes it, and it must be called again whenever the values change.
	Layout Layout
}

// A Layout is a backend's own copy of a weight.
type Layout interface {
	// Memory returns all bytes that products read, in an order that depends on the weight's shape and format alone. They are the
	// layout's own: to be hashed, not written.
	Memory() [][]byte
}

// New returns a tensor of zeros on the Go heap.
func New(t dtype.Type, shape ...int) *Tensor {
	return &Tensor{Type: t, Shape: slices.Clone(shape), Mem: aligned(t.Bytes(count(shape)))}
}

// NewQuantised returns a quantised tensor of zero codes and scales: [R, C], or a stack [E, R, C].
func NewQuantised(t, scale dtype.Type, block [2]int, fused int, shape ...int) *Tensor {
	q := New(t, shape...)
	grid, n := slices.Clone(shape), len(shape)
	if grid[n-2]%fused != 0 {
		panic(fmt.Sprintf("tensor: %v are %d fused matrices", q, fused))
	}
	grid[n-2] = fused * blocks(shape[n-2]/fused, block[0])
	grid[n-1] = blocks(shape[n-1], block[1])
	q.Scale, q.Block, q.Fused = New(scale, grid...), block, fused
	return q
}

func blocks(n, size int) int { return (n + size - 1) / size }

// Of returns a float32 tensor over a copy of values.
func Of(values []float32, shape ...int) *Tensor {
	t := New(dtype.F32, shape...)
	if len(values) != t.Len() {
		panic(fmt.Sprintf("tensor: %d values for shape %v, want %d", len(values), shape, t.Len()))
	}
	copy(t.F32(), values)
	return t
}

// Quantised reports whether the elements are codes that mean something only together with their block's scale.
func (t *Tensor) Quantised() bool { return t.Scale != nil }

// Len returns the number of elements.
func (t *Tensor) Len() int { return count(t.Shape) }

// Dim returns the size of the last axis.
func (t *Tensor) Dim() int { return t.Shape[len(t.Shape)-1] }

// Rows returns the number of rows when all axes but the last are one.
func (t *Tensor) Rows() int { return count(t.Shape[:len(t.Shape)-1]) }

// Zero sets every element to zero.
func (t *Tensor) Zero() { clear(t.Mem) }

// View returns a tensor over the same memory with another shape of the same size. A quantised tensor has none, since its blocks
// lie in its shape.
func (t *Tensor) View(shape ...int) *Tensor {
	if t.Quantised() {
		panic(fmt.Sprintf("tensor: view of quantised %v as %v", t, shape))
	}
	if count(shape) != t.Len() {
		panic(fmt.Sprintf("tensor: view of %v as %v", t.Shape, shape))
	}
	v := shaped(shape)
	v.Type, v.Mem = t.Type, t.Mem
	return v
}

// shaped returns a tensor of a shape, in one allocation if it has no more than three axes: passes make thousands.
func shaped(shape []int) *Tensor {
	t := &struct {
		Tensor
		shape [3]int
	}{}
	t.Shape = append(t.shape[:0], shape...)
	return &t.Tensor
}

// Slice returns rows lo up to hi (of the first axis) over the same memory. Of a quantised tensor only matrices of a stack can be
// taken, which have scales of their own.
func (t *Tensor) Slice(lo, hi int) *Tensor { return t.cut(shaped(t.Shape), lo, hi) }

// cut makes s, which has t's shape, the rows lo up to hi of t.
func (t *Tensor) cut(s *Tensor, lo, hi int) *Tensor {
	n := t.Type.Bytes(count(t.Shape[1:]))
	s.Shape[0] = hi - lo
	s.Type, s.Mem, s.Block, s.Fused = t.Type, t.Mem[lo*n:hi*n:hi*n], t.Block, t.Fused
	if t.Quantised() {
		if len(t.Shape) != 3 {
			panic(fmt.Sprintf("tensor: rows %d up to %d of quantised %v, want a stack of matrices", lo, hi, t))
		}
		s.Scale = t.Scale.Slice(lo, hi)
	}
	return s
}

// Clone returns a copy on the Go heap, without the Layout.
func (t *Tensor) Clone() *Tensor {
	c := New(t.Type, t.Shape...)
	copy(c.Mem, t.Mem)
	if t.Quantised() {
		c.Scale, c.Block, c.Fused = t.Scale.Clone(), t.Block, t.Fused
	}
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
