package quant

import (
	"math"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// Counted one by one, in every format, with shapes that blocks do not divide.
func TestNotFinite(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	numbers := random(3, 3, 2*67, 198)
	for i := 5; i < numbers.Len(); i += 997 {
		numbers.F32()[i] = []float32{inf, nan, -inf, math.MaxFloat32}[i%4]
	}
	list := []*tensor.Tensor{numbers, tensor.New(dtype.F32, 0, 4), narrow(numbers), tensor.New(dtype.I32, 4, 4)}
	for _, f := range vectorFormats {
		q := packedAs(f, 2, random(4, 3, 2*67, 198))
		for i := 0; i < len(q.Mem); i += 313 {
			q.Mem[i] |= 0x7f
		}
		if f.Scale == dtype.F32 {
			copy(q.Scale.F32(), []float32{nan, inf, 3e38, 0})
		} else {
			copy(q.Scale.Mem, []byte{255, 254, 246, 0})
		}
		list = append(list, q)
	}
	for _, x := range list {
		want := 0
		for k := range x.Len() {
			if v := float64(valueAt(x, k)); math.IsNaN(v) || math.IsInf(v, 0) {
				want++
			}
		}
		if got := NotFinite(x); got != want || want == 0 && x.Type != dtype.I32 && x.Len() > 0 {
			t.Errorf("%v in %v: %d are not finite, want %d and some", x, FormatOf(x), got, want)
		}
	}
}

// valueAt returns element k of a tensor.
func valueAt(x *tensor.Tensor, k int) float32 {
	switch {
	case x.Quantised():
		f := frameOf(x)
		row, col := k/f.cols, k%f.cols
		band := row/f.rows*f.perPart + row%f.rows/f.block.Rows
		return codeAt(x, k) * scaleAt(x, band*f.wide+col/f.block.Cols)
	case x.Type == dtype.F32:
		return x.F32()[k]
	case x.Type == dtype.BF16:
		return dtype.FromBF16(x.BF16()[k])
	}
	return float32(x.I32()[k])
}
