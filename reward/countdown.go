package reward

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// countdown wants an arithmetic expression of the given numbers that has the target's value. Each number is used exactly
// once; + - * / and brackets are allowed, nothing else.
func countdown(r response, g Gold, _ Rules) finding {
	if g.Target == nil {
		return invalid(`label is %.60q, want {"nums": [...], "target": N}`, g.Text)
	}
	a, none := answerOf(r, inTags, inBox, onLine)
	if none != "" {
		text, _ := scope(r)
		if text == "" || len(text) > longestAnswer || strings.Trim(text, "0123456789+-*/(). ") != "" {
			return wrong("%s", none)
		}
		a = answer{text, "response"}
	}
	c := &calculator{in: spelled(a.text)}
	v, err := c.whole()
	switch {
	case err != nil:
		return wrong("%s %.60q: %v", a.where, a.text, err)
	case !sameNumbers(c.used, g.Numbers):
		return wrong("%s %.60q uses %s, want each of %s exactly once", a.where, a.text, listed(c.used), listed(g.Numbers))
	case v.Cmp(g.Target) != 0:
		return wrong("%s %.60q is %s, want %s", a.where, a.text, v.RatString(), g.Target.RatString())
	}
	return right("%s %.60q is %s", a.where, a.text, g.Target.RatString())
}

// spelled turns the signs of LaTeX and print into those of a calculator.
func spelled(text string) string {
	return strings.NewReplacer(`\times`, "*", `\cdot`, "*", `\div`, "/", "×", "*", "·", "*", "÷", "/", "−", "-", `\left`, "", `\right`, "", "$", "", `\(`, "", `\)`, "",
		"[", "(", "]", ")", "\n", " ", "\t", " ", "\r", " ", `\,`, "", `\ `, " ").Replace(strings.TrimSpace(text))
}

func listed(numbers []*big.Rat) string {
	var all []string
	for i, n := range numbers {
		if i == 12 {
			all = append(all, "...")
			break
		}
		all = append(all, n.RatString())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// sameNumbers reports whether both hold the same numbers equally often.
func sameNumbers(a, b []*big.Rat) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := slices.Clone(a), slices.Clone(b)
	slices.SortFunc(x, (*big.Rat).Cmp)
	slices.SortFunc(y, (*big.Rat).Cmp)
	return slices.EqualFunc(x, y, func(p, q *big.Rat) bool { return p.Cmp(q) == 0 })
}

// Bounds of a calculator.
const (
	mostUsed   = 64  // numbers
	mostNested = 100 // brackets
)

// A calculator works out + - * / and brackets, exactly, and notes the numbers it meets.
type calculator struct {
	in    string
	at    int
	depth int
	used  []*big.Rat
}

// whole reads an expression that is the text as a whole.
func (c *calculator) whole() (*big.Rat, error) {
	v, err := c.sum()
	if err != nil {
		return nil, err
	}
	if c.skip(); c.at < len(c.in) {
		return nil, fmt.Errorf("%.10q is no part of an expression of + - * / and brackets", c.in[c.at:])
	}
	return v, nil
}

func (c *calculator) skip() {
	for c.at < len(c.in) && c.in[c.at] == ' ' {
		c.at++
	}
}

// sign takes one of the signs.
func (c *calculator) sign(signs string) byte {
	c.skip()
	if c.at < len(c.in) && strings.IndexByte(signs, c.in[c.at]) >= 0 {
		c.at++
		return c.in[c.at-1]
	}
	return 0
}

func (c *calculator) sum() (*big.Rat, error) {
	v, err := c.product()
	for err == nil {
		op := c.sign("+-")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = c.product(); err == nil && op == '+' {
			v = new(big.Rat).Add(v, w)
		} else if err == nil {
			v = new(big.Rat).Sub(v, w)
		}
	}
	return nil, err
}

func (c *calculator) product() (*big.Rat, error) {
	v, err := c.operand()
	for err == nil {
		op := c.sign("*/")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		w, err = c.operand()
		switch {
		case err != nil:
		case op == '*':
			v = new(big.Rat).Mul(v, w)
		case w.Sign() == 0:
			err = fmt.Errorf("it divides by zero")
		default:
			v = new(big.Rat).Quo(v, w)
		}
	}
	return nil, err
}

// operand reads a number, something in brackets, or either with a sign.
func (c *calculator) operand() (*big.Rat, error) {
	if c.depth++; c.depth > mostNested {
		return nil, fmt.Errorf("more than %d brackets or signs within each other", mostNested)
	}
	defer func() { c.depth-- }()
	switch c.sign("+-(") {
	case '+':
		return c.operand()
	case '-':
		v, err := c.operand()
		if err != nil {
			return nil, err
		}
		return new(big.Rat).Neg(v), nil
	case '(':
		v, err := c.sum()
		if err == nil && c.sign(")") == 0 {
			err = fmt.Errorf("a bracket is never closed")
		}
		return v, err
	}
	return c.number()
}

func (c *calculator) number() (*big.Rat, error) {
	from := c.at
	for c.at < len(c.in) && (c.in[c.at] >= '0' && c.in[c.at] <= '9' || c.in[c.at] == '.') {
		c.at++
	}
	v, ok := smallNumber(c.in[from:c.at])
	if !ok {
		return nil, fmt.Errorf("no number at %.10q", c.in[from:])
	}
	if c.used = append(c.used, v); len(c.used) > mostUsed {
		return nil, fmt.Errorf("more than %d numbers", mostUsed)
	}
	return v, nil
}
