package tokenizer

import "math/bits"

// noRank is later than every merge.
const noRank = ^uint32(0)

// A merge says that a pair of tokens becomes one. Of all pairs in a word the one of least rank is merged first, and
// of equal ranks the leftmost.
type merge struct {
	rank uint32
	id   int32
}

// mergeTable finds merges by pair: open addressing, at most half full. Most words begin with pairs of bytes, which are
// found by these in a table that stays in the cache of a processor.
type mergeTable struct {
	slots []mergeSlot
	shift int
	bytes *[1 << 16]merge
}

// A mergeSlot is free if its key is 0; a key is the pair plus 1.
type mergeSlot struct {
	key uint64
	merge
}

func newMergeTable(n int) mergeTable {
	width := bits.Len(uint(2*n + 1))
	return mergeTable{slots: make([]mergeSlot, 1<<width), shift: 64 - width, bytes: new([1 << 16]merge)}
}

// index fills the table of pairs of bytes, of which it is given the tokens, once all merges have been added.
func (t *mergeTable) index(letters *[256]int32) {
	for a, first := range letters {
		for b, second := range letters {
			t.bytes[a<<8|b] = t.find(first, second)
		}
	}
}

func pairKey(a, b int32) uint64 { return (uint64(uint32(a))<<32 | uint64(uint32(b))) + 1 }

// place returns the slot of key, or the free one where it belongs.
func (t *mergeTable) place(key uint64) *mergeSlot {
	i := int(key * 0x9e3779b97f4a7c15 >> t.shift)
	for t.slots[i].key != key && t.slots[i].key != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return &t.slots[i]
}

// add enters a merge, and reports false if the pair has one already.
func (t *mergeTable) add(a, b int32, m merge) bool {
	key := pairKey(a, b)
	slot := t.place(key)
	if slot.key == key {
		return false
	}
	*slot = mergeSlot{key, m}
	return true
}

// find returns the merge of a pair; its rank is noRank if there is none.
func (t *mergeTable) find(a, b int32) merge {
	key := pairKey(a, b)
	if slot := t.place(key); slot.key == key {
		return slot.merge
	}
	return merge{rank: noRank}
}

// shortWord is the longest word, in bytes, that is merged by looking at all pairs each time; longer ones need a heap.
const shortWord = 48

// appendWord appends the tokens of one word, which is not empty.
func (t *BPE) appendWord(ids []int32, word string) []int32 {
	if len(word) > shortWord {
		return t.mergeLong(ids, word)
	}
	return t.mergeShort(ids, word)
}

// mergeShort merges in place on the stack.
func (t *BPE) mergeShort(ids []int32, word string) []int32 {
	var tokens [shortWord]int32
	var merges [shortWord]merge // merges[i] is of tokens i and i+1
	n := len(word)
	for i := range n {
		tokens[i] = t.letters[word[i]]
	}
	for i := range n - 1 {
		merges[i] = t.merges.bytes[int(word[i])<<8|int(word[i+1])]
	}
	for n > 1 {
		best := 0
		for i := 1; i < n-1; i++ {
			if merges[i].rank < merges[best].rank {
				best = i
			}
		}
		if merges[best].rank == noRank {
			break
		}
		tokens[best] = merges[best].id
		copy(tokens[best+1:n-1], tokens[best+2:n])
		copy(merges[best:n-2], merges[best+1:n-1])
		n--
		if best > 0 {
			merges[best-1] = t.merges.find(tokens[best-1], tokens[best])
		}
		if best < n-1 {
			merges[best] = t.merges.find(tokens[best], tokens[best+1])
		}
	}
	return append(ids, tokens[:n]...)
}
