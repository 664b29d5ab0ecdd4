package kv

import (
	"container/list"
	"fmt"
	"slices"
)

// A Cache shares the pages of equal prefixes. It is a tree for each space: a path of nodes is a prefix, cut at page borders. A sequence that
// opens holds the pages of whole nodes that it matches, and copies the rows of a node that it matches in part into a page
// of its own. Rows are only ever appended, so a page that its owner still fills is a good source for the rows it had.
//
// A prefix can be continued where its lasting rows are there, and the recent rows that later tokens read. Pages that no sequence holds
// go, least recently used first, when others need room. Lasting pages go from the leaves; recent pages one by one.
type Cache struct {
	p     *Pages
	trees map[string]*tree      // what may be found, by space; Cut begins new ones
	used  [numClasses]list.List // nodes with a page of the class, the last used in front
	open  int                   // sequences between Open and Release
	stats CacheStats
}

// CacheStats counts since the start.
type CacheStats struct {
	Evicted int // pages taken back, of both classes
	Flushes int
}

// A tree is what sequences of one space share. It is there as long as it has a node or an open sequence.
type tree struct {
	space string
	root  *node
	open  int
}

// A node is the pages of one chunk of tokens after those of its ancestors. A chunk shorter than a page is a leaf.
type node struct {
	tree     *tree // of a root
	parent   *node
	children []*node
	tokens   []int32
	page     [numClasses]int32         // recent is -1 when it went
	place    [numClasses]*list.Element // in Cache.used, nil without a page
}

func newCache(p *Pages) *Cache { return &Cache{p: p, trees: map[string]*tree{}} }

// Stats returns the counts.
func (c *Cache) Stats() CacheStats { return c.stats }

// Spaces returns the number of spaces that something is known of.
func (c *Cache) Spaces() int { return len(c.trees) }

// Open lets s, which is zero, hold the longest prefix of tokens that is known in a space, of at most so many, and returns its length. Nothing
// that s adds is found in another space.
func (c *Cache) Open(s *Sequence, space string, tokens []int32, most int) int {
	c.enter(s, space)
	path, rest, n := s.tree.match(tokens[:max(0, most)], c.p.layout.Page)
	if n = c.usable(path, n); n == 0 {
		return 0
	}
	c.hold(s, path[:n/c.p.layout.Page], c.p.layout.needed(n))
	if part := n % c.p.layout.Page; part > 0 && !c.copyPart(s, rest, part) {
		c.p.Release(s)
		c.enter(s, space)
		return 0
	}
	s.n = n
	c.touch(s.tip)
	return n
}

// enter opens s, which is zero, in a space.
func (c *Cache) enter(s *Sequence, space string) {
	t := c.trees[space]
	if t == nil {
		t = &tree{space: space}
		t.root = &node{tree: t}
		c.trees[space] = t
	}
	c.open++
	t.open++
	s.tree, s.tip = t, t.root
}

// match returns the nodes of the longest known prefix, the node that then matches in part (nil for none), and the prefix's length.
func (t *tree) match(tokens []int32, page int) (path []*node, rest *node, n int) {
	at := t.root
	for {
		next, part, common := at.nearest(tokens[n:], page)
		if next == nil {
			return path, part, n + common
		}
		path, n, at = append(path, next), n+len(next.tokens), next
	}
}

// nearest returns the child that is a whole page and begins tokens, or else the one with most tokens in common whose rows can
// all be copied.
func (n *node) nearest(tokens []int32, page int) (whole, part *node, most int) {
	for _, child := range n.children {
		common := commonPrefix(child.tokens, tokens)
		switch {
		case common == page:
			return child, nil, 0
		case common > most && child.page[recent] >= 0:
			part, most = child, common
		}
	}
	return nil, part, most
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// usable returns n cut to the longest prefix whose recent rows are there, as far as later tokens read them. The node
// that matches in part has its own.
func (c *Cache) usable(path []*node, n int) int {
	page := c.p.layout.Page
	for n > 0 {
		last := min((n-1)/page, len(path)-1)
		for last >= c.p.layout.needed(n) && path[last].page[recent] >= 0 {
			last--
		}
		if last < c.p.layout.needed(n) {
			return n
		}
		n = last * page
	}
	return 0
}

// hold makes s a holder of the pages of path, recent ones from number first on.
func (c *Cache) hold(s *Sequence, path []*node, first int) {
	for i, n := range path {
		page := n.page
		c.p.alloc[lasting].hold(page[lasting])
		if i < first {
			page[recent] = -1
		} else {
			c.p.alloc[recent].hold(page[recent])
		}
		for cl := range s.table {
			s.table[cl] = append(s.table[cl], page[cl])
		}
		s.tip = n
	}
	s.first, s.whole = min(first, len(path)), len(path)
}

// copyPart gives s a page of its own with the rows of the first tokens of n. It reports false when no page is free.
func (c *Cache) copyPart(s *Sequence, n *node, tokens int) bool {
	from := n.page
	for cl, page := range from { // so that making room does not take them
		c.p.alloc[cl].hold(page)
	}
	ok := c.p.extend(s)
	for cl, page := range from {
		if ok {
			t := s.table[cl]
			c.p.copyRows(class(cl), t[len(t)-1], page, tokens)
		}
		c.p.alloc[cl].drop(page)
	}
	return ok
}

// insert makes the rows of s known under its tokens, of which the first s.Len() count. Where the cache has a whole page already, s takes
// that one instead of its own: equal tokens under equal weights have equal rows.
func (c *Cache) insert(s *Sequence, tokens []int32) {
	if !c.knows(s) {
		return
	}
	page := c.p.layout.Page
	for (s.whole+1)*page <= s.n {
		s.tip = c.join(s, tokens[s.whole*page:(s.whole+1)*page])
		s.whole++
	}
	last := s.tip
	if rest := tokens[s.whole*page : s.n]; len(rest) > 0 {
		last = c.join(s, rest)
	}
	c.touch(last)
}

// join returns the node for the chunk of s that follows its tip, new or not.
func (c *Cache) join(s *Sequence, chunk []int32) *node {
	i := s.whole
	own, other := c.find(s.tip, s.table[lasting][i], chunk)
	switch {
	case other != nil && len(chunk) == c.p.layout.Page:
		if own != nil { // it begins like other
			c.remove(own)
		}
		c.adopt(s, other, i)
		return other
	case other != nil && other.page[recent] >= 0:
		return other
	case own == nil:
		own = &node{parent: s.tip, page: [numClasses]int32{-1, -1}}
		s.tip.children = append(s.tip.children, own)
		c.keep(own, lasting, s.table[lasting][i])
	}
	if len(chunk) > len(own.tokens) {
		own.tokens = slices.Clone(chunk)
	}
	if own.page[recent] < 0 && s.table[recent][i] >= 0 {
		c.keep(own, recent, s.table[recent][i])
	}
	return own
}

// find returns the child that holds page, and another that begins with chunk; either may be nil.
func (c *Cache) find(at *node, page int32, chunk []int32) (own, other *node) {
	for _, n := range at.children {
		switch {
		case n.page[lasting] == page:
			own = n
		case len(n.tokens) >= len(chunk) && slices.Equal(n.tokens[:len(chunk)], chunk):
			other = n
		}
	}
	return own, other
}

// adopt replaces page i of s by the equal one of n. If n's recent rows went and s has them, n gets them.
func (c *Cache) adopt(s *Sequence, n *node, i int) {
	swap := func(cl class) {
		c.p.alloc[cl].hold(n.page[cl])
		c.p.alloc[cl].drop(s.table[cl][i])
		s.table[cl][i] = n.page[cl]
	}
	swap(lasting)
	switch have := s.table[recent][i] >= 0; {
	case have && n.page[recent] >= 0:
		swap(recent)
	case have:
		c.keep(n, recent, s.table[recent][i])
	}
}

// keep gives n a page that a sequence holds.
func (c *Cache) keep(n *node, cl class, page int32) {
	c.p.alloc[cl].keep(page)
	n.page[cl] = page
	n.place[cl] = c.used[cl].PushFront(n)
}

// forget takes a page from n.
func (c *Cache) forget(n *node, cl class) {
	if n.page[cl] < 0 {
		return
	}
	c.p.alloc[cl].forget(n.page[cl])
	c.used[cl].Remove(n.place[cl])
	n.page[cl], n.place[cl] = -1, nil
}

// touch marks a path as used just now, its root last, so that leaves are always older than what they stand on.
func (c *Cache) touch(n *node) {
	for ; n.parent != nil; n = n.parent {
		for cl, e := range n.place {
			if e != nil {
				c.used[cl].MoveToFront(e)
			}
		}
	}
}

// leave forgets that s was open.
func (c *Cache) leave(s *Sequence) {
	if s.tree == nil {
		return
	}
	if c.knows(s) {
		c.touch(s.tip)
	}
	c.open--
	s.tree.open--
	c.prune(s.tree)
}

// knows reports whether s was opened since the last Cut.
func (c *Cache) knows(s *Sequence) bool { return c.trees[s.tree.space] == s.tree }

// prune forgets a tree that is nothing any more: there may be more spaces than memory over time.
func (c *Cache) prune(t *tree) {
	if t.open == 0 && len(t.root.children) == 0 && c.trees[t.space] == t {
		delete(c.trees, t.space)
	}
}

// evict gives up the least recently used page of a class that nobody else holds. It reports false when there is none.
func (c *Cache) evict(cl class) bool {
	if c.p.alloc[cl].idle == 0 {
		return false
	}
	for range c.used[cl].Len() {
		e := c.used[cl].Back()
		n := e.Value.(*node)
		if c.p.alloc[cl].refs[n.page[cl]] > 1 || cl == lasting && len(n.children) > 0 {
			c.used[cl].MoveToFront(e) // in use
			continue
		}
		if cl == lasting {
			c.remove(n)
		} else {
			c.forget(n, recent)
		}
		c.stats.Evicted++
		return true
	}
	panic(fmt.Sprintf("kv: %d idle %v pages, but none can be evicted", c.p.alloc[cl].idle, cl))
}

// remove takes a leaf out of the tree.
func (c *Cache) remove(n *node) {
	c.forget(n, recent)
	c.forget(n, lasting)
	siblings := n.parent.children
	i := slices.Index(siblings, n)
	siblings[i] = siblings[len(siblings)-1]
	n.parent.children = siblings[:len(siblings)-1]
	if t := n.parent.tree; t != nil {
		c.prune(t)
	}
}

// Flush forgets everything: the rows of old weights must never meet new ones. No sequence may be open.
func (c *Cache) Flush() {
	if c.open > 0 {
		panic(fmt.Sprintf("kv: flush with %d sequences open", c.open))
	}
	c.Cut()
}

// Cut forgets everything while sequences are open. They keep their pages, but what they hold and what they add is not found by others
// any more: it is rows of old weights, or of old and new ones.
func (c *Cache) Cut() {
	for cl := range numClasses {
		for c.used[cl].Len() > 0 {
			c.forget(c.used[cl].Front().Value.(*node), cl)
		}
	}
	clear(c.trees)
	c.stats.Flushes++
}
