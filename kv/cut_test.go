package kv

import "testing"

// After a Cut nothing of before is found, not even what sequences of before add; they keep their rows, and all pages come back.
func TestCut(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 30, 30, true, 5)
	c := g.p.Cache()
	toks := tokens(g.r, 90, 50)
	done, _ := g.run(toks[:40], 16)
	g.p.Release(done)
	old := &Sequence{}
	if found := c.Open(old, "", toks, len(toks)-1); found != 40 {
		t.Fatalf("found %d tokens before the cut, want 40", found)
	}
	g.pass(chunk{old, toks, g.p.Grow(old, 50), toks})
	c.Cut()
	g.consistent()
	for to := 60; to <= 90; to += 10 { // it goes on, and would let others know
		g.pass(chunk{old, toks, g.p.Grow(old, to), toks})
		fresh := &Sequence{}
		if found := c.Open(fresh, "", toks, len(toks)-1); found != 0 {
			t.Errorf("found %d tokens of before the cut", found)
		}
		g.p.Release(fresh)
		g.consistent()
	}
	young, found := g.run(toks, 30)
	if found != 0 {
		t.Errorf("found %d tokens of before the cut", found)
	}
	g.p.Release(old)
	g.consistent()
	g.p.Release(young)
	again := &Sequence{}
	if found := c.Open(again, "", toks, len(toks)-1); found != 89 {
		t.Errorf("found %d tokens of after the cut, want 89", found)
	}
	g.p.Release(again)
	c.Cut() // of a cache that holds all there is
	g.consistent()
	c.Flush()
	for cl := range g.p.alloc {
		if a := g.p.alloc[cl]; len(a.free) != len(a.refs) {
			t.Errorf("%v: %d of %d pages came back", class(cl), len(a.free), len(a.refs))
		}
	}
	if got := c.Stats().Flushes; got != 3 {
		t.Errorf("%d flushes, want 3", got)
	}
}
