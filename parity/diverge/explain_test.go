package diverge_test

import (
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// A suspect of these tests.
type suspect struct {
	name, says string
	ops        []string
	plant      func(taps.Judge) (taps.Judge, bool)
}

func (s suspect) Name() string                          { return s.name }
func (s suspect) Says() string                          { return s.says }
func (s suspect) Ops() []string                         { return s.ops }
func (s suspect) Plant(j taps.Judge) (taps.Judge, bool) { return s.plant(j) }
func always(f func(*taps.Judge)) func(taps.Judge) (taps.Judge, bool) {
	return func(j taps.Judge) (taps.Judge, bool) { f(&j); return j, true }
}

// noSinks takes the sinks out of attention.
type noSinks struct{ kernels.Backend }

func (k noSinks) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	none := sink.Clone()
	for i := range none.F32() {
		none.F32()[i] = -1e30
	}
	k.Backend.Attend(o, lse, q, none, heads, views...)
}

// longer lets the sliding window reach one token further back.
type longer struct {
	kv.Store
	window int
}

func (s longer) See(in *ops.Tokens, st kv.Stream, r kv.Reach) ops.View {
	if st == kv.Window {
		r = kv.Sliding(s.window + 1)
	}
	return s.Store.See(in, st, r)
}

// unturned leaves the attention output as it is.
type unturned struct{ kernels.Backend }

func (k unturned) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		k.Copy(y, x)
		return
	}
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
}

// unnormed leaves queries as they are.
type unnormed struct{ kernels.Backend }

func (k unnormed) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if w == nil {
		k.Copy(y, x)
		return
	}
	k.Backend.RMSNorm(y, x, w, dim, eps)
}

func suspects(cfg dsv4.Config) []diverge.Suspect {
	wider := func(_ int, s kv.Store) kv.Store { return longer{s, cfg.Window} }
	return []diverge.Suspect{
		suspect{"no sink", "leaves out the sinks", []string{"attn_mix"}, always(func(j *taps.Judge) { j.Backend = noSinks{j.Backend} })},
		suspect{"window one longer", "lets the window reach one token further back", []string{"attn_mix"}, always(func(j *taps.Judge) { j.Store = wider })},
		suspect{"also one longer", "counts the window without the token itself", []string{"attn_mix"}, always(func(j *taps.Judge) { j.Store = wider })},
		suspect{"not turned back", "does not turn the attention output back", []string{"attn_turned"}, always(func(j *taps.Judge) { j.Backend = unturned{j.Backend} })},
		suspect{"two at once", "leaves out the sinks, and the norm of queries", []string{"attn_mix"}, always(func(j *taps.Judge) { j.Backend = unnormed{noSinks{j.Backend}} })},
		suspect{"never", "does what can't be tried", nil, func(j taps.Judge) (taps.Judge, bool) { return j, false }},
	}
}

// The mistake under which the difference vanishes is named; if there are several, all are.
func TestExplain(t *testing.T) {
	cfg := tapstest.Small()
	k := ref.New[float32]()
	j := tapstest.Judge(k, tapstest.Model(cfg, dtype.F32, 4))
	ids := tapstest.Tokens(4, cfg, 40)
	for _, tt := range []struct {
		planted int
		op      string
		match   []string
		says    string
	}{
		{0, "attn_mix", []string{"no sink"}, "Most likely B leaves out the sinks: with that in the judge the difference is gone."},
		{1, "attn_mix", []string{"window one longer", "also one longer"}, "Each of 2 known mistakes explains it"},
		{3, "attn_turned", []string{"not turned back"}, "Most likely B does not turn the attention output back:"},
	} {
		wrong, _ := suspects(cfg)[tt.planted].Plant(j)
		s := tapstest.Record(wrong, ids, nil)
		c := diverge.Case{Side: "B"}
		f := first(t, c, j, s, nil)
		if f.Layer != 0 || f.Op != tt.op {
			t.Fatalf("%s: found at %s: %s", suspects(cfg)[tt.planted].Name(), f.Title(), f.Says)
		}
		tried, err := diverge.Explain(c, j, s, f, suspects(cfg))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range tried {
			if want := i < len(tt.match); e.Match != want || want && (e.Name != tt.match[i] || e.Left != 0) {
				t.Errorf("%s: tried %+v as number %d, want %v to match", suspects(cfg)[tt.planted].Name(), e, i, tt.match)
			}
		}
		if len(tried) < len(tt.match) || !strings.HasPrefix(diverge.Sentence(c, tried), tt.says) {
			t.Errorf("%d tried: %q, want %q", len(tried), diverge.Sentence(c, tried), tt.says)
		}
	}
}

// A mistake that nobody knows is not explained, and a suspect whose pass fails is told.
func TestExplainNothing(t *testing.T) {
	cfg := tapstest.Small()
	j := tapstest.Judge(ref.New[float32](), tapstest.Model(cfg, dtype.F32, 4))
	s := tapstest.Record(j, tapstest.Tokens(4, cfg, 40), spoil(spot{2, "attn_mix"}, 1.01, func(int) bool { return true }))
	f := first(t, diverge.Case{}, j, s, nil)
	fails := suspect{"fails", "fails", nil, always(func(j *taps.Judge) { j.Store = func(int, kv.Store) kv.Store { return nil } })}
	tried, err := diverge.Explain(diverge.Case{}, j, s, f, append(suspects(cfg), fails))
	if err != nil || len(tried) != 5 || diverge.Sentence(diverge.Case{}, tried) != "" {
		t.Errorf("tried %+v, %v", tried, err)
	}
	for _, e := range tried {
		if e.Match || (e.Failed != "") != (e.Name == "fails") {
			t.Errorf("%+v", e)
		}
	}
}
