package dtype

import "math"

// A layout says how the bits of a small float are read: sign, exponent field, mantissa. Codes that mean
// NaN or infinity are the format's own business.
type layout struct{ mantissa, bias int }

// value returns the number of a code without its sign bit. It is exact.
func (l layout) value(code uint32) float32 {
	exp, man := int(code>>l.mantissa), code&(1<<l.mantissa-1)
	if exp == 0 {
		exp = 1 // a subnormal has the smallest exponent and no leading one
	} else {
		man |= 1 << l.mantissa
	}
	return float32(math.Ldexp(float64(man), exp-l.bias-l.mantissa))
}

// round returns the code nearest to the non-negative number with float32 bits b, ties to even, as if the
// format went on for ever: the caller compares the result with its largest code.
func (l layout) round(b uint32) uint32 {
	cut := 23 - l.mantissa
	lowest := uint32(128-l.bias) << 23 // float32 bits of the smallest normal number
	if b < lowest {
		// Adding the number whose unit in the last place is the format's step makes the float32 adder round.
		step := math.Float32frombits(uint32(128-l.bias+cut) << 23)
		return math.Float32bits(math.Float32frombits(b)+step) - math.Float32bits(step)
	}
	return (b-lowest+1<<(cut-1)-1+b>>cut&1)>>cut + 1<<l.mantissa
}

// split returns the sign of x as a bit, and the bits of its magnitude.
func split(x float32) (sign, magnitude uint32) {
	b := math.Float32bits(x)
	return b >> 31, b &^ (1 << 31)
}

const infBits = 0xff << 23 // a larger magnitude is a NaN

var (
	nan     = float32(math.NaN())
	negZero = float32(math.Copysign(0, -1))
)

// signed returns x with its sign set from a bit.
func signed(sign uint32, x float32) float32 {
	return math.Float32frombits(math.Float32bits(x) | sign<<31)
}
