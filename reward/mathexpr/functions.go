package mathexpr

import "math/big"

// widen returns the radius of g(a) for a function with |g'| at most slope near a.
func widen(a ball, slope *big.Float) *big.Float { return radius().Mul(a.rad, slope) }

// expReal returns e^x: x is halved until it is small, a series summed, the sum squared as often.
func (f *field) expReal(x *big.Float) *big.Float {
	g := field{prec: f.prec + 64, budget: f.budget}
	halvings := max(0, x.MantExp(nil)+8)
	small := g.float().SetMantExp(g.float().Set(x), -halvings)
	sum, term := g.float().SetInt64(1), g.float().SetInt64(1)
	for k := int64(1); k < 4000; k++ {
		term.Mul(term, small)
		term.Quo(term, g.float().SetInt64(k))
		if term.Sign() == 0 || term.MantExp(nil) < -int(g.prec)-2 {
			break
		}
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// lnReal returns the logarithm of x > 0: Newton's steps on e^y = x/2^k, and k*ln 2.
func (f *field) lnReal(x *big.Float) *big.Float {
	g := &field{prec: f.prec + 64, budget: f.budget}
	k := x.MantExp(nil)
	m := g.float().SetMantExp(g.float().Set(x), -k) // in [1/2, 1)
	y := g.atanhLog(m)
	if k != 0 {
		y.Add(y, g.float().Mul(g.ln2(), g.float().SetInt64(int64(k))))
	}
	return y
}

// atanhLog returns ln m = 2 artanh((m-1)/(m+1)) for m in [1/2, 2].
func (f *field) atanhLog(m *big.Float) *big.Float {
	for m.Cmp(big.NewFloat(0.7)) < 0 { // roots bring m near 1
		return f.float().Mul(f.atanhLog(f.float().Sqrt(m)), f.float().SetInt64(2))
	}
	t := f.float().Quo(f.float().Sub(m, f.float().SetInt64(1)), f.float().Add(m, f.float().SetInt64(1)))
	square := f.float().Mul(t, t)
	sum, power := f.float(), t
	for k := int64(1); k < 8000; k += 2 {
		term := f.float().Quo(power, f.float().SetInt64(k))
		if term.Sign() == 0 || term.MantExp(nil) < -int(f.prec)-2 {
			break
		}
		sum.Add(sum, term)
		power = f.float().Mul(power, square)
	}
	return sum.Mul(sum, f.float().SetInt64(2))
}

// ln2 returns the logarithm of 2.
func (f *field) ln2() *big.Float {
	return f.float().Neg(f.atanhLog(f.float().SetFloat64(0.5)))
}

// piReal returns π by Machin's formula.
func (f *field) piReal() *big.Float {
	if f.pi == nil {
		g := &field{prec: f.prec + 64}
		a := g.float().Mul(g.float().SetInt64(16), g.atanInverse(5))
		f.pi = a.Sub(a, g.float().Mul(g.float().SetInt64(4), g.atanInverse(239)))
	}
	return f.pi
}

// atanInverse returns arctan(1/n).
func (f *field) atanInverse(n int64) *big.Float {
	return f.atanSeries(f.float().Quo(f.float().SetInt64(1), f.float().SetInt64(n)))
}

// atanSeries sums x - x^3/3 + x^5/5 ... for a small x.
func (f *field) atanSeries(x *big.Float) *big.Float {
	square := f.float().Mul(x, x)
	sum, power := f.float(), f.float().Set(x)
	for k := int64(1); k < 8000; k += 2 {
		term := f.float().Quo(power, f.float().SetInt64(k))
		if term.Sign() == 0 || term.MantExp(nil) < -int(f.prec)-2 {
			break
		}
		if k%4 == 1 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		power = f.float().Mul(power, square)
	}
	return sum
}

// atanReal returns arctan x: the angle is halved three times before the series.
func (f *field) atanReal(x *big.Float) *big.Float {
	g := &field{prec: f.prec + 64}
	y := g.float().Set(x)
	for range 3 {
		root := g.float().Sqrt(g.float().Add(g.float().Mul(y, y), g.float().SetInt64(1)))
		y = g.float().Quo(y, g.float().Add(root, g.float().SetInt64(1)))
	}
	return g.float().SetMantExp(g.atanSeries(y), 3)
}

// sinCosReal returns sine and cosine of x, and whether x is small enough for them to be precise.
func (f *field) sinCosReal(x *big.Float) (sin, cos *big.Float, ok bool) {
	exp := x.MantExp(nil)
	if exp > 256 {
		return nil, nil, false
	}
	g := &field{prec: f.prec + 64 + uint(max(0, exp))}
	turn := g.float().Mul(g.piReal(), g.float().SetInt64(2))
	q, _ := g.float().Quo(x, turn).Int(nil)
	r := g.float().Sub(x, g.float().Mul(turn, g.float().SetInt(q)))
	r.SetMantExp(r, -8)
	sin, cos = g.sinCosSeries(r)
	for range 8 { // double the angle
		s := g.float().Mul(sin, cos)
		cos = g.float().Sub(g.float().Mul(cos, cos), g.float().Mul(sin, sin))
		sin = s.Mul(s, g.float().SetInt64(2))
	}
	return sin, cos, true
}

// sinCosSeries sums both series for a small x.
func (f *field) sinCosSeries(x *big.Float) (sin, cos *big.Float) {
	sin, cos = f.float(), f.float()
	term := f.float().SetInt64(1)
	for k := range int64(4000) {
		if k > 0 {
			term = f.float().Quo(f.float().Mul(term, x), f.float().SetInt64(k))
		}
		if term.Sign() == 0 || term.MantExp(nil) < -int(f.prec)-2 {
			break
		}
		switch k % 4 {
		case 0:
			cos.Add(cos, term)
		case 1:
			sin.Add(sin, term)
		case 2:
			cos.Sub(cos, term)
		case 3:
			sin.Sub(sin, term)
		}
	}
	return sin, cos
}

// exp returns e^a.
func (f *field) exp(a ball) (ball, bool) {
	if !f.budget.spend(60) || a.rad.Cmp(big.NewFloat(0.5)) > 0 || a.re.MantExp(nil) > 24 || a.im.MantExp(nil) > 24 {
		return a, false
	}
	e := f.expReal(a.re)
	re, im := e, f.float()
	if !a.isReal() {
		sin, cos, ok := f.sinCosReal(a.im)
		if !ok {
			return a, false
		}
		re, im = f.float().Mul(e, cos), f.float().Mul(e, sin)
	}
	slope := radius().Mul(radius().Set(e), radius().SetInt64(3))
	out := f.rounded(f.float().Set(re), im, widen(a, slope), 64)
	err := radius().SetMantExp(radius().Set(e), -int(f.prec)+8)
	out.rad = radius().Add(out.rad, err)
	return out, out.tame()
}

// ln returns the principal logarithm.
func (f *field) ln(a ball) (ball, bool) {
	least := a.least()
	if !f.budget.spend(80) || least.Sign() <= 0 || !a.tame() || f.real && (a.re.Sign() <= 0 || !a.isReal()) {
		return a, false
	}
	norm := abs(a.re)
	if !a.isReal() {
		norm = f.float().Sqrt(f.float().Add(f.float().Mul(a.re, a.re), f.float().Mul(a.im, a.im)))
	}
	re := f.float().Set(f.lnReal(norm))
	im := f.arg(a)
	out := f.rounded(re, im, radius().Quo(radius().Mul(a.rad, radius().SetInt64(2)), least), 64)
	out.rad = radius().Add(out.rad, radius().SetMantExp(radius().SetInt64(1), -int(f.prec)+8))
	return out, true
}

// arg returns the angle of a in (-π, π].
func (f *field) arg(a ball) *big.Float {
	if a.isReal() {
		if a.re.Sign() >= 0 {
			return f.float()
		}
		return f.float().Set(f.piReal())
	}
	half := f.float().SetMantExp(f.float().Set(f.piReal()), -1)
	if a.re.Sign() == 0 {
		if a.im.Sign() < 0 {
			half.Neg(half)
		}
		return half
	}
	angle := f.float().Set(f.atanReal(f.float().Quo(a.im, a.re)))
	switch {
	case a.re.Sign() > 0:
		return angle
	case a.im.Sign() > 0:
		return f.float().Add(angle, f.piReal())
	}
	return f.float().Sub(angle, f.piReal())
}

// sqrt returns the principal square root.
func (f *field) sqrt(a ball) (ball, bool) {
	switch {
	case !f.budget.spend(8) || !a.tame():
		return a, false
	case a.re.Sign() == 0 && a.im.Sign() == 0:
		return ball{f.float(), f.float(), radius().Sqrt(radius().Set(a.rad))}, true
	case a.least().Sign() <= 0:
		return a, false
	case a.isReal() && a.re.Sign() > 0:
		root := f.float().Sqrt(a.re)
		return f.rounded(root, f.float(), radius().Quo(a.rad, radius().Sqrt(a.least())), 2), true
	case f.real:
		return a, false
	}
	norm := f.float().Sqrt(f.float().Add(f.float().Mul(a.re, a.re), f.float().Mul(a.im, a.im)))
	re := f.half(f.float().Add(norm, a.re))
	im := f.half(f.float().Sub(norm, a.re))
	if a.im.Sign() < 0 {
		im.Neg(im)
	}
	slack := radius().Quo(a.rad, radius().Sqrt(a.least()))
	out := f.rounded(re, im, slack, 16)
	if !a.isReal() { // one of the two sums cancels
		out.rad = radius().Add(out.rad, radius().SetMantExp(radius().Sqrt(a.size()), -int(f.prec)/2+8))
	}
	return out, true
}

// half returns the root of x/2, 0 for what rounding made negative.
func (f *field) half(x *big.Float) *big.Float {
	if x.Sign() <= 0 {
		return f.float()
	}
	return f.float().Sqrt(f.float().SetMantExp(x, -1))
}

// sinCos returns sine and cosine.
func (f *field) sinCos(a ball) (sin, cos ball, ok bool) {
	if !f.budget.spend(60) || a.rad.Cmp(big.NewFloat(0.5)) > 0 || !a.tame() {
		return a, a, false
	}
	if !a.isReal() {
		return f.complexSinCos(a)
	}
	s, c, ok := f.sinCosReal(a.re)
	if !ok {
		return a, a, false
	}
	tiny := radius().SetMantExp(radius().SetInt64(1), -int(f.prec)+8)
	rad := radius().Add(a.rad, tiny)
	return ball{f.float().Set(s), f.float(), rad}, ball{f.float().Set(c), f.float(), rad}, true
}

// complexSinCos computes them from e^{ia} and e^{-ia}.
func (f *field) complexSinCos(a ball) (sin, cos ball, ok bool) {
	turned := ball{f.float().Neg(a.im), f.float().Set(a.re), a.rad}
	plus, ok := f.exp(turned)
	if !ok {
		return a, a, false
	}
	minus, ok := f.exp(f.neg(turned))
	if !ok {
		return a, a, false
	}
	half := f.rat(big.NewRat(1, 2))
	cos = f.mul(f.add(plus, minus), half)
	d := f.mul(f.add(plus, f.neg(minus)), half)
	return ball{d.im, f.float().Neg(d.re), d.rad}, cos, true
}

// atan returns the arctangent of a real a.
func (f *field) atan(a ball) (ball, bool) {
	if !f.budget.spend(60) || !a.isReal() || !a.tame() {
		return a, false
	}
	out := f.rounded(f.float().Set(f.atanReal(a.re)), f.float(), a.rad, 64)
	return out, true
}
