package grammar

import (
	"bytes"
	"math"
	"slices"
)

// A Vocabulary is the texts of a tokenizer's tokens, as a trie. It may be used by many goroutines at once; make one for each tokenizer.
type Vocabulary struct {
	size int
	ends []int32  // that exist
	text [][]byte // of each token; empty for one that is never allowed, and for ends

	// Nodes of the trie, parents first and children by byte; what is below a node follows it. Node 0 is the empty text.
	label  []byte
	depth  []int32  // bytes from the root
	stop   []int32  // the first node after those below
	first  []int32  // index into sorted of the node's own tokens; they end where those of the next node begin
	sorted []int32  // tokens by text
	below  []uint64 // groups of the bytes below
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
	v.first = append(v.first, int32(len(v.sorted)))
}

// groupOf are 64 groups of bytes: so sets of bytes are small. Letters, digits and the bytes of other characters are one each, as are bytes without
// a sign; signs, of which grammars speak, stand alone.
var groupOf = func() (groups [256]uint8) {
	next := uint8(4)
	for b := range groups {
		switch c := byte(b); {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			groups[b] = 0
		case c >= '0' && c <= '9':
			groups[b] = 1
		case c >= 0x80:
			groups[b] = 2
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			groups[b] = 3
		default:
			groups[b] = next
			next++
		}
	}
	return groups
}()

func (v *Vocabulary) grow(label byte, depth, first int) int32 {
	v.label = append(v.label, label)
	v.depth = append(v.depth, int32(depth))
	v.first = append(v.first, int32(first))
	v.stop = append(v.stop, math.MaxInt32)
	v.below = append(v.below, 0)
	return int32(len(v.label) - 1)
}

func (v *Vocabulary) shut(open []int32, keep int) []int32 {
	for len(open) > keep {
		n := open[len(open)-1]
		v.stop[n] = int32(len(v.label))
		if open = open[:len(open)-1]; len(open) > 0 {
			v.below[open[len(open)-1]] |= v.below[n] | 1<<groupOf[v.label[n]]
		}
	}
	return open
}

// own returns a node's tokens. Tokens of equal text are all there.
func (v *Vocabulary) own(n int32) []int32 { return v.sorted[v.first[n]:v.first[n+1]] }
