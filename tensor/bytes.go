package tensor

import (
	"fmt"
	"unsafe"

	"furlong/dtype"
)

// This is the only file that sees bytes as numbers.

const align = 64 // bytes: a cache line, and two AVX2 registers

// A pass reads megabytes of weights and attention state, a few kilobytes here and there: in pages of 4 KiB it would wait as long for
// the processor to find where they lie as for what lies there. So all memory but that of small tensors is to be in large pages.
const (
	largePage = 2 << 20
	manyBytes = 64 << 10
)

// largePages returns the addresses of the large pages that n bytes from at on lie in, the first and the end. Neighbours share them: the weights of
// a model are small, and lie side by side.
func largePages(at uintptr, n int) (lo, hi uintptr) {
	return at &^ (largePage - 1), (at + uintptr(n) + largePage - 1) &^ (largePage - 1)
}

// aligned returns n zero bytes that start on an align boundary.
func aligned(n int) []byte {
	b := make([]byte, n+align)
	if n >= manyBytes {
		_ = askLargePages(uintptr(unsafe.Pointer(&b[0])), n) // refused on systems without them
	}
	off := int(-uintptr(unsafe.Pointer(&b[0])) & (align - 1))
	return b[off : off+n : off+n]
}

// see returns t's memory as numbers of type E.
func see[E any](t *Tensor, want dtype.Type) []E {
	if t.Type != want {
		panic(fmt.Sprintf("tensor: %v read as %v", t, want))
	}
	var e E
	n := len(t.Mem) / int(unsafe.Sizeof(e))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(&t.Mem[0])), n)
}

// F32 returns the elements of an F32 tensor; the slice shares its memory.
func (t *Tensor) F32() []float32 { return see[float32](t, dtype.F32) }

// F64 returns the elements of an F64 tensor; the slice shares its memory.
func (t *Tensor) F64() []float64 { return see[float64](t, dtype.F64) }

// BF16 returns the codes of a BF16 tensor; the slice shares its memory.
func (t *Tensor) BF16() []uint16 { return see[uint16](t, dtype.BF16) }

// I32 returns the elements of an I32 tensor; the slice shares its memory.
func (t *Tensor) I32() []int32 { return see[int32](t, dtype.I32) }

// I64 returns the elements of an I64 tensor; the slice shares its memory.
func (t *Tensor) I64() []int64 { return see[int64](t, dtype.I64) }
