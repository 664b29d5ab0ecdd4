package mathexpr

import (
	"fmt"
	"math/big"
	"strings"
)

// options say in which dialect a text is read.
type options struct {
	plain     bool // as python reads it: no units, ratios and text
	strict    bool // as Math-Verify reads LaTeX: no units, text is a variable, : divides, numbers side by side are added
	thousands bool // a comma before three digits separates thousands
}

// A parser reads tokens. Its methods return the first error, which ends the parse.
type parser struct {
	tokens []token
	at     int
	depth  int
	bars   int // open | of absolute values
	plain  bool
	strict bool
	budget *budget
}

// parse reads text as one object.
func parse(text string, o options, b *budget) (*Node, error) {
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%d bytes long, want at most %d", len(text), mostBytes)
	}
	tokens, err := lex(text, o)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, plain: o.plain, strict: o.strict, budget: b}
	items, separated, err := p.items(false)
	switch {
	case err != nil:
		return nil, err
	case p.peek().kind != end:
		return nil, fmt.Errorf("%q is left over", p.peek().text)
	case len(items) == 0:
		return nil, fmt.Errorf("nothing")
	case len(items) == 1 && !separated:
		return items[0], nil
	}
	return of(List, items...), nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

// take returns the next token and goes on to the one behind it.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// accept takes the next token if it is the sign.
func (p *parser) accept(sign string) bool {
	if p.peek().is(sign) {
		p.at++
		return true
	}
	return false
}

// enter goes one level down.
func (p *parser) enter() error {
	if p.depth++; p.depth > mostDepth || !p.budget.spend(1) {
		return fmt.Errorf("%d levels within each other: %w", p.depth, ErrBudget)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// separator takes a comma, a semicolon, or the words or, and.
func (p *parser) separator() bool {
	found := false
	for {
		t := p.peek()
		switch {
		case t.is(",") || t.is(";"):
		case t.kind == word && !p.strict && (strings.EqualFold(t.text, "or") || strings.EqualFold(t.text, "and")):
		case t.kind == word && !p.strict && t.text[0] == ',' && (strings.EqualFold(t.text[1:], "or") || strings.EqualFold(strings.TrimSpace(t.text[1:]), "and")):
		default:
			return found
		}
		found = true
		p.at++
	}
}

// items reads statements between separators. What stands for several values becomes several items; where it stands alone in brackets
// it stays for what is around them: (3±1)/2 is two values.
func (p *parser) items(bracket bool) (all []*Node, separated bool, err error) {
	if p.closes() {
		return nil, false, nil
	}
	for {
		n, err := p.statement()
		if err != nil {
			return nil, false, err
		}
		if bracket && len(all) == 0 && n.has(PlusMinus) && (p.peek().is(")") || p.peek().is("}")) {
			return []*Node{n}, false, nil
		}
		if n = spread(n); n.Kind == PlusMinused {
			separated = true
			all = append(all, n.Args...)
		} else {
			all = append(all, n)
		}
		if !p.separator() {
			return all, separated, nil
		}
		separated = true
		if p.closes() {
			return nil, false, fmt.Errorf("nothing behind a comma")
		}
	}
}

// closes reports whether what is open ends here.
func (p *parser) closes() bool {
	t := p.peek()
	return t.kind == end || t.kind == finish || t.kind == symbol && strings.Contains(`) ] } \} ⟩ ⌋ ⌉ & \\`, t.text)
}

// relations are the signs of relations.
const relations = "= < > ≤ ≥ ≠ ∈"

// statement reads a relation, or what may stand in one.
func (p *parser) statement() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	first, err := p.quantity()
	if err != nil {
		return nil, err
	}
	r := of(Relation, first)
	for p.peek().kind == symbol && strings.Contains(relations, p.peek().text) {
		r.Ops = append(r.Ops, p.take().text)
		next, err := p.quantity()
		if err != nil {
			return nil, err
		}
		r.Args = append(r.Args, next)
	}
	if len(r.Ops) == 0 {
		r = first
	}
	return r, nil
}

// spread returns the two values of an object with ±, or the object.
func spread(n *Node) *Node {
	if !n.has(PlusMinus) {
		return n
	}
	return of(PlusMinused, chosen(n, "+"), chosen(n, "-"))
}

// chosen returns n with the upper or the lower signs of ± and ∓.
func chosen(n *Node, sign string) *Node {
	c := *n
	c.Args = make([]*Node, len(n.Args))
	for i, a := range n.Args {
		c.Args[i] = chosen(a, sign)
	}
	if n.Kind != PlusMinus {
		return &c
	}
	minus := (sign == "-") == (n.Name == "+")
	last := c.Args[len(c.Args)-1]
	if minus {
		last = of(Neg, last)
	}
	if len(c.Args) == 1 {
		return last
	}
	return of(Add, c.Args[0], last)
}

// quantity reads a ratio, a union of sets or an expression, with a unit behind it.
func (p *parser) quantity() (*Node, error) {
	minus := p.peek().is("-") && p.tokens[p.at+1].kind == word && strings.Contains("$ € £ ¥ ₹", p.tokens[p.at+1].text) && !p.plain && !p.strict
	if minus {
		p.at++
	}
	currency := p.currency()
	n, err := p.sets()
	if err != nil {
		return nil, err
	}
	if p.peek().is(":") && !p.plain && !p.strict {
		r := of(Ratio, n)
		for p.accept(":") {
			next, err := p.sum()
			if err != nil {
				return nil, err
			}
			r.Args = append(r.Args, next)
		}
		n = r
	}
	if minus {
		n = of(Neg, n)
	}
	if currency != "" {
		n = named(Quantity, currency, n)
	}
	return p.measured(n)
}

// currency takes a sign of currency.
func (p *parser) currency() string {
	t := p.peek()
	if t.kind == word && !p.plain && !p.strict && strings.Contains("$ € £ ¥ ₹", t.text) {
		p.at++
		return unitOf[t.text]
	}
	return ""
}

// measured reads scales, units and percentages behind n.
func (p *parser) measured(n *Node) (*Node, error) {
	for p.peek().kind == word && !p.plain && !p.strict {
		from := p.at
		text := p.unitText()
		m, ok := readMeasure(text)
		if !ok || n.Kind == Text {
			p.at = from
			return n, nil
		}
		n = m.apply(n)
	}
	return n, nil
}

// apply returns n with the measure.
func (m measure) apply(n *Node) *Node {
	if m.scale != 0 {
		inner := n
		if n.Kind == Quantity {
			inner = n.Args[0]
		}
		if v, ok := inner.literal(); ok {
			inner = number(new(big.Rat).Mul(v, tenTo(m.scale)))
		} else {
			inner = of(Mul, inner, number(tenTo(m.scale)))
		}
		if n.Kind == Quantity {
			inner = named(Quantity, n.Name, inner)
		}
		n = inner
	}
	switch {
	case m.percent:
		return of(Percent, n)
	case m.clock != "":
		return named(Quantity, m.clock+".m.", n)
	case m.unit != "":
		if n.Kind == Quantity && n.Name == m.unit {
			return n
		}
		return named(Quantity, m.unit, n)
	}
	return n
}

// unitText takes words that follow each other, with a power and one slash, as one text.
func (p *parser) unitText() string {
	text := ""
	for range 8 {
		t := p.peek()
		switch {
		case t.kind == word:
			if low := strings.ToLower(t.text); low == "or" || low == "and" {
				return text
			}
			text += " " + t.text
		case t.is("^") && p.power() != "":
			text += " ^ " + p.power()
			p.at++
			if p.peek().is("{") {
				p.at += 2
			}
		case t.is("/") && p.tokens[p.at+1].kind == word:
			text += " /"
		default:
			return text
		}
		p.at++
	}
	return text
}

// power returns the exponent 2 or 3 behind ^, or nothing.
func (p *parser) power() string {
	next := p.tokens[p.at+1]
	if next.is("{") && p.at+3 < len(p.tokens) && p.tokens[p.at+3].is("}") {
		next = p.tokens[p.at+2]
	}
	if next.kind == digits && (next.text == "2" || next.text == "3") {
		return next.text
	}
	return ""
}

// sets reads sums joined by ∪, ∩ and ∖.
func (p *parser) sets() (*Node, error) {
	n, err := p.sum()
	if err != nil {
		return nil, err
	}
	for !p.plain && (p.peek().is("∪") || p.peek().is("∩") || p.peek().is("∖")) {
		op := p.take().text
		next, err := p.sum()
		if err != nil {
			return nil, err
		}
		if n.Kind == SetOp && n.Name == op && op != "∖" {
			n.Args = append(n.Args, next)
		} else {
			n = named(SetOp, op, n, next)
		}
	}
	return n, nil
}

// sum reads terms with + and - and ±.
func (p *parser) sum() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	n, err := p.signedTerm()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		switch {
		case t.is("+") || t.is("-"):
			p.at++
			minus := !p.strict && t.is("+") && p.accept("-")
			for p.plain && (p.peek().is("-") || p.peek().is("+")) {
				minus = minus != p.take().is("-")
			}
			next, err := p.term()
			if err != nil {
				return nil, err
			}
			if t.is("-") != minus {
				next = of(Neg, next)
			}
			if n.Kind == Add {
				n.Args = append(n.Args, next)
			} else {
				n = of(Add, n, next)
			}
		case t.is("±") || t.is("∓"):
			p.at++
			next, err := p.term()
			if err != nil {
				return nil, err
			}
			n = named(PlusMinus, map[string]string{"±": "+", "∓": "-"}[t.text], n, next)
		default:
			return n, nil
		}
	}
}

// signedTerm reads a term with signs before it.
func (p *parser) signedTerm() (*Node, error) {
	minus, pm := 0, ""
	for {
		t := p.peek()
		switch {
		case t.is("+"):
		case t.is("-"):
			minus++
		case t.is("±") && pm == "":
			pm = "+"
		case t.is("∓") && pm == "":
			pm = "-"
		default:
			n, err := p.term()
			if err != nil {
				return nil, err
			}
			for range minus {
				n = of(Neg, n)
			}
			if pm != "" {
				n = named(PlusMinus, pm, n)
			}
			return n, nil
		}
		p.at++
		if minus > mostDepth {
			return nil, ErrBudget
		}
	}
}
