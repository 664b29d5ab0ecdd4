package dtype

import "math"

// FromF16 returns the number whose IEEE 754 binary16 bits are b. It is exact; a NaN keeps its sign and payload.
func FromF16(b uint16) float32 {
	sign, code := uint32(b)>>15, uint32(b)&0x7fff
	if code >= 0x7c00 { // infinity or NaN
		return math.Float32frombits(sign<<31 | infBits | code&0x3ff<<13)
	}
	return signed(sign, layout{mantissa: 10, bias: 15}.value(code))
}
