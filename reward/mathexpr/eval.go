package mathexpr

import "math/big"

// A point gives each variable a value.
type point func(name string) ball

// eval returns the value of n at a point; ok is whether it has one that can be computed.
func (f *field) eval(n *Node, at point) (v ball, ok bool) {
	if !f.budget.spend(4) {
		return v, false
	}
	switch n.Kind {
	case Number:
		return f.rat(n.Value), true
	case Symbol:
		return at(n.Name), true
	case Constant:
		return f.constant(n.Name)
	case Add, Mul:
		return f.fold(n, at)
	case Pow:
		return f.power(n.Args[0], n.Args[1], at)
	case Root:
		return f.root(n, at)
	case Div, Neg, Percent, Degree:
		return f.simple(n, at)
	case Call:
		return f.call(n, at)
	}
	return v, false
}

func (f *field) constant(name string) (ball, bool) {
	switch name {
	case "pi":
		return f.rounded(f.float().Set(f.piReal()), f.float(), radius(), 4), true
	case "e":
		return f.exp(f.rat(one))
	case "i":
		return ball{f.float(), f.float().SetInt64(1), radius()}, !f.real
	}
	return ball{}, false
}

// fold adds or multiplies.
func (f *field) fold(n *Node, at point) (v ball, ok bool) {
	for i, a := range n.Args {
		x, ok := f.eval(a, at)
		switch {
		case !ok:
			return v, false
		case i == 0:
			v = x
		case n.Kind == Add:
			v = f.add(v, x)
		default:
			v = f.mul(v, x)
		}
	}
	return v, v.tame()
}

// simple computes what has an argument and no bends.
func (f *field) simple(n *Node, at point) (v ball, ok bool) {
	x, ok := f.eval(n.Args[0], at)
	if !ok {
		return v, false
	}
	switch n.Kind {
	case Neg:
		return f.neg(x), true
	case Percent:
		return f.mul(x, f.rat(big.NewRat(1, 100))), true
	case Degree:
		return x, true
	}
	y, ok := f.eval(n.Args[1], at)
	if !ok {
		return v, false
	}
	if y, ok = f.inv(y); !ok {
		return v, false
	}
	return f.mul(x, y), true
}

// power returns base^exponent: by products for a whole exponent, by roots for halves, else by logarithms.
func (f *field) power(base, exponent *Node, at point) (v ball, ok bool) {
	x, ok := f.eval(base, at)
	if !ok {
		return v, false
	}
	if e, known := exact(exponent, f.budget); known {
		switch {
		case e.IsInt() && e.Num().IsInt64():
			return f.intPow(x, e.Num().Int64())
		case e.Denom().IsInt64() && e.Denom().Int64() == 2 && e.Num().IsInt64():
			if x, ok = f.sqrt(x); !ok {
				return v, false
			}
			return f.intPow(x, e.Num().Int64())
		}
	}
	y, ok := f.eval(exponent, at)
	if !ok {
		return v, false
	}
	if base.Kind == Constant && base.Name == "e" {
		return f.exp(y)
	}
	if x.re.Sign() == 0 && x.im.Sign() == 0 && x.rad.Sign() == 0 && y.re.Sign() > 0 && y.isReal() {
		return x, true
	}
	if x, ok = f.ln(x); !ok {
		return v, false
	}
	return f.exp(f.mul(x, y))
}

// root returns the n-th root; in a real field odd roots of negative numbers are real.
func (f *field) root(n *Node, at point) (v ball, ok bool) {
	x, ok := f.eval(n.Args[0], at)
	if !ok {
		return v, false
	}
	if len(n.Args) == 1 {
		return f.sqrt(x)
	}
	degree, known := exact(n.Args[1], f.budget)
	if !known || degree.Sign() == 0 {
		return f.power(n.Args[0], of(Div, whole(1), n.Args[1]), at)
	}
	if x.re.Sign() == 0 && x.im.Sign() == 0 && x.rad.Sign() == 0 {
		return x, true
	}
	odd := degree.IsInt() && degree.Num().Bit(0) == 1
	turn := f.real && odd && x.isReal() && x.re.Sign() < 0
	if turn {
		x = f.neg(x)
	}
	if x, ok = f.ln(x); !ok {
		return v, false
	}
	if x, ok = f.exp(f.mul(x, f.rat(new(big.Rat).Inv(degree)))); turn {
		x = f.neg(x)
	}
	return x, ok
}

// call computes a function.
func (f *field) call(n *Node, at point) (v ball, ok bool) {
	if e, known := exact(n, f.budget); known {
		return f.rat(e), true
	}
	if n.Name == "'" || n.Name == "factorial" || n.Name == "binomial" {
		return v, false
	}
	x, ok := f.eval(n.Args[0], at)
	if !ok {
		return v, false
	}
	if n.Args[0].has(Degree) {
		x = f.mul(x, f.mul(ball{f.float().Set(f.piReal()), f.float(), radius().SetMantExp(radius().SetInt64(1), -int(f.prec)+4)}, f.rat(big.NewRat(1, 180))))
	}
	switch n.Name {
	case "abs":
		return f.absolute(x)
	case "floor", "ceil":
		return f.step(x, n.Name == "ceil")
	case "ln":
		return f.ln(x)
	case "log":
		return f.quotient(x, f.rat(ten))
	case "sinh", "cosh", "tanh":
		return f.hyperbolic(n.Name, x)
	case "arctan":
		return f.atan(x)
	case "arcsin", "arccos":
		return f.arc(n.Name, x)
	}
	return f.circular(n.Name, x)
}

// quotient returns ln x / ln base.
func (f *field) quotient(x, base ball) (v ball, ok bool) {
	if x, ok = f.ln(x); !ok {
		return v, false
	}
	if base, ok = f.ln(base); !ok {
		return v, false
	}
	if base, ok = f.inv(base); !ok {
		return v, false
	}
	return f.mul(x, base), true
}

func (f *field) absolute(x ball) (ball, bool) {
	if x.isReal() {
		return ball{abs(x.re), f.float(), x.rad}, true
	}
	norm := f.float().Sqrt(f.float().Add(f.float().Mul(x.re, x.re), f.float().Mul(x.im, x.im)))
	return f.rounded(norm, f.float(), x.rad, 8), true
}

// step rounds down or up where the ball holds no step.
func (f *field) step(x ball, up bool) (ball, bool) {
	if !x.isReal() || !x.tame() || x.re.MantExp(nil) > int(f.prec)-8 {
		return x, false
	}
	low, _ := new(big.Float).Sub(x.re, x.rad).Rat(nil)
	high, _ := new(big.Float).Add(x.re, x.rad).Rat(nil)
	name := "floor"
	if up {
		name = "ceil"
	}
	a, ok := exactCall(name, []*big.Rat{low}, f.budget)
	b, fine := exactCall(name, []*big.Rat{high}, f.budget)
	if !ok || !fine || a.Cmp(b) != 0 {
		return x, false
	}
	return f.rat(a), true
}

// circular computes the functions of an angle.
func (f *field) circular(name string, x ball) (v ball, ok bool) {
	sin, cos, ok := f.sinCos(x)
	if !ok {
		return v, false
	}
	var top, bottom ball
	switch name {
	case "sin":
		return sin, true
	case "cos":
		return cos, true
	case "tan":
		top, bottom = sin, cos
	case "cot":
		top, bottom = cos, sin
	case "sec":
		top, bottom = f.rat(one), cos
	case "csc":
		top, bottom = f.rat(one), sin
	default:
		return v, false
	}
	if bottom, ok = f.inv(bottom); !ok {
		return v, false
	}
	return f.mul(top, bottom), true
}

// hyperbolic computes them from e^x and e^-x.
func (f *field) hyperbolic(name string, x ball) (v ball, ok bool) {
	plus, ok := f.exp(x)
	if !ok {
		return v, false
	}
	minus, ok := f.exp(f.neg(x))
	if !ok {
		return v, false
	}
	half := f.rat(big.NewRat(1, 2))
	sinh, cosh := f.mul(f.add(plus, f.neg(minus)), half), f.mul(f.add(plus, minus), half)
	switch name {
	case "sinh":
		return sinh, true
	case "cosh":
		return cosh, true
	}
	if cosh, ok = f.inv(cosh); !ok {
		return v, false
	}
	return f.mul(sinh, cosh), true
}

// arc returns arcsin x = arctan(x/√(1-x²)), or arccos x = π/2 - arcsin x.
func (f *field) arc(name string, x ball) (v ball, ok bool) {
	if !x.isReal() {
		return v, false
	}
	half := f.mul(ball{f.float().Set(f.piReal()), f.float(), radius().SetMantExp(radius().SetInt64(1), -int(f.prec)+4)}, f.rat(big.NewRat(1, 2)))
	rest := f.add(f.rat(one), f.neg(f.mul(x, x)))
	var angle ball
	switch {
	case abs(x.re).Cmp(big.NewFloat(1)) == 0 && x.rad.MantExp(nil) < -int(f.prec)/2:
		angle = half
		if x.re.Sign() < 0 {
			angle = f.neg(half)
		}
	default:
		root, ok := f.sqrt(rest)
		if !ok {
			return v, false
		}
		if root, ok = f.inv(root); !ok {
			return v, false
		}
		if angle, ok = f.atan(f.mul(x, root)); !ok {
			return v, false
		}
	}
	if name == "arcsin" {
		return angle, true
	}
	return f.add(half, f.neg(angle)), true
}
