package quant

import (
	"furlong/dtype"
	"furlong/tensor"
)

// A tile is one block's part of a tensor: rows counted over all parts, in lines of stride columns.
type tile struct{ top, bottom, left, right, stride int }

func (f frame) tile(band, j int) tile {
	top, bottom := f.band(band)
	left, right := f.columns(j)
	return tile{top, bottom, left, right, f.cols}
}

// row returns where the tile's part of row r begins and ends.
func (t tile) row(r int) (lo, hi int) { return r*t.stride + t.left, r*t.stride + t.right }

// amax returns the bits of the largest magnitude in a tile. They are infBits or more if there is an infinity or a NaN.
func (c *call) amax(t tile) (m uint32) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		if c.x != nil {
			m = max(m, amaxF32(c.x[lo:hi]))
		} else {
			m = max(m, amaxBF16(c.w.Mem[2*lo:2*hi]))
		}
	}
	return m
}

// spoil makes all of the tile's codes those of what NaN becomes.
func (t tile) spoil(q *tensor.Tensor) {
	code := dtype.ToE4M3Sat(dtype.FromE8M0(dtype.NaNE8M0))
	if q.Type == dtype.E2M1 {
		code = dtype.ToE2M1(dtype.FromE8M0(dtype.NaNE8M0)) * 0x11
	}
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		codes := q.Mem[q.Type.Bytes(lo):q.Type.Bytes(hi)]
		for i := range codes {
			codes[i] = code
		}
	}
}

// packByShift sets the codes where the scale is a power of two: dividing by it takes shift from the bits of a BF16 number.
func (c *call) packByShift(t tile, shift uint32) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		switch {
		case c.q.Type == dtype.E4M3 && c.x != nil:
			encode8F32(c.q.Mem[lo:hi], c.x[lo:hi], shift, &c.enc.e4m3)
		case c.q.Type == dtype.E4M3:
			encode8BF16(c.q.Mem[lo:hi], c.b[lo:hi], shift, &c.enc.e4m3)
		case c.x != nil:
			encode4F32(c.q.Mem[lo/2:hi/2], c.x[lo:hi], shift, &c.enc.e2m1)
		default:
			encode4BF16(c.q.Mem[lo/2:hi/2], c.b[lo:hi], shift, &c.enc.e2m1)
		}
	}
}

// packByDivision sets the codes for any scale.
func (c *call) packByDivision(t tile, s float32) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		for k := lo; k < hi; k++ {
			x := c.number(k) / s
			switch {
			case c.q.Type == dtype.E4M3:
				c.q.Mem[k] = dtype.ToE4M3Sat(x)
			case k%2 == 0:
				c.q.Mem[k/2] = dtype.ToE2M1(x)
			default:
				c.q.Mem[k/2] |= dtype.ToE2M1(x) << 4
			}
		}
	}
}

// number returns an element of w.
func (c *call) number(k int) float32 {
	if c.x != nil {
		return c.x[k]
	}
	return dtype.FromBF16(c.b[k])
}
