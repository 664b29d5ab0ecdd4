package mathexpr

import "math/big"

var (
	one = big.NewRat(1, 1)
	ten = big.NewRat(10, 1)
)

// exact returns the value of n where it is rational and can be worked out exactly within bounds: known is whether it was.
// A value that does not exist, as that of 1/0, is not known either.
func exact(n *Node, b *budget) (v *big.Rat, known bool) {
	if !b.spend(1) {
		return nil, false
	}
	var args []*big.Rat
	for _, a := range n.Args {
		x, ok := exact(a, b)
		if !ok {
			return nil, false
		}
		args = append(args, x)
	}
	switch n.Kind {
	case Number:
		return n.Value, true
	case Add, Mul:
		return fold(n.Kind, args, b)
	case Div:
		if args[1].Sign() == 0 {
			return nil, false
		}
		return bounded(new(big.Rat).Quo(args[0], args[1]), b)
	case Neg:
		return new(big.Rat).Neg(args[0]), true
	case Percent:
		return new(big.Rat).Quo(args[0], big.NewRat(100, 1)), true
	case Degree:
		return args[0], true
	case Pow:
		return power(args[0], args[1], b)
	case Root:
		degree := big.NewRat(2, 1)
		if len(args) == 2 {
			degree = args[1]
		}
		if degree.Sign() == 0 {
			return nil, false
		}
		return power(args[0], new(big.Rat).Inv(degree), b)
	case Call:
		return exactCall(n.Name, args, b)
	}
	return nil, false
}

// bounded returns v unless it is too large.
func bounded(v *big.Rat, b *budget) (*big.Rat, bool) {
	bits := v.Num().BitLen() + v.Denom().BitLen()
	return v, bits <= mostBits && b.spend(1+bits/256)
}

// fold adds or multiplies.
func fold(k Kind, args []*big.Rat, b *budget) (*big.Rat, bool) {
	v := new(big.Rat).Set(args[0])
	for _, a := range args[1:] {
		if k == Add {
			v.Add(v, a)
		} else {
			v.Mul(v, a)
		}
		if _, ok := bounded(v, b); !ok {
			return nil, false
		}
	}
	return v, true
}

// power returns x^e where it is rational.
func power(x, e *big.Rat, b *budget) (*big.Rat, bool) {
	if !e.Num().IsInt64() || !e.Denom().IsInt64() || e.Denom().Int64() > 64 {
		return nil, false
	}
	if d := e.Denom().Int64(); d > 1 {
		var ok bool
		if x, ok = rootOf(x, d, b); !ok {
			return nil, false
		}
	}
	n := e.Num().Int64()
	switch {
	case x.Sign() == 0 && n <= 0:
		return nil, false
	case x.Sign() == 0 || x.Cmp(one) == 0:
		return x, true
	case x.Cmp(big.NewRat(-1, 1)) == 0:
		if n%2 == 0 {
			return one, true
		}
		return x, true
	}
	if n < 0 {
		x, n = new(big.Rat).Inv(x), -n
	}
	bits := int64(max(x.Num().BitLen(), x.Denom().BitLen()))
	if n < 0 || n > mostBits || bits*n > 2*mostBits {
		return nil, false
	}
	k := big.NewInt(n)
	v := new(big.Rat).SetFrac(new(big.Int).Exp(x.Num(), k, nil), new(big.Int).Exp(x.Denom(), k, nil))
	return bounded(v, b)
}

// rootOf returns the d-th root of x where it is rational; of a negative x only for odd d.
func rootOf(x *big.Rat, d int64, b *budget) (*big.Rat, bool) {
	if x.Sign() < 0 {
		if d%2 == 0 {
			return nil, false
		}
		v, ok := rootOf(new(big.Rat).Neg(x), d, b)
		if !ok {
			return nil, false
		}
		return v.Neg(v), true
	}
	num, ok := intRoot(x.Num(), d, b)
	if !ok {
		return nil, false
	}
	den, ok := intRoot(x.Denom(), d, b)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetFrac(num, den), true
}

// intRoot returns the d-th root of x if that is whole.
func intRoot(x *big.Int, d int64, b *budget) (*big.Int, bool) {
	k := big.NewInt(d)
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(int64(x.BitLen())/d+1))
	for low.Cmp(high) < 0 {
		if !b.spend(1 + x.BitLen()/512) {
			return nil, false
		}
		mid := new(big.Int).Add(low, high)
		mid.Rsh(mid, 1)
		if new(big.Int).Exp(mid, k, nil).Cmp(x) < 0 {
			low = mid.Add(mid, big.NewInt(1))
		} else {
			high = mid
		}
	}
	return low, new(big.Int).Exp(low, k, nil).Cmp(x) == 0
}

// exactCall returns the value of a function of rational numbers where that is rational and simple.
func exactCall(name string, args []*big.Rat, b *budget) (*big.Rat, bool) {
	x := args[0]
	switch name {
	case "abs":
		return new(big.Rat).Abs(x), true
	case "floor", "ceil":
		q := new(big.Int).Div(x.Num(), x.Denom()) // Euclid's: down for a positive denominator
		if name == "ceil" && !x.IsInt() {
			q.Add(q, big.NewInt(1))
		}
		return new(big.Rat).SetInt(q), true
	case "factorial":
		if !x.IsInt() || x.Sign() < 0 || !x.Num().IsInt64() || x.Num().Int64() > 600 {
			return nil, false
		}
		return bounded(new(big.Rat).SetInt(new(big.Int).MulRange(1, x.Num().Int64())), b)
	case "binomial":
		if !x.IsInt() || !args[1].IsInt() || x.Sign() < 0 || args[1].Sign() < 0 || !x.Num().IsInt64() || x.Num().Int64() > 2000 || args[1].Cmp(x) > 0 {
			return nil, false
		}
		return bounded(new(big.Rat).SetInt(new(big.Int).Binomial(x.Num().Int64(), args[1].Num().Int64())), b)
	}
	return nil, false
}
