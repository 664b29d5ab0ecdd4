package quant

import (
	"fmt"

	"furlong/dtype"
	"furlong/tensor"
)

// recastShift is how far the largest scale of a block may lie above the new one: 6 times 2^6 is 384, and E4M3 goes to 448.
const recastShift = 6

// Recast sets dst, E4M3 with E8M0 scales, to the numbers of src, E2M1 with E8M0 scales, and returns how many of dst's blocks could not
// hold theirs. It is not packing what was unpacked: each block of dst takes the largest of its scales in src over 64, whatever the
// codes are. Nothing is lost while the scales in a block lie within a factor of 2^14, beyond which a half falls below 2^-9, the smallest
// number of E4M3. It is counted, not assumed.
//
// A block of src lies in one row and inside a block of dst.
func Recast(dst, src *tensor.Tensor) (spoiled int) {
	f, g := frameOf(dst), frameOf(src)
	nested := g.block.Rows == 1 && f.block.Cols%g.block.Cols == 0 && f.rows == g.rows && f.cols == g.cols && f.bands/f.perPart == g.bands/g.perPart
	if dst.Type != dtype.E4M3 || src.Type != dtype.E2M1 || dst.Scale.Type != dtype.E8M0 || src.Scale.Type != dtype.E8M0 || !nested {
		panic(fmt.Sprintf("quant: recast of %v (%v, %d fused) from %v (%v, %d fused)", dst, FormatOf(dst), dst.Fused, src, FormatOf(src), src.Fused))
	}
	return run(call{frame: f, q: dst, w: src}, recastBand)
}

func recastBand(c *call, band int) (spoiled int) {
	per := c.block.Cols / c.w.Block[1] // groups of src across a block of dst
	wide := c.w.Scale.Dim()
	for j := range c.wide {
		t := c.tile(band, j)
		first, end := j*per, min((j+1)*per, wide)
		most := uint8(0)
		for r := t.top; r < t.bottom; r++ {
			for _, s := range c.w.Scale.Mem[r*wide+first : r*wide+end] {
				most = max(most, s)
			}
		}
		if !c.recastBlock(band*c.wide+j, t, first, end, most) {
			spoiled++
		}
	}
	return spoiled
}

// recastBlock recasts a block of dst, whose groups in src are columns first to end of the grid, and tells whether nothing was lost.
func (c *call) recastBlock(at int, t tile, first, end int, most uint8) (exact bool) {
	if most == dtype.NaNE8M0 {
		c.q.Scale.Mem[at] = dtype.NaNE8M0
		t.spoil(c.q)
		return false
	}
	scale := max(int(most)-recastShift, 0)
	c.q.Scale.Mem[at] = uint8(scale)
	var lost uint16
	for r := t.top; r < t.bottom; r++ {
		for g := first; g < end; g++ {
			lo := r*t.stride + g*c.w.Block[1]
			hi := min(lo+c.w.Block[1], (r+1)*t.stride)
			by := int(c.w.Scale.Mem[r*c.w.Scale.Dim()+g]) - scale
			lost |= recastGroup(c.q.Mem[lo:hi], c.w.Mem[lo/2:hi/2], &recasts[max(by-recastLowest, 0)])
		}
	}
	return lost == 0
}

// recastGroup sets E4M3 codes from E2M1 codes, and returns which of the sixteen were met that the row can't hold.
func recastGroup(dst, src []byte, row *recastRow) (lost uint16) {
	for i, c := range src {
		dst[2*i], dst[2*i+1] = row.code[c&15], row.code[c>>4]
		lost |= 1<<(c&15) | 1<<(c>>4)
	}
	return lost & row.lossy
}

// A recastRow has the E4M3 code of each E2M1 code times a power of two.
type recastRow struct {
	code  [16]byte
	lossy uint16 // a bit for each code whose number E4M3 can't hold
}

// recastLowest is the first power of two at which every code becomes zero: 6 * 2^-13 is less than half of the smallest number.
const recastLowest = -13

var recasts = func() (rows [recastShift - recastLowest + 1]recastRow) {
	for i := range rows {
		for c := range uint8(16) {
			x := dtype.FromE2M1(c) * dtype.FromE8M0(uint8(127+i+recastLowest))
			rows[i].code[c] = dtype.ToE4M3(x)
			if dtype.FromE4M3(rows[i].code[c]) != x {
				rows[i].lossy |= 1 << c
			}
		}
	}
	return rows
}()
