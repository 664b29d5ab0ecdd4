package hf

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// A Way is how a weight came from one format to another.
type Way uint8

// The ways.
const (
	Copied   Way = iota // bytes as they are
	Widened             // numbers to a format that holds them all
	Narrowed            // numbers to BF16
	Unpacked            // codes to numbers
	Packed              // numbers to codes
	Recast              // codes to others without rounding: FP4 to FP8, and scales to another format
	Repacked            // codes to numbers to other codes
)

// String names the way.
func (w Way) String() string {
	return [...]string{"copied", "widened", "narrowed", "unpacked", "packed", "recast", "repacked"}[w]
}

// Convert sets dst to the numbers of src, which have one shape: F32, BF16, F64 (dst only), codes, or a routing table. It returns how,
// and what was lost.
func Convert(dst, src *tensor.Tensor) (Way, quant.Loss) {
	a, b := quant.FormatOf(dst), quant.FormatOf(src)
	plain := quant.Format{}
	switch {
	case a == plain && b == plain:
		return convert(dst, src)
	case a == b && dst.Fused == src.Fused:
		copy(dst.Mem, src.Mem)
		copy(dst.Scale.Mem, src.Scale.Mem)
		return Copied, exact(src)
	case a == plain:
		return Unpacked, unpack(dst, src)
	case b == plain:
		quant.Pack(dst, src)
		return Packed, quant.Compare(dst, src)
	}
	return recode(dst, src)
}

// recode changes codes or scales, without rounding where there is such a way.
func recode(dst, src *tensor.Tensor) (Way, quant.Loss) {
	a, b := quant.FormatOf(dst), quant.FormatOf(src)
	if a == quant.FP8 && b == quant.FP4 {
		if quant.Recast(dst, src) == 0 {
			return Recast, exact(src)
		}
		return Recast, quant.Compare(dst, src)
	}
	if a.Code == b.Code && a.Block == b.Block && powersOfTwo(src.Scale) {
		copy(dst.Mem, src.Mem)
		copyScales(dst.Scale, src.Scale)
		return Recast, exact(src)
	}
	repack(dst, src)
	return Repacked, quant.Compare(dst, src)
}

// repackRows are unpacked at a time: whole blocks, and far less memory than the weight.
const repackRows = 128

// repack packs what it unpacks, some rows of one matrix after the other.
func repack(dst, src *tensor.Tensor) {
	n := len(src.Shape)
	rows, cols := src.Shape[n-2]/src.Fused, src.Shape[n-1]
	x := tensor.New(dtype.F32, min(repackRows, rows), cols)
	for part := range src.Len() / max(1, rows*cols) {
		for lo := 0; lo < rows; lo += repackRows {
			hi := min(lo+repackRows, rows)
			some := x.Slice(0, hi-lo)
			quant.Unpack(some, band(src, part, lo, hi))
			quant.Pack(band(dst, part, lo, hi), some)
		}
	}
}

// band returns rows of one of the matrices that t consists of, over its memory. They begin with a block.
func band(t *tensor.Tensor, part, lo, hi int) *tensor.Tensor {
	n := len(t.Shape)
	rows, cols := t.Shape[n-2]/t.Fused, t.Shape[n-1]
	shape := []int{hi - lo, cols}
	grid := quant.FormatOf(t).Grid(1, shape...)
	top := part*quant.FormatOf(t).Grid(1, rows, cols)[0] + lo/t.Block[0]
	return &tensor.Tensor{
		Type: t.Type, Shape: shape, Mem: t.Mem[t.Type.Bytes((part*rows+lo)*cols):t.Type.Bytes((part*rows+hi)*cols)],
		Block: t.Block, Fused: 1,
		Scale: &tensor.Tensor{Type: t.Scale.Type, Shape: grid, Mem: t.Scale.Mem[t.Scale.Type.Bytes(top*grid[1]):t.Scale.Type.Bytes((top+grid[0])*grid[1])]},
	}
}

// exact is the loss of a way that loses nothing.
func exact(src *tensor.Tensor) quant.Loss { return quant.Loss{Numbers: src.Len()} }

// copyScales copies powers of two by value.
func copyScales(dst, src *tensor.Tensor) {
	for i := range dst.Len() {
		if dst.Type == dtype.F32 {
			dst.F32()[i] = dtype.FromE8M0(src.Mem[i])
		} else {
			_, exp := math.Frexp(float64(src.F32()[i]))
			dst.Mem[i] = uint8(exp - 1 + 127)
		}
	}
}

// unpack sets dst to the numbers of codes and returns what it could not hold: nothing, but for BF16.
func unpack(dst, src *tensor.Tensor) quant.Loss {
	switch dst.Type {
	case dtype.F64:
		x := tensor.New(dtype.F32, src.Shape...)
		quant.Unpack(x, src)
		convert(dst, x)
	case dtype.BF16:
		quant.Unpack(dst, src)
		return quant.Compare(dst, src)
	default:
		quant.Unpack(dst, src)
	}
	return exact(src)
}

// convert copies numbers to numbers.
func convert(dst, src *tensor.Tensor) (Way, quant.Loss) {
	if dst.Type == src.Type {
		copy(dst.Mem, src.Mem)
		return Copied, exact(src)
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
		return Narrowed, narrow(dst.BF16(), src.F32())
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
	return Widened, exact(src)
}

// narrow rounds to bfloat16 and adds up what that changed.
func narrow(dst []uint16, src []float32) quant.Loss {
	l := quant.Loss{Numbers: len(src)}
	for i, x := range src {
		dst[i] = dtype.ToBF16(x)
		if math.Float32bits(x)&0xffff == 0 || x != x {
			continue
		}
		d := math.Abs(float64(x) - float64(dtype.FromBF16(dst[i])))
		l.Changed, l.Max, l.Sum = l.Changed+1, max(l.Max, d), l.Sum+d
	}
	return l
}
