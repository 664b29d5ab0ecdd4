package grammar

import (
	"math/bits"
)

// A mask is a set of tokens: a bit for each, or a list when they are few.
type mask struct {
	bits []uint64
	list []int32
}

// A partial is what a place allows as far as that is known without knowing what follows its rule.
type partial struct {
	mask  *mask
	exits []int32 // nodes of the trie at which the rule may end while a token goes on
}

// maskOf returns the tokens that a set of places allows, ends apart.
func (r *reader) maskOf(s *set) *mask {
	if s.mask != nil {
		return s.mask
	}
	r.effort = 0
	parts := make([]*partial, len(s.pairs))
	for i, p := range s.pairs {
		parts[i] = r.partialOf(p.node)
	}
	clear(r.marks)
	for i, p := range parts {
		r.add(p.mask)
		if len(p.exits) == 0 {
			continue
		}
		after := r.follow(s.pairs[i].under)
		if after.done && len(after.pairs) == 1 {
			continue // nothing but an end follows
		}
		for _, t := range p.exits {
			r.walk(t, after, nil)
		}
	}
	m := r.pack()
	r.remember(s, m.bytes())
	s.mask = m
	return m
}

// partialOf walks the trie from a node's spans: the node's calls and its end are other places of the same set.
func (r *reader) partialOf(n int32) *partial {
	if p := r.partial[n]; p != nil {
		return p
	}
	p := &partial{}
	clear(r.marks)
	if n >= ownNodes {
		r.walk(0, r.intern([]pair{{n, r.unknown}}), &p.exits)
	}
	p.mask = r.pack()
	r.partial[n] = p
	r.bytes += p.mask.bytes() + 4*len(p.exits)
	return p
}

// walk marks the tokens below a node of the trie that can be read from s, and lists the nodes, of those with something below, where the hole
// is reached. Beyond an effort it only goes where it has been before, and takes one byte at a time from the root.
func (r *reader) walk(t int32, s *set, exits *[]int32) {
	v, trie, class := r.v, r.v.trie, &r.g.class
	r.path[trie[t].depth] = s
	for i, stop := t+1, trie[t].stop; i < stop; {
		n := &trie[i]
		from, c := r.path[n.depth-1], class[n.label]
		var to *set
		if from.next != nil {
			to = from.next[c]
		}
		if to == nil {
			to = r.explore(from, c, n.depth)
		}
		if to == nil || len(to.pairs) == 0 {
			i = n.stop
			continue
		}
		if n.stop-i >= wide && r.runsOver(to, i) {
			r.mark(v.sorted[n.first:trie[n.stop].first])
			i = n.stop
			continue
		}
		r.mark(v.sorted[n.first:trie[i+1].first])
		if to.open && exits != nil && n.stop > i+1 {
			*exits = append(*exits, i)
		}
		r.path[n.depth] = to
		i++
	}
}

func (r *reader) mark(ids []int32) {
	for _, id := range ids {
		r.marks[id>>6] |= 1 << (id & 63)
	}
}

// explore steps to where the reader was not yet, or says nil when that is too much for this mask.
func (r *reader) explore(from *set, class uint8, depth int32) *set {
	if r.effort > maxEffort && depth > 1 {
		r.narrowed = true
		return nil
	}
	to := r.step(from, class)
	if r.bytes > maxMemory {
		r.forget()
	}
	return to
}

// wide is the size of a part of the trie from which it is worth to ask for a run.
const wide = 32

// runsOver says that from s everything below a node of the trie can be read.
func (r *reader) runsOver(s *set, t int32) bool {
	run := r.runOf(s)
	return r.v.below[t]&^run.groups == 0 && r.v.height[t] <= run.length
}

// add marks the tokens of m.
func (r *reader) add(m *mask) {
	for i, w := range m.bits {
		r.marks[i] |= w
	}
	r.mark(m.list)
}

// pack makes a mask of what is marked.
func (r *reader) pack() *mask {
	n := 0
	for _, w := range r.marks {
		n += bits.OnesCount64(w)
	}
	if n > len(r.marks) {
		return &mask{bits: append([]uint64(nil), r.marks...)}
	}
	m := &mask{list: make([]int32, 0, n)}
	for i, w := range r.marks {
		for ; w != 0; w &= w - 1 {
			m.list = append(m.list, int32(i<<6+bits.TrailingZeros64(w)))
		}
	}
	return m
}

func (m *mask) bytes() int { return 100 + 8*len(m.bits) + 4*len(m.list) }

// eight are the bits of a byte.
var eight = func() (all [256][8]bool) {
	for b := range all {
		for i := range 8 {
			all[b][i] = b>>i&1 == 1
		}
	}
	return all
}()

// write sets allowed[t] for each of its tokens.
func (m *mask) write(allowed []bool) {
	if m.bits == nil {
		clear(allowed)
		for _, id := range m.list {
			if int(id) < len(allowed) {
				allowed[id] = true
			}
		}
		return
	}
	at := 0
	for ; at+8 <= len(allowed) && at>>6 < len(m.bits); at += 8 {
		*(*[8]bool)(allowed[at:]) = eight[uint8(m.bits[at>>6]>>(at&63))]
	}
	for ; at < len(allowed); at++ {
		allowed[at] = at>>6 < len(m.bits) && m.bits[at>>6]>>(at&63)&1 == 1
	}
}
