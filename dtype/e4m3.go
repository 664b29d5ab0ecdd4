package dtype

// MaxE4M3 is the largest E4M3 number.
const MaxE4M3 = 448

const nanE4M3 = 0x7f

var (
	layoutE4M3 = layout{mantissa: 3, bias: 7}
	tableE4M3  = decodeE4M3()
)

// FromE4M3 returns the number of an E4M3 code. It is exact; 0x7f and 0xff are NaN.
func FromE4M3(b uint8) float32 { return tableE4M3[b] }

// ToE4M3 rounds x to E4M3, to nearest with ties to even, as a plain cast does: magnitudes beyond 464
// (half way to the number after 448, were there one) and NaN become NaN. The sign is kept.
func ToE4M3(x float32) uint8 {
	sign, b := split(x)
	code := uint32(nanE4M3)
	if b <= infBits {
		code = min(layoutE4M3.round(b), nanE4M3)
	}
	return uint8(sign<<7 | code)
}

// ToE4M3Sat rounds x to E4M3 as [ToE4M3] does, but magnitudes beyond 448 become 448. A NaN stays a NaN.
func ToE4M3Sat(x float32) uint8 {
	c := ToE4M3(x)
	if c&0x7f == nanE4M3 && x == x {
		c--
	}
	return c
}

func decodeE4M3() (t [256]float32) {
	for c := range t {
		t[c] = signed(uint32(c)>>7, layoutE4M3.value(uint32(c)&0x7f))
	}
	t[nanE4M3], t[0x80|nanE4M3] = nan, nan
	return t
}
