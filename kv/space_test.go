package kv

import (
	"fmt"
	"slices"
	"testing"
)

// What is known in one space is not found in another, and both take and lose pages of the same pools.
func TestSpaces(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 40, 40, true, 5)
	c, toks := g.p.Cache(), tokens(g.r, 60, 50)
	for _, space := range []string{"", "a", "b"} {
		s := &Sequence{}
		if found := c.Open(s, space, toks, 59); found != 0 {
			t.Errorf("space %q finds %d tokens of another", space, found)
		}
		g.pass(chunk{s, toks, g.p.Grow(s, 60), toks})
		g.p.Release(s)
		g.consistent()
	}
	for _, space := range []string{"a", "", "b"} {
		s := &Sequence{}
		if found := c.Open(s, space, toks, 59); found != 59 {
			t.Errorf("space %q finds %d of its tokens, want 59", space, found)
		}
		g.p.Release(s)
	}
	if c.Spaces() != 3 {
		t.Errorf("%d spaces, want 3", c.Spaces())
	}
	c.Flush()
	if c.Spaces() != 0 {
		t.Errorf("%d spaces after a flush, want none", c.Spaces())
	}
	g.settled()
}

// Spaces that came and went leave nothing.
func TestSpacesDoNotPileUp(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 12, 6, true, 5)
	for i := range 500 {
		s := &Sequence{}
		toks := tokens(g.r, 20, 50)
		g.p.Cache().Open(s, fmt.Sprint(i), toks, 19)
		if i%3 > 0 {
			g.pass(chunk{s, toks, g.p.Grow(s, 20), toks})
		}
		g.p.Release(s)
		g.consistent()
		if n := g.p.Cache().Spaces(); n > 6 {
			t.Fatalf("%d spaces after %d, want at most one a page", n, i+1)
		}
	}
	g.settled()
}

// A prefix can be limited; what is computed again is merged with what was there.
func TestOpenAtMost(t *testing.T) {
	for most := range 60 {
		g := newRig(t, NewLayout(layers(16, 4, 16), 1), 40, 40, true, 5)
		toks := tokens(g.r, 60, 50)
		first, _ := g.run(toks, 64)
		s := &Sequence{}
		found := g.p.Cache().Open(s, "", toks, most)
		if found > most || found < most-g.p.layout.Page {
			t.Errorf("found %d tokens of at most %d", found, most)
		}
		g.pass(chunk{s, toks, g.p.Grow(s, 60), toks})
		if a, b := first.table[lasting][:3], s.table[lasting][:3]; !slices.Equal(a, b) {
			t.Errorf("at most %d: pages are %v and %v, want equal ones", most, a, b)
		}
		g.p.Release(first)
		g.p.Release(s)
		g.settled()
	}
}
