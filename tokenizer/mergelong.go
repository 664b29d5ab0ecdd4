package tokenizer

// A link is a token of a word being merged, in a list of them; positions are those of bytes.
type link struct {
	id         int32 // -1 once it has become part of the token before it
	prev, next int32 // -1 at the ends
}

// mergeLong merges a word with a heap of pairs, so that a word of n bytes takes n log n steps, whatever it holds.
// Pairs that have changed since they were entered are found stale when they come up.
func (t *BPE) mergeLong(ids []int32, word string) []int32 {
	list, queue := t.chain(word)
	for len(queue) > 0 {
		pair := queue.pop()
		rank, at := uint32(pair>>32), int32(uint32(pair))
		next := list[at].next
		if list[at].id < 0 || next < 0 {
			continue
		}
		m := t.merges.find(list[at].id, list[next].id)
		if m.rank != rank {
			continue
		}
		list[at].id, list[at].next = m.id, list[next].next
		list[next].id = -1
		if after := list[at].next; after >= 0 {
			list[after].prev = at
			queue = t.enter(queue, list, at)
		}
		if before := list[at].prev; before >= 0 {
			queue = t.enter(queue, list, before)
		}
	}
	for at := int32(0); at >= 0; at = list[at].next {
		ids = append(ids, list[at].id)
	}
	return ids
}

// chain returns the bytes of word as a list, and the heap of its pairs.
func (t *BPE) chain(word string) ([]link, pairHeap) {
	list := make([]link, len(word))
	queue := make(pairHeap, 0, len(word))
	for i := range list {
		list[i] = link{id: t.letters[word[i]], prev: int32(i) - 1, next: int32(i) + 1}
	}
	list[len(list)-1].next = -1
	for i := range len(list) - 1 {
		if m := t.merges.find(list[i].id, list[i+1].id); m.rank != noRank {
			queue = append(queue, uint64(m.rank)<<32|uint64(i))
		}
	}
	for i := len(queue)/2 - 1; i >= 0; i-- {
		queue.down(i)
	}
	return list, queue
}

// enter adds the pair that begins at a position and has a token after it, if it can be merged.
func (t *BPE) enter(queue pairHeap, list []link, at int32) pairHeap {
	m := t.merges.find(list[at].id, list[list[at].next].id)
	if m.rank == noRank {
		return queue
	}
	return queue.push(uint64(m.rank)<<32 | uint64(uint32(at)))
}

// A pairHeap holds rank<<32 | position, the least first.
type pairHeap []uint64

func (h pairHeap) push(x uint64) pairHeap {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	return h
}

func (h *pairHeap) pop() uint64 {
	old := *h
	least := old[0]
	old[0] = old[len(old)-1]
	*h = old[:len(old)-1]
	if len(*h) > 0 {
		h.down(0)
	}
	return least
}

// down moves the entry at i to below all that are less.
func (h pairHeap) down(i int) {
	x := h[i]
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
