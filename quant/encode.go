package quant

import (
	"encoding/binary"
	"math"
	"sync"

	"furlong/dtype"
)

// The fast way to a code: cut a number to the sixteen bits of BF16, with the lowest of them set if anything was cut off. That is
// enough to round it to four bits or fewer, to nearest with ties to even, since the place that decides lies above the lowest bit.
// Dividing by a power of two takes a whole number of exponents from the sixteen bits, and a table knows the code of the result.

// lowestShift is the smallest scale byte for which a subnormal number over the scale is 0 in every format, so that its bits, in
// which a step of the exponent is no division, need not be right.
const lowestShift = 32

// An encoder has the code of each magnitude of BF16 bits. Between the largest and the wrap to small negative indices saturates.
type encoder [1 << 16]byte

type encoders struct{ e4m3, e2m1 encoder }

var encoding = sync.OnceValue(func() *encoders {
	p := &encoders{}
	for i := range p.e4m3 {
		x := float32(math.MaxFloat32)
		switch {
		case i < infBits>>16:
			x = dtype.FromBF16(uint16(i))
		case i >= 1<<16-127<<7: // less than nothing: the exponent fell below its lowest
			x = 0
		}
		p.e4m3[i], p.e2m1[i] = dtype.ToE4M3Sat(x), dtype.ToE2M1(x)
	}
	return p
})

// amaxF32 returns the bits of the largest magnitude.
func amaxF32(x []float32) uint32 {
	const magnitude = 1<<31 - 1
	var a, b, c, d uint32
	for ; len(x) >= 4; x = x[4:] {
		a = max(a, math.Float32bits(x[0])&magnitude)
		b = max(b, math.Float32bits(x[1])&magnitude)
		c = max(c, math.Float32bits(x[2])&magnitude)
		d = max(d, math.Float32bits(x[3])&magnitude)
	}
	for _, v := range x {
		a = max(a, math.Float32bits(v)&magnitude)
	}
	return max(a, b, c, d)
}

// amaxBF16 returns the float32 bits of the largest magnitude, four numbers at a time, each in a lane of its own.
func amaxBF16(mem []byte) uint32 {
	const high = 0x8000_8000_8000_8000
	var most uint64
	for ; len(mem) >= 8; mem = mem[8:] {
		v := binary.LittleEndian.Uint64(mem) &^ high
		over := ((v | high) - most) & high // set where v is not less
		keep := over - over>>15            // the fifteen bits below
		most ^= (most ^ v) & keep
	}
	m := max(most&0xffff, most>>16&0xffff, most>>32&0xffff, most>>48)
	for ; len(mem) >= 2; mem = mem[2:] {
		m = max(m, uint64(binary.LittleEndian.Uint16(mem)&0x7fff))
	}
	return uint32(m) << 16
}

// cut returns the upper sixteen bits of a float32, the lowest set if any below was.
func cut(b uint32) uint32 { return (b | (b&0xffff + 0xffff)) >> 16 }

func encode8F32(codes []byte, x []float32, shift uint32, t *encoder) {
	codes = codes[:len(x)]
	for i, v := range x {
		h := cut(math.Float32bits(v))
		codes[i] = t[uint16(h&0x7fff-shift)] | byte(h>>8)&0x80
	}
}

func encode8BF16(codes []byte, x []uint16, shift uint32, t *encoder) {
	codes = codes[:len(x)]
	for i, v := range x {
		h := uint32(v)
		codes[i] = t[uint16(h&0x7fff-shift)] | byte(h>>8)&0x80
	}
}

func encode4F32(codes []byte, x []float32, shift uint32, t *encoder) {
	for i := range codes {
		two := x[2*i : 2*i+2]
		a, b := cut(math.Float32bits(two[0])), cut(math.Float32bits(two[1]))
		low := t[uint16(a&0x7fff-shift)] | byte(a>>12)&8
		high := t[uint16(b&0x7fff-shift)] | byte(b>>12)&8
		codes[i] = low | high<<4
	}
}

func encode4BF16(codes []byte, x []uint16, shift uint32, t *encoder) {
	for i := range codes {
		two := x[2*i : 2*i+2]
		a, b := uint32(two[0]), uint32(two[1])
		low := t[uint16(a&0x7fff-shift)] | byte(a>>12)&8
		high := t[uint16(b&0x7fff-shift)] | byte(b>>12)&8
		codes[i] = low | high<<4
	}
}
