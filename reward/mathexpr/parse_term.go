package mathexpr

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// term reads factors: with signs between them, or side by side. Division and products have one rank, left to right.
func (p *parser) term() (*Node, error) {
	if p.strict {
		return p.strictTerm()
	}
	n, err := p.factor()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		switch {
		case t.is("*") || t.is("/"):
			p.at++
			next, err := p.signedFactor()
			if err != nil {
				return nil, err
			}
			if t.is("/") {
				n = of(Div, n, next)
			} else {
				n = times(n, next)
			}
		case p.begins():
			if t.kind == digits && p.tokens[p.at-1].kind == digits {
				return nil, fmt.Errorf("two numbers side by side")
			}
			next, err := p.factor()
			if err != nil {
				return nil, err
			}
			n = times(n, next)
		default:
			return n, nil
		}
		if !p.budget.spend(1) {
			return nil, ErrBudget
		}
	}
}

// times returns a product.
func times(a, b *Node) *Node {
	if a.Kind == Mul {
		a.Args = append(a.Args, b)
		return a
	}
	return of(Mul, a, b)
}

// signedFactor reads a factor that may have a sign: 3*-2.
func (p *parser) signedFactor() (*Node, error) {
	if p.accept("-") {
		n, err := p.factor()
		if err != nil {
			return nil, err
		}
		return of(Neg, n), nil
	}
	p.accept("+")
	return p.factor()
}

// begins reports whether a factor begins here without a sign of multiplication.
func (p *parser) begins() bool {
	t := p.peek()
	switch t.kind {
	case digits, letter, begin:
		return true
	case word:
		return p.strict
	case command:
		return !noFactor[t.text]
	case symbol:
		if t.text == "|" {
			return p.bars == 0
		}
		return strings.Contains(`( [ { \{ ⟨ ⌊ ⌈`, t.text)
	}
	return false
}

// noFactor are commands with which no factor begins.
var noFactor = set("choose to rightarrow implies Rightarrow approx sim equiv cong parallel perp notin subset subseteq ldots dots cdots vdots mod pmod bmod text")

// factor reads an operand with powers and what else may stand behind it.
func (p *parser) factor() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	n, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.behind(n)
}

// behind reads exponents, factorials, degrees, percents and subscripts behind n.
func (p *parser) behind(n *Node) (*Node, error) {
	for {
		t := p.peek()
		switch {
		case t.is("^"):
			p.at++
			e, err := p.exponent()
			if err != nil {
				return nil, err
			}
			if isMark(e) && e.Kind == Degree {
				if p.strict && n.isObject() && n.Kind != Matrix {
					return nil, errors.New("degrees of an object")
				}
				n = p.degrees(n)
			} else if isMark(e) {
				n = named(Call, "'", n)
			} else {
				n = of(Pow, n, e)
			}
		case t.is("!") && !(p.plain && n.isObject()):
			if p.plain && p.isCall() {
				return nil, errors.New("the factorial of a call")
			}
			p.at++
			n = named(Call, "factorial", n)
		case t.is("°"):
			p.at++
			if p.strict && n.isObject() && n.Kind != Matrix {
				return nil, errors.New("degrees of an object")
			}
			n = p.degrees(n)
		case t.is("%") && !p.plain:
			if p.strict && n.Kind != Number {
				return nil, fmt.Errorf("percent of no number")
			}
			p.at++
			n = of(Percent, n)
		case t.is("'"):
			p.at++
			n = named(Symbol, n.Name+"'")
		case t.is("_"):
			var err error
			if n, err = p.subscript(n); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
		if !p.budget.spend(1) {
			return nil, ErrBudget
		}
	}
}

// isCall reports whether the brackets that end here stand right behind a name: f(x)! is the factorial of f(x).
func (p *parser) isCall() bool {
	depth := 0
	for i := p.at - 1; i >= 0; i-- {
		switch t := p.tokens[i]; {
		case t.is(")"):
			depth++
		case t.is("("):
			depth--
		}
		if depth == 0 {
			return p.tokens[i].is("(") && i > 0 && p.tokens[i-1].kind == letter
		}
	}
	return false
}

// degrees returns an angle; Math-Verify does not see degrees.
func (p *parser) degrees(n *Node) *Node {
	if p.strict {
		return n
	}
	return of(Degree, n)
}

// isMark reports whether an exponent is a degree sign or a prime, which are no numbers.
func isMark(n *Node) bool {
	return n.Kind == Degree && len(n.Args) == 0 || n.Kind == Symbol && n.Name == "'"
}

// value reads an exponent that is no mark.
func (p *parser) value() (*Node, error) {
	n, err := p.exponent()
	if err == nil && isMark(n) {
		return nil, errors.New("a mark where an exponent is wanted")
	}
	return n, err
}

// exponent reads what stands behind ^.
func (p *parser) exponent() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	switch t := p.peek(); {
	case t.is("°"):
		p.at++
		return of(Degree), nil
	case t.is("'"):
		p.at++
		return named(Symbol, "'"), nil
	case t.is("{") && p.tokens[p.at+1].is("°") && p.tokens[p.at+2].is("}"):
		p.at += 3
		return of(Degree), nil
	case t.is("{") && p.tokens[p.at+1].is("'") && p.tokens[p.at+2].is("}"):
		p.at += 3
		return named(Symbol, "'"), nil
	case p.strict && (t.is("-") || t.is("+")):
		return nil, errors.New("an exponent with a sign and no braces")
	case t.is("-") || t.is("+"):
		p.at++
		n, err := p.value()
		if err != nil || t.is("+") {
			return n, err
		}
		return of(Neg, n), nil
	}
	n, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.peek().is("^") { // 2^3^4 is 2^(3^4)
		p.at++
		e, err := p.value()
		if err != nil {
			return nil, err
		}
		n = of(Pow, n, e)
	}
	return n, nil
}

// subscript reads what stands behind _: part of a name, or the base of a number.
func (p *parser) subscript(n *Node) (*Node, error) {
	p.at++
	from := p.at
	if _, err := p.operand(); err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, t := range p.tokens[from:p.at] {
		if !t.is("{") && !t.is("}") {
			text.WriteString(t.text)
		}
	}
	switch {
	case p.strict && p.tokens[from-2].is(")"):
		return nil, errors.New("a subscript of brackets")
	case n.Kind == Number && n.Value.IsInt() && (p.strict || text.String() == "10"):
		return n, nil
	case n.Kind == Number && n.Value.IsInt():
		return named(Based, strings.TrimLeft(n.Value.Num().String(), "0")+"_"+text.String()), nil
	case n.Kind == Symbol || n.Kind == Constant:
		return named(Symbol, n.Name+"_"+text.String()), nil
	}
	return nil, fmt.Errorf("a subscript of what has no name")
}

// one reads the argument of a command: a group, or else one digit, letter or command.
func (p *parser) one() (*Node, error) {
	t := p.peek()
	if t.kind == digits && len(t.text) > 1 && t.rep == "" && strings.Trim(t.text, "0123456789") == "" {
		p.tokens[p.at].text = t.text[1:]
		return literalOf(token{text: t.text[:1]})
	}
	if t.is("-") {
		p.at++
		n, err := p.one()
		if err != nil {
			return nil, err
		}
		return of(Neg, n), nil
	}
	return p.operand()
}

// literalOf returns the number that a token is.
func literalOf(t token) (*Node, error) {
	text := t.text
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(exponent) > 5 {
		return nil, fmt.Errorf("exponent %.20s is out of bounds: %w", exponent, ErrBudget)
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%.40q is no number", text)
	}
	if v.Num().BitLen() > mostBits || v.Denom().BitLen() > mostBits {
		return nil, fmt.Errorf("%.40s: %w", text, ErrBudget)
	}
	if t.rep != "" && t.rep != "^" {
		_, decimals, _ := strings.Cut(mantissa, ".")
		nines := new(big.Rat).Sub(tenTo(len(t.rep)), big.NewRat(1, 1))
		part, ok := new(big.Rat).SetString(t.rep)
		if !ok {
			return nil, fmt.Errorf("%.40q do not repeat", t.rep)
		}
		part.Quo(part, nines)
		v.Add(v, part.Quo(part, tenTo(len(decimals))))
	}
	n := number(v)
	n.places = len(text)
	n.decimal = strings.ContainsAny(text, ".eE") || t.rep != "" && t.rep != "^"
	return n, nil
}

// mixed reads a number, with the fraction of a mixed number behind a whole one.
func (p *parser) mixed() (*Node, error) {
	n, err := literalOf(p.take())
	if err != nil || !n.Value.IsInt() || n.decimal || p.strict || p.plain {
		return n, err
	}
	from := p.at
	saved := slices.Clone(p.tokens[from:min(from+3, len(p.tokens))])
	f, ok := p.fractionBehind()
	if !ok {
		copy(p.tokens[from:], saved) // digits may have been cut off
		p.at = from
		return n, nil
	}
	return number(new(big.Rat).Add(n.Value, f)), nil
}

// fractionBehind reads \frac of two whole numbers, or 3/4 behind a blank.
func (p *parser) fractionBehind() (*big.Rat, bool) {
	t := p.peek()
	switch {
	case t.kind == command && t.text == "frac":
		p.at++
		a, err := p.one()
		if err != nil {
			return nil, false
		}
		b, err := p.one()
		if err == nil && plainInt(a) && plainInt(b) && b.Value.Sign() > 0 {
			return new(big.Rat).Quo(a.Value, b.Value), true
		}
	case t.kind == digits && t.space && p.tokens[p.at+1].is("/") && p.tokens[p.at+2].kind == digits:
		a, err := literalOf(p.take())
		p.at++
		b, wrong := literalOf(p.take())
		if err == nil && wrong == nil && plainInt(a) && plainInt(b) && b.Value.Sign() > 0 {
			return new(big.Rat).Quo(a.Value, b.Value), true
		}
	}
	return nil, false
}

// plainInt reports whether n is a whole number as it is written.
func plainInt(n *Node) bool { return n.Kind == Number && n.Value.IsInt() && !n.decimal }
