package hf

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// convert copies src to dst, which have one shape, and returns how many elements had to be rounded.
func convert(dst, src *tensor.Tensor) (rounded int) {
	if dst.Type == src.Type {
		copy(dst.Mem, src.Mem)
		return 0
	}
	switch [2]dtype.Type{dst.Type, src.Type} {
	case [2]dtype.Type{dtype.F32, dtype.BF16}:
		for i, b := range src.BF16() {
			dst.F32()[i] = dtype.FromBF16(b)
		}
	case [2]dtype.Type{dtype.F64, dtype.BF16}:
		for i, b := range src.BF16() {
			dst.F64()[i] = float64(dtype.FromBF16(b))
		}
	case [2]dtype.Type{dtype.F64, dtype.F32}:
		for i, x := range src.F32() {
			dst.F64()[i] = float64(x)
		}
	case [2]dtype.Type{dtype.BF16, dtype.F32}:
		return narrow(dst.BF16(), src.F32())
	case [2]dtype.Type{dtype.I32, dtype.I64}:
		for i, n := range src.I64() {
			dst.I32()[i] = int32(n) // checked before
		}
	case [2]dtype.Type{dtype.I64, dtype.I32}:
		for i, n := range src.I32() {
			dst.I64()[i] = int64(n)
		}
	default:
		panic(fmt.Sprintf("hf: %v to %v", src, dst))
	}
	return 0
}

// narrow rounds to bfloat16 and counts what that changed.
func narrow(dst []uint16, src []float32) (rounded int) {
	for i, x := range src {
		dst[i] = dtype.ToBF16(x)
		if math.Float32bits(x)&0xffff != 0 {
			rounded++
		}
	}
	return rounded
}

// isTable reports whether a parameter is a routing table.
func isTable(t dtype.Type) bool { return t == dtype.I32 || t == dtype.I64 }

// entries calls f for each entry of a routing table, until it returns false.
func entries(t *tensor.Tensor, f func(i int, expert int64) bool) {
	if t.Type == dtype.I64 {
		for i, n := range t.I64() {
			if !f(i, n) {
				return
			}
		}
		return
	}
	for i, n := range t.I32() {
		if !f(i, int64(n)) {
			return
		}
	}
}

// checkTable checks that a routing table names experts, and is more than the zeros that a model begins with.
func checkTable(t *tensor.Tensor, experts int) error {
	if experts < 1 {
		return fmt.Errorf("routes to the experts of a model that is said to have %d", experts)
	}
	var err error
	zero := true
	entries(t, func(i int, expert int64) bool {
		if expert < 0 || expert >= int64(experts) {
			err = fmt.Errorf("entry %d is expert %d, want 0 to %d", i, expert, experts-1)
		}
		zero = zero && expert == 0
		return err == nil
	})
	if err == nil && zero && experts > 1 && t.Len() > 0 {
		err = fmt.Errorf("is all zero: every token would go to expert 0")
	}
	return err
}
