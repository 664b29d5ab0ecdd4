package tokenizer

// A spellings is a tree of the spellings of tokens that are found in text whole, before anything is cut into words.
type spellings struct {
	nodes []spellingNode // the first is the root
	first [256]bool      // bytes that begin a spelling
}

type spellingNode struct {
	id             int32 // of the token that ends here, -1 for none
	child, sibling int32 // 0 for none
	byte           byte
}

func newSpellings() *spellings { return &spellings{nodes: []spellingNode{{id: -1}}} }

// add enters a spelling, which is not empty.
func (s *spellings) add(text string, id int32) {
	s.first[text[0]] = true
	at := int32(0)
	for i := range len(text) {
		next := s.child(at, text[i])
		if next == 0 {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, spellingNode{id: -1, byte: text[i], sibling: s.nodes[at].child})
			s.nodes[at].child = next
		}
		at = next
	}
	s.nodes[at].id = id
}

func (s *spellings) child(at int32, b byte) int32 {
	next := s.nodes[at].child
	for next != 0 && s.nodes[next].byte != b {
		next = s.nodes[next].sibling
	}
	return next
}

// longest returns the longest token that begins text, and its length; 0 if there is none.
func (s *spellings) longest(text string) (id int32, size int) {
	at := int32(0)
	for i := range len(text) {
		if at = s.child(at, text[i]); at == 0 {
			break
		}
		if s.nodes[at].id >= 0 {
			id, size = s.nodes[at].id, i+1
		}
	}
	return id, size
}

// find returns the first token in text, the longest of those that begin there, and where it stands. Without one,
// start is the length of text.
func (s *spellings) find(text string) (id int32, start, end int) {
	for i := range len(text) {
		if !s.first[text[i]] {
			continue
		}
		if id, size := s.longest(text[i:]); size > 0 {
			return id, i, i + size
		}
	}
	return 0, len(text), len(text)
}
