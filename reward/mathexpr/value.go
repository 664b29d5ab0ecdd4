package mathexpr

import (
	"fmt"
	"hash/fnv"
	"math/big"
	"slices"
	"strings"
)

// points is the number of places at which expressions are compared that have no common normal form.
const points = 8

// A finding says how two expressions compare.
type finding struct {
	equal   bool
	how     string // the ground it rests on: "as rationals"
	unknown bool   // neither equality nor difference could be shown
}

// values compares the values of two expressions: exactly as rationals or as quotients of polynomials, else at fixed points
// with bounds on the error.
func (c *comparer) values(a, b *Node) finding {
	x, ok := exact(a, c.budget)
	y, fine := exact(b, c.budget)
	if ok && fine {
		return finding{equal: x.Cmp(y) == 0, how: "as rationals"}
	}
	if form(a) == form(b) {
		return finding{equal: true, how: "by form"}
	}
	if equal, known := sameFraction(a, b, c.budget); known {
		how := "as polynomials"
		if len(a.symbols())+len(b.symbols()) == 0 {
			how = "by normal form"
		}
		return finding{equal: equal, how: how}
	}
	return c.numerically(a, b)
}

// form returns a text that expressions share when they differ only in the order of sums and products and in how numbers are
// written.
func form(n *Node) string {
	if n.Kind == Number {
		return n.Value.RatString()
	}
	parts := make([]string, len(n.Args))
	for i, a := range n.Args {
		parts[i] = form(a)
	}
	if n.Kind == Add || n.Kind == Mul {
		slices.Sort(parts)
	}
	return fmt.Sprintf("(%d %s %d %s %s)", n.Kind, n.Name, n.Columns, strings.Join(n.Ops, " "), strings.Join(parts, " "))
}

// numerically compares values at fixed points.
func (c *comparer) numerically(a, b *Node) finding {
	names := a.symbols()
	for _, s := range b.symbols() {
		if !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	if counts(a) || counts(b) {
		return c.atIntegers(a, b, names)
	}
	if steps(a) || steps(b) { // which differ at whole numbers alone, if at all
		if f := c.atIntegers(a, b, names); !f.equal && !f.unknown {
			return f
		}
	}
	f := &field{prec: c.precision(a, b), real: !c.complex && !imaginary(a) && !imaginary(b), budget: c.budget, far: farther(a, b)}
	close, tries := 0, points
	if len(names) == 0 {
		tries = 1
	}
	for k := range tries {
		at := func(name string) ball { return f.point(name, k) }
		x, ok := f.eval(a, at)
		y, fine := f.eval(b, at)
		if !ok || !fine {
			continue // out of the domain of one of them
		}
		apart, near := f.compare(x, y)
		if apart {
			return finding{how: c.ground(names)}
		}
		if near {
			close++
		}
	}
	if close == 0 {
		return finding{how: "neither value can be shown to be the other", unknown: true}
	}
	return finding{equal: true, how: c.ground(names)}
}

// ground names what a numeric comparison rests on.
func (c *comparer) ground(names []string) string {
	if len(names) == 0 {
		return "to 256 bits"
	}
	return "at 8 points to 256 bits"
}

// imaginary reports whether i is in n.
func imaginary(n *Node) bool {
	return !n.walk(func(m *Node) bool { return m.Kind != Constant || m.Name != "i" })
}

// counts reports whether n has a function of whole numbers, such as (-1)^n.
func counts(n *Node) bool {
	return !n.walk(func(m *Node) bool {
		if m.Kind == Pow && m.Args[0].Kind == Neg && len(m.Args[0].symbols()) == 0 && len(m.Args[1].symbols()) > 0 {
			return false
		}
		return m.Kind != Call || m.Name != "factorial" && m.Name != "binomial"
	})
}

// steps reports whether n has a function that jumps at whole numbers.
func steps(n *Node) bool {
	return !n.walk(func(m *Node) bool { return m.Kind != Call || m.Name != "floor" && m.Name != "ceil" })
}

// precision returns the bits to compute with: so many that no decimal as long as those written can pass for a root.
func (c *comparer) precision(a, b *Node) uint {
	bits := 0
	for _, n := range []*Node{a, b} {
		n.walk(func(m *Node) bool {
			if m.Kind == Number {
				bits = max(bits, m.Value.Num().BitLen()+m.Value.Denom().BitLen())
			}
			return true
		})
	}
	return uint(256 + 2*bits)
}

// farther returns a number beyond all that are written in a and b, at most a million: what changes its form at a number, as |x-7|
// does, is looked at on both sides of it.
func farther(a, b *Node) *big.Rat {
	most := new(big.Rat)
	limit := big.NewRat(1_000_000, 1)
	for _, n := range []*Node{a, b} {
		n.walk(func(m *Node) bool {
			if m.Kind == Number && m.Value.Sign() != 0 {
				if v := new(big.Rat).Abs(m.Value); v.Cmp(most) > 0 && v.Cmp(limit) < 0 {
					most = v
				}
			}
			return true
		})
	}
	return most.Add(most, one)
}

// point returns the value of a name at point k: made of both alone. The first half of the points is positive; in a field of
// complex numbers the second half has imaginary parts. In a real field two points are negative for all names, and three lie
// beyond the numbers that are written, one of them on the negative side.
func (f *field) point(name string, k int) ball {
	h := fnv.New64a()
	h.Write([]byte{byte(k)})
	h.Write([]byte(name))
	x := h.Sum64()
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	v := big.NewRat(int64(x%100003)+5003, 37*997)
	if k >= points/2 && x>>40&1 == 1 {
		v.Neg(v)
	}
	if f.real && f.far != nil {
		switch k {
		case 5:
			v.Neg(v.Abs(v))
		case 2, 6:
			v.Mul(v.Abs(v).Add(v, one), f.far)
		case 7:
			v.Neg(v.Mul(v.Abs(v).Add(v, one), f.far))
		}
	}
	b := f.rat(v)
	if k >= points/2 && !f.real {
		b.im = f.float().SetRat(big.NewRat(int64(x>>20%100003)+301, 41*991))
		b.rad = radius().Add(b.rad, radius().SetMantExp(radius().SetInt64(8), -int(f.prec)))
	}
	return b
}

// atIntegers compares functions of whole numbers at whole numbers.
func (c *comparer) atIntegers(a, b *Node, names []string) finding {
	f := &field{prec: c.precision(a, b), real: true, budget: c.budget}
	close := 0
	for k := range points {
		at := map[string]int64{}
		for i, s := range names {
			at[s] = int64(3 + (k*(i+3)+i)%11)
		}
		x, ok := f.eval(substituted(a, at), nil)
		y, fine := f.eval(substituted(b, at), nil)
		if !ok || !fine {
			continue
		}
		apart, near := f.compare(x, y)
		if apart {
			return finding{how: "at whole numbers"}
		}
		if near {
			close++
		}
	}
	return finding{equal: close > 0, how: "at whole numbers", unknown: close == 0}
}

// substituted returns n with numbers for names.
func substituted(n *Node, at map[string]int64) *Node {
	if n.Kind == Symbol {
		return whole(at[n.Name])
	}
	m := *n
	m.Args = make([]*Node, len(n.Args))
	for i, a := range n.Args {
		m.Args[i] = substituted(a, at)
	}
	return &m
}
