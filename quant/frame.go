package quant

import (
	"fmt"
	"slices"

	"furlong/dtype"
	"furlong/tensor"
)

// A frame is how the blocks of a quantised tensor lie. Matrices of a stack and matrices that are fused lie end to end, so all of them
// are one column of parts with blocks of their own. A band is the rows of a part that share a row of scales: the unit of work.
type frame struct {
	rows, cols int // of a part
	block      Block
	perPart    int // bands of a part
	bands      int // of all parts: rows of the grid
	wide       int // columns of the grid
}

// frameOf returns the frame of q, which must be what [tensor.NewQuantised] makes.
func frameOf(q *tensor.Tensor) frame {
	n := len(q.Shape)
	if !q.Quantised() || n < 2 || q.Fused < 1 || q.Shape[n-2]%max(q.Fused, 1) != 0 {
		panic(fmt.Sprintf("quant: %v (scales %v, %d fused) is not a quantised matrix or stack", q, q.Scale, q.Fused))
	}
	f := frame{rows: q.Shape[n-2] / q.Fused, cols: q.Shape[n-1], block: Block{q.Block[0], q.Block[1]}}
	f.checkCodes(q)
	f.perPart, f.wide = ceil(f.rows, f.block.Rows), ceil(f.cols, f.block.Cols)
	f.bands = f.perPart * q.Fused
	for _, s := range q.Shape[:n-2] {
		f.bands *= s
	}
	if got := q.Scale.Len(); got != f.bands*f.wide || q.Scale.Dim() != f.wide {
		panic(fmt.Sprintf("quant: scales are %v, want %d rows of %d for %v in blocks of %v", q.Scale, f.bands, f.wide, q, q.Block))
	}
	return f
}

func (f frame) checkCodes(q *tensor.Tensor) {
	switch {
	case f.block.Rows < 1 || f.block.Cols < 1:
		panic(fmt.Sprintf("quant: %v is in blocks of %v", q, q.Block))
	case q.Type == dtype.E2M1 && (f.cols%2 != 0 || f.block.Cols%2 != 0):
		panic(fmt.Sprintf("quant: %v in blocks of %d columns, want even numbers of columns", q, f.block.Cols))
	case q.Type != dtype.E4M3 && q.Type != dtype.E2M1:
		panic(fmt.Sprintf("quant: codes are %v, want E4M3 or E2M1", q))
	case q.Scale.Type != dtype.E8M0 && q.Scale.Type != dtype.F32:
		panic(fmt.Sprintf("quant: scales are %v, want E8M0 or F32", q.Scale))
	}
}

// callFor returns the call of a kernel for codes q and numbers w of the same shape.
func callFor(q, w *tensor.Tensor) call {
	c := call{frame: frameOf(q), q: q, w: w}
	if !slices.Equal(q.Shape, w.Shape) {
		panic(fmt.Sprintf("quant: values are %v, want the shape of %v", w, q))
	}
	if w.Type != dtype.F32 && w.Type != dtype.BF16 || w.Quantised() {
		panic(fmt.Sprintf("quant: values are %v, want F32 or BF16", w))
	}
	if w.Type == dtype.F32 {
		c.x = w.F32()
	} else {
		c.b = w.BF16()
	}
	return c
}

// band returns the rows of band i, counted over all parts.
func (f frame) band(i int) (top, bottom int) {
	part, k := i/f.perPart, i%f.perPart
	top = part*f.rows + k*f.block.Rows
	return top, min(top+f.block.Rows, (part+1)*f.rows)
}

// columns returns the columns of block j of a band.
func (f frame) columns(j int) (left, right int) {
	left = j * f.block.Cols
	return left, min(left+f.block.Cols, f.cols)
}

func ceil(n, by int) int { return (n + by - 1) / by }
