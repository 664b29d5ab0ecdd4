package kv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/tensor"
)

// layers has every kind of stream: a window alone with bytes beside it, and both compressors.
func layers(window, c4, c16 int) [][]Spec {
	w := Spec{Stream: Window, Width: 2, Rate: 1, Reach: window}
	return [][]Spec{
		{w, {Stream: Routed, Width: 3, Rate: 1, Bytes: true}},
		{w, {Stream: Raw, Width: 2, Rate: 1, Reach: 2 * c4}, {Stream: Compressed, Width: 1, Rate: c4, Reach: 0}, {Stream: IndexRaw, Width: 1, Rate: 1, Reach: 2 * c4}, {Stream: Index, Width: 1, Rate: c4, Reach: 0}},
		{w, {Stream: Raw, Width: 1, Rate: 1, Reach: c16}, {Stream: Compressed, Width: 1, Rate: c16, Reach: 0}},
	}
}

// value is what the row of position i must hold: it names everything that a real row depends on.
func value(layer int, s Stream, tokens []int32, i, rate int) float32 {
	h := uint32(layer)<<16 | uint32(s)<<12 | uint32(rate)
	for _, t := range tokens[:(i+1)*rate] {
		h = (h ^ uint32(t)) * 16777619
		h ^= h >> 15
	}
	return float32(h >> 9)
}

// A rig runs passes over made-up rows and checks each row that is read.
type rig struct {
	t *testing.T
	p *Pages
	r *rand.Rand
}

func newRig(t *testing.T, l Layout, recents, lastings int, share bool, seed uint64) *rig {
	g := &rig{t, NewPages(ref.New[float32](), l, dtype.F32, recents, lastings, share), rand.New(rand.NewPCG(seed, 1))}
	for c := range g.p.alloc {
		free := g.p.alloc[c].free
		g.r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	}
	return g
}

// A chunk is the next tokens of a sequence to compute.
type chunk struct {
	s      *Sequence
	tokens []int32 // from the start
	to     int
	known  []int32 // tokens if the cache shall learn them
}

// pass computes chunks in all layers: puts their rows, and reads what a model would.
func (g *rig) pass(chunks ...chunk) {
	g.t.Helper()
	in, seqs := &ops.Tokens{}, []*Sequence{}
	for i, c := range chunks {
		seqs = append(seqs, c.s)
		for pos := c.s.n; pos < c.to; pos++ {
			in.Seq, in.Pos, in.ID = append(in.Seq, int32(i)), append(in.Pos, int32(pos)), append(in.ID, c.tokens[pos])
		}
	}
	pass := g.p.NewPass(g.p.k, false)
	pass.Bind(seqs)
	for layer, specs := range g.p.layout.Layers {
		st := pass.Store(layer)
		for _, s := range specs {
			if s.Bytes {
				g.putBytes(pass, layer, s, in, chunks)
				continue
			}
			g.put(st, layer, s, in, chunks)
			g.see(st, layer, s, in, chunks)
		}
	}
	for _, c := range chunks {
		g.p.Advance(c.s, c.to, c.known)
		g.read(c)
	}
}

// bytes is what the bytes of position i must hold.
func bytes(tokens []int32, i, width int) []byte {
	v, b := uint32(value(0, Routed, tokens, i, 1)), []byte{}
	for w := range width {
		b = append(b, byte(v>>(8*w)))
	}
	return b
}

func (g *rig) putBytes(pass *Pass, layer int, s Spec, in *ops.Tokens, chunks []chunk) {
	var rows []byte
	for j, i := range in.Pos {
		rows = append(rows, bytes(chunks[in.Seq[j]].tokens, int(i), s.Width)...)
	}
	pass.PutBytes(layer, in, s.Stream, rows)
}

// read checks the bytes of every token of a sequence.
func (g *rig) read(c chunk) {
	g.t.Helper()
	for i := range c.s.n {
		if got, want := g.p.ReadBytes(c.s, 0, Routed, i), bytes(c.tokens, i, 3); !slices.Equal(got, want) {
			g.t.Fatalf("bytes of position %d are %v, want %v", i, got, want)
		}
	}
}

func (g *rig) put(st Store, layer int, s Spec, in *ops.Tokens, chunks []chunk) {
	at := in
	if s.Rate > 1 {
		at = in.Closed(int32(s.Rate))
	}
	rows := tensor.New(dtype.F32, at.Len(), s.Width)
	for j, i := range at.Pos {
		for w := range s.Width {
			rows.F32()[j*s.Width+w] = value(layer, s.Stream, chunks[at.Seq[j]].tokens, int(i), s.Rate) + float32(w)
		}
	}
	st.Put(at, s.Stream, rows)
}

func (g *rig) see(st Store, layer int, s Spec, in *ops.Tokens, chunks []chunk) {
	g.t.Helper()
	switch {
	case s.Stream == Window:
		g.check(st.See(in, s.Stream, Sliding(s.Reach)), layer, s, in, Sliding(s.Reach), chunks)
	case s.Reach > 0:
		rate := s.Reach
		if layer == 1 {
			rate /= 2
			closed := in.Closed(int32(rate))
			g.check(st.See(closed, s.Stream, SpanBefore(rate)), layer, s, closed, SpanBefore(rate), chunks)
		}
		closed := in.Closed(int32(rate))
		g.check(st.See(closed, s.Stream, Span(rate)), layer, s, closed, Span(rate), chunks)
	default:
		g.check(st.See(in, s.Stream, Before(s.Rate)), layer, s, in, Before(s.Rate), chunks)
	}
}

// check compares each row that a view reads with what its position must hold.
func (g *rig) check(v ops.View, layer int, s Spec, in *ops.Tokens, r Reach, chunks []chunk) {
	g.t.Helper()
	for t := range in.Len() {
		lo, hi := r.Of(in.Pos[t])
		rows := v.At(t)
		if len(rows) != int(hi-lo) {
			g.t.Fatalf("layer %d %v: token %d reads %d rows, want %d", layer, s.Stream, in.Pos[t], len(rows), hi-lo)
		}
		for j, row := range rows {
			for w := range s.Width {
				got := v.Pool.F32()[int(row)*s.Width+w]
				want := value(layer, s.Stream, chunks[in.Seq[t]].tokens, int(lo)+j, s.Rate) + float32(w)
				if got != want {
					g.t.Fatalf("layer %d %v: token %d of sequence %d reads position %d: got %v, want %v", layer, s.Stream, in.Pos[t], in.Seq[t], int(lo)+j, got, want)
				}
			}
		}
	}
}

// settled fails unless all pages are free or idle in the cache, and the counts agree with each other.
func (g *rig) settled() {
	g.t.Helper()
	recents, lastings := g.p.Count()
	if recents.Used() != 0 || lastings.Used() != 0 {
		g.t.Fatalf("pages in use after everything was released: recent %+v, lasting %+v", recents, lastings)
	}
	if c := g.p.Cache(); c != nil {
		c.Flush()
	}
	recents, lastings = g.p.Count()
	if recents.Free != recents.Total || lastings.Free != lastings.Total {
		g.t.Fatalf("pages lost after a flush: recent %+v, lasting %+v", recents, lastings)
	}
}

func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		window, c4, c16, atLeast int
		page, reach              int
	}{
		{16, 4, 16, 1, 16, 16},
		{16, 4, 16, 17, 32, 16},
		{5, 2, 3, 1, 6, 5},
		{2, 4, 6, 10, 12, 8},
		{128, 4, 128, 16, 128, 128},
	} {
		l := NewLayout(layers(tt.window, tt.c4, tt.c16), tt.atLeast)
		if l.Page != tt.page || l.Reach != tt.reach {
			t.Errorf("NewLayout(%d, %d, %d; %d) has pages of %d and reach %d, want %d and %d",
				tt.window, tt.c4, tt.c16, tt.atLeast, l.Page, l.Reach, tt.page, tt.reach)
		}
	}
}

func TestLayoutRecentIsTight(t *testing.T) {
	for _, l := range []Layout{NewLayout(layers(16, 4, 16), 1), NewLayout(layers(5, 2, 3), 1), NewLayout(layers(40, 4, 16), 1), NewLayout(nil, 4)} {
		for n := 1; n < 3*l.Page; n++ {
			most := 0
			for from := range 4 * l.Page {
				most = max(most, l.Pages(from+n)-l.needed(from))
			}
			// The first page of the window is full once from is past the reach.
			if got := l.Recent(n); got != most {
				t.Errorf("page %d reach %d: Recent(%d) = %d, want %d", l.Page, l.Reach, n, got, most)
			}
		}
	}
}

func TestBytes(t *testing.T) {
	recents, lastings := NewLayout(layers(16, 4, 16), 1).Bytes(dtype.F32)
	if want := 16 * 4 * (2 + 2 + 2 + 2 + 1 + 1); recents != want {
		t.Errorf("a recent page has %d bytes, want %d", recents, want)
	}
	if want := 4*(4+4+1) + 16*3; lastings != want {
		t.Errorf("a lasting page has %d bytes, want %d", lastings, want)
	}
}

func tokens(r *rand.Rand, n, kinds int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(r.IntN(kinds))
	}
	return s
}

func TestChunksReadTheirOwnRows(t *testing.T) {
	for _, step := range []int{1, 3, 7, 64} {
		g := newRig(t, NewLayout(layers(16, 4, 16), 1), 12, 9, false, 7)
		a, b := &Sequence{}, &Sequence{}
		ta, tb := tokens(g.r, 70, 9), tokens(g.r, 61, 9)
		for a.n < len(ta) || b.n < len(tb) {
			next := func(s *Sequence, t []int32) chunk { return chunk{s, t, g.p.Grow(s, min(len(t), s.n+step)), nil} }
			g.pass(next(a, ta), next(b, tb))
		}
		if recents, _ := g.p.Count(); recents.Used() > 4 {
			t.Errorf("step %d: %d recent pages in use at the end, want at most 4", step, recents.Used())
		}
		g.p.Release(a)
		g.p.Release(b)
		g.settled()
	}
}

func TestGrowStopsAtTheLastPage(t *testing.T) {
	p := NewPages(ref.New[float32](), NewLayout(layers(16, 4, 16), 1), dtype.F32, 8, 3, false)
	var s Sequence
	if got := p.Grow(&s, 100); got != 48 {
		t.Errorf("Grow(100) in 3 pages of 16 = %d, want 48", got)
	}
	if !p.Fits(48) || p.Fits(49) {
		t.Errorf("Fits(48), Fits(49) = %v, %v, want true, false", p.Fits(48), p.Fits(49))
	}
	p.Release(&s)
	if got := p.Grow(&s, 30); got != 30 {
		t.Errorf("Grow(30) after a release = %d, want 30", got)
	}
}

func TestReadingAfterGivingBackPanics(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 4, 4, false, 1)
	s, toks := &Sequence{}, tokens(g.r, 48, 5)
	g.p.Grow(s, 32)
	g.pass(chunk{s, toks, 32, nil})
	g.p.Grow(s, 33)
	pass := g.p.NewPass(g.p.k, false)
	pass.Bind([]*Sequence{s})
	defer func() {
		if got, want := fmt.Sprint(recover()), "kv: position 0 is read after its page was given back"; got != want {
			t.Errorf("panic is %q, want %q", got, want)
		}
	}()
	pass.Store(0).See(&ops.Tokens{Seq: []int32{0}, Pos: []int32{32}}, Window, Sliding(33))
}

func TestIndexAndCompressedLieAlike(t *testing.T) {
	g := newRig(t, NewLayout(layers(16, 4, 16), 1), 6, 6, false, 3)
	s := &Sequence{}
	g.p.Grow(s, 90)
	pass := g.p.NewPass(g.p.k, false)
	pass.Bind([]*Sequence{s})
	in := &ops.Tokens{Seq: []int32{0, 0}, Pos: []int32{70, 71}}
	st := pass.Store(1)
	a, b := st.See(in, Compressed, Before(4)), st.See(in, Index, Before(4))
	if !slices.Equal(a.Rows, b.Rows) || !slices.Equal(a.Lo, b.Lo) || a.Pool == b.Pool {
		t.Errorf("rows of compressed and index differ: %v and %v", a.Rows, b.Rows)
	}
}

func BenchmarkDecodeLists(b *testing.B) {
	p := NewPages(ref.New[float32](), NewLayout(layers(16, 4, 16), 1), dtype.F32, 64*40, 64*40, false)
	seqs := make([]*Sequence, 64)
	for i := range seqs {
		seqs[i] = &Sequence{}
		p.Grow(seqs[i], 512)
	}
	pass := p.NewPass(ref.New[float32](), false)
	b.ReportAllocs()
	for b.Loop() {
		in := &ops.Tokens{Seq: make([]int32, 64), Pos: make([]int32, 64)}
		for i := range seqs {
			in.Seq[i], in.Pos[i] = int32(i), 511
		}
		pass.Bind(seqs)
		for i := range p.layout.Layers {
			st := pass.Store(i)
			st.See(in, Window, Sliding(16))
			if i > 0 {
				st.See(in.Closed(4), Raw, Span(4))
				st.See(in, Compressed, Before([]int{0, 4, 16}[i]))
			}
		}
	}
}
