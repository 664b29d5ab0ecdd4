package grammar

import (
	"fmt"
	"slices"
)

// A machine is a deterministic automaton: at most one span of a node holds a byte, at most one call of a node is of a given rule.
type machine struct {
	nodes []node
	start int32
}

// A node is where a reader is in a rule: the rule may end here if it is final.
type node struct {
	final bool
	spans []span // ascending
	calls []call // ascending rules
}

// target returns where a byte leads, or -1.
func (n *node) target(b byte) int32 {
	to, _ := n.stretch(b)
	return to
}

// stretch returns where a byte leads, or -1, and the last byte up to which that stays so.
func (n *node) stretch(b byte) (to int32, last byte) {
	spans, last := n.spans, byte(255)
	for len(spans) > 0 {
		mid := len(spans) / 2
		switch s := &spans[mid]; {
		case b < s.lo:
			spans, last = spans[:mid], s.lo-1
		case b > s.hi:
			spans = spans[mid+1:]
		default:
			return s.to, s.hi
		}
	}
	return -1, last
}

// subsets makes a machine whose nodes are the sets of a draft's nodes that a text can be at. A set's items are nodes with two bits: something was
// read, so that nothing that holds at the begin does; and nothing may be read any more.
type subsets struct {
	d     *draft
	last  int32
	empty []bool // rules that match the empty text
	index map[string]int32
	items [][]int32 // of each node of out
	out   []node
	seen  []int32 // by item: the tick at which it was last met
	tick  int32
}

const (
	started = 1 << iota
	ended
	flagBits = 2
)

// deterministic makes the machine that reads as the draft does between two nodes.
func (d *draft) deterministic(start, last int32, empty []bool) *machine {
	s := &subsets{d: d, last: last, empty: empty, index: map[string]int32{}}
	s.seen, s.tick = d.stamps()
	defer func() { d.tick = s.tick }()
	s.add([]int32{start << flagBits})
	for i := 0; i < len(s.items) && d.err == nil; i++ {
		s.leave(int32(i))
	}
	m := &machine{nodes: s.out}
	m.fold()
	return m
}

// add returns the number of the set that holds the items and whatever they reach for nothing.
func (s *subsets) add(items []int32) int32 {
	items = s.closed(items)
	key := make([]byte, 0, 4*len(items))
	for _, it := range items {
		key = append(key, byte(it), byte(it>>8), byte(it>>16), byte(it>>24))
	}
	if n, ok := s.index[string(key)]; ok {
		return n
	}
	n := int32(len(s.out))
	if n >= maxNodes {
		s.d.fail(fmt.Errorf("it needs more than %d nodes when deterministic, want it simpler", maxNodes))
	}
	s.index[string(key)] = n
	s.items = append(s.items, items)
	s.out = append(s.out, node{final: s.final(items)})
	return n
}

func (s *subsets) final(items []int32) bool {
	return slices.ContainsFunc(items, func(it int32) bool { return it>>flagBits == s.last })
}

// closed returns the items and what they reach for nothing, ascending.
func (s *subsets) closed(items []int32) []int32 {
	s.tick++
	var all []int32
	push := func(n, flags int32) {
		if it := n<<flagBits | flags; s.seen[it] != s.tick {
			s.seen[it] = s.tick
			all = append(all, it)
		}
	}
	for _, it := range items {
		push(it>>flagBits, it&(started|ended))
	}
	for i := 0; i < len(all); i++ {
		s.free(&s.d.nodes[all[i]>>flagBits], all[i]&(started|ended), push)
	}
	s.spend(len(all))
	slices.Sort(all)
	return all
}

// free pushes what a node leads to for nothing.
func (s *subsets) free(n *draftNode, flags int32, push func(n, flags int32)) {
	for _, to := range n.free {
		push(to, flags)
	}
	for _, to := range n.atBegin {
		if flags&started == 0 {
			push(to, flags)
		}
	}
	for _, to := range n.atEnd {
		push(to, flags|ended)
	}
	for _, c := range n.calls {
		if s.empty[c.rule] && !n.whole {
			push(c.to, flags)
		}
	}
}

func (s *subsets) spend(n int) {
	if s.d.work += n; s.d.work > maxWork {
		s.d.fail(fmt.Errorf("it is too much work to make deterministic, want it simpler"))
	}
}

// leave fills in what leads out of a set.
func (s *subsets) leave(from int32) {
	spans, calls := s.leaving(from)
	s.out[from].spans = s.join(spans)
	slices.SortFunc(calls, func(a, b call) int { return int(a.rule - b.rule) })
	for len(calls) > 0 {
		n, to := 0, []int32(nil)
		for ; n < len(calls) && calls[n].rule == calls[0].rule; n++ {
			to = append(to, calls[n].to)
		}
		s.out[from].calls = append(s.out[from].calls, call{calls[0].rule, s.add(to)})
		calls = calls[n:]
	}
}

// leaving lists the edges of a set's items; they lead to items.
func (s *subsets) leaving(from int32) (spans []span, calls []call) {
	for _, it := range s.items[from] {
		if it&ended != 0 {
			continue
		}
		n := &s.d.nodes[it>>flagBits]
		for _, e := range n.spans {
			spans = append(spans, span{e.lo, e.hi, e.to<<flagBits | started})
		}
		for _, c := range n.calls {
			calls = append(calls, call{c.rule, c.to<<flagBits | started})
		}
	}
	return spans, calls
}

// join makes spans that may overlap into spans that don't, each leading to a set.
func (s *subsets) join(spans []span) []span {
	var cuts [257]bool
	for _, e := range spans {
		cuts[e.lo], cuts[int(e.hi)+1] = true, true
	}
	var to [256][]int32 // at the first byte between two cuts
	for _, e := range spans {
		for b := int(e.lo); b <= int(e.hi); b++ {
			if cuts[b] {
				to[b] = append(to[b], e.to)
			}
		}
		s.spend(1)
	}
	var out []span
	for b := range 256 {
		if !cuts[b] || to[b] == nil {
			continue
		}
		hi := b
		for hi < 255 && !cuts[hi+1] {
			hi++
		}
		n := s.add(to[b])
		if k := len(out); k > 0 && out[k-1].to == n && int(out[k-1].hi)+1 == b {
			out[k-1].hi = byte(hi)
		} else {
			out = append(out, span{byte(b), byte(hi), n})
		}
	}
	return out
}
