package tensor

import "furlong/dtype"

// An Arena hands out tensors that all die together. It grows by slabs and keeps them, so that a loop of
// equal passes allocates nothing after the first. The zero value is ready. One goroutine uses it.
type Arena struct {
	slabs [][]byte
	slab  int // index of the slab in use
	used  int // bytes used of it

	headers []Tensor // cut from chunks, never used twice: a pass makes hundreds, and each would be an allocation
	sizes   []int
}

// A Mark is a place in an arena to go back to.
type Mark struct{ slab, used int }

const slabBytes = 16 << 20

// New returns a tensor whose elements are whatever the memory held before. Kernels overwrite outputs.
func (a *Arena) New(t dtype.Type, shape ...int) *Tensor {
	x := a.header(shape)
	x.Type, x.Mem = t, a.take(t.Bytes(count(shape)))
	return x
}

// Slice is [Tensor.Slice] for rows that die with the arena's tensors.
func (a *Arena) Slice(t *Tensor, lo, hi int) *Tensor { return t.cut(a.header(t.Shape), lo, hi) }

const headerChunk = 256

// header returns a tensor of a shape without memory.
func (a *Arena) header(shape []int) *Tensor {
	if len(a.headers) == 0 {
		a.headers = make([]Tensor, headerChunk)
	}
	if len(a.sizes) < len(shape) {
		a.sizes = make([]int, max(2*headerChunk, len(shape)))
	}
	x := &a.headers[0]
	x.Shape = a.sizes[:len(shape):len(shape)]
	copy(x.Shape, shape)
	a.headers, a.sizes = a.headers[1:], a.sizes[len(shape):]
	return x
}

// Zeros returns a tensor of zeros.
func (a *Arena) Zeros(t dtype.Type, shape ...int) *Tensor {
	x := a.New(t, shape...)
	x.Zero()
	return x
}

// Mark returns the current place.
func (a *Arena) Mark() Mark { return Mark{a.slab, a.used} }

// Release frees everything handed out since m was taken.
func (a *Arena) Release(m Mark) { a.slab, a.used = m.slab, m.used }

// Reset frees everything.
func (a *Arena) Reset() { a.Release(Mark{}) }

// Bytes returns the memory that the arena holds from the system.
func (a *Arena) Bytes() int {
	n := 0
	for _, s := range a.slabs {
		n += len(s)
	}
	return n
}

func (a *Arena) take(n int) []byte {
	size := (n + align - 1) &^ (align - 1)
	for a.slab < len(a.slabs) && a.used+size > len(a.slabs[a.slab]) {
		a.slab, a.used = a.slab+1, 0
	}
	if a.slab == len(a.slabs) {
		a.slabs = append(a.slabs, aligned(max(size, slabBytes)))
	}
	b := a.slabs[a.slab][a.used : a.used+n : a.used+n]
	a.used += size
	return b
}
