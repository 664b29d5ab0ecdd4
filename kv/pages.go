package kv

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// Pages keeps rows for many sequences in pools of pages. One page covers Layout.Page tokens of one sequence in every layer
// and stream of its class; row i of a stream with r rows a page lies at row t[i/r]*r + i%r of the stream's pool, t the sequence's
// page table. One goroutine uses it.
type Pages struct {
	layout Layout
	k      kernels.Backend
	pools  [][numStreams]pool // of each layer
	alloc  [numClasses]allocator
	cache  *Cache // nil when prefixes are not shared
}

// A pool is the rows of one stream of one layer.
type pool struct {
	class class
	rate  int
	rows  int            // of a page
	t     *tensor.Tensor // [pages*rows, width]; nil when the layer has no such stream
}

// A Sequence is the page tables of one sequence. The zero value holds nothing.
type Sequence struct {
	n     int                 // rows exist for the tokens below n
	table [numClasses][]int32 // the page of each Layout.Page tokens; -1 where it was given back
	first int                 // recent pages below it were given back

	// What the cache knows of it: tree is what it was opened in, nil before; tip is the node of its last whole page there, whole counts those pages.
	tree  *tree
	tip   *node
	whole int
}

// Len returns the number of tokens whose rows exist.
func (s *Sequence) Len() int { return s.n }

// NewPages returns pools of the given numbers of pages, for activations of type t. With share, prefixes are shared through [Pages.Cache].
func NewPages(k kernels.Backend, l Layout, t dtype.Type, recentPages, lastingPages int, share bool) *Pages {
	p := &Pages{layout: l, k: k, pools: make([][numStreams]pool, len(l.Layers))}
	sizes := [numClasses]int{recent: recentPages, lasting: lastingPages}
	for c := range p.alloc {
		p.alloc[c] = newAllocator(sizes[c])
	}
	for i, layer := range l.Layers {
		for _, s := range layer {
			rows := l.rows(s)
			p.pools[i][s.Stream] = pool{s.class(), s.Rate, rows, tensor.New(s.element(t), sizes[s.class()]*rows, s.Width)}
		}
	}
	if share {
		p.cache = newCache(p)
	}
	return p
}

// Cache returns what shares prefixes, nil if nothing does.
func (p *Pages) Cache() *Cache { return p.cache }

// Layout returns how streams lie in pages.
func (p *Pages) Layout() Layout { return p.layout }

// Fits reports whether a sequence of n tokens has room when it is alone.
func (p *Pages) Fits(n int) bool {
	return p.layout.Pages(n) <= len(p.alloc[lasting].refs) && p.layout.Recent(1) <= len(p.alloc[recent].refs)
}

// Room reports whether s, which holds what it found, could now grow to n tokens if everybody else stood still.
func (p *Pages) Room(s *Sequence, n int) bool {
	need := [numClasses]int{
		recent:  p.layout.Recent(1) - (len(s.table[recent]) - s.first),
		lasting: p.layout.Pages(n) - len(s.table[lasting]),
	}
	for c := range p.alloc {
		if need[c] > len(p.alloc[c].free)+p.alloc[c].idle {
			return false
		}
	}
	return true
}

// Grow makes room for the tokens of s below n and returns for how many there is room, which is n, or less when
// pages run short. Pages that only the cache holds are taken from it.
func (p *Pages) Grow(s *Sequence, n int) int {
	for len(s.table[lasting])*p.layout.Page < n && p.extend(s) {
	}
	return min(n, len(s.table[lasting])*p.layout.Page)
}

// extend adds one page of each class to s, or none.
func (p *Pages) extend(s *Sequence) bool {
	var got [numClasses]int32
	for c := range numClasses {
		page, ok := p.take(c)
		if !ok {
			for d := range c {
				p.alloc[d].drop(got[d])
			}
			return false
		}
		got[c] = page
	}
	for c, page := range got {
		s.table[c] = append(s.table[c], page)
	}
	return true
}

func (p *Pages) take(c class) (int32, bool) {
	page, ok := p.alloc[c].take()
	if !ok && p.cache != nil && p.cache.evict(c) {
		return p.alloc[c].take()
	}
	return page, ok
}

// Advance says that the rows of the tokens of s below n exist. With known, which begins with those tokens, the cache learns them. Then the
// recent pages that no later token of s can read are given back.
func (p *Pages) Advance(s *Sequence, n int, known []int32) {
	s.n = n
	if p.cache != nil && known != nil {
		p.cache.insert(s, known)
	}
	for end := p.layout.needed(n); s.first < end; s.first++ {
		p.alloc[recent].drop(s.table[recent][s.first])
		s.table[recent][s.first] = -1
	}
}

// Release gives back everything s holds; s is then the zero Sequence.
func (p *Pages) Release(s *Sequence) {
	if p.cache != nil {
		p.cache.leave(s)
	}
	for c := range s.table {
		for _, page := range s.table[c] {
			if page >= 0 {
				p.alloc[c].drop(page)
			}
		}
	}
	*s = Sequence{table: [numClasses][]int32{s.table[recent][:0], s.table[lasting][:0]}}
}

// Drop gives the memory of all rows back to the system: until Make nobody may read or write any. Nobody may hold a page.
func (p *Pages) Drop() {
	for c := range p.alloc {
		if n := len(p.alloc[c].refs) - len(p.alloc[c].free); n > 0 {
			panic(fmt.Sprintf("kv: drop while %d %v pages are held", n, class(c)))
		}
	}
	p.each(func(q *pool) { q.t.Mem = nil })
}

// Make gives rows memory again after a Drop.
func (p *Pages) Make() {
	p.each(func(q *pool) { q.t.Mem = tensor.New(q.t.Type, q.t.Shape...).Mem })
}

// Bytes returns the memory of all rows.
func (p *Pages) Bytes() (n int) {
	p.each(func(q *pool) { n += len(q.t.Mem) })
	return n
}

// each calls f for every pool that is there.
func (p *Pages) each(f func(q *pool)) {
	for i := range p.pools {
		for st := range p.pools[i] {
			if q := &p.pools[i][st]; q.t != nil {
				f(q)
			}
		}
	}
}

// copyRows copies the rows that stand for the first n tokens of page from, in all streams of a class, to page to.
func (p *Pages) copyRows(c class, to, from int32, n int) {
	for i := range p.pools {
		for _, q := range p.pools[i] {
			if rows := n / max(1, q.rate); q.t != nil && q.class == c && rows > 0 {
				a, b := int(to)*q.rows, int(from)*q.rows
				p.copy(q.t.Slice(a, a+rows), q.t.Slice(b, b+rows))
			}
		}
	}
}

// copy sets y = x, rows of one pool.
func (p *Pages) copy(y, x *tensor.Tensor) {
	if y.Type == dtype.U8 {
		copy(y.Mem, x.Mem)
		return
	}
	p.k.Copy(y, x)
}

// Read returns the row of a stream that stands for token pos of s, which must be there. It is the pool's own memory.
func (p *Pages) Read(s *Sequence, layer int, st Stream, pos int) []float32 {
	q, row := p.find(s, layer, st, pos)
	width := q.t.Dim()
	return q.t.F32()[row*width:][:width]
}

// ReadBytes is Read for a stream of bytes.
func (p *Pages) ReadBytes(s *Sequence, layer int, st Stream, pos int) []byte {
	q, row := p.find(s, layer, st, pos)
	return q.row(row)
}

// find returns a stream's pool, and its row that stands for token pos of s.
func (p *Pages) find(s *Sequence, layer int, st Stream, pos int) (q *pool, row int) {
	q = &p.pools[layer][st]
	if q.t == nil || pos < 0 || pos >= s.n {
		panic(fmt.Sprintf("kv: read of %v in layer %d, position %d of %d: there is no such row", st, layer, pos, s.n))
	}
	i := pos / q.rate
	return q, int(s.table[q.class][i/q.rows])*q.rows + i%q.rows
}

// row returns a row of a pool of bytes.
func (q *pool) row(i int) []byte {
	width := q.t.Dim()
	if q.t.Type != dtype.U8 {
		panic(fmt.Sprintf("kv: rows are %v, want bytes", q.t.Type))
	}
	return q.t.Mem[i*width:][:width:width]
}

// A Count says what became of the pages of a class.
type Count struct {
	Total  int
	Free   int
	Cached int // held by the cache alone
}

// Used returns the number of pages that sequences hold.
func (c Count) Used() int { return c.Total - c.Free - c.Cached }

// Count returns what became of the recent and of the lasting pages.
func (p *Pages) Count() (recents, lastings Count) {
	of := func(a *allocator) Count { return Count{len(a.refs), len(a.free), a.idle} }
	return of(&p.alloc[recent]), of(&p.alloc[lasting])
}

// paged is the store of one layer.
type paged struct {
	pass  *Pass
	layer int
	keep  Keep
}

// Put writes rows to their places.
func (s *paged) Put(at *ops.Tokens, st Stream, rows *tensor.Tensor) {
	if at.Len() == 0 {
		return
	}
	if s.keep != nil {
		s.keep(st, rows)
	}
	q := s.pool(st)
	s.pass.k.Dispatch(q.t, rows, s.pass.slots(at, q), 1)
}

// See returns the rows of the stream that each token of in reads.
func (s *paged) See(in *ops.Tokens, st Stream, r Reach) ops.View {
	q := s.pool(st)
	return s.pass.view(in, q, r)
}

func (s *paged) pool(st Stream) *pool {
	q := &s.pass.p.pools[s.layer][st]
	if q.t == nil {
		panic(fmt.Sprintf("kv: layer %d keeps no stream %v", s.layer, st))
	}
	return q
}
