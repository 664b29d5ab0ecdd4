package mathexpr

import (
	"math"
	"math/big"
)

// A ball is a complex number that is known to lie within rad of re + i*im.
type ball struct{ re, im, rad *big.Float }

// A field computes with balls at one precision, in bits. In a real field a function that leaves the real numbers has no
// value. Each operation adds what its rounding may cost to the radius, so the true value stays within.
type field struct {
	prec   uint
	real   bool
	budget *budget
	pi     *big.Float // computed once
	far    *big.Rat   // beyond the numbers that are written
}

func (f *field) float() *big.Float { return new(big.Float).SetPrec(f.prec) }

// radius returns a non-negative bound, rounded up.
func radius() *big.Float { return new(big.Float).SetPrec(64).SetMode(big.ToPositiveInf) }

// rat returns the ball of a rational number.
func (f *field) rat(v *big.Rat) ball {
	x := f.float().SetRat(v)
	return f.rounded(x, f.float(), radius(), 1)
}

// rounded returns a ball whose middle was computed with an error of at most ulps units in the last place.
func (f *field) rounded(re, im, rad *big.Float, ulps int) ball {
	size := new(big.Float).SetPrec(64).SetMode(big.ToPositiveInf).Add(abs(re), abs(im))
	if size.Sign() != 0 && !size.IsInf() {
		size.SetMantExp(size, -int(f.prec)+2+bitLen(ulps))
		rad = radius().Add(rad, size)
	}
	return ball{re, im, rad}
}

func bitLen(n int) int { return big.NewInt(int64(n)).BitLen() }

func abs(x *big.Float) *big.Float { return new(big.Float).Abs(x) }

// size returns an upper bound of |a|.
func (a ball) size() *big.Float {
	s := radius().Add(abs(a.re), abs(a.im))
	return s.Add(s, a.rad)
}

// least returns a lower bound of |a|, which may be 0 or less.
func (a ball) least() *big.Float {
	m := abs(a.re)
	if i := abs(a.im); i.Cmp(m) > 0 {
		m = i
	}
	return new(big.Float).SetPrec(64).SetMode(big.ToNegativeInf).Sub(m, a.rad)
}

// tame reports whether a is finite and not too large to go on with.
func (a ball) tame() bool {
	return !a.re.IsInf() && !a.im.IsInf() && !a.rad.IsInf() && a.re.MantExp(nil) < 1<<24 && a.im.MantExp(nil) < 1<<24
}

// isReal reports whether a may be real.
func (a ball) isReal() bool { return a.im.Sign() == 0 }

func (f *field) add(a, b ball) ball {
	return f.rounded(f.float().Add(a.re, b.re), f.float().Add(a.im, b.im), radius().Add(a.rad, b.rad), 2)
}

func (f *field) neg(a ball) ball { return ball{f.float().Neg(a.re), f.float().Neg(a.im), a.rad} }

func (f *field) mul(a, b ball) ball {
	re, im := f.float().Mul(a.re, b.re), f.float()
	if !a.isReal() || !b.isReal() {
		re.Sub(re, f.float().Mul(a.im, b.im))
		im.Add(f.float().Mul(a.re, b.im), f.float().Mul(a.im, b.re))
	}
	rad := radius().Mul(a.size(), b.rad)
	rad.Add(rad, radius().Mul(b.size(), a.rad))
	out := f.rounded(re, im, rad, 8)
	// A difference of products loses relative precision: bound it by the sizes of the factors.
	loss := radius().Mul(a.size(), b.size())
	if loss.Sign() != 0 && !loss.IsInf() {
		loss.SetMantExp(loss, -int(f.prec)+4)
		out.rad = radius().Add(out.rad, loss)
	}
	return out
}

// inv returns 1/a; ok is whether a is certainly not 0.
func (f *field) inv(a ball) (ball, bool) {
	least := a.least()
	if least.Sign() <= 0 || !a.tame() {
		return a, false
	}
	norm := f.float().Add(f.float().Mul(a.re, a.re), f.float().Mul(a.im, a.im))
	if norm.Sign() == 0 {
		return a, false
	}
	re, im := f.float().Quo(a.re, norm), f.float().Quo(f.float().Neg(a.im), norm)
	rad := radius().Quo(a.rad, least)
	rad.Quo(rad, least)
	return f.rounded(re, im, rad, 16), true
}

// apart reports whether a and b are certainly different, close whether they agree to within half the precision.
func (f *field) compare(a, b ball) (apart, close bool) {
	d := f.add(a, f.neg(b))
	if d.least().Sign() > 0 {
		return true, false
	}
	limit := radius().Add(a.size(), b.size())
	if limit.Cmp(big.NewFloat(1)) < 0 && limit.Sign() != 0 {
		limit = radius().SetInt64(1)
	}
	limit.SetMantExp(limit, -int(f.prec)/2)
	return false, d.rad.Cmp(limit) <= 0
}

// intPow returns a^n.
func (f *field) intPow(a ball, n int64) (ball, bool) {
	if n < 0 {
		var ok bool
		if a, ok = f.inv(a); !ok || n == math.MinInt64 {
			return a, false
		}
		n = -n
	}
	out := f.rat(one)
	for ; n > 0; n >>= 1 {
		if !f.budget.spend(4) || !a.tame() || !out.tame() {
			return out, false
		}
		if n&1 == 1 {
			out = f.mul(out, a)
		}
		if n > 1 {
			a = f.mul(a, a)
		}
	}
	return out, out.tame()
}
