package quant

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

// The assembly does whole groups of 32 columns, of several blocks that lie side by side, a row at a time: it goes along lines, as memory
// does, and asks for what comes next before it is there. It has the bits of the Go code: what it has no words for (no numbers, scales near
// the ends of float32, columns beyond the last 32) the Go code does.

const (
	wholeColumns = 32      // that the assembly does at a time
	stripBytes   = 1 << 13 // numbers of a strip of one row that is packed: they are near when they are read again, as far ahead as the assembly asks
	mostBlocks   = 128     // of a call
	mostColumns  = 1 << 16 // of a call: more would take too long
)

// vectors reports whether the assembly can do c's blocks. E2M1 with float32 scales is in no file that we know.
func (c *call) vectors() bool {
	return asm.Available() && c.block.Cols%wholeColumns == 0 && c.block.Cols <= mostColumns &&
		(c.q.Type == dtype.E4M3 || c.q.Scale.Type == dtype.E8M0)
}

// flat lays rows end to end where blocks are of one row and none is cut: short rows become long ones.
func (f *frame) flat() {
	if f.block.Rows != 1 || f.cols%f.block.Cols != 0 {
		return
	}
	total := f.bands * f.wide
	for k := mostBlocks; k > f.wide; k-- {
		if total%k == 0 {
			f.wide, f.cols = k, k*f.block.Cols
			f.bands = total / k
			f.rows, f.perPart = f.bands, f.bands
			return
		}
	}
}

// A strip is blocks of a band that lie side by side and are equally wide.
type strip struct {
	tile   // the columns that the assembly does
	at     int
	blocks int
	width  int // of each block
	rest   tile
}

// strip returns the strip of at most so many columns, but of one block at least, that begins with block j of a band.
func (c *call) strip(band, j, most int) strip {
	s := strip{tile: c.tile(band, j), at: band*c.wide + j, blocks: 1}
	if full := c.cols/c.block.Cols - j; full > 0 {
		s.blocks = min(full, mostBlocks, max(1, most/c.block.Cols))
		s.right = s.left + s.blocks*c.block.Cols
	}
	s.rest = s.tile
	s.width = (s.right - s.left) / s.blocks / wholeColumns * wholeColumns
	s.right = s.left + s.blocks*s.width
	s.rest.left = s.right
	return s
}

// block returns all of block i.
func (s *strip) block(i int) tile {
	t := s.tile
	t.left += i * s.width
	t.right = t.left + s.width
	if s.blocks == 1 {
		t.right = s.rest.right
	}
	return t
}

// reach returns where row r of a strip begins. It panics unless the slices have all of it.
func (c *call) reach(s *strip, r int) (lo int) {
	lo, hi := s.row(r)
	if c.x != nil {
		_ = c.x[lo:hi]
	} else {
		_ = c.b[lo:hi]
	}
	_ = c.q.Mem[c.q.Type.Bytes(lo):c.q.Type.Bytes(hi)]
	return lo
}
