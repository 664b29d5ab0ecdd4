package quant

import (
	"math"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

// The assembly does whole groups of 32 columns, of several blocks that lie side by side. It has the bits of the Go code: what it has no
// words for (no numbers, scales near the ends of float32, columns beyond the last 32) the Go code does.

const (
	wholeColumns = 32      // that the assembly does at a time
	stripBytes   = 1 << 17 // numbers of a strip that is packed: they stay in a core's own cache between two calls
	lineCodes    = 1 << 13 // elements of a call that unpacks: it goes along lines, as memory does
	mostBlocks   = 64      // of a call
	largestBlock = 1 << 17 // elements of a block: more would be too long a call
)

// vectors reports whether the assembly can do c's blocks. E2M1 with float32 scales is in no file that we know.
func (c *call) vectors() bool {
	return asm.Available() && c.block.Cols%wholeColumns == 0 && c.block.Rows <= largestBlock/c.block.Cols &&
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

// strip returns the strip of at most so many elements that begins with block j of a band.
func (c *call) strip(band, j, most int) strip {
	s := strip{tile: c.tile(band, j), at: band*c.wide + j, blocks: 1}
	if full := c.cols/c.block.Cols - j; full > 0 {
		s.blocks = min(full, mostBlocks, max(1, most/((s.bottom-s.top)*c.block.Cols)))
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

// packStrips is packBand in assembly.
func packStrips(c *call, band int) int {
	for j := 0; j < c.wide; {
		s := c.strip(band, j, stripBytes/c.w.Type.Bytes(1))
		c.packStrip(&s)
		j += s.blocks
	}
	return 0
}

func (c *call) packStrip(s *strip) {
	var amax [mostBlocks]uint32
	var factors [mostBlocks]float32
	c.largest(&amax, s)
	amax[0] = max(amax[0], c.amax(s.rest))
	odd := c.setScales(s, &amax, &factors)
	c.encode(s, &factors)
	if s.rest.left < s.rest.right {
		c.packTile(s.rest, s.at, amax[0])
	}
	for i := 0; odd && i < s.blocks; i++ {
		if amax[i] >= infBits || c.noScale(s.at+i) {
			c.packTile(s.block(i), s.at+i, amax[i])
		}
	}
}

// setScales stores the scales of a strip, and what its numbers are to be multiplied by or, if scales are float32, divided by. It reports
// whether there is one that the assembly can't.
func (c *call) setScales(s *strip, amax *[mostBlocks]uint32, factors *[mostBlocks]float32) (odd bool) {
	if c.q.Scale.Type == dtype.E8M0 && c.rule == nil {
		code := c.q.Type
		scales := c.q.Scale.Mem[s.at : s.at+s.blocks]
		for i := range scales {
			b := up(amax[i], code)
			scales[i] = b
			factors[i] = overE8M0(b)
			odd = odd || b == dtype.NaNE8M0
		}
		return odd
	}
	for i := range s.blocks {
		scale, finite := c.setScale(s.at+i, amax[i])
		factors[i] = scale
		if c.q.Scale.Type == dtype.E8M0 {
			factors[i] = overE8M0(c.q.Scale.Mem[s.at+i])
		}
		odd = odd || !finite || amax[i] >= infBits
	}
	return odd
}

// overE8M0 returns one over a scale, exactly; of NaN it is any number.
func overE8M0(b uint8) float32 {
	const smallest = 1 << 22 // bits of 2^-127
	return math.Float32frombits(max(uint32(254-min(b, 254))<<23, smallest))
}

// noScale reports whether a scale is NaN.
func (c *call) noScale(at int) bool {
	s := scaleAt(c.q, at)
	return s != s
}

// largest sets amax of each block of a strip.
func (c *call) largest(amax *[mostBlocks]uint32, s *strip) {
	lo, rows := c.reach(s)
	if c.x != nil {
		asm.LargestF32(&amax[0], &c.x[lo], s.width, s.blocks, rows, s.stride)
	} else {
		asm.LargestBF16(&amax[0], &c.b[lo], s.width, s.blocks, rows, s.stride)
	}
}

// reach returns where a strip begins, and its rows. It panics unless the slices have all of it.
func (c *call) reach(s *strip) (lo, rows int) {
	lo, _ = s.row(s.top)
	_, hi := s.row(s.bottom - 1)
	if c.x != nil {
		_ = c.x[lo:hi]
	} else {
		_ = c.b[lo:hi]
	}
	_ = c.q.Mem[c.q.Type.Bytes(lo):c.q.Type.Bytes(hi)]
	return lo, s.bottom - s.top
}

// encode sets the codes of a strip; factors are one over the scales if those are powers of two, else the scales.
func (c *call) encode(s *strip, factors *[mostBlocks]float32) {
	lo, rows := c.reach(s)
	to, f := &c.q.Mem[c.q.Type.Bytes(lo)], &factors[0]
	switch divide := c.q.Scale.Type == dtype.F32; {
	case c.x != nil && c.q.Type == dtype.E2M1:
		asm.EncodeE2M1F32(to, &c.x[lo], f, s.width, s.blocks, rows, s.stride)
	case c.x != nil && divide:
		asm.EncodeE4M3F32Over(to, &c.x[lo], f, s.width, s.blocks, rows, s.stride)
	case c.x != nil:
		asm.EncodeE4M3F32(to, &c.x[lo], f, s.width, s.blocks, rows, s.stride)
	case c.q.Type == dtype.E2M1:
		asm.EncodeE2M1BF16(to, &c.b[lo], f, s.width, s.blocks, rows, s.stride)
	case divide:
		asm.EncodeE4M3BF16Over(to, &c.b[lo], f, s.width, s.blocks, rows, s.stride)
	default:
		asm.EncodeE4M3BF16(to, &c.b[lo], f, s.width, s.blocks, rows, s.stride)
	}
}

// unpackStrips is unpackBand in assembly.
func unpackStrips(c *call, band int) int {
	for j := 0; j < c.wide; {
		s := c.strip(band, j, math.MaxInt)
		c.unpackStrip(&s)
		j += s.blocks
	}
	return 0
}

func (c *call) unpackStrip(s *strip) {
	var scales [mostBlocks]float32
	odd := false
	for i := range s.blocks {
		scales[i] = scaleAt(c.q, s.at+i)
		odd = odd || c.oddScale(s.at+i)
	}
	nan := false
	for line, rows := *s, max(1, lineCodes/(s.blocks*c.block.Cols)); line.top < s.bottom; line.top = line.bottom {
		line.bottom = min(line.top+rows, s.bottom)
		nan = c.decode(&line, &scales) || nan
	}
	if s.rest.left < s.rest.right {
		c.unpackTile(s.rest, s.at)
	}
	for i := 0; (odd || nan) && i < s.blocks; i++ {
		if nan || c.oddScale(s.at+i) {
			c.unpackTile(s.block(i), s.at+i)
		}
	}
}

// lowestExact is the smallest scale byte under which the smallest number of either format is a normal one.
const lowestExact = 10

// oddScale reports whether the assembly can't multiply by a scale: no number, an infinity, and what gives subnormal numbers.
func (c *call) oddScale(at int) bool {
	if c.q.Scale.Type == dtype.E8M0 {
		s := c.q.Scale.Mem[at]
		return s < lowestExact || s == dtype.NaNE8M0
	}
	return math.Float32bits(c.q.Scale.F32()[at])&^(1<<31) >= infBits
}

// decode sets the numbers of a strip. It reports whether there is a code of NaN, and numbers may be wrong.
func (c *call) decode(s *strip, scales *[mostBlocks]float32) (nan bool) {
	lo, rows := c.reach(s)
	from, f := &c.q.Mem[c.q.Type.Bytes(lo)], &scales[0]
	switch {
	case c.x != nil && c.q.Type == dtype.E2M1:
		asm.DecodeE2M1F32(&c.x[lo], from, f, s.width, s.blocks, rows, s.stride)
	case c.x != nil:
		return asm.DecodeE4M3F32(&c.x[lo], from, f, s.width, s.blocks, rows, s.stride) != 0
	case c.q.Type == dtype.E2M1:
		asm.DecodeE2M1BF16(&c.b[lo], from, f, s.width, s.blocks, rows, s.stride)
	default:
		return asm.DecodeE4M3BF16(&c.b[lo], from, f, s.width, s.blocks, rows, s.stride) != 0
	}
	return false
}
