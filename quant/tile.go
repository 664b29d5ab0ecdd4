package quant

import (
	"fmt"

	"furlong/dtype"
	"furlong/tensor"
)

// A tile is one block's part of a matrix with stride columns.
type tile struct {
	top, bottom, left, right int
	stride                   int
}

// grid returns zero scales for a matrix.
func (b Block) grid(t dtype.Type, w *tensor.Tensor) *tensor.Tensor {
	if len(w.Shape) != 2 {
		panic(fmt.Sprintf("quant: matrix is %v, want two axes", w))
	}
	return tensor.New(t, ceil(w.Shape[0], b.Rows), ceil(w.Shape[1], b.Cols))
}

func ceil(n, by int) int { return (n + by - 1) / by }

// mustPair checks that no two columns that share a byte fall into different rows or blocks.
func (b Block) mustPair(w *tensor.Tensor) {
	if w.Dim()%2 != 0 || b.Cols%2 != 0 {
		panic(fmt.Sprintf("quant: FP4 matrix is %v in blocks of %d columns, want even numbers of columns", w, b.Cols))
	}
}

// each calls f for every block in row-major order.
func (b Block) each(w *tensor.Tensor, f func(i int, t tile)) {
	rows, cols := w.Shape[0], w.Shape[1]
	i := 0
	for top := 0; top < rows; top += b.Rows {
		for left := 0; left < cols; left += b.Cols {
			f(i, tile{top, min(top+b.Rows, rows), left, min(left+b.Cols, cols), cols})
			i++
		}
	}
}

// each calls f with the place of every element.
func (t tile) each(f func(k int)) {
	for r := t.top; r < t.bottom; r++ {
		for c := t.left; c < t.right; c++ {
			f(r*t.stride + c)
		}
	}
}

// amax returns the largest magnitude, or NaN if there is one.
func (t tile) amax(w []float32) float32 {
	var m float32
	for r := t.top; r < t.bottom; r++ {
		for _, v := range w[r*t.stride+t.left : r*t.stride+t.right] {
			m = max(m, v, -v)
		}
	}
	return m
}

// toE4M3 sets the codes of the tile's numbers over its scale.
func (t tile) toE4M3(codes []byte, w []float32, scale float32) {
	t.each(func(k int) { codes[k] = dtype.ToE4M3Sat(w[k] / scale) })
}

// toE2M1 sets the codes, which are zero before.
func (t tile) toE2M1(codes []byte, w []float32, scale float32) {
	t.each(func(k int) { codes[k/2] |= dtype.ToE2M1(w[k]/scale) << (k % 2 * 4) })
}
