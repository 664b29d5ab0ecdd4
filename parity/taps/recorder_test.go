package taps_test

import (
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// A paged engine computes sequences on pages, in passes of any cut.
type pagedEngine struct {
	t     *testing.T
	m     model.Model
	pages *kv.Pages
	pass  *kv.Pass
	c     *ops.Ctx
	rec   *taps.Recorder
}

func newPaged(t *testing.T, j taps.Judge) *pagedEngine {
	e := &pagedEngine{t: t, m: j.Model, rec: taps.NewRecorder(j.Model)}
	e.pages = kv.NewPages(j.Backend, kv.NewLayout(j.Model.Layers(), 1), dtype.F32, 60, 60, true)
	e.pass = e.pages.NewPass(j.Backend, j.FP8)
	e.c = ops.NewCtx(j.Backend, &tensor.Arena{}, dtype.F32)
	e.c.Watch = e.rec.Watch
	return e
}

// A piece is the next tokens of a sequence, up to to.
type piece struct {
	s   *kv.Sequence
	ids []int32
	to  int
	set *taps.Set
}

// open returns a new sequence.
func (e *pagedEngine) open(ids []int32) *kv.Sequence {
	s := &kv.Sequence{}
	e.pages.Cache().Open(s, "", ids, 0)
	return s
}

// run computes pieces in one pass, and the end of the model for the last token of each.
func (e *pagedEngine) run(pieces ...piece) {
	in, seqs, sets, ends := &ops.Tokens{}, []*kv.Sequence{}, []*taps.Set{}, []int32{}
	for i, p := range pieces {
		e.pages.Grow(p.s, p.to)
		for pos := p.s.Len(); pos < p.to; pos++ {
			in.ID, in.Seq, in.Pos = append(in.ID, p.ids[pos]), append(in.Seq, int32(i)), append(in.Pos, int32(pos))
		}
		seqs, sets, ends = append(seqs, p.s), append(sets, p.set), append(ends, int32(in.Len()-1))
	}
	e.c.Mem.Reset()
	e.pass.Bind(seqs)
	e.rec.Begin(in, sets...)
	x := model.Forward(e.c, e.m, in, e.pass.Store, false)
	shape := append([]int{len(ends)}, x.Shape[1:]...)
	tails := ops.Gather(e.c, x.View(in.Len(), x.Len()/in.Len()), ends).View(shape...)
	e.rec.Tails(ends)
	e.m.Final(e.c, tails)
	for _, p := range pieces {
		e.pages.Advance(p.s, p.to, p.ids)
	}
	if err := e.rec.Err(); err != nil {
		e.t.Fatal(err)
	}
}

// sameRows fails unless got has all taps of want, with equal rows from those of position first on.
func sameRows(t *testing.T, got, want *taps.Set, first int) {
	t.Helper()
	for _, w := range want.Taps() {
		if w.Name == taps.Logits || w.Name == taps.LogProb {
			continue
		}
		g, rate := got.Find(w.Layer, w.Name), max(1, w.Rate)
		if w.Rows() <= (first+rate-1)/rate {
			continue // no window closed since
		}
		if g == nil {
			t.Errorf("%s: not recorded", w.Title())
			continue
		}
		if g.First > (first+rate-1)/rate && g.Name != taps.HCHead && g.Name != taps.FinalNorm {
			t.Errorf("%s: begins at row %d, want at most %d", w.Title(), g.First, (first+rate-1)/rate)
		}
		n := w.Width()
		if !slices.Equal(g.Values, w.Values[min(len(w.Values), g.First*n):]) || !slices.Equal(g.Choice, w.Choice[min(len(w.Choice), g.First*n):]) {
			t.Errorf("%s: %d rows from %d on are not those of one pass", w.Title(), g.Rows(), g.First)
		}
	}
}

// Chunks, single tokens, and other sequences in the same passes give the rows of one pass over all tokens.
func TestPassesMerge(t *testing.T) {
	j := tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, 1))
	a, b := tapstest.Tokens(1, tapstest.Small(), 37), tapstest.Tokens(2, tapstest.Small(), 30)
	wantA, wantB := tapstest.Record(j, a, nil), tapstest.Record(j, b, nil)
	e := newPaged(t, j)
	sa, sb, ga, gb := e.open(a), e.open(b), taps.NewSet(nil), taps.NewSet(b)
	e.run(piece{sa, a, 7, ga})
	e.run(piece{sb, b, 13, gb}, piece{sa, a, 8, ga})
	for n := 9; n <= 25; n++ {
		e.run(piece{sa, a, n, ga}, piece{sb, b, n + 5, gb})
	}
	for n := 26; n <= 37; n++ {
		e.run(piece{sa, a, n, ga})
	}
	if !slices.Equal(ga.Tokens, a) {
		t.Errorf("tokens are %v, want %v", ga.Tokens, a)
	}
	sameRows(t, ga, wantA, 0)
	sameRows(t, gb, wantB, 0)
	if got := ga.Find(-1, taps.FinalNorm); got.First != 6 || got.Rows() != 31 {
		t.Errorf("the end of the model has rows %d up to %d, want 6 up to 37", got.First, got.First+got.Rows())
	}
}

// What a cache holds of a prefix is not computed again: rows begin behind it.
func TestPrefixFromCache(t *testing.T) {
	j := tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, 1))
	ids := tapstest.Tokens(1, tapstest.Small(), 40)
	e := newPaged(t, j)
	e.run(piece{e.open(ids), ids, 40, nil})
	again, got := &kv.Sequence{}, taps.NewSet(ids)
	found := e.pages.Cache().Open(again, "", ids, 39)
	if found < 20 {
		t.Fatalf("found %d tokens in the cache, want most", found)
	}
	e.run(piece{again, ids, 40, got})
	sameRows(t, got, tapstest.Record(j, ids, nil), found)

	diffs, err := taps.Force(j, got)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		if !d.Same || d.Problem != "" {
			t.Errorf("%s: differs from what the judge makes of it: %+v", d.Title(), d)
		}
	}
	if one, err := taps.ForceLayer(j, got, 2); err != nil || len(one) == 0 {
		t.Errorf("a layer alone behind a cached prefix: %d differences, %v", len(one), err)
	}
}

// Rows that are computed again take the place of the first; a hole is an error, and so are other tokens.
func TestRecorderRefuses(t *testing.T) {
	m := tapstest.Model(tapstest.Small(), dtype.F32, 1)
	x := tensor.New(dtype.F32, 4, 16)
	at := func(pos ...int32) *ops.Tokens {
		return &ops.Tokens{ID: []int32{1, 2, 3, 4}[:len(pos)], Seq: make([]int32, len(pos)), Pos: pos}
	}
	for _, tt := range []struct {
		name string
		do   func(r *taps.Recorder, s *taps.Set)
		want string
	}{
		{"a hole", func(r *taps.Recorder, s *taps.Set) {
			r.Begin(at(0, 1), s)
			r.Watch(0, "attn_in", x.Slice(0, 2), nil)
			r.Begin(at(2, 3), s)
			r.Begin(at(4), s)
			r.Watch(0, "attn_in", x.Slice(0, 1), nil)
		}, "recorder: L0.attn_in: rows begin at 4, those of earlier passes are 0 up to 2: rows between them were never computed"},
		{"other tokens", func(r *taps.Recorder, s *taps.Set) {
			r.Begin(at(0, 1), s)
			r.Begin(&ops.Tokens{ID: []int32{9}, Seq: []int32{0}, Pos: []int32{1}}, s)
		}, "recorder: a pass has token 9 at position 1, the set has 2"},
		{
			"a start in the dark", func(r *taps.Recorder, s *taps.Set) { r.Begin(at(3), s) },
			"recorder: a pass begins at position 3 of a sequence whose first 0 tokens are known: give the set all tokens that a cache holds",
		},
		{"no pass", func(r *taps.Recorder, s *taps.Set) { r.Watch(0, "attn_in", x, nil) }, "recorder: L0.attn_in: comes before a pass was announced by Begin"},
		{"some rows", func(r *taps.Recorder, s *taps.Set) {
			r.Begin(at(0, 1), s)
			r.Watch(-1, "final_norm", x.Slice(0, 1), nil)
		}, "recorder: final_norm: has 1 rows, want 2; if only some were computed, say which by Tails"},
		{"an unknown name", func(r *taps.Recorder, s *taps.Set) {
			r.Begin(at(0), s)
			r.Watch(0, "attn_inn", x.Slice(0, 1), nil)
		}, "recorder: L0.attn_inn: is not known: it has no place in the order of computation"},
		{"too much", func(r *taps.Recorder, s *taps.Set) {
			r.Limit = 100
			r.Begin(at(0, 1), s)
			r.Watch(0, "attn_in", x.Slice(0, 2), nil)
		}, "recorder: L0.attn_in: the taps of a sequence of 2 tokens take more than 100 bytes: record fewer layers or names, or raise the limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := taps.NewRecorder(m)
			tt.do(r, taps.NewSet(nil))
			if err := r.Err(); err == nil || err.Error() != tt.want {
				t.Errorf("error is %v, want %s", err, tt.want)
			}
		})
	}
}

// Rows computed again, as after a retraction, replace the first; rows before the first come in front.
func TestRowsAgain(t *testing.T) {
	r, s := taps.NewRecorder(tapstest.Model(tapstest.Small(), dtype.F32, 1)), taps.NewSet([]int32{1, 2, 3, 4, 5})
	pass := func(first int, values ...float32) {
		in := &ops.Tokens{}
		for i := range values {
			in.ID, in.Seq, in.Pos = append(in.ID, s.Tokens[first+i]), append(in.Seq, 0), append(in.Pos, int32(first+i))
		}
		r.Begin(in, s)
		r.Watch(0, "attn_in", tensor.Of(values, len(values), 1), nil)
	}
	pass(2, 1, 2)
	pass(3, 7, 8)
	pass(0, 5, 6)
	pass(1, 4)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Find(0, "attn_in").Values, []float32{5, 4, 1, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("rows are %v, want %v", got, want)
	}
}

func TestKeep(t *testing.T) {
	j := tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, 1))
	e := newPaged(t, j)
	e.rec.Keep = func(layer int, name string) bool { return layer == 2 || name == taps.Embed }
	s := taps.NewSet(nil)
	ids := tapstest.Tokens(1, tapstest.Small(), 9)
	e.run(piece{e.open(ids), ids, 9, s})
	for _, x := range s.Taps() {
		if x.Layer != 2 && x.Name != taps.Embed {
			t.Errorf("%s: was recorded", x.Title())
		}
	}
	if s.Find(2, "streams") == nil || s.Find(-1, taps.Embed) == nil || strings.Contains(s.Taps()[0].Title(), "L2") {
		t.Errorf("taps are %v", s.Taps())
	}
}
