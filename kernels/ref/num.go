package ref

import "math"

// Float is a format that the reference computes in.
type Float interface{ float32 | float64 }

// wide reports whether F is float64. It folds to a constant.
func wide[F Float]() bool {
	const tiny = 1.0 / (1 << 40)
	return F(1)+F(tiny) != 1
}

// FMA returns a*b + c, rounded once, on every machine.
//
// In float32 the product is exact in float64 and the sum is rounded there, then to float32. The second rounding
// can go wrong only where the first one landed half way between two float32 numbers, or below their
// normal range; those go the slow way. A zero, an infinity or a NaN comes out as IEEE 754 says.
func FMA[F Float](a, b, c F) F {
	if wide[F]() {
		return F(math.FMA(float64(a), float64(b), float64(c)))
	}
	s := float64(float64(a)*float64(b)) + float64(c)
	if doubtful(s) {
		s = oddSum(float64(float64(a)*float64(b)), float64(c))
	}
	return F(s)
}

// normal32 is the float64 bits of the smallest normal float32, the sign shifted out.
const normal32 = (1023 - 126) << 53

// oddSum returns x + y rounded to odd: when inexact, of the two neighbours the one whose last bit is set. Rounding it
// again to a format with at least two bits fewer is the same as rounding the exact sum.
//
//go:noinline
func oddSum(x, y float64) float64 {
	s := x + y
	yy := s - x
	err := (x - (s - yy)) + (y - yy) // two-sum: x + y == s + err exactly
	bits := math.Float64bits(s)
	if bits&1 == 1 || !(err < 0 || err > 0) { // odd, exact, or not a number
		return s
	}
	if (err > 0) == (s > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// Sqrt returns the correctly rounded square root.
func Sqrt[F Float](x F) F { return F(math.Sqrt(float64(x))) }

// Sum8 returns the sum of a[i]: element i in lane i&7, each lane a chain of additions from zero over ascending i, then [Fold8].
func Sum8[F Float](a []F) F {
	var s [8]F
	for i, v := range a {
		s[i&7] += v
	}
	return Fold8(&s)
}

// Fold8 returns ((0+4)+(2+6)) + ((1+5)+(3+7)) of eight lanes: the order in which halves of a register fold.
func Fold8[F Float](s *[8]F) F {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// Max returns the larger of m and v, and m if v is a NaN: v > m ? v : m, as the vector instruction has it.
func Max[F Float](m, v F) F {
	if v > m {
		return v
	}
	return m
}
