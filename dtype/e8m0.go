package dtype

import "math"

// NaNE8M0 is the E8M0 byte that is no number.
const NaNE8M0 = 255

// The floors of a block's largest magnitude, below which its scale shrinks no further.
const (
	FloorE4M3 = 1e-4         // weights and activations
	FloorE2M1 = 6 * 0x1p-126 // 6 times the smallest normal float32
)

// FromE8M0 returns the power of two 2^(b-127) of a scale byte, exactly; 255 is NaN. There is no zero, no sign.
func FromE8M0(b uint8) float32 {
	switch b {
	case 0:
		return 0x1p-127 // subnormal in float32
	case NaNE8M0:
		return nan
	}
	return math.Float32frombits(uint32(b) << 23)
}

// ScaleE8M0 returns the scale byte of a block whose largest magnitude is amax, in a format whose largest
// number is largest: the smallest power of two that is not below v = max(amax, floor)/largest, where the
// quotient is a product with the reciprocal rounded to float32. An infinite or NaN amax gives NaN.
func ScaleE8M0(amax, floor, largest float32) uint8 {
	b := math.Float32bits(max(amax, floor) * (1 / largest))
	exp := b >> 23 & 0xff
	if b&(1<<23-1) != 0 && exp < NaNE8M0 {
		exp++
	}
	return uint8(exp)
}
