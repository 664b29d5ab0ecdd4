package mathexpr

import "math/big"

// A Kind says what a node is.
type Kind uint8

// The kinds of nodes. The last ones are no numbers: arithmetic with them has no value.
const (
	Number      Kind = iota // Value
	Symbol                  // Name
	Constant                // Name: pi, e, i
	Add                     // Args
	Mul                     // Args
	Div                     // Args[0]/Args[1]
	Neg                     // Args[0]
	Pow                     // Args[0]^Args[1]
	Root                    // the Args[1]-th root of Args[0]; the square root with one argument
	Call                    // Name of a function, Args
	Percent                 // Args[0] of a hundred
	Degree                  // Args[0] of angle
	PlusMinus               // Args[0] ± Args[1]; Name is + for ± and - for ∓
	Based                   // Name: digits and base
	Infinity                // positive
	Quantity                // Args[0] with the unit Name
	Ratio                   // Args, a:b:c
	Tuple                   // Args in order, Name the two brackets
	List                    // Args without brackets, in any order
	Set                     // Args in braces, in any order
	SetOp                   // Name: ∪ ∩ ∖, Args
	Matrix                  // Args row by row, Columns, Name the fence
	Relation                // Args[0] Ops[0] Args[1] Ops[1] ...
	Text                    // Name
	PlusMinused             // several values of one expression; only while parsing
)

// A Node is a mathematical object.
type Node struct {
	Kind    Kind
	Name    string
	Value   *big.Rat
	Args    []*Node
	Ops     []string
	Columns int
	decimal bool // a number with a decimal point or an exponent
	places  int  // digits of a whole number as it is written
}

// number returns a number node.
func number(r *big.Rat) *Node { return &Node{Kind: Number, Value: r} }

// whole returns a number node of an integer.
func whole(n int64) *Node { return number(big.NewRat(n, 1)) }

// of returns a node over arguments.
func of(k Kind, args ...*Node) *Node { return &Node{Kind: k, Args: args} }

// named returns a node with a name over arguments.
func named(k Kind, name string, args ...*Node) *Node { return &Node{Kind: k, Name: name, Args: args} }

// isObject reports whether n is no number, so that arithmetic with it has no value.
func (n *Node) isObject() bool { return n.Kind >= Quantity }

// literal returns the value of a numeric literal: a number as it is written, with a sign, or a fraction of two whole
// numbers or decimals. What has to be worked out is none.
func (n *Node) literal() (*big.Rat, bool) {
	switch n.Kind {
	case Number:
		return n.Value, true
	case Neg:
		if n.Args[0].Kind == Neg {
			return nil, false
		}
		v, ok := n.Args[0].literal()
		if !ok {
			return nil, false
		}
		return new(big.Rat).Neg(v), true
	case Div:
		a, ok := n.Args[0].signedNumber()
		b, fine := n.Args[1].signedNumber()
		if !ok || !fine || b.Sign() == 0 {
			return nil, false
		}
		return new(big.Rat).Quo(a, b), true
	}
	return nil, false
}

// mostTens is the largest power of ten in scientific notation.
const mostTens = 1000

// scientific returns the value of a number in scientific notation, which is a way of writing numbers and nothing to be worked
// out: one digit that is not 0 before the point, times a power of ten.
func (n *Node) scientific() (*big.Rat, bool) {
	if n.Kind == Neg {
		v, ok := n.Args[0].scientific()
		if !ok {
			return nil, false
		}
		return v.Neg(v), true
	}
	if n.Kind != Mul || len(n.Args) != 2 || n.Args[1].Kind != Pow {
		return nil, false
	}
	m, ok := n.Args[0].signedNumber()
	base, fine := n.Args[1].Args[0].signedNumber()
	e, whole := n.Args[1].Args[1].signedNumber()
	if !ok || !fine || !whole || base.Cmp(ten) != 0 || !e.IsInt() || e.Num().BitLen() > 10 {
		return nil, false
	}
	size := new(big.Rat).Abs(m)
	k := int(e.Num().Int64())
	if size.Cmp(one) < 0 || size.Cmp(ten) >= 0 || k > mostTens || k < -mostTens {
		return nil, false
	}
	if k < 0 {
		return new(big.Rat).Quo(m, tenTo(-k)), true
	}
	return new(big.Rat).Mul(m, tenTo(k)), true
}

// signedNumber returns the value of a number with at most one sign.
func (n *Node) signedNumber() (*big.Rat, bool) {
	switch {
	case n.Kind == Number:
		return n.Value, true
	case n.Kind == Neg && n.Args[0].Kind == Number:
		return new(big.Rat).Neg(n.Args[0].Value), true
	}
	return nil, false
}

// walk calls f for n and everything below it until f returns false.
func (n *Node) walk(f func(*Node) bool) bool {
	if !f(n) {
		return false
	}
	for _, a := range n.Args {
		if !a.walk(f) {
			return false
		}
	}
	return true
}

// has reports whether a node of the kind is in n.
func (n *Node) has(k Kind) bool { return !n.walk(func(m *Node) bool { return m.Kind != k }) }

// symbols returns the names of the variables in n, each once, in the order of their first appearance.
func (n *Node) symbols() []string {
	var names []string
	seen := map[string]bool{}
	n.walk(func(m *Node) bool {
		if m.Kind == Symbol && !seen[m.Name] {
			seen[m.Name] = true
			names = append(names, m.Name)
		}
		return true
	})
	return names
}
