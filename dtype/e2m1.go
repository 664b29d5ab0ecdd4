package dtype

// MaxE2M1 is the largest E2M1 number.
const MaxE2M1 = 6

var tableE2M1 = [16]float32{0, .5, 1, 1.5, 2, 3, 4, 6, negZero, -.5, -1, -1.5, -2, -3, -4, -6}

// FromE2M1 returns the number of the E2M1 code in the low four bits of c. It is exact.
func FromE2M1(c uint8) float32 { return tableE2M1[c&15] }

// ToE2M1 rounds x to E2M1, to nearest with ties to the even code. Magnitudes beyond 6 become 6, and the
// sign is kept, also that of a zero. The format has no NaN: a NaN becomes 6, so look before you cast.
func ToE2M1(x float32) uint8 {
	sign, b := split(x)
	code := uint32(7)
	if b <= infBits {
		code = min(layout{mantissa: 1, bias: 1}.round(b), 7)
	}
	return uint8(sign<<3 | code)
}
