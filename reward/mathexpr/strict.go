package mathexpr

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// commaNumber matches a text that is one number with separators of thousands.
var commaNumber = regexp.MustCompile(`^\s*-?\d{1,3}(,\d{3})+(\.\d+)?\s*$`)

// zeroComma matches a decimal with a comma: zeros before it and three digits behind it.
var zeroComma, negativeZeroComma = regexp.MustCompile(`^\s*0+,\d{3}\s*$`), regexp.MustCompile(`^\s*(?:-0+,\d{3}|-?0+(?:,\d{3}){2,}|-?0+,\d{3}\.\d+)`)

// Read reads LaTeX as Math-Verify does: letters have one case, text is a variable, i is a variable, a colon divides, two
// numbers side by side are added, products without a sign bind tighter than fractions with a slash.
func Read(text string) (*Node, error) {
	if i := strings.LastIndex(text, `\approx`); i > 0 && strings.TrimSpace(text[:i]) != "" {
		text = text[i+len(`\approx`):]
	}
	if zeroComma.MatchString(text) {
		text = strings.Replace(text, ",", ".", 1)
	} else if negativeZeroComma.MatchString(text) {
		return nil, errors.New("a comma behind a zero with a sign")
	}
	n, err := parse(text, options{strict: true, thousands: commaNumber.MatchString(text)}, &budget{mostSteps})
	if err != nil {
		return nil, err
	}
	if n.Kind == List && len(n.Args) > 1 { // x = 1, 2
		first := n.Args[0]
		for _, a := range n.Args[1:] {
			if a.Kind == Relation {
				return n, nil
			}
		}
		if first.Kind == Relation && len(first.Ops) == 1 && first.Ops[0] == "=" {
			values := of(List, append([]*Node{first.Args[1]}, n.Args[1:]...)...)
			r := of(Relation, first.Args[0], values)
			r.Ops = []string{"="}
			return r, nil
		}
	}
	return n, nil
}

// strictTerm reads factors: those without a sign between them first.
func (p *parser) strictTerm() (*Node, error) {
	n, err := p.juxtaposed()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		if !t.is("*") && !t.is("/") && !t.is(":") {
			return n, nil
		}
		p.at++
		minus := p.accept("-")
		next, err := p.juxtaposed()
		if err != nil {
			return nil, err
		}
		if minus {
			next = of(Neg, next)
		}
		if t.is("*") {
			n = times(n, next)
		} else {
			n = of(Div, n, next)
		}
		if !p.budget.spend(1) {
			return nil, ErrBudget
		}
	}
}

// juxtaposed reads factors side by side. Two numbers are added.
func (p *parser) juxtaposed() (*Node, error) {
	first, err := p.factor()
	if err != nil {
		return nil, err
	}
	all := []*Node{first}
	for p.begins() {
		next, err := p.factor()
		if err != nil {
			return nil, err
		}
		if all = append(all, next); !p.budget.spend(1) {
			return nil, ErrBudget
		}
	}
	switch {
	case len(all) == 1:
		return first, nil
	case len(all) == 2 && isPositive(all[0]) && isPositive(all[1]) && !isZero(all[1]):
		return of(Add, all...), nil
	}
	return of(Mul, all...), nil
}

// isPositive reports whether n is a whole number or a fraction as it is written.
func isPositive(n *Node) bool {
	v, ok := n.literal()
	return ok && n.Kind != Neg && !n.decimal && v.Sign() >= 0
}

func isZero(n *Node) bool {
	v, ok := n.literal()
	return ok && v.Sign() == 0
}

// Undefined reports whether n divides by zero.
func (s *Steps) Undefined(n *Node) bool {
	return !n.walk(func(m *Node) bool {
		if m.Kind != Div {
			return true
		}
		v, known := exact(m.Args[1], &s.budget)
		return !known || v.Sign() != 0
	})
}

// IsDecimal reports whether n is a number with a decimal point, a percentage of one, or minus one.
func (n *Node) IsDecimal() bool {
	for n.Kind == Neg || n.Kind == Percent {
		n = n.Args[0]
	}
	return n.Kind == Number && n.decimal
}

// IsObject reports whether n is no number: arithmetic with it has no value.
func (n *Node) IsObject() bool { return n.isObject() }

// IsNumeral reports whether n is a number, a percentage of one, or minus one.
func (n *Node) IsNumeral() bool {
	if n.Kind == Percent {
		n = n.Args[0]
	}
	_, ok := n.literal()
	return ok
}

// IsWhole reports whether the value of n is a whole number that is not written with a point.
func (s *Steps) IsWhole(n *Node) bool {
	v, known := exact(n, &s.budget)
	return known && v.IsInt() && !n.IsDecimal()
}

// Symbols returns the names of the variables in n.
func (n *Node) Symbols() []string { return n.symbols() }

// Form returns a text that expressions share when they differ only in the order of sums and products and in how numbers are
// written.
func (n *Node) Form() string { return form(n) }

// Steps bounds comparisons that follow from one answer.
type Steps struct{ budget budget }

// NewSteps returns the steps of one answer.
func NewSteps() *Steps { return &Steps{budget{mostSteps}} }

// Over reports whether the steps are used up.
func (s *Steps) Over() bool { return s.budget.left < 0 }

// SameValue reports whether two expressions have the same value; i and all names are variables.
func (s *Steps) SameValue(a, b *Node) bool {
	if a.isObject() || b.isObject() {
		return false
	}
	if sign(a) != 0 || sign(b) != 0 {
		return sign(a) == sign(b)
	}
	c := &comparer{budget: &s.budget}
	return c.values(a, b).equal
}

// Proportional reports whether a = k*b for a number k, with a and b no constants.
func (s *Steps) Proportional(a, b *Node) bool {
	r := newRing(&s.budget)
	f, ok := r.fractionOf(a)
	h, fine := r.fractionOf(b)
	if !ok || !fine {
		return false
	}
	x, ok := r.mul(f.top, h.bottom)
	y, fine := r.mul(h.top, f.bottom)
	if !ok || !fine {
		return false
	}
	_, ok = proportional(x, y)
	return ok
}

// Rounded returns the value of n times 10^places, rounded to a whole number; ok is whether it has one.
func (s *Steps) Rounded(n *Node, places int) (v *big.Int, ok bool) {
	if n.isObject() || len(n.symbols()) > 0 {
		return nil, false
	}
	x, known := exact(n, &s.budget)
	if !known {
		f := &field{prec: 256, real: true, budget: &s.budget}
		b, ok := f.eval(n, func(string) ball { return ball{} })
		if !ok {
			return nil, false
		}
		x, _ = b.re.Rat(nil)
	}
	x = new(big.Rat).Mul(x, tenTo(places))
	half := big.NewRat(1, 2)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	x.Add(x, half)
	return new(big.Int).Quo(x.Num(), x.Denom()), true
}

// Node makers for those who build objects of what they read.

// Difference returns a-b.
func Difference(a, b *Node) *Node { return of(Add, a, of(Neg, b)) }

// Numeral reads a number of plain digits with at most one sign and point.
func Numeral(text string) (*Node, bool) {
	v, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > mostDigits {
		return nil, false
	}
	n := number(v)
	for _, c := range text {
		n.decimal = n.decimal || c == '.'
	}
	return n, true
}

// Arithmetic reads an expression of numbers in plain notation.
func Arithmetic(text string) (*Node, error) {
	return parse(text, options{plain: true}, &budget{mostSteps})
}

// Hundredth returns n percent.
func Hundredth(n *Node) *Node { return of(Percent, n) }

// Gathered returns a list of objects.
func Gathered(all []*Node) *Node { return of(List, all...) }

// Interval returns the interval that an inequality of one variable between constants is, or nil.
func Interval(n *Node) *Node {
	if n.Kind != Relation {
		return nil
	}
	return interval(n)
}
