package dtype

// The FNUZ flavour of E4M3, which some devices compute in, has the bias 8: a byte means half of what it
// means in E4M3, except that 0x80 is the one NaN and there is no negative zero. Checkpoints and the wire
// never hold it; package quant makes it of E4M3.

// MaxE4M3FNUZ is the largest E4M3FNUZ number.
const MaxE4M3FNUZ = 240

const nanFNUZ = 0x80

var (
	layoutFNUZ = layout{mantissa: 3, bias: 8}
	tableFNUZ  = decodeFNUZ()
)

// FromE4M3FNUZ returns the number of an E4M3FNUZ code. It is exact; 0x80 is NaN.
func FromE4M3FNUZ(b uint8) float32 { return tableFNUZ[b] }

// ToE4M3FNUZ rounds x to E4M3FNUZ, to nearest with ties to even, as a plain cast does: magnitudes of 248
// (half way to the number after 240) and more, and NaN, become NaN. What rounds to zero is positive zero.
func ToE4M3FNUZ(x float32) uint8 {
	sign, b := split(x)
	if b > infBits {
		return nanFNUZ
	}
	code := layoutFNUZ.round(b)
	switch {
	case code == 0:
		return 0
	case code > 0x7f:
		return nanFNUZ
	}
	return uint8(sign<<7 | code)
}

// ToE4M3FNUZSat rounds x to E4M3FNUZ, but magnitudes beyond 240 become 240. A NaN stays a NaN.
func ToE4M3FNUZSat(x float32) uint8 {
	return ToE4M3FNUZ(max(-MaxE4M3FNUZ, min(x, MaxE4M3FNUZ)))
}

func decodeFNUZ() (t [256]float32) {
	for c := range t {
		t[c] = signed(uint32(c)>>7, layoutFNUZ.value(uint32(c)&0x7f))
	}
	t[nanFNUZ] = nan
	return t
}
