package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Grammar is a set of texts, ready to be read by. It may be used by many goroutines at once.
type Grammar struct {
	nodes  []node
	starts []int32 // of each rule
	order  []int32 // of each rule: a rule that begins with a call of another has a lower one
	root   int32   // the rule that texts match

	// Bytes that no node tells apart are one class.
	class   [256]uint8
	example []byte // of each class

	mu      sync.Mutex
	readers map[*Vocabulary]*reader
}

// Two nodes of every grammar belong to no rule.
const (
	done int32 = iota // the text may end here
	hole              // what follows is not known
	ownNodes
)

var errNoText = errors.New("no text satisfies it")

// link makes the grammar whose texts are those of a rule.
func (d *draft) link(root int32) (*Grammar, error) {
	empty := d.nullable()
	d.straighten(empty)
	g := &Grammar{nodes: make([]node, ownNodes), root: root}
	for _, r := range d.rules {
		m := r.made
		if m == nil && d.err == nil {
			m = d.deterministic(r.start, r.last, empty)
		}
		if d.err == nil {
			d.err = g.add(m)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	if live := g.trim(); !live[g.starts[root]] {
		return nil, errNoText
	}
	g.classify()
	return g, g.sort(d.rules)
}

// add appends a rule.
func (g *Grammar) add(m *machine) error {
	base := int32(len(g.nodes))
	if int(base)+len(m.nodes) > maxNodes {
		return fmt.Errorf("it needs more than %d nodes when deterministic, want it simpler", maxNodes)
	}
	g.starts = append(g.starts, base+m.start)
	for _, n := range m.nodes {
		n.spans, n.calls = slices.Clone(n.spans), slices.Clone(n.calls)
		for i := range n.spans {
			n.spans[i].to += base
		}
		for i := range n.calls {
			n.calls[i].to += base
		}
		g.nodes = append(g.nodes, n)
	}
	return nil
}

// An arrival is an edge seen from where it leads: spans have call -1.
type arrival struct{ from, call int32 }

// trim removes edges from which no rule's end can be reached, so that whatever is read can be finished. It returns which nodes reach their end.
func (g *Grammar) trim() []bool {
	arrivals := g.arrivals()
	live := make([]bool, len(g.nodes))
	var queue []int32
	push := func(n int32) {
		if !live[n] {
			live[n] = true
			queue = append(queue, n)
		}
	}
	for i := range g.nodes {
		if g.nodes[i].final {
			push(int32(i))
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, a := range arrivals[n] {
			if a.call < 0 || g.passable(g.nodes[a.from].calls[a.call], live) {
				push(a.from)
			}
		}
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		n.spans = slices.DeleteFunc(n.spans, func(s span) bool { return !live[s.to] })
		n.calls = slices.DeleteFunc(n.calls, func(c call) bool { return !g.passable(c, live) })
	}
	return live
}

// arrivals lists the edges to each node. A call arrives where it returns, and at the start of its rule too.
func (g *Grammar) arrivals() [][]arrival {
	all := make([][]arrival, len(g.nodes))
	for i, n := range g.nodes {
		for _, s := range n.spans {
			all[s.to] = append(all[s.to], arrival{int32(i), -1})
		}
		for k, c := range n.calls {
			a := arrival{int32(i), int32(k)}
			all[c.to] = append(all[c.to], a)
			all[g.starts[c.rule]] = append(all[g.starts[c.rule]], a)
		}
	}
	return all
}

func (g *Grammar) passable(c call, live []bool) bool { return live[c.to] && live[g.starts[c.rule]] }

// classify finds the classes of bytes.
func (g *Grammar) classify() {
	var cuts [257]bool
	for _, n := range g.nodes {
		for _, s := range n.spans {
			cuts[s.lo], cuts[int(s.hi)+1] = true, true
		}
	}
	for b := range 256 {
		if b == 0 || cuts[b] {
			g.example = append(g.example, byte(b))
		}
		g.class[b] = uint8(len(g.example) - 1)
	}
}

// sort orders rules by what they begin with. It is an error if one can begin with itself.
func (g *Grammar) sort(rules []draftRule) error {
	g.order = make([]int32, len(g.starts))
	s := &sorter{g: g, next: int32(len(g.starts)), open: make([]bool, len(g.starts))}
	for r := range g.starts {
		if !s.visit(int32(r)) {
			var names []string
			for _, r := range s.path[slices.Index(s.path, s.path[len(s.path)-1]):] {
				names = append(names, rules[r].name)
			}
			return fmt.Errorf("left recursion: %s; want each of these to read something before it comes to itself", strings.Join(names, " -> "))
		}
	}
	return nil
}

// A sorter numbers rules downwards, each after all that it begins with: so from the last number to 1.
type sorter struct {
	g    *Grammar
	next int32
	open []bool
	path []int32 // rules being visited; after a failure it ends with the rule that came again
}

func (s *sorter) visit(r int32) bool {
	if s.g.order[r] != 0 {
		return true
	}
	s.path = append(s.path, r)
	if s.open[r] {
		return false
	}
	s.open[r] = true
	for _, c := range s.g.nodes[s.g.starts[r]].calls {
		if !s.visit(c.rule) {
			return false
		}
	}
	s.path = s.path[:len(s.path)-1]
	s.g.order[r] = s.next
	s.next--
	return true
}
