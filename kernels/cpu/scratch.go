package cpu

import (
	"furlong/dtype"
	"furlong/tensor"
)

// scratch is memory of one goroutine for the length of one chunk. It keeps what it has, so that chunks of
// the same size allocate once.
type scratch struct {
	mem  *tensor.Tensor // F32
	used int            // elements
	want int            // elements that the chunk asked for
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
