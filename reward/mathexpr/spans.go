package mathexpr

import (
	"math/big"
	"slices"
	"strings"
)

// A side is an end of a span: a number, or infinity with a sign. The end itself may belong to the span.
type side struct {
	at       *big.Rat // nil for infinity
	infinity int      // -1 or 1
	in       bool
}

// A span is the numbers between two sides; one number alone is a span of which both sides are in.
type span struct{ low, high side }

// compareSides orders places on the line.
func compareSides(a, b side) int {
	switch {
	case a.infinity != b.infinity:
		return a.infinity - b.infinity
	case a.infinity != 0:
		return 0
	}
	return a.at.Cmp(b.at)
}

// mostSpans bounds unions.
const mostSpans = 60

var wholeLine = span{side{infinity: -1}, side{infinity: 1}}

// sameSpans reports whether two objects are the same set of real numbers: known is whether both are made of intervals and numbers
// with rational ends, and at least one of them of several.
func sameSpans(g, a *Node, b *budget) (equal, known bool) {
	if !joins(g) && !joins(a) {
		return false, false
	}
	x, ok := spansOf(g, b)
	y, fine := spansOf(a, b)
	if !ok || !fine {
		return false, false
	}
	return slices.EqualFunc(x, y, func(s, t span) bool {
		return compareSides(s.low, t.low) == 0 && compareSides(s.high, t.high) == 0 && s.low.in == t.low.in && s.high.in == t.high.in
	}), true
}

// bounds reports whether n is a list of inequalities of one variable: x < 2 or x > 5, x > 2 and x < 5.
func bounds(n *Node) bool {
	if n.Kind != List {
		return false
	}
	for _, m := range n.Args {
		if m.Kind != Relation || interval(m) == nil || len(m.symbols()) != 1 || m.symbols()[0] != n.symbols()[0] {
			return false
		}
	}
	return true
}

// solved returns the numbers that a list of inequalities leaves: where they cannot hold at once any may, and else all must.
func solved(n *Node, b *budget) (all []span, ok bool) {
	var one, both []span
	for i, m := range n.Args {
		next, ok := spansOf(m, b)
		if !ok {
			return nil, false
		}
		if i == 0 {
			both = next
		} else {
			both = without(both, without([]span{wholeLine}, next))
		}
		one = append(one, next...)
	}
	if len(both) > 0 {
		return both, true
	}
	return merged(one)
}

// joins reports whether n may be a set that can be written in several ways.
func joins(n *Node) bool {
	return n.Kind == SetOp || bounds(n) || isLine(n) || n.Kind == Relation && slices.Equal(n.Ops, []string{"≠"})
}

// isLine reports whether n is the set of all real numbers.
func isLine(n *Node) bool { return n.Kind == Symbol && strings.EqualFold(n.Name, "mathbb(R)") }

// spansOf returns a set of real numbers as spans that are apart, in order.
func spansOf(n *Node, b *budget) (all []span, ok bool) {
	if !b.spend(8) {
		return nil, false
	}
	switch {
	case isLine(n):
		return []span{wholeLine}, true
	case n.Kind == Relation && slices.Equal(n.Ops, []string{"≠"}):
		return hole(n, b)
	case bounds(n):
		return solved(n, b)
	case n.Kind == Set || n.Kind == List:
		for _, m := range n.Args {
			v, ok := exact(m, b)
			if !ok {
				return nil, false
			}
			s := side{at: v, in: true}
			all = append(all, span{s, s})
		}
		return merged(all)
	case n.Kind == Relation:
		if n = interval(n); n == nil {
			return nil, false
		}
	case n.Kind == SetOp:
		return combined(n, b)
	}
	if n.Kind != Tuple || len(n.Args) != 2 || len(n.Name) != 2 {
		return nil, false
	}
	low, ok := sideOf(n.Args[0], n.Name[0] == '[', b)
	high, fine := sideOf(n.Args[1], n.Name[1] == ']', b)
	if !ok || !fine {
		return nil, false
	}
	if order := compareSides(low, high); order > 0 || order == 0 && (!low.in || !high.in) {
		return nil, false
	}
	return []span{{low, high}}, true
}

func sideOf(n *Node, in bool, b *budget) (side, bool) {
	if s := sign(n); s != 0 {
		return side{infinity: s}, true
	}
	v, ok := exact(n, b)
	return side{at: v, in: in}, ok
}

// hole returns all numbers but the one that a variable is not.
func hole(n *Node, b *budget) ([]span, bool) {
	if variable(n.Args[0]) == "" {
		return nil, false
	}
	v, ok := exact(n.Args[1], b)
	if !ok {
		return nil, false
	}
	return without([]span{wholeLine}, []span{{side{at: v, in: true}, side{at: v, in: true}}}), true
}

// combined works out ∪, ∩ and ∖.
func combined(n *Node, b *budget) ([]span, bool) {
	all, ok := spansOf(n.Args[0], b)
	for _, m := range n.Args[1:] {
		next, fine := spansOf(m, b)
		if !ok || !fine || len(all)+len(next) > mostSpans || !b.spend(len(all)*len(next)) {
			return nil, false
		}
		switch n.Name {
		case "∪":
			all, ok = merged(append(slices.Clone(all), next...))
		case "∩":
			all = without(all, without([]span{wholeLine}, next))
		default:
			all = without(all, next)
		}
	}
	return all, ok
}

// merged orders spans and joins those that touch.
func merged(all []span) ([]span, bool) {
	if len(all) > mostSpans {
		return nil, false
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(s, t span) int {
		if c := compareSides(s.low, t.low); c != 0 || s.low.in == t.low.in {
			return c
		}
		if s.low.in {
			return -1
		}
		return 1
	})
	var out []span
	for _, s := range all {
		if len(out) == 0 {
			out = append(out, s)
			continue
		}
		last := &out[len(out)-1]
		c := compareSides(s.low, last.high)
		switch {
		case c > 0 || c == 0 && !s.low.in && !last.high.in:
			out = append(out, s)
		case compareSides(s.high, last.high) > 0 || compareSides(s.high, last.high) == 0 && s.high.in:
			last.high = s.high
		}
	}
	return out, true
}

// without takes the spans of cut out of all.
func without(all, cut []span) []span {
	for _, c := range cut {
		var out []span
		for _, s := range all {
			left := span{s.low, earlier(s.high, side{c.low.at, c.low.infinity, !c.low.in && c.low.infinity == 0})}
			right := span{later(s.low, side{c.high.at, c.high.infinity, !c.high.in && c.high.infinity == 0}), s.high}
			for _, part := range []span{left, right} {
				if order := compareSides(part.low, part.high); order < 0 || order == 0 && part.low.in && part.high.in {
					out = append(out, part)
				}
			}
		}
		all = out
	}
	return all
}

// earlier returns the upper end that comes first.
func earlier(a, b side) side {
	if c := compareSides(a, b); c < 0 || c == 0 && !a.in {
		return a
	}
	return b
}

// later returns the lower end that comes last.
func later(a, b side) side {
	if c := compareSides(a, b); c > 0 || c == 0 && !a.in {
		return a
	}
	return b
}

// SameSpans reports whether both are the same set of real numbers; known is whether that could be told, for unions and their like.
// Math-Verify leaves what is joined by ∩ as it is, and knows no lists of inequalities.
func (s *Steps) SameSpans(g, a *Node) (equal, known bool) {
	for _, n := range []*Node{g, a} {
		if bounds(n) || !n.walk(func(m *Node) bool { return m.Kind != SetOp || m.Name != "∩" }) {
			return false, false
		}
	}
	return sameSpans(g, a, &s.budget)
}
