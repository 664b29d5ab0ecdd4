package kv

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/ops"
)

// A Pass is the stores of all layers while a forward runs. Several may run at once over the same pages if no two have a sequence
// in common. Row lists depend on tokens, class, rate and reach and not on the layer, so each is made once. The memory stays for the
// next forward.
type Pass struct {
	p      *Pages
	k      kernels.Backend
	seqs   []*Sequence
	lists  []rowList
	stores []paged
}

// NewPass returns a pass whose rows are moved by k, and rounded first if the cache is to be fp8.
func (p *Pages) NewPass(k kernels.Backend, fp8 bool) *Pass {
	s := &Pass{p: p, k: k, stores: make([]paged, len(p.pools))}
	for i := range s.stores {
		s.stores[i] = paged{pass: s, layer: i}
		if fp8 {
			s.stores[i].keep = FP8(k, p.layout.Layers[i])
		}
	}
	return s
}

// Bind begins a forward: sequence number i of its tokens is seqs[i].
func (p *Pass) Bind(seqs []*Sequence) { p.seqs, p.lists = seqs, p.lists[:0] }

// Store returns the store of a layer for the forward that Bind began.
func (p *Pass) Store(layer int) Store { return &p.stores[layer] }

// PutBytes stores one row of a stream of bytes of a layer for each token of at: rows end to end.
func (p *Pass) PutBytes(layer int, at *ops.Tokens, st Stream, rows []byte) {
	q := p.stores[layer].pool(st)
	if want := at.Len() * q.t.Dim(); q.t.Type != dtype.U8 || len(rows) != want {
		panic(fmt.Sprintf("kv: layer %d: %d bytes of %v for %d tokens, want %d", layer, len(rows), st, at.Len(), want))
	}
	if at.Len() == 0 {
		return
	}
	for _, slot := range p.slots(at, q) {
		rows = rows[copy(q.row(int(slot)), rows):]
	}
}

// A rowList is the rows of a view, or the slots of a Put, which is a view in which each token reads its own row.
type rowList struct {
	in    *ops.Tokens
	class class
	rate  int
	reach Reach
	v     ops.View // without a pool
}

// own reaches the position itself.
var own = Reach{span, 1}

func (p *Pass) slots(at *ops.Tokens, q *pool) []int32 { return p.list(at, q, own).Rows }

func (p *Pass) view(in *ops.Tokens, q *pool, r Reach) ops.View {
	v := *p.list(in, q, r)
	v.Pool = q.t
	return v
}

// list returns the rows of a view, made before or now.
func (p *Pass) list(in *ops.Tokens, q *pool, r Reach) *ops.View {
	for i := range p.lists {
		if l := &p.lists[i]; l.in == in && l.class == q.class && l.rate == q.rate && l.reach == r {
			return &l.v
		}
	}
	l := p.grow()
	l.in, l.class, l.rate, l.reach = in, q.class, q.rate, r
	fill(&l.v, in, r, func(rows []int32, seq, lo, hi int32) []int32 {
		return appendRows(rows, p.seqs[seq].table[q.class], int32(q.rows), lo, hi)
	})
	return &l.v
}

// grow returns the next list, with the memory it had in an earlier pass.
func (p *Pass) grow() *rowList {
	if n := len(p.lists); n < cap(p.lists) {
		p.lists = p.lists[:n+1]
	} else {
		p.lists = append(p.lists, rowList{})
	}
	return &p.lists[len(p.lists)-1]
}

// appendRows appends where positions lo up to hi lie, n rows a page.
func appendRows(rows, table []int32, n, lo, hi int32) []int32 {
	for lo < hi {
		page := table[lo/n]
		if page < 0 {
			panic(fmt.Sprintf("kv: position %d is read after its page was given back", lo))
		}
		end := min(hi, (lo/n+1)*n)
		for at := page*n + lo%n; lo < end; lo++ {
			rows = append(rows, at)
			at++
		}
	}
	return rows
}
