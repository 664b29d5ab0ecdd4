package mathexpr

import (
	"math/big"
	"slices"
	"sort"
)

// mostItems bounds lists whose items are compared in any order.
const mostItems = 60

// lists compares lists and sets, whose order does not matter. Values of different variables are also a tuple in the order
// of the names: x=1, y=2 is (1,2).
func (c *comparer) lists(g, a *Node) bool {
	if g.Kind == Tuple && g.Name == "()" {
		if values := assigned(a); values != nil {
			return c.ordered(g.Args, values)
		}
	}
	if a.Kind == Tuple && a.Name == "()" {
		if values := assigned(g); values != nil {
			return c.ordered(values, a.Args)
		}
	}
	gathers := func(n *Node) bool { return n.Kind == List || n.Kind == Set }
	if gathers(g) != gathers(a) { // {3} is 3
		for _, n := range []*Node{g, a} {
			if gathers(n) && len(n.Args) == 1 {
				return c.same(only(g), only(a))
			}
		}
	}
	if !gathers(g) || !gathers(a) {
		return c.no("one is %s, the other %s", kindName(g), kindName(a))
	}
	x, y := carried(g.Args), carried(a.Args)
	if g.Kind == Set || a.Kind == Set {
		x, y = c.distinct(x), c.distinct(y)
	}
	return c.unordered(x, y)
}

// only returns the item of a set of one, or what is no set.
func only(n *Node) *Node {
	if (n.Kind == List || n.Kind == Set) && len(n.Args) == 1 {
		return n.Args[0]
	}
	return n
}

// carried returns items in which a value that follows v = e is one of v too: x = 2, 3.
func carried(items []*Node) []*Node {
	names := map[string]bool{}
	var out []*Node
	relations := 0
	for _, n := range items {
		e, name := value(n)
		if name != "" {
			names[name] = true
			relations++
		}
		out = append(out, e)
	}
	if len(names) == 1 && (relations == len(items) || relations == 1 && items[0].Kind == Relation) {
		return out
	}
	return items
}

// assigned returns the values of a list of v = e with different v, by name, or nil.
func assigned(n *Node) []*Node {
	if n.Kind != List {
		return nil
	}
	type pair struct {
		name string
		e    *Node
	}
	var all []pair
	for _, item := range n.Args {
		e, name := value(item)
		if name == "" || slices.ContainsFunc(all, func(p pair) bool { return p.name == name }) {
			return nil
		}
		all = append(all, pair{name, e})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	var out []*Node
	for _, p := range all {
		out = append(out, p.e)
	}
	return out
}

// distinct leaves out items that are there already.
func (c *comparer) distinct(items []*Node) []*Node {
	if len(items) > mostItems {
		return items
	}
	var out []*Node
	for _, n := range items {
		free := Rules{Unevaluated: true}
		d := &comparer{rules: free, budget: c.budget}
		if !slices.ContainsFunc(out, func(m *Node) bool { return d.same(m, n) }) {
			out = append(out, n)
		}
	}
	return out
}

// unordered pairs each item of x with one of y.
func (c *comparer) unordered(x, y []*Node) bool {
	if len(x) != len(y) {
		return c.no("%d items, want %d", len(y), len(x))
	}
	if len(x) > mostItems {
		return c.no("%d items, want at most %d", len(x), mostItems)
	}
	left := slices.Clone(y)
	how := "item by item"
	for _, n := range x {
		i := slices.IndexFunc(left, func(m *Node) bool { return c.same(n, m) })
		if i < 0 {
			return c.no("an item is missing (%s)", c.how)
		}
		left = slices.Delete(left, i, i+1)
	}
	return c.yes(how)
}

// ordered compares items one by one.
func (c *comparer) ordered(x, y []*Node) bool {
	if len(x) != len(y) {
		return c.no("%d items, want %d", len(y), len(x))
	}
	for i := range x {
		if !c.same(x[i], y[i]) {
			return c.no("item %d differs (%s)", i+1, c.how)
		}
	}
	return c.yes("item by item")
}

// kindNames are what a person calls an object.
var kindNames = map[Kind]string{
	Tuple: "a tuple or interval", List: "a list", Set: "a set", SetOp: "a union or difference of sets", Matrix: "a matrix", Relation: "a relation",
	Ratio: "a ratio", Text: "text", Based: "a number in another base", Infinity: "infinite",
}

func kindName(n *Node) string {
	if s := kindNames[n.Kind]; s != "" {
		return s
	}
	return "a value"
}

// objects compares what is no number.
func (c *comparer) objects(g, a *Node) bool {
	if (g.Kind == Text || a.Kind == Text) && g.Kind != a.Kind {
		if t, ok := asText(g), asText(a); t != "" && t == ok {
			return c.yes("as text")
		}
	}
	if g.Kind != a.Kind {
		return c.no("one is %s, the other %s", kindName(g), kindName(a))
	}
	switch g.Kind {
	case Tuple:
		if g.Name != a.Name {
			return c.no("the brackets are %s, want %s", a.Name, g.Name)
		}
		return c.ordered(g.Args, a.Args)
	case SetOp:
		return c.joined(g, a)
	case Matrix:
		if g.Columns != a.Columns || g.Name != a.Name || len(g.Args) != len(a.Args) {
			return c.no("the shapes differ")
		}
		return c.ordered(g.Args, a.Args)
	case Based:
		if g.Name == a.Name {
			return c.yes("digit by digit")
		}
		return c.no("the digits or bases differ")
	case Text:
		if asText(g) == asText(a) {
			return c.yes("as text")
		}
		return c.no("the texts differ")
	case Infinity:
		return c.yes("as infinity")
	}
	return c.no("they cannot be compared")
}

// joined compares unions and differences of sets.
func (c *comparer) joined(g, a *Node) bool {
	if g.Name != a.Name {
		return c.no("one is joined by %s, the other by %s", g.Name, a.Name)
	}
	if g.Name == "∖" {
		return c.ordered(g.Args, a.Args)
	}
	return c.unordered(g.Args, a.Args)
}

// ratios compares a:b with a:b and with a/b, and times of the clock with each other.
func (c *comparer) ratios(g, a *Node) bool {
	if clock(g) && clock(a) {
		return c.ordered(g.Args, a.Args)
	}
	x, y := g, a
	if g.Kind == Ratio && a.Kind == Ratio {
		if len(g.Args) != len(a.Args) {
			return c.no("%d parts, want %d", len(a.Args), len(g.Args))
		}
		for i := 1; i < len(g.Args); i++ {
			if f := c.values(of(Mul, g.Args[0], a.Args[i]), of(Mul, g.Args[i], a.Args[0])); !f.equal {
				return c.no("the ratios differ")
			}
		}
		return c.yes("as ratios")
	}
	if g.Kind == Ratio && len(g.Args) == 2 {
		x = of(Div, g.Args...)
	}
	if a.Kind == Ratio && len(a.Args) == 2 {
		y = of(Div, a.Args...)
	}
	if x.Kind == Ratio || y.Kind == Ratio {
		return c.no("one is a ratio of three")
	}
	if x.Kind == Quantity {
		return c.no("one is a ratio, the other has a unit")
	}
	return c.quantities(x, y)
}

// clock reports whether n may be a time: h:mm or hh:mm with minutes in two digits.
func clock(n *Node) bool {
	if n.Kind != Ratio || len(n.Args) < 2 || len(n.Args) > 3 {
		return false
	}
	for i, a := range n.Args {
		if a.Kind != Number || !a.Value.IsInt() || a.Value.Cmp(big.NewRat(60, 1)) >= 0 || i > 0 && a.places != 2 {
			return false
		}
	}
	return n.Args[0].Value.Cmp(big.NewRat(24, 1)) <= 0
}

// flips are the signs of relations read from the other side.
var flips = map[string]string{"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠"}

// relations compares relations: read from either side, or with everything on one side up to a factor; and inequalities of
// one variable with intervals.
func (c *comparer) relations(g, a *Node) bool {
	if g.Kind != a.Kind {
		return c.asIntervals(g, a)
	}
	if len(g.Ops) != len(a.Ops) {
		return c.no("the relations differ")
	}
	flipped := reversed(a)
	for _, b := range []*Node{a, flipped} {
		if b != nil && slices.Equal(g.Ops, b.Ops) && c.ordered(g.Args, b.Args) {
			return c.yes("as relations")
		}
	}
	if len(g.Ops) != 1 {
		return c.no("the relations differ")
	}
	for _, b := range []*Node{a, flipped} {
		if b != nil && g.Ops[0] == b.Ops[0] && c.sameSides(g, b) {
			return c.yes("as relations")
		}
	}
	return c.no("the relations differ")
}

// reversed returns a relation read from the other side, or nil.
func reversed(n *Node) *Node {
	r := of(Relation)
	for i := len(n.Args) - 1; i >= 0; i-- {
		r.Args = append(r.Args, n.Args[i])
		if i > 0 {
			op := flips[n.Ops[i-1]]
			if op == "" {
				return nil
			}
			r.Ops = append(r.Ops, op)
		}
	}
	return r
}

// sameSides compares left minus right up to a factor, which must be positive for inequalities. With one variable alone
// that would solve an equation, and stays out.
func (c *comparer) sameSides(g, a *Node) bool {
	if g.Args[0].isObject() || g.Args[1].isObject() || a.Args[0].isObject() || a.Args[1].isObject() || len(g.symbols()) < 2 && g.Ops[0] == "=" {
		return false
	}
	r := newRing(c.budget)
	f, ok := r.fractionOf(of(Add, g.Args[0], of(Neg, g.Args[1])))
	h, fine := r.fractionOf(of(Add, a.Args[0], of(Neg, a.Args[1])))
	if !ok || !fine {
		return false
	}
	x, ok := r.mul(f.top, h.bottom)
	y, fine := r.mul(h.top, f.bottom)
	if !ok || !fine {
		return false
	}
	k, ok := proportional(x, y)
	return ok && (k.Sign() > 0 || g.Ops[0] == "=" || g.Ops[0] == "≠")
}

// asIntervals compares an inequality of one variable with an interval.
func (c *comparer) asIntervals(g, a *Node) bool {
	x, y := interval(g), interval(a)
	if x == nil || y == nil {
		return c.no("one is %s, the other %s", kindName(g), kindName(a))
	}
	return c.objects(x, y)
}

// interval returns the interval that an inequality of one variable between constants is; other objects as they are.
func interval(n *Node) *Node {
	if n.Kind != Relation {
		return n
	}
	if flips[n.Ops[0]] == n.Ops[0] || slices.Contains(n.Ops, "∈") {
		return nil
	}
	if n.Ops[0] == ">" || n.Ops[0] == "≥" {
		n = reversed(n)
	}
	if n == nil || slices.ContainsFunc(n.Ops, func(op string) bool { return op != "<" && op != "≤" }) {
		return nil
	}
	bracket := func(op, strict, loose string) string {
		if op == "<" {
			return strict
		}
		return loose
	}
	low, high := of(Neg, of(Infinity)), of(Infinity)
	switch {
	case len(n.Ops) == 2 && variable(n.Args[1]) != "":
		return named(Tuple, bracket(n.Ops[0], "(", "[")+bracket(n.Ops[1], ")", "]"), n.Args[0], n.Args[2])
	case len(n.Ops) == 1 && variable(n.Args[0]) != "":
		return named(Tuple, "("+bracket(n.Ops[0], ")", "]"), low, n.Args[1])
	case len(n.Ops) == 1 && variable(n.Args[1]) != "":
		return named(Tuple, bracket(n.Ops[0], "(", "[")+")", n.Args[0], high)
	}
	return nil
}
