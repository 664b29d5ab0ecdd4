package quant

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

// packStrips is packBand in assembly. Blocks of one row are done a few at a time. Those of many rows are done across the band: all of it
// comes once from memory and once from a cache, which is faster than pieces of lines, that come from memory as slowly as what is random.
func packStrips(c *call, band int) int {
	most := mostColumns
	if c.block.Rows == 1 {
		most = stripBytes / c.w.Type.Bytes(1)
	}
	for j := 0; j < c.wide; {
		s := c.strip(band, j, most)
		c.packStrip(&s)
		j += s.blocks
	}
	return 0
}

func (c *call) packStrip(s *strip) {
	var amax [mostBlocks]uint32
	for r := s.top; r < s.bottom; r++ {
		c.largest(&amax, s, r)
	}
	amax[0] = max(amax[0], c.amax(s.rest))
	odd := c.setScales(s, &amax)
	for r := s.top; r < s.bottom; r++ {
		c.encode(s, r)
	}
	if s.rest.left < s.rest.right {
		c.packTile(s.rest, s.at, amax[0])
	}
	for i := 0; odd && i < s.blocks; i++ {
		if c.oddBlock(s.at+i, amax[i]) {
			c.packTile(s.block(i), s.at+i, amax[i])
		}
	}
}

// setScales stores the scales of a strip. It reports whether there may be a block that the assembly can't pack.
func (c *call) setScales(s *strip, amax *[mostBlocks]uint32) (odd bool) {
	if c.q.Scale.Type == dtype.E8M0 && c.rule == nil {
		return setUp(c.q.Scale.Mem[s.at:s.at+s.blocks], amax, upward(c.q.Type))
	}
	for i := range s.blocks {
		c.setScale(s.at+i, amax[i])
		odd = odd || c.oddBlock(s.at+i, amax[i])
	}
	return odd
}

// setUp is setScales for scales that are rounded up.
func setUp(scales []byte, amax *[mostBlocks]uint32, r upRule) (odd bool) {
	for i := range scales {
		b := r.scale(amax[i%mostBlocks])
		scales[i] = b
		odd = odd || b > highestFactor || b < lowestShift
	}
	return odd
}

// highestFactor is the largest scale byte for which one over the scale is a normal number.
const highestFactor = 253

// oddBlock reports whether the assembly can't pack a block: it has something that is no number, or a step of the exponent, or multiplying
// by one over the scale, is no division.
func (c *call) oddBlock(at int, amax uint32) bool {
	switch {
	case amax >= infBits:
		return true
	case c.q.Scale.Type == dtype.F32:
		s := c.q.Scale.F32()[at]
		return s != s
	}
	b := c.q.Scale.Mem[at]
	return b > highestFactor || c.q.Type == dtype.E2M1 && b < lowestShift && amax > 0
}

// largest raises amax of each block of a strip by row r.
func (c *call) largest(amax *[mostBlocks]uint32, s *strip, r int) {
	lo := c.reach(s, r)
	if c.x != nil {
		asm.LargestF32(&amax[0], &c.x[lo], s.width, s.blocks)
	} else {
		asm.LargestBF16(&amax[0], &c.b[lo], s.width, s.blocks)
	}
}

// encode sets the codes of row r of a strip.
func (c *call) encode(s *strip, r int) {
	lo := c.reach(s, r)
	codes := &c.q.Mem[c.q.Type.Bytes(lo)]
	if c.q.Scale.Type == dtype.F32 {
		scales := &c.q.Scale.F32()[s.at]
		if c.x != nil {
			asm.EncodeE4M3F32Over(codes, &c.x[lo], scales, s.width, s.blocks)
		} else {
			asm.EncodeE4M3BF16Over(codes, &c.b[lo], scales, s.width, s.blocks)
		}
		return
	}
	scales := &c.q.Scale.Mem[s.at]
	switch four := c.q.Type == dtype.E2M1; {
	case c.x != nil && four:
		asm.EncodeE2M1F32(codes, &c.x[lo], scales, s.width, s.blocks)
	case c.x != nil:
		asm.EncodeE4M3F32(codes, &c.x[lo], scales, s.width, s.blocks)
	case four:
		asm.EncodeE2M1BF16(codes, &c.b[lo], scales, s.width, s.blocks)
	default:
		asm.EncodeE4M3BF16(codes, &c.b[lo], scales, s.width, s.blocks)
	}
}
