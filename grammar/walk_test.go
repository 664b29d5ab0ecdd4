package grammar

import (
	"math/rand/v2"
	"testing"
)

// pieces is a vocabulary of each byte, of fragments that cross every boundary there is, and of two ends: 1 and the last.
func pieces() *Vocabulary {
	texts := [][]byte{0: nil, 1: []byte("</s>"), 2: nil}
	for b := range 256 {
		texts = append(texts, []byte{byte(b)})
	}
	for _, s := range []string{
		`{"`, `":`, `": `, `", "`, `","`, `"}`, `"]`, `}}`, `]}`, `},`, `}, {"`, `[[`, `]]`, `[{"`, `{}`, `[]`, `""`, `null`, `true`, `false`, ` "`, `, `,
		"ab", "abc", "aab", "ba", "bb", "aaaa", "name", "type", "value", "a\"", "\\\"", "\\u", "\\n", "00", "12", "-1", "1.", ".5", "e1", "2026-", "-0",
		"é", "€", "😀", "a\xc3", "\xa9b", "\xe2\x82", "\xac\"", "\xf0\x9f", "\x98\x80", "<func", "tion=", "</", "fn", ">{\"", "hello", " world", "12345",
	} {
		texts = append(texts, []byte(s), []byte(s))
	}
	texts = append(texts, nil)
	return NewVocabulary(len(texts), func(id int32) []byte { return texts[id] }, []int32{1, int32(len(texts) - 1), 99999})
}

// far is a distance that no text has.
const far = 1 << 30

// distances returns for each node the fewest bytes to its rule's end.
func distances(g *Grammar) []int {
	d := make([]int, len(g.nodes))
	for i := range d {
		if d[i] = far; g.nodes[i].final || int32(i) < ownNodes {
			d[i] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for i, n := range g.nodes {
			best := d[i]
			for _, s := range n.spans {
				best = min(best, 1+d[s.to])
			}
			for _, c := range n.calls {
				best = min(best, d[g.starts[c.rule]]+d[c.to])
			}
			changed = changed || best < d[i]
			d[i] = best
		}
	}
	return d
}

// home knows the fewest bytes from sets to an end.
type home struct {
	nodes []int
	sets  map[*set]int
}

func (h *home) left(s *set) int {
	if n, ok := h.sets[s]; ok {
		return n
	}
	best := far
	for _, p := range s.pairs {
		n := h.nodes[p.node]
		if p.under != nil {
			n += h.left(p.under)
		}
		best = min(best, n)
	}
	h.sets[s] = best
	return best
}

// walk draws tokens that are allowed until the text ends. After some it heads for the end.
func walk(t *testing.T, g *Grammar, v *Vocabulary, dice *rand.Rand, long int) string {
	t.Helper()
	m, allowed := g.Start(v), make([]bool, v.size+3)
	h := &home{distances(g), map[*set]int{}}
	var out []byte
	for i := 0; ; i++ {
		m.Allow(allowed)
		compare(t, m, allowed, out)
		token := draw(t, m, allowed, dice, h, i >= long)
		if token < 0 {
			t.Fatalf("after %q no token is allowed", out)
		}
		ends := allowed[1]
		if ends != m.at.done || m.Done() && !ends {
			t.Fatalf("after %q: ends allowed is %v, may end is %v, done is %v", out, ends, m.at.done, m.Done())
		}
		m.Accept(token)
		if m.Err() != nil {
			t.Fatalf("after %q: %v", out, m.Err())
		}
		if token == 1 || int(token) == v.size-1 {
			return string(out)
		}
		out = append(out, v.text[token]...)
	}
}

// compare holds a mask against reading each token by itself.
func compare(t *testing.T, m *Matcher, allowed []bool, out []byte) {
	t.Helper()
	for id := range int32(m.r.v.size) {
		if len(m.r.v.text[id]) > 0 && allowed[id] != (m.r.read(m.at, id) != nil) {
			t.Fatalf("after %q: token %q is allowed: %v, want %v", out, m.r.v.text[id], allowed[id], !allowed[id])
		}
	}
}

func draw(t *testing.T, m *Matcher, allowed []bool, dice *rand.Rand, h *home, headHome bool) int32 {
	t.Helper()
	best, least, seen := int32(-1), far, 0
	for id := range int32(len(allowed)) {
		if !allowed[id] {
			continue
		}
		isEnd := id == 1 || int(id) == m.r.v.size-1
		if int(id) >= m.r.v.size || !isEnd && len(m.r.v.text[id]) == 0 {
			t.Fatalf("token %d is allowed and has no text", id)
		}
		if seen++; !headHome && dice.IntN(seen) == 0 {
			best = id
		}
		if !headHome {
			continue
		}
		n := -1
		if !isEnd {
			n = h.left(m.r.read(m.at, id))
		}
		if n < least {
			best, least = id, n
		}
	}
	return best
}
