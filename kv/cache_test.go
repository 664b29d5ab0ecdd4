package kv

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// run opens a sequence over toks, computes the rest in chunks of step, letting the cache know after each, and returns it and what it found.
func (g *rig) run(toks []int32, step int) (*Sequence, int) {
	g.t.Helper()
	s := &Sequence{}
	found := g.p.Cache().Open(s, "", toks, len(toks)-1)
	for s.n < len(toks) {
		to := g.p.Grow(s, min(len(toks), s.n+step))
		if to == s.n {
			g.t.Fatalf("no room at token %d", s.n)
		}
		g.pass(chunk{s, toks, to, toks})
	}
	return s, found
}

func TestHits(t *testing.T) {
	base := tokens(rand.New(rand.NewPCG(1, 1)), 100, 50)
	fork := func(n int, more ...int32) []int32 { return append(slices.Clone(base[:n]), more...) }
	for _, tt := range []struct {
		name  string
		first []int32
		then  []int32
		want  int
	}{
		{"the same prompt: all but the last token", base[:50], base[:50], 49},
		{"one page exactly", base[:16], base[:16], 15},
		{"one token past a page", base[:17], base[:17], 16},
		{"longer", base[:50], base[:80], 50},
		{"shorter, inside the page that is partly filled", base[:50], base[:49], 48},
		{"shorter, inside an old page whose recent rows went", base[:100], base[:40], 39},
		{"forked inside a page", base[:64], fork(37, -1, -2, -3), 37},
		{"forked at a page border", base[:64], fork(32, -1, -2, -3), 32},
		{"nothing in common", base[:64], []int32{-1, -2, -3}, 0},
		{"a single token", base[:64], base[:1], 0},
		{"two tokens", base[:64], base[:2], 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, NewLayout(layers(16, 4, 16), 1), 30, 30, true, 5)
			a, found := g.run(tt.first, 7)
			if found != 0 {
				t.Errorf("a cold cache had %d tokens", found)
			}
			b, found := g.run(tt.then, 64)
			if found != tt.want {
				t.Errorf("found %d tokens, want %d", found, tt.want)
			}
			g.p.Release(a)
			c, found := g.run(tt.then, 1)
			if found < tt.want {
				t.Errorf("after the owner left: found %d tokens, want at least %d", found, tt.want)
			}
			g.p.Release(b)
			g.p.Release(c)
			g.settled()
		})
	}
}

// The owner of a page that is partly filled goes on; what it adds must not disturb who copied, nor later hits.
func TestOwnerGoesOn(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 30, 30, true, 5)
	prompt := tokens(g.r, 40, 50)
	answer := func(base int32) []int32 {
		s := slices.Clone(prompt)
		for i := range int32(30) {
			s = append(s, base+i)
		}
		return s
	}
	owner, _ := g.run(prompt, 64)
	follower := &Sequence{}
	if found := g.p.Cache().Open(follower, "", prompt, len(prompt)-1); found != 39 {
		t.Fatalf("found %d, want 39", found)
	}
	ta, tb := answer(100), answer(200)
	for owner.n < 70 || follower.n < 70 {
		next := func(s *Sequence, t []int32) chunk { return chunk{s, t, g.p.Grow(s, min(70, s.n+1)), nil} }
		g.pass(next(owner, ta), next(follower, tb))
	}
	g.p.Advance(owner, 70, ta)
	g.p.Advance(follower, 70, tb)
	g.p.Release(owner)
	g.p.Release(follower)
	for _, tt := range []struct {
		tokens []int32
		want   int
	}{{prompt, 39}, {ta, 69}, {tb, 69}, {append(slices.Clone(tb), 1, 2, 3), 70}} {
		s, found := g.run(tt.tokens, 5)
		if found != tt.want {
			t.Errorf("found %d of %d tokens, want %d", found, len(tt.tokens), tt.want)
		}
		g.p.Release(s)
	}
	g.settled()
}

// Two sequences that compute equal pages at once end up sharing them.
func TestEqualPagesAreMerged(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 30, 30, true, 5)
	toks := tokens(g.r, 40, 50)
	a, b := &Sequence{}, &Sequence{}
	for _, s := range []*Sequence{a, b} {
		g.p.Cache().Open(s, "", toks, len(toks)-1)
		g.p.Grow(s, 40)
	}
	g.pass(chunk{a, toks, 40, toks}, chunk{b, toks, 40, toks})
	if !slices.Equal(a.table[lasting][:2], b.table[lasting][:2]) || a.table[recent][1] != b.table[recent][1] {
		t.Errorf("page tables are %v and %v, want equal whole pages", a.table, b.table)
	}
	_, lastings := g.p.Count()
	if lastings.Used() != 4 {
		t.Errorf("%d lasting pages in use, want 2 shared and 2 of their own", lastings.Used())
	}
	g.p.Release(a)
	g.p.Release(b)
	g.settled()
}

func TestEvictionTakesTheOldestLeaf(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 20, 6, true, 5)
	old, young := tokens(g.r, 33, 50), tokens(g.r, 48, 50)
	for _, s := range [][]int32{old, young} {
		seq, _ := g.run(s, 64)
		g.p.Release(seq)
	}
	other, _ := g.run(tokens(g.r, 17, 50), 64) // takes two pages: the last two of old
	if got := g.p.Cache().Stats().Evicted; got != 2 {
		t.Errorf("%d pages evicted, want 2", got)
	}
	g.p.Release(other)
	for _, tt := range []struct {
		tokens []int32
		want   int
	}{{old, 16}, {young, 47}} {
		s := &Sequence{}
		if found := g.p.Cache().Open(s, "", tt.tokens, len(tt.tokens)-1); found != tt.want {
			t.Errorf("found %d tokens, want %d", found, tt.want)
		}
		g.p.Release(s)
	}
	g.settled()
}

// Where recent rows were taken back, a prefix ends at the last page that can be continued.
func TestHitNeedsRecentRows(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 5, 30, true, 5)
	toks := tokens(g.r, 80, 50)
	s, _ := g.run(toks, 16)
	g.p.Release(s)
	for i := range 3 { // take the recent pages of the three oldest chunks
		if !g.p.Cache().evict(recent) {
			t.Fatalf("recent page %d was not evicted", i)
		}
	}
	var have []int
	for n := g.p.Cache().trees[""].root; len(n.children) > 0; n = n.children[0] {
		have = append(have, min(1, int(n.children[0].page[recent])+1))
	}
	if want := []int{1, 1, 0, 0, 0}; !slices.Equal(have, want) {
		t.Fatalf("recent pages present are %v, want %v", have, want)
	}
	if found := g.p.Cache().Open(s, "", toks, len(toks)-1); found != 32 {
		t.Errorf("found %d tokens, want 32", found)
	}
	g.p.Release(s)
	g.settled()
}

func TestFlushForgets(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 30, 30, true, 5)
	toks := tokens(g.r, 40, 50)
	s, _ := g.run(toks, 64)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a flush under an open sequence did not panic")
			}
		}()
		g.p.Cache().Flush()
	}()
	g.p.Release(s)
	g.p.Cache().Flush()
	s, found := g.run(toks, 64)
	if found != 0 {
		t.Errorf("found %d tokens after a flush, want 0", found)
	}
	g.p.Release(s)
	g.settled()
}

// Random sequences with shared beginnings, opened, advanced, inserted and released in random order under few pages: every row that is read is the
// right one, and nothing leaks.
func TestRandomUse(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := NewLayout(layers(1+r.IntN(40), []int{2, 4}[r.IntN(2)], []int{8, 16}[r.IntN(2)]), 1+r.IntN(40))
		recents, lastings := l.Recent(1)+r.IntN(12), 3+r.IntN(14)
		g := newRig(t, l, recents, lastings, seed%5 != 0, seed)
		g.randomUse(250)
	}
}

// live is a sequence of a random test.
type live struct {
	s    *Sequence
	toks []int32
}

func (g *rig) randomUse(steps int) {
	var all []live
	pool := tokens(g.r, 200, 3)
	for range steps {
		switch k := g.r.IntN(10); {
		case k < 3 || len(all) == 0:
			all = append(all, g.openRandom(pool))
		case k < 8:
			g.advanceRandom(all)
		default:
			i := g.r.IntN(len(all))
			g.end(all[i], g.r.IntN(3) > 0)
			all = slices.Delete(all, i, i+1)
		}
		g.consistent()
		if g.r.IntN(80) == 0 && len(all) == 0 && g.p.Cache() != nil {
			g.p.Cache().Flush()
		}
	}
	for _, q := range all {
		g.end(q, true)
	}
	g.settled()
}

// openRandom opens a sequence that begins like others, and forks somewhere.
func (g *rig) openRandom(pool []int32) live {
	n := 2 + g.r.IntN(min(len(pool)-1, 4*g.p.layout.Page))
	q := live{&Sequence{}, slices.Clone(pool[:n])}
	for i := g.r.IntN(2 * n); i < n; i++ {
		q.toks[i] = int32(g.r.IntN(3))
	}
	if g.p.Cache() != nil {
		g.p.Cache().Open(q.s, []string{"", "a"}[g.r.IntN(2)], q.toks, g.r.IntN(len(q.toks)))
	}
	return q
}

func (g *rig) advanceRandom(all []live) {
	var chunks []chunk
	for _, i := range g.r.Perm(len(all))[:1+g.r.IntN(len(all))] {
		q := all[i]
		want := min(len(q.toks), q.s.n+1+g.r.IntN(20))
		if to := g.p.Grow(q.s, want); to > q.s.n {
			known := q.toks
			if g.r.IntN(2) > 0 {
				known = nil
			}
			chunks = append(chunks, chunk{q.s, q.toks, to, known})
		}
	}
	g.pass(chunks...)
}

func (g *rig) end(q live, insert bool) {
	if insert {
		g.p.Advance(q.s, q.s.n, q.toks)
	}
	g.p.Release(q.s)
}

// consistent fails unless the tree, the lists and the counts of the cache say the same.
func (g *rig) consistent() {
	g.t.Helper()
	c := g.p.Cache()
	if c == nil {
		return
	}
	var pages [numClasses]int
	var walk func(n *node)
	walk = func(n *node) {
		for _, child := range n.children {
			for cl, page := range child.page {
				if page >= 0 {
					pages[cl]++
				}
			}
			if child.parent != n || child.page[lasting] < 0 || len(child.children) > 0 && len(child.tokens) < g.p.layout.Page {
				g.t.Fatalf("node of %d tokens with %d children and pages %v", len(child.tokens), len(child.children), child.page)
			}
			walk(child)
		}
	}
	open := 0
	for space, t := range c.trees {
		walk(t.root)
		if open += t.open; t.space != space || t.root.tree != t || t.open == 0 && len(t.root.children) == 0 {
			g.t.Fatalf("tree %+v in space %q", t, space)
		}
	}
	if open > c.open {
		g.t.Fatalf("%d sequences are open in trees, %d in all", open, c.open)
	}
	for cl := range numClasses {
		a, idle := &g.p.alloc[cl], 0
		for page, refs := range a.refs {
			if refs == 1 && a.cached[page] {
				idle++
			}
		}
		if idle != a.idle || pages[cl] != c.used[cl].Len() {
			g.t.Fatalf("%v: %d pages idle, counted %d; %d pages in the tree, %d in the list", cl, a.idle, idle, pages[cl], c.used[cl].Len())
		}
	}
}
