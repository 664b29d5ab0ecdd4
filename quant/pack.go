package quant

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// A Block is the size of a tile that shares one scale.
type Block struct{ Rows, Cols int }

// The blocks of DeepSeek-V4.
var (
	WeightE4M3     = Block{128, 128}
	ActivationE4M3 = Block{1, 128}
	GroupE2M1      = Block{1, 32}
)

// A Rule returns the E8M0 scale of a block whose largest magnitude is amax.
type Rule func(amax float32) uint8

// UpE4M3 is the smallest power of two at which nothing saturates in E4M3, but 2^-22 for a block below 1e-4.
func UpE4M3(amax float32) uint8 { return dtype.ScaleE8M0(amax, dtype.FloorE4M3, dtype.MaxE4M3) }

// UpE2M1 is the smallest power of two at which nothing saturates in E2M1, but not below 2^-126.
func UpE2M1(amax float32) uint8 { return dtype.ScaleE8M0(amax, dtype.FloorE2M1, dtype.MaxE2M1) }

// DownE4M3 is the power of two at which amax lands between 256 and 512, so that it may saturate; 0 has the byte 0.
func DownE4M3(amax float32) uint8 { return down(amax, 8) }

// DownE2M1 is the power of two at which amax lands between 4 and 8, so that it may saturate; 0 has the byte 0.
func DownE2M1(amax float32) uint8 { return down(amax, 2) }

// down is the rule of the OCP MX specification: the exponent of amax less that of the format's largest number.
func down(amax float32, largest int) uint8 {
	exp := int(math.Float32bits(amax) >> 23 & 0xff)
	if exp == dtype.NaNE8M0 {
		return dtype.NaNE8M0
	}
	return uint8(max(exp-largest, 0))
}

// Pack sets codes and scales of q from w, which has its shape and is F32 or BF16. E8M0 scales are rounded up, as the vendor's files
// have them; an F32 scale is amax over the format's largest number. A block with a NaN or an infinity gets the scale NaN.
//
// Each block depends on its own numbers alone. Nothing is allocated; processors share the work.
func Pack(q, w *tensor.Tensor) {
	if q.Type == dtype.E4M3FNUZ {
		packFNUZ(q, w)
		return
	}
	pack(callFor(q, w))
}

// PackBy is [Pack] with another rule for the scales, which must be E8M0.
func PackBy(rule Rule, q, w *tensor.Tensor) {
	c := callFor(q, w)
	if q.Scale.Type != dtype.E8M0 {
		panic(fmt.Sprintf("quant: scales are %v, want E8M0 for a rule", q.Scale))
	}
	c.rule = rule
	pack(c)
}

func pack(c call) {
	c.enc = encoding()
	if c.vectors() {
		c.flat()
		run(c, packStrips)
	} else {
		run(c, packBand)
	}
}

func packBand(c *call, band int) int {
	for j := range c.wide {
		t := c.tile(band, j)
		c.packTile(t, band*c.wide+j, c.amax(t))
	}
	return 0
}

// packTile sets the scale of a block with the bits of its largest magnitude, and the codes of a part of it.
func (c *call) packTile(t tile, at int, amax uint32) {
	s, finite := c.setScale(at, amax)
	switch {
	case !finite:
		t.spoil(c.q)
	case c.q.Scale.Type == dtype.F32, c.q.Scale.Mem[at] < lowestShift:
		c.packByDivision(t, s)
	default:
		c.packByShift(t, uint32(c.q.Scale.Mem[at])<<7-127<<7)
	}
}

// setScale stores the scale of a block and returns it; finite is false if it is NaN.
func (c *call) setScale(at int, amax uint32) (s float32, finite bool) {
	if c.q.Scale.Type == dtype.E8M0 {
		b := up(amax, c.q.Type)
		if c.rule != nil {
			b = c.rule(math.Float32frombits(amax))
		}
		c.q.Scale.Mem[at] = b
		return dtype.FromE8M0(b), b != dtype.NaNE8M0
	}
	s = max(math.Float32frombits(amax), dtype.FloorE4M3) / dtype.MaxE4M3
	if c.q.Type == dtype.E2M1 {
		s = max(math.Float32frombits(amax), dtype.FloorE2M1) / dtype.MaxE2M1
	}
	if finite = amax < infBits; !finite {
		s = float32(math.NaN())
	}
	c.q.Scale.F32()[at] = s
	return s, finite
}

// up is [UpE4M3] or [UpE2M1] of the bits of a magnitude, which are ordered as the numbers are.
func up(amax uint32, code dtype.Type) uint8 { return upward(code).scale(amax) }

// An upRule rounds scales up in whole numbers. The largest number of a format is some mantissa, under some exponent: a magnitude with
// a larger mantissa needs the next power of two, and what is added carries over into the exponent.
type upRule struct{ floor, carry, exponent uint32 }

// upward returns the rule of a format.
func upward(code dtype.Type) upRule {
	const all = 1<<23 - 1 // of a mantissa
	if code == dtype.E2M1 {
		return upRule{0x01c00000, all - 0x400000, 2} // from 6*2^-126 on; 6 is 1.5*2^2
	}
	return upRule{0x38d1b717, all - 0x600000, 8} // from 1e-4 on; 448 is 1.75*2^8
}

func (r upRule) scale(amax uint32) uint8 {
	if amax >= infBits {
		return dtype.NaNE8M0
	}
	return uint8((max(amax, r.floor)+r.carry)>>23 - r.exponent)
}

// infBits are those of infinity: a magnitude from here on is no number.
const infBits = 0xff << 23
