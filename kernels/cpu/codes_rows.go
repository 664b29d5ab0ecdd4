package cpu

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Input gradients read a quantised weight row by row, from its own codes.

// codeRows sets dst [n, 16] to width columns of n rows of w from element at on, zeros after them.
func codeRows(simd bool, dst []float32, w *tensor.Tensor, at, width, n int) {
	k, c := w.Dim(), w.Layout.(*codes)
	row, col := at/k, at%k
	if !simd || width < panel || c.oddRows(row, n) {
		plainRows(dst, w, row, col, width, n)
		return
	}
	grid := col / w.Block[1]
	if w.Type == dtype.E2M1 {
		rowsE2M1(dst, w, row, col, grid, n)
		return
	}
	for n > 0 {
		rows := min(n, alike(w, row))
		s := scaleOf(w, scaleRow(w, row)+grid)
		asm.RowsE4M3(&dst[0], part(w.Mem, row*k+col, (rows-1)*k+panel), rows, k, s)
		dst, row, n = dst[rows*panel:], row+rows, n-rows
	}
}

// rowsE2M1 is codeRows in assembly for E2M1. Where each row has scales of its own, they follow each other like the rows.
func rowsE2M1(dst []float32, w *tensor.Tensor, row, col, grid, n int) {
	k, scales := w.Dim(), (w.Dim()+w.Block[1]-1)/w.Block[1]
	for n > 0 {
		rows, step := min(n, alike(w, row)), 0
		if w.Block[0] == 1 {
			rows, step = n, scales
		}
		at := scaleRow(w, row) + grid
		_ = w.Scale.Mem[at+(rows-1)*step]
		asm.RowsE2M1(&dst[0], part(w.Mem, (row*k+col)/2, ((rows-1)*k+panel)/2), &w.Scale.Mem[at], rows, k/2, step)
		dst, row, n = dst[rows*panel:], row+rows, n-rows
	}
}

// alike returns how many rows from row on share their scales with it.
func alike(w *tensor.Tensor, row int) int {
	_, n, _ := shape(w)
	part := n / w.Fused
	in := row % part
	return min(w.Block[0]-in%w.Block[0], part-in)
}

// oddRows reports whether one of n rows from row on lies in an odd panel.
func (c *codes) oddRows(row, n int) bool {
	return c.oddIn(c.panelOf(row), c.panelOf(row+n-1)+1)
}

// panelOf returns the panel of a row, both counted over all matrices.
func (c *codes) panelOf(row int) int { return row/c.n*blocks(c.n) + row%c.n/panel }

// plainRows is codeRows in Go.
func plainRows(dst []float32, w *tensor.Tensor, row, col, width, n int) {
	k := w.Dim()
	clear(dst[:n*panel])
	for i := range n {
		grid := scaleRow(w, row+i)
		for j := range width {
			s := scaleOf(w, grid+(col+j)/w.Block[1])
			dst[i*panel+j] = codeAt(w, (row+i)*k+col+j) * s
		}
	}
}

// codeAt returns the number of code i.
func codeAt(w *tensor.Tensor, i int) float32 {
	if w.Type == dtype.E2M1 {
		return dtype.FromE2M1(w.Mem[i/2] >> (i % 2 * 4))
	}
	return dtype.FromE4M3(w.Mem[i])
}
