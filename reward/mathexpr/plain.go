package mathexpr

import (
	"math/big"
	"slices"
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
	if err != nil || x.isObject() || y.isObject() {
		return false, c.over()
	}
	if !steady(x, c.budget) || !steady(y, c.budget) {
		return false, c.over()
	}
	f := c.values(x, y)
	return f.equal, c.over() || f.unknown && !slices.Equal(x.symbols(), nil)
}

// steady reports whether the decimals in n stay exact when they are computed with as floating point numbers are: a power with a
// decimal exponent is another one than with a whole number, and a quotient by a decimal may be off in its last bit.
func steady(n *Node, b *budget) bool {
	return n.walk(func(m *Node) bool {
		switch {
		case m.Kind == Pow && m.Args[1].IsDecimal():
			return false
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

// Steady reports whether the decimals in n stay exact when they are computed with as floating point numbers are.
func (s *Steps) Steady(n *Node) bool { return steady(n, &s.budget) }
