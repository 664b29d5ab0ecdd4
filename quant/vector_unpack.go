package quant

import (
	"math"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

// unpackStrips is unpackBand in assembly.
func unpackStrips(c *call, band int) int {
	for j := 0; j < c.wide; {
		s := c.strip(band, j, mostColumns)
		c.unpackStrip(&s)
		j += s.blocks
	}
	return 0
}

func (c *call) unpackStrip(s *strip) {
	var scales [mostBlocks]float32
	odd := c.readScales(&scales, s)
	nan := false
	for r := s.top; r < s.bottom; r++ {
		nan = c.decode(s, r, &scales) || nan
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

// readScales sets the scales of a strip of E4M3; those of E2M1 the assembly reads. It reports whether there is one that the assembly
// can't multiply by.
func (c *call) readScales(scales *[mostBlocks]float32, s *strip) (odd bool) {
	switch {
	case c.q.Type == dtype.E2M1:
		for _, b := range c.q.Scale.Mem[s.at : s.at+s.blocks] {
			odd = odd || oddE8M0(b)
		}
	case c.q.Scale.Type == dtype.E8M0:
		for i, b := range c.q.Scale.Mem[s.at : s.at+s.blocks] {
			scales[i%mostBlocks] = math.Float32frombits(uint32(b) << 23)
			odd = odd || oddE8M0(b)
		}
	default:
		for i, x := range c.q.Scale.F32()[s.at : s.at+s.blocks] {
			scales[i%mostBlocks] = x
			odd = odd || oddF32(x)
		}
	}
	return odd
}

// lowestExact is the smallest scale byte under which the smallest number of either format is a normal one.
const lowestExact = 10

// oddE8M0 reports whether the assembly can't multiply by a scale, since it is NaN or gives subnormal numbers.
func oddE8M0(b uint8) bool { return b < lowestExact || b == dtype.NaNE8M0 }

// oddF32 does so for a scale that may be an infinity or NaN.
func oddF32(x float32) bool { return math.Float32bits(x)&^(1<<31) >= infBits }

func (c *call) oddScale(at int) bool {
	if c.q.Scale.Type == dtype.E8M0 {
		return oddE8M0(c.q.Scale.Mem[at])
	}
	return oddF32(c.q.Scale.F32()[at])
}

// decode sets the numbers of row r of a strip. It reports whether there is a code of NaN, and numbers may be wrong.
func (c *call) decode(s *strip, r int, scales *[mostBlocks]float32) (nan bool) {
	lo := c.reach(s, r)
	codes := &c.q.Mem[c.q.Type.Bytes(lo)]
	switch four := c.q.Type == dtype.E2M1; {
	case c.x != nil && four:
		asm.DecodeE2M1F32(&c.x[lo], codes, &c.q.Scale.Mem[s.at], s.width, s.blocks)
	case four:
		asm.DecodeE2M1BF16(&c.b[lo], codes, &c.q.Scale.Mem[s.at], s.width, s.blocks)
	case c.x != nil:
		return asm.DecodeE4M3F32(&c.x[lo], codes, &scales[0], s.width, s.blocks) != 0
	default:
		return asm.DecodeE4M3BF16(&c.b[lo], codes, &scales[0], s.width, s.blocks) != 0
	}
	return false
}
