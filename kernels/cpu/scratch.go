package cpu

import (
	"slices"

	"furlong/dtype"
	"furlong/tensor"
)

// scratch is memory of one goroutine for the length of one chunk. It keeps what it has, so that chunks of
// the same size allocate once.
type scratch struct {
	mem  *tensor.Tensor // F32
	used int            // elements
	want int            // elements that the chunk asked for
	ints []int
	run  run
	part product
}

// reset takes everything back, and grows the memory to what the last chunk would have liked.
func (s *scratch) reset() {
	if s.mem == nil || s.want > s.mem.Len() {
		s.mem = tensor.New(dtype.F32, max(s.want, 1<<14))
	}
	s.used, s.want = 0, 0
}

// f32 returns n elements that start on a cache line and hold anything.
func (s *scratch) f32(n int) []float32 {
	size := (n + 15) &^ 15
	s.want += size
	if s.used+size > s.mem.Len() {
		return tensor.New(dtype.F32, n).F32()
	}
	s.used += size
	return s.mem.F32()[s.used-size:][:n:n]
}

// ones returns n elements that are 1.
func (s *scratch) ones(n int) []float32 {
	x := s.f32(n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// numbers returns n ints that hold anything. The next call takes them back.
func (s *scratch) numbers(n int) []int {
	s.ints = slices.Grow(s.ints[:0], n)[:n]
	return s.ints
}

// borrow returns memory for a kernel that goes through several forks; give takes it back.
func (b *Backend) borrow() *scratch {
	s := b.pool.scratch.Get().(*scratch)
	s.reset()
	return s
}

func (b *Backend) give(s *scratch) { b.pool.scratch.Put(s) }
