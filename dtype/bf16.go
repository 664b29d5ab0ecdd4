package dtype

import "math"

// FromBF16 returns the number whose bfloat16 bits are b. It is exact.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBF16 rounds x to bfloat16, to nearest with ties to even. A NaN stays a (quiet) NaN.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
