package mathexpr

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// Identity compares two expressions in plain notation, as a computer algebra system reads it: ^ is a power, letters side by
// side are a product, sqrt, sin and pi are known, log is natural, i and e are names like others and names stand for complex
// numbers. It reports whether their difference is 0; over is whether that was too large to be worked out.
func Identity(a, b string) (equal, over bool) {
	c := &comparer{budget: &budget{mostSteps}, complex: true}
	x, err := parse(a, options{plain: true}, c.budget)
	if err != nil {
		return false, c.over()
	}
	y, err := parse(b, options{plain: true}, c.budget)
	number := func(n *Node) bool { return n.walk(func(m *Node) bool { return !m.isObject() }) }
	if err != nil || !number(x) || !number(y) {
		return false, c.over()
	}
	if !steady(x, c.budget) || !steady(y, c.budget) || !exactRoots(x, c.budget) || !exactRoots(y, c.budget) {
		return false, c.over()
	}
	f := c.values(x, y)
	return f.equal, c.over() || f.unknown && !slices.Equal(x.symbols(), nil)
}

// steady reports whether the decimals in n stay exact when they are computed with as floating point numbers are: a power with a
// decimal exponent is another one than with a whole number, and what is computed of decimals may be off in its last bit.
func steady(n *Node, b *budget) bool {
	return n.walk(func(m *Node) bool {
		switch {
		case m.Kind == Add || m.Kind == Mul:
			return steadyFold(m, b)
		case m.Kind == Pow && m.Args[0].IsDecimal():
			return steadyPower(m, b)
		case m.Kind == Div && m.Args[1].IsDecimal():
			x, ok := exact(m.Args[0], b)
			y, fine := exact(m.Args[1], b)
			if !ok || !fine || y.Sign() == 0 {
				return true
			}
			top, _ := x.Float64()
			bottom, _ := y.Float64()
			quotient, _ := new(big.Rat).Quo(x, y).Float64()
			return float64(top*float64(1/bottom)) == quotient
		}
		return true
	})
}

// hasDecimal reports whether a decimal is in n.
func (n *Node) hasDecimal() bool { return !n.walk(func(m *Node) bool { return !m.IsDecimal() }) }

// A coefficient is a constant as it comes out of floating point numbers, and exactly.
type coefficient struct {
	float   float64
	rat     *big.Rat
	decimal bool // a decimal is in it
}

func (k coefficient) steady() bool {
	nearest, _ := k.rat.Float64()
	return !k.decimal || k.float == nearest
}

// coefficientOf returns the constant factor of a term, and the form of its other factors. ok is false where it is too long.
func coefficientOf(n *Node, b *budget) (k coefficient, rest string, ok bool) {
	if v, known := exact(n, b); known {
		x, _ := v.Float64()
		return coefficient{x, v, n.hasDecimal()}, "", true
	}
	k = coefficient{1, one, false}
	switch n.Kind {
	case Neg:
		k, rest, ok = coefficientOf(n.Args[0], b)
		return coefficient{-k.float, new(big.Rat).Neg(k.rat), k.decimal}, rest, ok
	case Mul:
		var others []string
		for _, a := range n.Args {
			l, other, ok := coefficientOf(a, b)
			if !ok {
				return k, "", false
			}
			k = coefficient{float64(k.float * l.float), new(big.Rat).Mul(k.rat, l.rat), k.decimal || l.decimal}
			if other != "" {
				others = append(others, other)
			}
		}
		slices.Sort(others)
		return k, strings.Join(others, " "), b.spend(len(n.Args))
	}
	return k, form(n), b.spend(1)
}

// steadyFold reports whether the constants of a sum or product with a decimal among them come out as the nearest floating point
// numbers, those of terms in the same variables together.
func steadyFold(n *Node, b *budget) bool {
	if n.Kind == Mul {
		k, _, ok := coefficientOf(n, b)
		return !ok || k.steady() && steadyProduct(n, b)
	}
	sums := map[string]coefficient{}
	for _, a := range n.Args {
		k, rest, ok := coefficientOf(a, b)
		if !ok {
			return true
		}
		if s, found := sums[rest]; found {
			k = coefficient{float64(s.float + k.float), new(big.Rat).Add(s.rat, k.rat), s.decimal || k.decimal}
		}
		sums[rest] = k
	}
	for _, k := range sums {
		if !k.steady() {
			return false
		}
	}
	return true
}

// steadyProduct reports the same of a product of constants, one after the other.
func steadyProduct(n *Node, b *budget) bool {
	k := coefficient{1, one, false}
	for _, a := range n.Args {
		v, ok := exact(a, b)
		if !ok {
			return true
		}
		x, _ := v.Float64()
		k = coefficient{float64(k.float * x), new(big.Rat).Mul(k.rat, v), k.decimal || a.hasDecimal()}
	}
	return k.steady()
}

// steadyPower reports the same of a decimal to a whole power.
func steadyPower(n *Node, b *budget) bool {
	x, ok := exact(n.Args[0], b)
	v, fine := exact(n, b)
	e, whole := exact(n.Args[1], b)
	if !ok || !fine || !whole || !e.IsInt() {
		return true
	}
	base, _ := x.Float64()
	power, _ := e.Float64()
	nearest, _ := v.Float64()
	return math.Pow(base, power) == nearest
}

// exactRoots reports whether no power in n has a decimal exponent, and every root of a decimal is a rational number.
func exactRoots(n *Node, b *budget) bool {
	return n.walk(func(m *Node) bool {
		switch {
		case m.Kind == Pow && m.Args[1].IsDecimal():
			return false
		case m.Kind == Root && m.Args[0].hasDecimal():
			_, ok := exact(m, b)
			return ok
		}
		return true
	})
}

// Steady reports whether the decimals in n stay exact when they are computed with as floating point numbers are. A decimal exponent
// of e does not.
func (s *Steps) Steady(n *Node) bool {
	return steady(n, &s.budget) && n.walk(func(m *Node) bool {
		return m.Kind != Pow || m.Args[0].Kind != Constant || m.Args[0].Name != "e" || !m.Args[1].hasDecimal()
	})
}
