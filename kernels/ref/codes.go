package ref

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// dequantised returns the numbers that a quantised weight means, each code times its block's scale, rounded to float32.
func dequantised[F Float](w *tensor.Tensor) []F {
	checkCodes(w)
	rows, cols := w.Rows(), w.Dim()
	y, part := make([]F, rows*cols), w.Shape[len(w.Shape)-2]/w.Fused // rows of a matrix with blocks of its own
	high, wide := ceil(part, w.Block[0]), ceil(cols, w.Block[1])
	for r := range rows {
		grid := (r/part*high + r%part/w.Block[0]) * wide
		for c := range cols {
			y[r*cols+c] = F(float32(codeAt(w, r*cols+c) * scaleAt(w.Scale, grid+c/w.Block[1])))
		}
	}
	return y
}

// checkCodes panics unless w is in a format that products have; see [furlong/kernels.Linear].
func checkCodes(w *tensor.Tensor) {
	s := w.Scale.Type
	switch {
	case w.Len() == 0 || w.Block[0] < 1 || w.Block[1] < 1 || w.Block[1]%16 != 0 || w.Fused < 1:
	case w.Type == dtype.E4M3 && (s == dtype.E8M0 || s == dtype.F32):
		return
	case w.Type == dtype.E2M1 && s == dtype.E8M0 && w.Dim()%2 == 0:
		return
	}
	panic(fmt.Sprintf("prepare: weight is %v by %v in blocks of %v, want F8_E4M3 by F8_E8M0 or F32, or F4 with an even number of columns by F8_E8M0, "+
		"no empty axis, and a multiple of 16 columns in a block", w, w.Scale, w.Block))
}

func ceil(n, by int) int { return (n + by - 1) / by }

// codeAt returns the number of code i.
func codeAt(w *tensor.Tensor, i int) float32 {
	if w.Type == dtype.E2M1 {
		return dtype.FromE2M1(w.Mem[i/2] >> (i % 2 * 4))
	}
	return dtype.FromE4M3(w.Mem[i])
}

func scaleAt(scales *tensor.Tensor, i int) float32 {
	if scales.Type == dtype.F32 {
		return scales.F32()[i]
	}
	return dtype.FromE8M0(scales.Mem[i])
}

// Round sets y to x rounded to E4M3 under a power of two for each group; see [furlong/kernels.Linear].
func (*Backend[F]) Round(y, x *tensor.Tensor, cols, group int) {
	dim := width(x)
	check("round", "y", y, x.Shape[0], dim)
	if group < 1 || cols < 0 || cols > dim {
		panic(fmt.Sprintf("round: %d of %d columns by groups of %d, want 0 or more by 1 or more", cols, dim, group))
	}
	out, in := data[F](y), data[F](x)
	for at := 0; at < len(in); at += dim {
		for lo := at; lo < at+cols; lo += group {
			hi := min(lo+group, at+cols)
			RoundGroup(out[lo:hi], in[lo:hi])
		}
		copy(out[at+cols:at+dim], in[at+cols:])
	}
}

// RoundGroup rounds one group of x to E4M3 under the smallest power of two at which nothing saturates, but 2^-22 for a group below 1e-4, and sets y to
// what that stands for. In a group with a NaN or an infinity all become NaN. Float64 is rounded to float32 first.
func RoundGroup[F Float](y, x []F) {
	var amax float32
	for _, v := range x {
		amax = max(amax, float32(math.Abs(float64(v))))
	}
	s := dtype.FromE8M0(dtype.ScaleE8M0(amax, dtype.FloorE4M3, dtype.MaxE4M3))
	for i, v := range x {
		y[i] = F(float32(dtype.FromE4M3(dtype.ToE4M3Sat(float32(v)/s)) * s))
	}
}
