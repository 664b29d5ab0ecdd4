package mathexpr

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Rules say what counts as equal.
type Rules struct {
	// Unevaluated lets an answer be worked out where the gold answer is a numeric literal: 17*2 for 34.
	Unevaluated bool
	// Tolerance is the largest relative difference of two numbers that still counts as none; 0 wants them equal.
	Tolerance float64
}

// A Result is a comparison and what it rests on, in words.
type Result struct {
	Equal bool
	Why   string
	Over  bool // the comparison was too large to be worked out; Equal is false
}

// Equal compares an answer with a gold answer, both as they are written.
func Equal(gold, answer string, rules Rules) Result {
	g, a := cardinal(Tidy(gold)), cardinal(Tidy(answer))
	if g == "" || a == "" {
		return Result{Why: "nothing to compare"}
	}
	if sameText(g, a) {
		return Result{Equal: true, Why: fmt.Sprintf("%s is %s as text", show(a), show(g))}
	}
	c := &comparer{rules: rules, budget: &budget{mostSteps}}
	golds, _ := readings(g, c.budget)
	answers, err := readings(a, c.budget)
	if len(golds) == 0 {
		return Result{Why: fmt.Sprintf("%s is not %s as text", show(a), show(g)), Over: c.over()}
	}
	if len(answers) == 0 {
		return Result{Why: fmt.Sprintf("%s is no mathematical object: %v", show(a), err), Over: c.over()}
	}
	for _, x := range golds {
		for _, y := range answers {
			if c.same(x, y) {
				return Result{Equal: true, Why: fmt.Sprintf("%s equals %s %s", show(a), show(g), c.how)}
			}
		}
	}
	if c.over() {
		return Result{Why: fmt.Sprintf("%s is %v", show(a), ErrBudget), Over: true}
	}
	return Result{Why: fmt.Sprintf("%s is not %s: %s", show(a), show(g), c.how)}
}

// show returns a text for people, at most 60 characters.
func show(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return text
}

// IsLiteral reports whether text is one numeric literal, and its value: a number, a fraction, a mixed number, a percentage,
// with or without a unit.
func IsLiteral(text string) (*big.Rat, bool) {
	nodes, _ := readings(Tidy(text), &budget{mostSteps})
	if len(nodes) == 0 {
		return nil, false
	}
	n := nodes[0]
	for n.Kind == Quantity || n.Kind == Percent || n.Kind == Degree {
		n = n.Args[0]
	}
	return n.literal()
}

// readings returns the objects that a tidy text may be: 1,234 is a number, and else a list.
func readings(text string, b *budget) (nodes []*Node, err error) {
	n, err := parse(text, options{thousands: true}, b)
	if err == nil {
		nodes = append(nodes, n)
	}
	if strings.Contains(text, ",") {
		if m, other := parse(text, options{}, b); other == nil && m.Kind == List {
			nodes = append(nodes, m)
		}
	}
	return nodes, err
}

// A comparer compares objects under one budget.
type comparer struct {
	rules   Rules
	budget  *budget
	complex bool   // variables are complex numbers
	how     string // the ground of the last comparison
}

func (c *comparer) over() bool { return c.budget.left < 0 }

// no says why two objects differ.
func (c *comparer) no(format string, args ...any) bool {
	c.how = fmt.Sprintf(format, args...)
	return false
}

// yes says why two objects are equal.
func (c *comparer) yes(how string) bool {
	c.how = how
	return true
}

// same compares a gold object with an answer.
func (c *comparer) same(g, a *Node) bool {
	if !c.budget.spend(8) {
		return c.no("%v", ErrBudget)
	}
	if g.Kind == Relation && a.Kind == Relation && c.relations(g, a) {
		return true
	}
	g, gName := value(g)
	a, aName := value(a)
	if gName != "" && aName != "" && gName != aName {
		return c.no("it is a value of %s, want one of %s", aName, gName)
	}
	if equal, known := sameSpans(g, a, c.budget); equal {
		return c.yes("as sets of numbers")
	} else if known {
		return c.no("the sets of numbers differ")
	}
	if g.Kind == List || a.Kind == List || g.Kind == Set || a.Kind == Set {
		return c.lists(g, a)
	}
	if g, a, ok := c.times(g, a); !ok {
		return false
	} else if g.Kind == Ratio || a.Kind == Ratio {
		return c.ratios(g, a)
	}
	if g.Kind == Relation || a.Kind == Relation {
		return c.relations(g, a)
	}
	if g.isObject() && a.isObject() && g.Kind != Quantity && a.Kind != Quantity {
		return c.objects(g, a)
	}
	return c.quantities(g, a)
}

// times takes a.m. and p.m. off times of the clock; ok is whether they agree.
func (c *comparer) times(g, a *Node) (x, y *Node, ok bool) {
	half := func(n *Node) (*Node, string) {
		if n.Kind == Quantity && n.Args[0].Kind == Ratio {
			return n.Args[0], n.Name
		}
		return n, ""
	}
	x, early := half(g)
	y, late := half(a)
	if early != "" && late != "" && early != late {
		return x, y, c.no("one is %s, the other %s", early, late)
	}
	return x, y, true
}

// value reduces v = e and v ∈ S to e and S.
func value(n *Node) (*Node, string) {
	if n.Kind != Relation || len(n.Ops) != 1 {
		return n, ""
	}
	left, right := n.Args[0], n.Args[1]
	name := variable(left)
	switch {
	case n.Ops[0] == "=" && coordinates(left) != "" && right.Kind == Tuple && len(right.Args) == len(left.Args):
		return right, coordinates(left)
	case n.Ops[0] == "∈" && name != "":
		return right, name
	case n.Ops[0] == "=" && name != "" && !slices.Contains(right.symbols(), name):
		return right, name
	case n.Ops[0] == "=" && variable(right) != "" && !slices.Contains(left.symbols(), variable(right)):
		return left, variable(right)
	}
	return n, ""
}

// coordinates returns the names of a tuple of variables, or nothing.
func coordinates(n *Node) string {
	if n.Kind != Tuple || n.Name != "()" {
		return ""
	}
	var names []string
	for _, a := range n.Args {
		if a.Kind != Symbol {
			return ""
		}
		names = append(names, a.Name)
	}
	return strings.Join(names, ",")
}

// variable returns the name of a variable that n is, also written as f(x) and f(2).
func variable(n *Node) string {
	switch {
	case n.Kind == Symbol:
		return n.Name
	case n.Kind == Mul && len(n.Args) == 2 && n.Args[0].Kind == Symbol && n.Args[1].Kind == Symbol && strings.Contains("fghFGHPQp", n.Args[0].Name):
		return n.Args[0].Name
	case n.Kind == Mul && len(n.Args) == 2 && n.Args[0].Kind == Symbol && n.Args[1].Kind == Number && strings.Contains("fghFGHPQp", n.Args[0].Name):
		return n.Args[0].Name + "(" + n.Args[1].Value.RatString() + ")"
	case n.Kind == Constant && n.Name != "pi":
		return n.Name
	}
	return ""
}

// quantities compares values with their units and percentages.
func (c *comparer) quantities(g, a *Node) bool {
	g, gUnit, gPercent := bare(g)
	a, aUnit, aPercent := bare(a)
	if gUnit != "" && aUnit != "" && gUnit != aUnit {
		return c.no("the unit is %s, want %s", aUnit, gUnit)
	}
	if g.isObject() || a.isObject() {
		return c.objects(g, a)
	}
	if c.expressions(g, a) {
		return true
	}
	how := c.how
	hundredth := func(n *Node) *Node {
		if v, ok := n.literal(); ok {
			return number(new(big.Rat).Mul(v, big.NewRat(1, 100)))
		}
		return of(Percent, n)
	}
	if gPercent && !aPercent && c.expressions(hundredth(g), a) || aPercent && !gPercent && c.expressions(g, hundredth(a)) {
		c.how += ", a percentage as a part of one"
		return true
	}
	c.how = how
	return false
}

// bare takes units, degrees and percentages off.
func bare(n *Node) (inner *Node, unit string, percent bool) {
	for {
		switch n.Kind {
		case Quantity:
			unit = n.Name
		case Degree:
			unit = "degree"
		case Percent:
			percent = true
		default:
			return n, unit, percent
		}
		n = n.Args[0]
	}
}

// expressions compares expressions. Where the gold answer is a numeric literal the answer must be one too: a response must
// not box the question.
func (c *comparer) expressions(g, a *Node) bool {
	if g.Kind == Infinity || a.Kind == Infinity || sign(g) != 0 || sign(a) != 0 {
		if g.Kind == a.Kind && sign(g) == sign(a) {
			return c.yes("as infinity")
		}
		return c.no("one is infinite")
	}
	x, literal := g.literal()
	y, fine := a.literal()
	if !fine {
		y, fine = a.scientific()
	}
	switch {
	case literal && fine:
		return c.numbers(x, y)
	case literal && !c.rules.Unevaluated:
		return c.no("it would have to be worked out")
	}
	f := c.values(g, a)
	c.how = f.how
	return f.equal
}

// sign returns that of an infinity.
func sign(n *Node) int {
	switch {
	case n.Kind == Infinity:
		return 1
	case n.Kind == Neg && n.Args[0].Kind == Infinity:
		return -1
	}
	return 0
}

// numbers compares two numbers within the tolerance.
func (c *comparer) numbers(x, y *big.Rat) bool {
	if x.Cmp(y) == 0 {
		return c.yes("as rationals")
	}
	if c.rules.Tolerance > 0 {
		d := new(big.Rat).Sub(x, y)
		limit := new(big.Rat).SetFloat64(c.rules.Tolerance)
		if limit != nil && d.Abs(d).Cmp(limit.Mul(limit, new(big.Rat).Abs(x))) <= 0 {
			return c.yes(fmt.Sprintf("within %g of it", c.rules.Tolerance))
		}
	}
	return c.no("the values differ")
}
