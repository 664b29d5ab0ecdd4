package published

import (
	"math/big"
	"slices"
	"strings"

	"furlong/reward/mathexpr"
)

// decimals is to how many decimals numbers with a point are compared.
const decimals = 6

// longestSearched is the most bytes of a response in which patterns are looked for: a second's work or less.
const longestSearched = 1 << 20

// MathVerify judges as Math-Verify does: the answer is found by patterns of several ranks, read as LaTeX or as numbers, and
// compared as a mathematical object. The gold answer stands in a box. Any alternative of it will do.
func MathVerify(response string, gold Gold) (v Verdict, pred string) {
	golds := gold.Alternatives
	if golds == nil {
		golds = []string{gold.Text}
	}
	if len(response) > longestSearched {
		return Verdict{Over: true}, ""
	}
	answer, over := extractBy(responseRanks, response)
	v.Over = over
	for _, g := range golds {
		want, over := extractBy(goldRanks, `\boxed{`+g+"}")
		v.Over = v.Over || over
		if agree(want, answer, &v.Over) {
			return Verdict{Right: true, How: "as objects or texts"}, answer.text
		}
	}
	return v, answer.text
}

// agree compares objects with objects and texts with texts.
func agree(gold, answer candidate, over *bool) bool {
	g, a := strings.TrimFunc(gold.text, isSpace), strings.TrimFunc(answer.text, isSpace)
	if g != "" && g == a {
		return true
	}
	if gold.object == nil || answer.object == nil {
		return false
	}
	v := &verifier{steps: mathexpr.NewSteps(), mixed: gold.complex != answer.complex}
	if v.steps.Undefined(gold.object) {
		return false
	}
	equal := v.equal(gold.object, answer.object)
	*over = *over || v.steps.Over()
	return equal
}

// A verifier compares a gold object with an answer. The order matters.
type verifier struct {
	steps *mathexpr.Steps
	depth int
	mixed bool // the variables of one side are real, those of the other complex: they are not the same
}

// sameForm reports whether both are written as one.
func (v *verifier) sameForm(g, a *mathexpr.Node) bool {
	return g.Form() == a.Form() && (!v.mixed || len(g.Symbols()) == 0)
}

// gathers reports whether n is a set of its items: a list without brackets or one in braces.
func gathers(n *mathexpr.Node) bool { return n.Kind == mathexpr.List || n.Kind == mathexpr.Set }

// isSet reports whether n is a set, an interval or a tuple.
func isSet(n *mathexpr.Node) bool {
	return gathers(n) || n.Kind == mathexpr.Tuple || n.Kind == mathexpr.SetOp || n.Kind == mathexpr.Symbol && strings.HasPrefix(n.Name, "mathbb(")
}

// isEquation reports whether n consists of equations alone.
func isEquation(n *mathexpr.Node) bool {
	return n.Kind == mathexpr.Relation && !slices.ContainsFunc(n.Ops, func(op string) bool { return op != "=" && op != "∈" })
}

// isAssignment reports whether n is an equation whose left side has names alone.
func isAssignment(n *mathexpr.Node) bool { return isEquation(n) && onlyNames(n.Args[0]) }

func onlyNames(n *mathexpr.Node) bool {
	if n.Kind == mathexpr.Symbol {
		return true
	}
	return len(n.Args) > 0 && !slices.ContainsFunc(n.Args, func(a *mathexpr.Node) bool { return !onlyNames(a) })
}

// ends returns the first and the last side of a chain.
func ends(n *mathexpr.Node) (first, last *mathexpr.Node) { return n.Args[0], n.Args[len(n.Args)-1] }

// equal compares gold and answer.
func (v *verifier) equal(g, a *mathexpr.Node) bool {
	if v.depth++; v.depth > 30 {
		return false
	}
	defer func() { v.depth-- }()
	g, a = oneChain(g), oneChain(a)
	switch {
	case isEquation(a) && !isEquation(g):
		_, a = ends(a)
	case isAssignment(g) && !isEquation(a):
		_, g = ends(g)
	}
	if g.Kind == mathexpr.Relation && isSet(a) {
		if i := asInterval(g); i != nil {
			g = i
		}
	}
	switch {
	case v.sameForm(g, a):
		return true
	case g.Kind == mathexpr.Relation && a.Kind == mathexpr.Relation:
		return v.relations(g, a)
	case isSet(g) || isSet(a):
		return v.sets(g, a)
	case g.Kind == mathexpr.Relation || a.Kind == mathexpr.Relation:
		return false
	case g.Kind == mathexpr.Symbol || a.Kind == mathexpr.Symbol:
		return names(g) != "" && names(g) == names(a)
	case g.Kind == mathexpr.Matrix && a.Kind == mathexpr.Matrix:
		return g.Columns == a.Columns && g.Name == a.Name && v.inOrder(g.Args, a.Args)
	}
	return v.values(g, a)
}

// oneChain turns a chain of assignments into one: its first side equals its last.
func oneChain(n *mathexpr.Node) *mathexpr.Node {
	if !isAssignment(n) || len(n.Args) < 3 {
		return n
	}
	first, last := ends(n)
	return &mathexpr.Node{Kind: mathexpr.Relation, Ops: []string{"="}, Args: []*mathexpr.Node{first, last}}
}

// names returns the letters of a product of names, or of one name.
func names(n *mathexpr.Node) string {
	switch n.Kind {
	case mathexpr.Symbol, mathexpr.Constant:
		return strings.ToLower(n.Name)
	case mathexpr.Number:
		return n.Value.RatString()
	case mathexpr.Pow:
		if e := n.Args[1]; e.Kind == mathexpr.Number && e.Value.Cmp(big.NewRat(1, 1)) == 0 {
			return names(n.Args[0])
		}
		return ""
	case mathexpr.Neg:
		if n.Args[0].Kind == mathexpr.Number {
			return "-" + n.Args[0].Value.RatString()
		}
		return ""
	case mathexpr.Mul:
		var out strings.Builder
		for _, a := range n.Args {
			if a.Kind != mathexpr.Symbol && (a.Kind != mathexpr.Constant || a.Name != "e") {
				return ""
			}
			out.WriteString(a.Name)
		}
		return strings.ToLower(out.String())
	}
	return ""
}

// values compares numbers and expressions; a number with a point is compared to six decimals.
func (v *verifier) values(g, a *mathexpr.Node) bool {
	if v.mixed && len(g.Symbols()) > 0 && len(a.Symbols()) > 0 {
		return false
	}
	if (g.IsNumeral() || a.IsNumeral()) && (g.IsDecimal() || a.IsDecimal()) {
		x, ok := v.steps.Rounded(g, decimals)
		y, fine := v.steps.Rounded(a, decimals)
		if ok && fine && !v.steps.IsWhole(g) && !v.steps.IsWhole(a) {
			return x.Cmp(y) == 0
		}
	}
	return v.steps.Steady(g) && v.steps.Steady(a) && v.steps.SameValue(g, a)
}

// inOrder compares items one by one.
func (v *verifier) inOrder(x, y []*mathexpr.Node) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !v.equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

// anyOrder pairs each item of x with one of y.
func (v *verifier) anyOrder(x, y []*mathexpr.Node) bool {
	if len(x) != len(y) || len(x) > 60 {
		return false
	}
	left := slices.Clone(y)
	for _, n := range x {
		i := slices.IndexFunc(left, func(m *mathexpr.Node) bool { return v.equal(n, m) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// isInterval reports whether a tuple is an interval: two sides, the first not known to be above the second.
func (v *verifier) isInterval(n *mathexpr.Node) bool {
	if n.Kind != mathexpr.Tuple || len(n.Args) != 2 {
		return false
	}
	x, ok := v.steps.Rounded(n.Args[0], 30)
	y, fine := v.steps.Rounded(n.Args[1], 30)
	return !ok || !fine || x.Cmp(y) < 0
}

// openAtInfinity returns the brackets of an interval, round ones where it has no end.
func openAtInfinity(n *mathexpr.Node) string {
	brackets := []byte(n.Name)
	if n.Args[0].Kind == mathexpr.Neg && n.Args[0].Args[0].Kind == mathexpr.Infinity {
		brackets[0] = '('
	}
	if n.Args[1].Kind == mathexpr.Infinity {
		brackets[1] = ')'
	}
	return string(brackets)
}

// isEmpty reports whether n is the empty set: one without items, or an interval that ends before it begins and is no tuple,
// since its brackets differ or its ends are no plain numbers.
func (v *verifier) isEmpty(n *mathexpr.Node) bool {
	if gathers(n) {
		return len(n.Args) == 0
	}
	if n.Kind != mathexpr.Tuple || len(n.Args) != 2 || v.isInterval(n) {
		return false
	}
	return n.Name != "()" && n.Name != "[]" || !n.Args[0].IsNumeral() || !n.Args[1].IsNumeral()
}

// sets compares where at least one is a set; a value is the set of itself.
func (v *verifier) sets(g, a *mathexpr.Node) bool {
	if equal, known := v.steps.SameSpans(g, a); known {
		return equal
	}
	single := func(n *mathexpr.Node) *mathexpr.Node {
		if isSet(n) {
			return n
		}
		return mathexpr.Gathered([]*mathexpr.Node{n})
	}
	g, a = single(g), single(a)
	if v.isEmpty(g) || v.isEmpty(a) {
		return v.isEmpty(g) && v.isEmpty(a)
	}
	gi, ai := v.isInterval(g), v.isInterval(a)
	switch {
	case gi && ai:
		return openAtInfinity(g) == openAtInfinity(a) && v.inOrder(g.Args, a.Args)
	case g.Kind == mathexpr.SetOp && a.Kind == mathexpr.SetOp:
		if g.Name != a.Name {
			return false
		}
		return g.Name == "∖" && v.inOrder(g.Args, a.Args) || g.Name != "∖" && v.anyOrder(g.Args, a.Args)
	case gathers(g) && gathers(a):
		return v.anyOrder(distinct(g.Args), distinct(a.Args))
	case gi && (gathers(a) || a.Kind == mathexpr.Tuple) && g.Name == "()":
		return v.inOrder(g.Args, a.Args)
	case ai && a.Name == "()" && gathers(g):
		return v.anyOrder(g.Args, a.Args)
	case ai && a.Name == "()" && g.Kind == mathexpr.Tuple:
		return v.inOrder(g.Args, a.Args)
	case gi || ai:
		return false
	case gathers(g) && a.Kind == mathexpr.Tuple:
		return v.anyOrder(distinct(g.Args), a.Args)
	case g.Kind == mathexpr.Tuple && gathers(a):
		return v.inOrder(g.Args, distinct(a.Args))
	case g.Kind == mathexpr.Tuple && a.Kind == mathexpr.Tuple:
		return v.inOrder(g.Args, a.Args)
	}
	return false
}

// distinct leaves out items that are written as one before.
func distinct(items []*mathexpr.Node) []*mathexpr.Node {
	var out []*mathexpr.Node
	seen := map[string]bool{}
	for _, n := range items {
		if f := n.Form(); !seen[f] {
			seen[f] = true
			out = append(out, n)
		}
	}
	return out
}

// flipped are the signs of relations read from the other side.
var flipped = map[string]string{"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "="}

// relations compares relations: side by side, or all on one side, read from either side; equations also up to a factor.
func (v *verifier) relations(g, a *mathexpr.Node) bool {
	if len(g.Ops) != len(a.Ops) {
		return false
	}
	if len(g.Ops) > 1 {
		return slices.Equal(g.Ops, a.Ops) && v.inOrder(g.Args, a.Args)
	}
	if isSet(g.Args[1]) || isSet(a.Args[1]) {
		return v.inOrder(g.Args, a.Args)
	}
	left, right := mathexpr.Difference(g.Args[0], g.Args[1]), mathexpr.Difference(a.Args[0], a.Args[1])
	if g.Ops[0] == a.Ops[0] && v.values(left, right) {
		return true
	}
	if flipped[g.Ops[0]] == a.Ops[0] && v.values(left, mathexpr.Difference(a.Args[1], a.Args[0])) {
		return true
	}
	return g.Ops[0] == "=" && a.Ops[0] == "=" && v.steps.Proportional(left, right)
}

// asInterval returns the interval that an inequality of one variable is, or nil.
func asInterval(n *mathexpr.Node) *mathexpr.Node {
	return mathexpr.Interval(n)
}
