package quant

import (
	"furlong/dtype"
	"furlong/tensor"
)

// Unpack sets w, F32 or BF16, to the numbers that q means: code times scale in float32. With E8M0 scales a product is exact in float32
// and in BF16, unless it falls below the smallest normal number; with F32 scales it is rounded to float32, and for BF16 again.
//
// Nothing is allocated once a scale has been met; processors share the work.
func Unpack(w, q *tensor.Tensor) {
	if q.Type == dtype.E4M3FNUZ {
		unpackFNUZ(w, q)
		return
	}
	c := callFor(q, w)
	if c.vectors() {
		c.flat()
		run(c, unpackStrips)
	} else {
		run(c, unpackBand)
	}
}

func unpackBand(c *call, band int) int {
	for j := range c.wide {
		c.unpackTile(c.tile(band, j), band*c.wide+j)
	}
	return 0
}

// unpackTile unpacks a part of a block.
func (c *call) unpackTile(t tile, at int) {
	if c.q.Scale.Type == dtype.F32 {
		c.multiply(t, c.q.Scale.F32()[at])
	} else {
		c.lookup(t, c.q.Scale.Mem[at])
	}
}

// multiply unpacks with any scale.
func (c *call) multiply(t tile, s float32) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		for k := lo; k < hi; k++ {
			if x := codeAt(c.q, k) * s; c.x != nil {
				c.x[k] = x
			} else {
				c.b[k] = dtype.ToBF16(x)
			}
		}
	}
}

// codeAt returns the number of a code alone.
func codeAt(q *tensor.Tensor, k int) float32 {
	if q.Type == dtype.E4M3 {
		return dtype.FromE4M3(q.Mem[k])
	}
	return dtype.FromE2M1(q.Mem[k/2] >> (k % 2 * 4))
}

// lookup unpacks under a scale that is a power of two.
func (c *call) lookup(t tile, s uint8) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		codes := c.q.Mem[c.q.Type.Bytes(lo):c.q.Type.Bytes(hi)]
		switch four := c.q.Type == dtype.E2M1; {
		case c.x != nil && four:
			decodeTwo(c.w.Mem[4*lo:4*hi], codes, twoF32.at(s))
		case four:
			decodePair(c.w.Mem[2*lo:2*hi], codes, twoBF16.at(s))
		case c.x != nil:
			decodeOne(c.x[lo:hi], codes, oneF32.at(s))
		default:
			decodeOne(c.b[lo:hi], codes, oneBF16.at(s))
		}
	}
}
