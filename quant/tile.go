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

// amax returns the bits of the largest magnitude. They are infBits or more if there is an infinity or a NaN.
func (t tile) amax(w *tensor.Tensor) (m uint32) {
	if w.Type == dtype.F32 {
		x := w.F32()
		for r := t.top; r < t.bottom; r++ {
			lo, hi := t.row(r)
			m = max(m, amaxF32(x[lo:hi]))
		}
		return m
	}
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		m = max(m, amaxBF16(w.Mem[2*lo:2*hi]))
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
func (t tile) packByShift(q, w *tensor.Tensor, shift uint32, table *encoders) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		codes := q.Mem[q.Type.Bytes(lo):q.Type.Bytes(hi)]
		switch {
		case q.Type == dtype.E4M3 && w.Type == dtype.F32:
			encode8F32(codes, w.F32()[lo:hi], shift, &table.e4m3)
		case q.Type == dtype.E4M3:
			encode8BF16(codes, w.BF16()[lo:hi], shift, &table.e4m3)
		case w.Type == dtype.F32:
			encode4F32(codes, w.F32()[lo:hi], shift, &table.e2m1)
		default:
			encode4BF16(codes, w.BF16()[lo:hi], shift, &table.e2m1)
		}
	}
}

// packByDivision sets the codes for any scale.
func (t tile) packByDivision(q, w *tensor.Tensor, s float32) {
	for r := t.top; r < t.bottom; r++ {
		lo, hi := t.row(r)
		for k := lo; k < hi; k++ {
			x := numberAt(w, k) / s
			switch {
			case q.Type == dtype.E4M3:
				q.Mem[k] = dtype.ToE4M3Sat(x)
			case k%2 == 0:
				q.Mem[k/2] = dtype.ToE2M1(x)
			default:
				q.Mem[k/2] |= dtype.ToE2M1(x) << 4
			}
		}
	}
}

// numberAt returns an element of F32 or BF16 values.
func numberAt(w *tensor.Tensor, k int) float32 {
	if w.Type == dtype.F32 {
		return w.F32()[k]
	}
	return dtype.FromBF16(w.BF16()[k])
}
