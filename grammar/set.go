package grammar

import (
	"cmp"
	"slices"
)

// A pair is a place: a node of a rule, and what may follow when that rule ends. nil is below the grammar's own nodes.
type pair struct {
	node  int32
	under *set
}

// A set is a set of places. A reader makes no two equal ones, so pointers tell them apart. What a set remembers is dropped when its reader forgets.
type set struct {
	id    uint64 // in order of making
	pairs []pair // ascending
	done  bool   // the text may end here
	open  bool   // it holds the hole

	next  []*set // by class of byte: where it leads; nil until it was asked for
	after *set   // the places that a text is at when it comes to these
	mask  *mask
	era   int // in which it remembers
	run   *run
	left  int // the reader's tick when it was last left for
}

// compare orders pairs by node and, within, by age of what follows.
func (p pair) compare(q pair) int {
	if p.node != q.node || p.under == q.under {
		return cmp.Compare(p.node, q.node)
	}
	return cmp.Compare(p.under.id, q.under.id)
}

// intern returns the one set with the pairs, which it may reorder.
func (r *reader) intern(pairs []pair) *set {
	slices.SortFunc(pairs, pair.compare)
	pairs = slices.Compact(pairs)
	if len(pairs) > maxPairs {
		r.narrowed = true
		pairs = pairs[:maxPairs]
	}
	h := hash(pairs)
	for _, s := range r.table[h] {
		if slices.Equal(s.pairs, pairs) {
			return s
		}
	}
	r.numSets++
	s := &set{id: r.numSets, pairs: slices.Clone(pairs), era: r.era}
	for _, p := range pairs {
		s.done = s.done || p.node == done
		s.open = s.open || p.node == hole
	}
	r.table[h] = append(r.table[h], s)
	r.all = append(r.all, s)
	r.bytes += 150 + 16*len(pairs)
	return s
}

// hash is FNV-1a over nodes and ids.
func hash(pairs []pair) uint64 {
	h := uint64(14695981039346656037)
	for _, p := range pairs {
		h = (h ^ uint64(p.node)) * 1099511628211
		if p.under != nil {
			h = (h ^ p.under.id) * 1099511628211
		}
	}
	return h
}

// remember makes room for what s remembers: r will drop it.
func (r *reader) remember(s *set, bytes int) {
	if s.era != r.era {
		s.era = r.era
		r.all = append(r.all, s)
	}
	r.bytes += bytes
}

// forget drops everything that sets and nodes remember. Sets that somebody still reads from stay good; they meet no equals from before.
func (r *reader) forget() {
	for _, s := range r.all {
		s.next, s.after, s.mask, s.run = nil, nil, nil, nil
	}
	clear(r.table)
	clear(r.partial)
	r.all, r.bytes = nil, 0
	r.era++
	r.root = r.start()
}

// step returns the places after one more byte of a class. No places are the empty set, which leads to itself.
func (r *reader) step(s *set, class uint8) *set {
	if s.next != nil && s.next[class] != nil {
		return s.next[class]
	}
	b := r.g.example[class]
	r.moved = r.moved[:0]
	for _, p := range s.pairs {
		if to := r.g.nodes[p.node].target(b); to >= 0 {
			r.moved = append(r.moved, pair{to, p.under})
		}
	}
	r.effort += len(s.pairs)
	to := r.close(r.moved)
	if s.next == nil {
		s.next = make([]*set, len(r.g.example))
		r.remember(s, 8*len(s.next))
	}
	s.next[class] = to
	return to
}

// follow returns the places that a text is at when it comes to those of s.
func (r *reader) follow(s *set) *set {
	if s.after == nil {
		to := r.close(s.pairs)
		r.remember(s, 0)
		s.after = to
	}
	return s.after
}

// close returns the places from which a text that came to the given ones reads on: rules that may end here are left, and rules that are called
// are entered.
func (r *reader) close(came []pair) *set {
	r.places = append(r.places[:0], came...)
	r.leave()
	r.enter()
	r.effort += len(r.places)
	r.places = slices.DeleteFunc(r.places, func(p pair) bool { return p.under != nil && r.g.nodes[p.node].spans == nil })
	return r.intern(r.places)
}

// leave adds what follows rules that may end. What follows a set is added once.
func (r *reader) leave() {
	r.tick++
	for i := 0; i < len(r.places); i++ {
		if len(r.places) > 8*maxPairs {
			r.narrowed = true
			break
		}
		p := r.places[i]
		if r.g.nodes[p.node].final && p.under.left != r.tick {
			p.under.left = r.tick
			r.places = append(r.places, p.under.pairs...)
		}
	}
	slices.SortFunc(r.places, pair.compare)
	r.places = slices.Compact(r.places)
}

// enter adds the starts of rules that are called. Rules go in order, so that all callers of one are known when it is entered: they wait in
// one set. A rule that may end without reading is not left again: its callers go on past it by themselves.
func (r *reader) enter() {
	r.pending = r.pending[:0]
	for _, p := range r.places {
		r.callAll(p)
	}
	for len(r.pending) > 0 {
		rule := r.pending[0]
		r.pending = slices.Delete(r.pending, 0, 1)
		r.effort += len(r.callers[rule])
		start := pair{r.g.starts[rule], r.intern(r.callers[rule])}
		r.callers[rule] = r.callers[rule][:0]
		r.places = append(r.places, start)
		r.callAll(start)
	}
}

// callAll lets a place wait for the rules that it calls. A caller with nothing left to do is not waited for: what follows it is.
func (r *reader) callAll(p pair) {
	for _, c := range r.g.nodes[p.node].calls {
		if len(r.callers[c.rule]) == 0 {
			at, _ := slices.BinarySearchFunc(r.pending, r.g.order[c.rule], func(a, b int32) int { return cmp.Compare(r.g.order[a], b) })
			r.pending = slices.Insert(r.pending, at, c.rule)
		}
		if n := &r.g.nodes[c.to]; n.final && n.spans == nil && n.calls == nil {
			r.callers[c.rule] = append(r.few(c.rule), p.under.pairs...)
		} else {
			r.callers[c.rule] = append(r.callers[c.rule], pair{c.to, p.under})
		}
	}
}

// few returns the callers of a rule that are known, once each when they have become many.
func (r *reader) few(rule int32) []pair {
	all := r.callers[rule]
	if len(all) <= 8*maxPairs {
		return all
	}
	slices.SortFunc(all, pair.compare)
	if all = slices.Compact(all); len(all) > maxPairs {
		r.narrowed = true
		all = all[:maxPairs]
	}
	return all
}
