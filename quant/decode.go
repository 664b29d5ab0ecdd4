package quant

import (
	"encoding/binary"
	"math"
	"sync/atomic"

	"furlong/dtype"
)

// Tables of what a byte of codes means under a scale byte: a number, or for E2M1 two, the even element in the lower half.
var (
	oneF32  = tables[float32]{make: func(c, s uint8) float32 { return dtype.FromE4M3(c) * dtype.FromE8M0(s) }}
	oneBF16 = tables[uint16]{make: func(c, s uint8) uint16 { return dtype.ToBF16(dtype.FromE4M3(c) * dtype.FromE8M0(s)) }}
	twoF32  = tables[uint64]{make: func(c, s uint8) uint64 { return uint64(bitsE2M1(c, s)) | uint64(bitsE2M1(c>>4, s))<<32 }}
	twoBF16 = tables[uint32]{make: func(c, s uint8) uint32 {
		return uint32(dtype.ToBF16(math.Float32frombits(bitsE2M1(c, s)))) | uint32(dtype.ToBF16(math.Float32frombits(bitsE2M1(c>>4, s))))<<16
	}}
)

func bitsE2M1(c, s uint8) uint32 { return math.Float32bits(dtype.FromE2M1(c) * dtype.FromE8M0(s)) }

// tables are made when a scale is first met, which a model does with a dozen of the 256.
type tables[T any] struct {
	make func(code, scale uint8) T
	of   [256]atomic.Pointer[[256]T]
}

// at returns the table of a scale.
func (t *tables[T]) at(scale uint8) *[256]T {
	if p := t.of[scale].Load(); p != nil {
		return p
	}
	p := new([256]T)
	for c := range p {
		p[c] = t.make(uint8(c), scale)
	}
	t.of[scale].Store(p) // whoever else made one at the same time made the same
	return p
}

func decodeOne[T float32 | uint16](x []T, codes []byte, table *[256]T) {
	x = x[:len(codes)]
	for i, c := range codes {
		x[i] = table[c]
	}
}

func decodeTwo(mem, codes []byte, table *[256]uint64) {
	for i, c := range codes {
		binary.LittleEndian.PutUint64(mem[8*i:8*i+8], table[c])
	}
}

func decodePair(mem, codes []byte, table *[256]uint32) {
	for i, c := range codes {
		binary.LittleEndian.PutUint32(mem[4*i:4*i+4], table[c])
	}
}
