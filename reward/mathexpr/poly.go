package mathexpr

import "maps"

import "math/big"

// Bounds on polynomials.
const (
	mostNames  = 12
	mostTerms  = 400
	mostDegree = 120
)

// A monomial has the exponent of each name.
type monomial [mostNames]uint16

// A poly is a polynomial over the rationals in names: coefficients that are not 0, by monomial.
type poly map[monomial]*big.Rat

// A fraction is a quotient of polynomials in normal form but for common factors: two are equal when their cross products
// are.
type fraction struct{ top, bottom poly }

// A ring knows the place of each name. The imaginary unit has the first place and a square of -1.
type ring struct {
	places map[string]int
	budget *budget
}

func newRing(b *budget) *ring { return &ring{map[string]int{"\x00i": 0}, b} }

// place returns the place of a name.
func (r *ring) place(name string) (int, bool) {
	i, ok := r.places[name]
	if !ok {
		i = len(r.places)
		r.places[name] = i
	}
	return i, i < mostNames
}

func constant(v *big.Rat) poly {
	if v.Sign() == 0 {
		return poly{}
	}
	return poly{monomial{}: v}
}

// fractionOf returns n as a quotient of polynomials: known is whether it is one, within bounds, over names and constants.
func (r *ring) fractionOf(n *Node) (f fraction, known bool) {
	if !r.budget.spend(1) {
		return f, false
	}
	switch n.Kind {
	case Number:
		return fraction{constant(n.Value), constant(one)}, true
	case Symbol, Constant:
		name := n.Name
		if n.Kind == Constant {
			name = "\x00" + name
		}
		i, ok := r.place(name)
		if !ok {
			return f, false
		}
		var m monomial
		m[i] = 1
		return fraction{poly{m: one}, constant(one)}, true
	case Add, Mul, Div:
		return r.fold(n)
	case Neg, Percent, Degree:
		factor := map[Kind]*big.Rat{Neg: big.NewRat(-1, 1), Percent: big.NewRat(1, 100), Degree: one}[n.Kind]
		f, known = r.fractionOf(n.Args[0])
		if !known {
			return f, false
		}
		f.top, known = r.mul(f.top, constant(factor))
		return f, known
	case Pow:
		return r.pow(n)
	}
	v, ok := exact(n, r.budget)
	if !ok {
		return f, false
	}
	return fraction{constant(v), constant(one)}, true
}

// fold adds, multiplies or divides.
func (r *ring) fold(n *Node) (f fraction, known bool) {
	for i, a := range n.Args {
		g, ok := r.fractionOf(a)
		switch {
		case !ok:
			return f, false
		case i == 0:
			f = g
			continue
		case n.Kind == Add:
			f, ok = r.add(f, g)
		case n.Kind == Mul:
			f, ok = r.times(f, g)
		case len(g.top) == 0:
			return f, false
		default:
			f, ok = r.times(f, fraction{g.bottom, g.top})
		}
		if !ok {
			return f, false
		}
	}
	return f, true
}

// pow raises to a whole exponent.
func (r *ring) pow(n *Node) (f fraction, known bool) {
	e, ok := exact(n.Args[1], r.budget)
	if !ok || !e.IsInt() || !e.Num().IsInt64() || e.Num().Int64() > mostDegree || e.Num().Int64() < -mostDegree {
		return f, false
	}
	base, ok := r.fractionOf(n.Args[0])
	k := e.Num().Int64()
	if !ok || len(base.top) == 0 && k <= 0 {
		return f, false
	}
	if k < 0 {
		base, k = fraction{base.bottom, base.top}, -k
	}
	f = fraction{constant(one), constant(one)}
	for range k {
		if f, ok = r.times(f, base); !ok {
			return f, false
		}
	}
	return f, true
}

func (r *ring) times(f, g fraction) (h fraction, ok bool) {
	if h.top, ok = r.mul(f.top, g.top); !ok {
		return h, false
	}
	h.bottom, ok = r.mul(f.bottom, g.bottom)
	return h, ok
}

// add returns f+g over the product of their denominators, or over theirs if it is one.
func (r *ring) add(f, g fraction) (h fraction, ok bool) {
	if same(f.bottom, g.bottom) {
		return fraction{sumOf(f.top, g.top), f.bottom}, r.budget.spend(len(f.top) + len(g.top))
	}
	a, ok := r.mul(f.top, g.bottom)
	if !ok {
		return h, false
	}
	b, ok := r.mul(g.top, f.bottom)
	if !ok {
		return h, false
	}
	h.bottom, ok = r.mul(f.bottom, g.bottom)
	h.top = sumOf(a, b)
	return h, ok
}

// mul returns a*b within bounds.
func (r *ring) mul(a, b poly) (poly, bool) {
	if !r.budget.spend(1 + len(a)*len(b)) {
		return nil, false
	}
	p := poly{}
	for m, x := range a {
		for k, y := range b {
			c := new(big.Rat).Mul(x, y)
			sum, negative, ok := product(m, k)
			if !ok || c.Num().BitLen()+c.Denom().BitLen() > mostBits {
				return nil, false
			}
			if negative {
				c.Neg(c)
			}
			p.put(sum, c)
		}
	}
	return p, len(p) <= mostTerms
}

// product adds exponents; the square of the imaginary unit turns the sign.
func product(a, b monomial) (m monomial, negative, ok bool) {
	for i := range a {
		if m[i] = a[i] + b[i]; m[i] > mostDegree {
			return m, false, false
		}
	}
	if m[0] >= 2 {
		m[0] -= 2
		negative = true
	}
	return m, negative, true
}

// put adds c to the coefficient of m.
func (p poly) put(m monomial, c *big.Rat) {
	old := p[m]
	if old == nil {
		p[m] = c
		return
	}
	sum := new(big.Rat).Add(old, c)
	if sum.Sign() == 0 {
		delete(p, m)
	} else {
		p[m] = sum
	}
}

func sumOf(a, b poly) poly {
	p := poly{}
	maps.Copy(p, a)
	for m, c := range b {
		p.put(m, c)
	}
	return p
}

// same reports whether a and b have the same coefficients.
func same(a, b poly) bool {
	if len(a) != len(b) {
		return false
	}
	for m, c := range a {
		if d := b[m]; d == nil || d.Cmp(c) != 0 {
			return false
		}
	}
	return true
}

// proportional returns k with a = k*b for polynomials that are not 0.
func proportional(a, b poly) (k *big.Rat, ok bool) {
	if len(a) != len(b) || len(a) == 0 {
		return nil, false
	}
	for m, c := range a {
		d := b[m]
		if d == nil {
			return nil, false
		}
		q := new(big.Rat).Quo(c, d)
		if k != nil && k.Cmp(q) != 0 {
			return nil, false
		}
		k = q
	}
	return k, true
}

// sameFraction compares a and b by normal form: known is whether both have one within bounds.
func sameFraction(a, b *Node, bud *budget) (equal, known bool) {
	r := newRing(bud)
	f, ok := r.fractionOf(a)
	if !ok {
		return false, false
	}
	g, ok := r.fractionOf(b)
	if !ok {
		return false, false
	}
	x, ok := r.mul(f.top, g.bottom)
	if !ok {
		return false, false
	}
	y, ok := r.mul(g.top, f.bottom)
	return same(x, y), ok
}
