package grammar

import "encoding/binary"

// folds is how often fold looks for nodes that are alike. What is left after that is correct, only larger than it needs to be.
const folds = 8

// fold makes nodes one that end alike and lead to the same places: so what is worked out for one of them serves both.
func (m *machine) fold() {
	for range folds {
		became, kept := m.alike()
		if len(kept) == len(m.nodes) {
			return
		}
		m.nodes, m.start = kept, became[m.start]
		for i := range m.nodes {
			n := &m.nodes[i]
			for k := range n.spans {
				n.spans[k].to = became[n.spans[k].to]
			}
			for k := range n.calls {
				n.calls[k].to = became[n.calls[k].to]
			}
			n.join()
		}
	}
}

// alike numbers nodes anew, those that are alike the same, and returns one of each. They still lead to the old numbers.
func (m *machine) alike() (became []int32, kept []node) {
	index := map[string]int32{}
	var key []byte
	for _, n := range m.nodes {
		key = append(key[:0], byte(len(n.spans)), byte(len(n.spans)>>8), 0)
		if n.final {
			key[2] = 1
		}
		for _, s := range n.spans {
			key = binary.LittleEndian.AppendUint32(append(key, s.lo, s.hi), uint32(s.to))
		}
		for _, c := range n.calls {
			key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(c.rule)), uint32(c.to))
		}
		at, ok := index[string(key)]
		if !ok {
			at = int32(len(kept))
			index[string(key)] = at
			kept = append(kept, n)
		}
		became = append(became, at)
	}
	return became, kept
}

// join makes spans one that touch and lead to the same place.
func (n *node) join() {
	var out []span
	for _, s := range n.spans {
		if k := len(out); k > 0 && out[k-1].to == s.to && out[k-1].hi+1 == s.lo {
			out[k-1].hi = s.hi
		} else {
			out = append(out, s)
		}
	}
	n.spans = out
}
