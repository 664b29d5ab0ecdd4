package grammar

import (
	"fmt"
	"slices"
)

// A member is a property of an object.
type member struct {
	name     string
	rule     int32
	required bool
}

// object returns the objects that satisfy facts.
func (s *schemas) object(f *facts) (piece, error) {
	names := f.names()
	others, err := s.others(f, len(names) > 0)
	if err != nil {
		return nil, err
	}
	var members []member
	for _, name := range names {
		id, err := s.ruleOf(f.property(name)...)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, id, f.needs[name]})
	}
	var other piece
	if others != nil {
		key, err := s.otherKey(names)
		if err != nil {
			return nil, err
		}
		id, err := s.ruleOf(others.list...)
		if err != nil {
			return nil, err
		}
		other = sequence(key, colon, rule(id))
	}
	return sequence(text("{"), inOrder(members, other), text("}")), nil
}

// names are those of properties, in the order in which they come, and then of what is only required.
func (f *facts) names() []string {
	var names []string
	seen := map[string]bool{}
	add := func(list []string) {
		for _, n := range list {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	for _, o := range f.all {
		if o.properties != nil {
			add(o.properties.keys)
		}
	}
	add(f.required)
	return names
}

// property lists the schemas of a property: a schema that doesn't name it speaks of it by additionalProperties.
func (f *facts) property(name string) []*value {
	var list []*value
	for _, o := range f.all {
		switch {
		case o.properties != nil && o.properties.index[name] != nil:
			list = append(list, o.properties.index[name])
		case o.additional != nil:
			list = append(list, o.additional)
		}
	}
	return list
}

// others returns a list of schemas for members that have no name, nil if there are none.
func (s *schemas) others(f *facts, named bool) (*value, error) {
	list := &value{}
	said := !named
	for _, o := range f.all {
		if o.properties != nil {
			said = said && len(o.properties.keys) > 0
		}
		if o.additional == nil {
			continue
		}
		if o.additional.kind == boolean && o.additional.text == "false" {
			return nil, nil
		}
		said = true
		list.list = append(list.list, o.additional)
	}
	if !said {
		return nil, nil
	}
	return list, nil
}

// otherKey is a member's name that is none of the given ones. Each character has one spelling, or a name could be spelled around.
func (s *schemas) otherKey(names []string) (piece, error) {
	if len(names) == 0 {
		return rule(s.json.rule("string")), nil
	}
	all, err := s.machine(many(jsonRunes(anyRune)))
	if err != nil {
		return nil, err
	}
	these, err := s.machine(oneOf(each(names, func(name string) string {
		spelled := quote(name)
		return spelled[1 : len(spelled)-1]
	})))
	if err != nil {
		return nil, err
	}
	if all, err = both(all, these, true); err != nil {
		return nil, err
	}
	return s.quoted(all), nil
}

// inOrder are members with commas between them: first is where none was written yet, then where one was.
func inOrder(members []member, other piece) piece {
	return func(d *draft, from, to int32) {
		first, later := from, d.node()
		for _, m := range members {
			p := sequence(text(quote(m.name)), colon, rule(m.rule))
			nextFirst, nextLater := d.node(), d.node()
			p(d, first, nextLater)
			sequence(comma, p)(d, later, nextLater)
			if !m.required {
				d.free(first, nextFirst)
				d.free(later, nextLater)
			}
			first, later = nextFirst, nextLater
		}
		if other != nil {
			hub := d.node()
			d.free(later, hub)
			other(d, first, hub)
			sequence(comma, other)(d, hub, hub)
			later = hub
		}
		d.free(first, to)
		d.free(later, to)
	}
}

// array returns the arrays that satisfy facts.
func (s *schemas) array(f *facts) (piece, error) {
	var first []piece
	for i := range f.numFirst() {
		id, err := s.ruleOf(f.item(i)...)
		if err != nil {
			return nil, err
		}
		first = append(first, rule(id))
	}
	id, err := s.ruleOf(f.item(len(first))...)
	if err != nil {
		return nil, err
	}
	high := f.maxItems
	if closed := len(first) > 0 && f.minItems <= len(first) && !f.saysItems(); closed {
		high = fewer(high, len(first))
	}
	return sequence(text("["), inRow(first, rule(id), f.minItems, high), text("]")), nil
}

// numFirst counts the items that have schemas of their own.
func (f *facts) numFirst() int {
	n := 0
	for _, o := range f.all {
		n = max(n, len(o.prefix))
	}
	return n
}

func (f *facts) saysItems() bool {
	return slices.ContainsFunc(f.all, func(o *own) bool { return o.items != nil })
}

// item lists the schemas of item i.
func (f *facts) item(i int) []*value {
	var list []*value
	for _, o := range f.all {
		switch {
		case i < len(o.prefix):
			list = append(list, o.prefix[i])
		case o.items != nil:
			list = append(list, o.items)
		}
	}
	return list
}

// inRow are low to high items with commas between them; a negative high is no limit.
func inRow(first []piece, rest piece, low, high int) piece {
	return func(d *draft, from, to int32) {
		for i := 0; d.err == nil; i++ {
			item := rest
			if i < len(first) {
				item = first[i]
			}
			if i > 0 {
				item = sequence(comma, item)
			}
			if i >= low {
				d.free(from, to)
			}
			if i == high {
				return
			}
			next := d.node()
			if high < 0 && i > 0 && i >= low && i >= len(first) {
				d.free(from, next)
				item(d, next, next)
				d.free(next, to)
				return
			}
			item(d, from, next)
			from = next
		}
	}
}

// machine makes the deterministic automaton of a piece without rules.
func (s *schemas) machine(p piece) (*machine, error) {
	start, last := s.d.node(), s.d.node()
	p(s.d, start, last)
	if s.d.err != nil {
		return nil, s.d.err
	}
	m := s.d.deterministic(start, last, nil)
	return m, s.d.err
}

// quoted is a string whose characters a machine reads. The quotes become part of it: so a token that goes past the string's end is no matter of
// what follows the rule. The closing quote is no character's begin, since there it has a backslash before it.
func (s *schemas) quoted(m *machine) piece {
	first, last := int32(len(m.nodes)), int32(len(m.nodes)+1)
	for i := range m.nodes {
		if n := &m.nodes[i]; n.final {
			n.final = false
			at, _ := slices.BinarySearchFunc(n.spans, byte('"'), func(s span, b byte) int { return int(s.lo) - int(b) })
			n.spans = slices.Insert(n.spans, at, span{'"', '"', last})
		}
	}
	m.nodes = append(m.nodes, node{spans: []span{{'"', '"', 0}}}, node{final: true})
	m.start = first
	return rule(s.d.made("string", m))
}

// made adds a rule that is a machine already.
func (d *draft) made(name string, m *machine) int32 {
	if len(d.rules) >= maxRules {
		d.fail(fmt.Errorf("it needs more than %d rules", maxRules))
		return 0
	}
	d.rules = append(d.rules, draftRule{name: name, made: m})
	return int32(len(d.rules) - 1)
}
