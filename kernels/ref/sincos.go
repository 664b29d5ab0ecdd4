package ref

import "math"

// Sincos returns the sine and cosine of x radians. In float64 it is the standard library's.
//
// In float32 both are computed in float64 and rounded once: n = x*2/pi to the nearest integer, r = x - n*pi/2 with pi/2 in two parts,
// Taylor polynomials of r up to r^15 and r^16 by FMA. That is right to half an ulp and a bit for angles up to 2^24.
func Sincos[F Float](x F) (sin, cos F) {
	if wide[F]() {
		s, c := math.Sincos(float64(x))
		return F(s), F(c)
	}
	s, c := sincos(float64(x))
	return F(s), F(c)
}

const (
	halfPiHi = 1.57079632679489655800     // pi/2 to float64
	halfPiLo = 6.12323399573676603587e-17 // the rest of it
)

var (
	sinPoly = [...]float64{1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000}
	cosPoly = [...]float64{1, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200, 1. / 20922789888000}
)

func sincos(x float64) (sin, cos float64) {
	n := math.RoundToEven(x * (2 / math.Pi))
	r := math.FMA(n, -halfPiLo, math.FMA(n, -halfPiHi, x))
	s, c := float64(r*horner(sinPoly[:], r*r)), horner(cosPoly[:], r*r)
	switch int64(n) & 3 {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return s, c
}

// horner returns c[0] + z*(c[1] + z*(...)), each step an FMA.
func horner(c []float64, z float64) float64 {
	y := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		y = math.FMA(y, z, c[i])
	}
	return y
}
