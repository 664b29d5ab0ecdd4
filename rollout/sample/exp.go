package sample

import "math"

// Drawing needs V exponentials a token, to a precision far below that of the logits. exp2Table holds 2^(j/steps), with j taken off
// the exponent's place so that adding k there makes 2^(k/steps).
const (
	stepBits = 9
	steps    = 1 << stepBits
)

var exp2Table = func() (t [steps]uint64) {
	for j := range t {
		t[j] = math.Float64bits(math.Exp2(float64(j)/steps)) - uint64(j)<<(52-stepBits)
	}
	return t
}()

// exp returns e^x for -700 < x <= 0, within 1e-13 of it: x is cut into k*ln2/steps and a rest below 0.0007, for which three terms do.
func exp(x float64) float64 {
	const shift = 0x1.8p52 // adding it leaves the nearest whole number in the low bits
	t := x*(steps/math.Ln2) + shift
	k := math.Float64bits(t)
	r := x - (t-shift)*(math.Ln2/steps)
	s := math.Float64frombits(exp2Table[k%steps] + k<<(52-stepBits))
	return s + s*(r+r*r*(0.5+r*(1.0/6)))
}
