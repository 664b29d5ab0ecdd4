package tokenizer

import "slices"

// A link is a token of a word being merged, in a list of them; positions are those of bytes.
type link struct {
	id         int32 // -1 once it has become part of the token before it
	prev, next int32 // -1 at the ends
}

// mergeLong merges a word of any length. Pairs wait in line with those of the same rank, from left to right, and the
// lines in a heap, so that n bytes take n steps for each of the few ranks that meet at one place, whatever they spell.
// Pairs that have changed since they were entered are found stale when they come up.
func (t *BPE) mergeLong(ids []int32, word string) []int32 {
	w := longWord{merges: &t.merges, list: make([]link, len(word)), lines: map[uint32][]int32{}}
	for i := range w.list {
		w.list[i] = link{id: t.letters[word[i]], prev: int32(i) - 1, next: int32(i) + 1}
	}
	w.list[len(w.list)-1].next = -1
	for i := range len(w.list) - 1 {
		w.enter(int32(i))
	}
	for len(w.ranks) > 0 {
		w.line(w.ranks.pop())
	}
	for at := int32(0); at >= 0; at = w.list[at].next {
		ids = append(ids, w.list[at].id)
	}
	return ids
}

// A longWord is a word being merged.
type longWord struct {
	merges *mergeTable
	list   []link
	lines  map[uint32][]int32 // where the pairs of a rank begin
	ranks  rankHeap           // of the lines
}

// enter puts the pair that begins at a position, if it can be merged, in its line, and returns its rank.
func (w *longWord) enter(at int32) uint32 {
	next := w.list[at].next
	if next < 0 {
		return noRank
	}
	m := w.merges.find(w.list[at].id, w.list[next].id)
	if m.rank == noRank {
		return noRank
	}
	line, waiting := w.lines[m.rank]
	if !waiting {
		w.ranks = w.ranks.push(m.rank)
	}
	w.lines[m.rank] = append(line, at)
	return m.rank
}

// line merges the pairs of one rank, until one of a lower rank comes up: then the others wait again.
func (w *longWord) line(rank uint32) {
	line := w.lines[rank]
	delete(w.lines, rank)
	if !slices.IsSorted(line) {
		slices.Sort(line)
	}
	for i, at := range line {
		if w.merge(at, rank) >= rank {
			continue
		}
		if rest := append(w.lines[rank], line[i+1:]...); len(rest) > 0 {
			if _, waiting := w.lines[rank]; !waiting {
				w.ranks = w.ranks.push(rank)
			}
			w.lines[rank] = rest
		}
		return
	}
}

// merge merges the pair at a position if it still is of that rank, and returns the least rank of the pairs it then has
// with its neighbours.
func (w *longWord) merge(at int32, rank uint32) uint32 {
	next := w.list[at].next
	if w.list[at].id < 0 || next < 0 {
		return noRank
	}
	m := w.merges.find(w.list[at].id, w.list[next].id)
	if m.rank != rank {
		return noRank
	}
	w.list[at].id, w.list[at].next = m.id, w.list[next].next
	w.list[next].id = -1
	if after := w.list[at].next; after >= 0 {
		w.list[after].prev = at
	}
	least := w.enter(at)
	if before := w.list[at].prev; before >= 0 {
		least = min(least, w.enter(before))
	}
	return least
}

// A rankHeap holds ranks, the least first.
type rankHeap []uint32

func (h rankHeap) push(x uint32) rankHeap {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	return h
}

func (h *rankHeap) pop() uint32 {
	old := *h
	least, x := old[0], old[len(old)-1]
	*h = old[:len(old)-1]
	if len(*h) > 0 {
		h.down(x)
	}
	return least
}

// down puts x at the top and moves it below all that are less.
func (h rankHeap) down(x uint32) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= x {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}
