package tensor

import (
	"fmt"
	"unsafe"

	"furlong/dtype"
)

// This is the only file that sees bytes as numbers.

const align = 64 // bytes: a cache line, and two AVX2 registers

// aligned returns n zero bytes that start on an align boundary.
func aligned(n int) []byte {
	b := make([]byte, n+align)
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
