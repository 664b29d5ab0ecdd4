package grammar

import (
	"bytes"
	"slices"
)

// A Vocabulary is the texts of a tokenizer's tokens, as a trie. It may be used by many goroutines at once; make one for each tokenizer.
type Vocabulary struct {
	size int
	ends []int32  // that exist
	text [][]byte // of each token; empty for one that is never allowed, and for ends

	// Nodes of the trie, parents first and children by byte; what is below a node follows it. Node 0 is the empty text.
	trie   []branching
	sorted []int32  // tokens by text
	below  []uint64 // of each node, groups of the bytes below
	height []int32  // of each node, the most bytes below, one after the other
}

// A branching is a node of the trie.
type branching struct {
	label byte
	depth int32 // bytes from the root
	stop  int32 // the first node after those below
	first int32 // index into sorted of the node's own tokens; they end where those of the next node begin
}

// NewVocabulary reads size tokens. A token without text is never allowed, unless it is one of the ends, which are allowed exactly where a text
// may end, whatever text they have. Ends outside the vocabulary cannot be drawn and are left out.
func NewVocabulary(size int, bytesOf func(id int32) []byte, ends []int32) *Vocabulary {
	v := &Vocabulary{size: size, text: make([][]byte, size)}
	for _, id := range ends {
		if id >= 0 && int(id) < size && !slices.Contains(v.ends, id) {
			v.ends = append(v.ends, id)
		}
	}
	var all []byte
	for id := range int32(size) {
		if slices.Contains(v.ends, id) {
			continue
		}
		if t := bytesOf(id); len(t) > 0 {
			all = append(all, t...)
			v.text[id] = all[len(all)-len(t) : len(all) : len(all)]
			v.sorted = append(v.sorted, id)
		}
	}
	slices.SortStableFunc(v.sorted, func(a, b int32) int { return bytes.Compare(v.text[a], v.text[b]) })
	v.plant()
	return v
}

// Size returns the number of tokens.
func (v *Vocabulary) Size() int { return v.size }

// plant makes the trie. open are the nodes from the root to the last token.
func (v *Vocabulary) plant() {
	open, before := []int32{v.grow(0, 0, 0)}, []byte(nil)
	for i, id := range v.sorted {
		t := v.text[id]
		same := 0
		for same < min(len(t), len(before)) && t[same] == before[same] {
			same++
		}
		open = v.shut(open, same+1)
		for d := same; d < len(t); d++ {
			open = append(open, v.grow(t[d], d+1, i))
		}
		before = t
	}
	v.shut(open, 0)
	v.trie = append(v.trie, branching{first: int32(len(v.sorted))}) // ends the last node's tokens
}

func (v *Vocabulary) grow(label byte, depth, first int) int32 {
	v.trie = append(v.trie, branching{label: label, depth: int32(depth), first: int32(first)})
	v.below = append(v.below, 0)
	v.height = append(v.height, 0)
	return int32(len(v.trie) - 1)
}

func (v *Vocabulary) shut(open []int32, keep int) []int32 {
	for len(open) > keep {
		n := open[len(open)-1]
		v.trie[n].stop = int32(len(v.trie))
		if open = open[:len(open)-1]; len(open) > 0 {
			up := open[len(open)-1]
			v.below[up] |= v.below[n] | 1<<groupOf[v.trie[n].label]
			v.height[up] = max(v.height[up], v.height[n]+1)
		}
	}
	return open
}
