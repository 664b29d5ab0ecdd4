package quant

import (
	"furlong/dtype"
	"furlong/tensor"
)

// NotFinite returns how many numbers of t, F32, BF16 or quantised, are NaN or infinite. Whole numbers never are.
func NotFinite(t *tensor.Tensor) int {
	switch {
	case t.Quantised():
		return run(call{frame: frameOf(t), q: t}, oddCodes)
	case t.Type != dtype.F32 && t.Type != dtype.BF16 || t.Len() == 0:
		return 0
	}
	cols := t.Dim()
	rows := t.Len() / cols
	c := call{frame: frame{rows: rows, cols: cols, block: Block{1, cols}, perPart: rows, bands: rows, wide: 1}, w: t}
	if t.Type == dtype.F32 {
		c.x = t.F32()
	} else {
		c.b = t.BF16()
	}
	return run(c, oddNumbers)
}

// oddNumbers counts those of a row. In most there are none, which the largest magnitude tells sooner.
func oddNumbers(c *call, row int) (n int) {
	t := c.tile(row, 0)
	if c.amax(t) < infBits {
		return 0
	}
	for k, end := t.row(row); k < end; k++ {
		if oddF32(c.number(k)) {
			n++
		}
	}
	return n
}

// oddCodes counts those of a band, block by block.
func oddCodes(c *call, band int) (n int) {
	largest := float32(dtype.MaxE4M3)
	if c.q.Type == dtype.E2M1 {
		largest = dtype.MaxE2M1
	}
	for j := range c.wide {
		s := scaleAt(c.q, band*c.wide+j)
		switch t := c.tile(band, j); {
		case oddF32(s * largest):
			n += c.oddProducts(t, s)
		case c.q.Type == dtype.E4M3:
			n += nanCodes(t, c.q.Mem)
		}
	}
	return n
}

// oddProducts counts in a block whose scale is no number, or too large for some codes.
func (c *call) oddProducts(t tile, s float32) (n int) {
	for r := t.top; r < t.bottom; r++ {
		for k, end := t.row(r); k < end; k++ {
			if oddF32(codeAt(c.q, k) * s) {
				n++
			}
		}
	}
	return n
}

// nanCodes counts the codes of E4M3 that are NaN.
func nanCodes(t tile, codes []byte) (n int) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		for _, b := range codes[lo:hi] {
			if b&0x7f == 0x7f {
				n++
			}
		}
	}
	return n
}
