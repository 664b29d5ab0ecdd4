package ref

import "math"

// Exp returns e^x. In float64 it is the standard library's.
//
// In float32 it is within 1 ulp, and made of operations that a vector unit has:
//
//	t = FMA(x, log2e, magic), n = t - magic     x/ln2 to the nearest integer, ties to even
//	r = FMA(n, -ln2hi, x), r = FMA(n, -ln2lo, r)
//	q = c2 + r*(c3 + r*(c4 + r*(c5 + r*c6)))    Horner, each step an FMA
//	y = FMA(q, r*r, r) + 1
//	bits(y) + n<<23
//
// Above 88.72283 it is +Inf; below -87.33654, where e^x would be subnormal, it is 0. NaN gives NaN.
func Exp[F Float](x F) F {
	if wide[F]() {
		return F(math.Exp(float64(x)))
	}
	return F(exp32(float32(x)))
}

// The constants of [Exp] in float32. ExpMagic is 1.5 * 2^23: adding it leaves an integer in the low bits.
const (
	ExpMax   float32 = 88.72283  // the largest x with a finite result
	ExpMin   float32 = -87.33654 // the smallest x with a normal result
	Log2E    float32 = 1.44269504088896340736
	Ln2Hi    float32 = 0.693147182464599609375 // ln 2 to float32
	Ln2Lo    float32 = -1.90465429995776804525e-9
	ExpMagic float32 = 12582912
	expC2    float32 = 0.499999934322
	expC3    float32 = 0.166665203991
	expC4    float32 = 0.0416683907697
	expC5    float32 = 0.00836874510461
	expC6    float32 = 0.00138145410565
)

// ExpPoly holds c2 to c6 of [Exp] in float32.
var ExpPoly = [5]float32{expC2, expC3, expC4, expC5, expC6}

func exp32(x float32) float32 {
	switch {
	case x > ExpMax:
		return float32(math.Inf(1))
	case x < ExpMin:
		return 0
	case x != x:
		return x
	}
	n := FMA(x, Log2E, ExpMagic) - ExpMagic
	r := FMA(n, -Ln2Lo, FMA(n, -Ln2Hi, x))
	q := FMA(r, expC6, expC5)
	q = FMA(r, q, expC4)
	q = FMA(r, q, expC3)
	q = FMA(r, q, expC2)
	y := FMA(q, float32(r*r), r) + 1
	return math.Float32frombits(math.Float32bits(y) + uint32(int32(n))<<23)
}

// Log returns the natural logarithm of x. In float64 it is the standard library's.
//
// In float32 it is within 1 ulp:
//
//	x = m * 2^e with m in [sqrt(1/2), sqrt(2)), f = m - 1    a subnormal x is multiplied by 2^23 first
//	q = d0 + f*(d1 + ... + f*d8)                             Horner, each step an FMA
//	z = f*f, y = (q*f)*z
//	y = FMA(e, ln2lo, y), y = FMA(-1/2, z, y)
//	FMA(e, ln2hi, f + y)
//
// Log of 0 is -Inf, of a negative number NaN, of +Inf +Inf, of NaN NaN.
func Log[F Float](x F) F {
	if wide[F]() {
		return F(math.Log(float64(x)))
	}
	return F(log32(float32(x)))
}

// LogPoly holds d0 to d8 of [Log] in float32.
var LogPoly = [9]float32{
	0.333333126042, -0.250000095987, 0.200021186527, -0.166679958906, 0.14219552507,
	-0.124055883092, 0.118881605785, -0.116756550522, 0.0674664838093,
}

// LogSplit is the bits of sqrt(1/2), where [Log] cuts mantissas.
const LogSplit = 0x3f3504f3

func log32(x float32) float32 {
	switch {
	case x < 0 || x != x:
		return float32(math.NaN())
	case x == 0:
		return float32(math.Inf(-1))
	case x > math.MaxFloat32:
		return x
	}
	var e float32
	if x < 0x1p-126 {
		x, e = x*0x1p23, -23
	}
	bits := math.Float32bits(x) - LogSplit
	e += float32(int32(bits) >> 23)
	f := math.Float32frombits(bits&(1<<23-1)+LogSplit) - 1
	q := LogPoly[8]
	for i := 7; i >= 0; i-- {
		q = FMA(q, f, LogPoly[i])
	}
	z := float32(f * f)
	y := FMA(e, Ln2Lo, float32(float32(q*f)*z))
	y = FMA(-0.5, z, y)
	return FMA(e, Ln2Hi, f+y)
}

// Sigmoid returns 1/(1 + e^-x).
func Sigmoid[F Float](x F) F { return 1 / (1 + Exp(-x)) }

// Softplus returns log(1 + e^x), and x itself above 20.
//
// With e = e^x and u = 1+e it is log(u) + (e-(u-1))/u: the second term gives back what the rounding of u took, so that small
// results keep their relative accuracy. In float32 it is 0 below -87.33654, where Exp is.
func Softplus[F Float](x F) F {
	if x > 20 {
		return x
	}
	e := Exp(x)
	u := 1 + e
	return Log(u) + (e-(u-1))/u
}

// RootSoftplus returns sqrt(softplus(x)), the score of a router.
func RootSoftplus[F Float](x F) F { return Sqrt(Softplus(x)) }
