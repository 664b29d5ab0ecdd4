package parity

import (
	"context"
	"math"
	"strings"
	"testing"

	"furlong/parity/taps"
)

// between compares a rule with another.
func between(t *testing.T, seqs []Sequence, change func(b *fake, o *Options)) *Result {
	t.Helper()
	a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: plainRule}
	o := options(seqs)
	change(b, &o)
	res, err := Run(t.Context(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Each verdict, and what decides it.
func TestVerdicts(t *testing.T) {
	gap := func(by float32) func(int) float32 { return func(int) float32 { return by } }
	fp8 := func(b *fake) { b.about.Weights = "bf16 fp8" }
	twin := func(by float32) func(About) (Side, error) {
		return func(About) (Side, error) { return &fake{about: bytesAbout("twin"), lp: shifted(gap(by))}, nil }
	}
	for _, tt := range []struct {
		name   string
		change func(b *fake, o *Options)
		kind   Kind
		ok     bool
		says   string
	}{
		{"same", func(*fake, *Options) {}, SameBits, true, "the same bits: all 40 logprobs"},
		{"rounding", func(b *fake, _ *Options) { b.lp = shifted(gap(-1e-5)) }, Rounding, true, "equal up to float32 rounding"},
		{"more than rounding", func(b *fake, _ *Options) { b.lp = shifted(gap(-4e-5)) }, Differs, false, "want at most 2e-05"},
		{"tolerated", func(b *fake, o *Options) { b.lp = shifted(gap(-0.01)); o.Settings.Tolerance = 0.02 }, Within, true, "within the tolerance"},
		{"beyond the tolerance", func(b *fake, o *Options) { b.lp = shifted(gap(-0.01)); o.Settings.Tolerance = 0.005 }, Differs, false, "want at most 0.005"},
		{"no number", func(b *fake, o *Options) { b.lp = shifted(gap(float32(math.NaN()))); o.Ignore = []string{"scoring"} }, Differs, false, "40 of 40 tokens have a logprob that is no finite number"},
		{"formats that nobody can make", func(b *fake, _ *Options) { fp8(b); b.lp = shifted(gap(-0.1)) }, Differs, false, "the largest gap is 0.1"},
		{"formats explain", func(b *fake, _ *Options) { fp8(b); b.lp = shifted(gap(-0.1)); b.twin = twin(0) }, Explained, true, "differ as their formats explain: the largest gap is 0.1"},
		{"formats explain more than is tolerated", func(b *fake, o *Options) {
			fp8(b)
			b.lp = shifted(gap(-0.1))
			b.twin = twin(0)
			o.Settings.Tolerance = 0.05
		}, Differs, false, "differ by more than the tolerance"},
		{"formats explain a part", func(b *fake, _ *Options) { fp8(b); b.lp = shifted(gap(-0.1)); b.twin = twin(-0.05) }, Differs, false, "the largest gap is 0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := between(t, texts(10, 30), tt.change).Report.Verdict
			if v.Kind != tt.kind || v.OK != tt.ok || !strings.Contains(v.Says, tt.says) {
				t.Errorf("verdict is %+v, want %s, %v, %q", v, tt.kind, tt.ok, tt.says)
			}
		})
	}
}

// drawer is a fake that draws, with logprobs of its own.
type drawer struct {
	fake
	drawn func(Sequence, int, int) float32
}

func (d *drawer) Generate(_ context.Context, prompts []Sequence, g Drawing, done func(int)) ([]Sequence, error) {
	var out []Sequence
	for i, s := range prompts {
		s.Response = texts(g.MaxNewTokens)[0].Response
		for t := range s.Response {
			s.Generated = append(s.Generated, d.drawn(s, t, 1))
		}
		out = append(out, s)
		done(i + 1)
	}
	return out, nil
}

// What tokens were drawn with counts as much as scores do.
func TestDrawnLogProbsAreCompared(t *testing.T) {
	a := &drawer{fake{about: bytesAbout("one"), lp: plainRule}, shifted(func(t int) float32 { return -0.5 * float32(t%2) })}
	o := options(texts(0, 0))
	o.Draw = &Drawing{MaxNewTokens: 20}
	res, err := Run(t.Context(), a, &fake{about: bytesAbout("two"), lp: plainRule}, o)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, c := range res.Report.Comparisons {
		names += c.Name + " "
	}
	if names != "scored generated decode " || res.Report.Comparisons[0].Gap.Exact != 1 || !res.Report.Comparisons[0].Sampled {
		t.Errorf("comparisons are %q with %+v", names, res.Report.Comparisons[0].Gap)
	}
	if v := res.Report.Verdict; v.OK || v.Kind != Differs || !strings.Contains(v.Says, "as it drew the tokens") {
		t.Errorf("verdict is %+v, want a difference in how tokens are drawn", v)
	}
	if got := res.Report.Comparisons[2].Gap.Max; !near(got, 0.5, 1e-6) {
		t.Errorf("largest gap of drawing is %v, want 0.5", got)
	}
}

// A gap from position 512 on is shown there and nowhere else.
func TestLateGapIsShownWhereItIs(t *testing.T) {
	res := between(t, texts(700, 40), func(b *fake, _ *Options) {
		b.lp = shifted(func(t int) float32 {
			if t >= 512 {
				return -0.25
			}
			return 0
		})
	})
	c := res.Report.Comparisons[0]
	for _, b := range c.ByPosition {
		want := Figure(0)
		if b.Name == "512-1023" {
			want = 0.25
		}
		if !near(b.Gap.Max, want, 1e-6) || !near(b.Gap.Mean, want, 1e-6) {
			t.Errorf("bucket %s has mean %v and largest %v, want %v", b.Name, b.Gap.Mean, b.Gap.Max, want)
		}
	}
	if c.ByPrompt[1].Gap.Exact != 1 {
		t.Errorf("the short sequence is %v exact, want 1", c.ByPrompt[1].Gap.Exact)
	}
	for _, w := range c.Worst {
		if w.Position < 512 || w.Sequence != 0 {
			t.Errorf("a worst token is %+v, want one from position 512 on of sequence 0", w)
		}
	}
	if v := res.Report.Verdict; v.OK || len(v.More) == 0 || !strings.Contains(v.More[0], "the gap begins at response position 512") {
		t.Errorf("verdict is %+v, want words on where the gap begins", v)
	}
}

// Tokens without a number come first among the worst, and never hide.
func TestWorstOfAll(t *testing.T) {
	seqs := texts(6)
	nan := float32(math.NaN())
	a := []Scores{{LogProbs: []float32{-1, -1, -1, -1, -1, -1}}}
	b := []Scores{{LogProbs: []float32{-1, -3, -1.5, nan, -1, -2}}}
	c := Compare(Comparing{Worst: 3}, seqs, a, b)
	var at []int
	for _, w := range c.Worst {
		at = append(at, w.Position)
	}
	if len(at) != 3 || at[0] != 3 || at[1] != 1 || at[2] != 5 {
		t.Errorf("worst tokens are at %v, want 3, 1, 5", at)
	}
}

// Choices agree as sets: order and empty places do not matter.
func TestAgreement(t *testing.T) {
	a := []Scores{{Experts: []Choice{{Layer: 2, Width: 2, IDs: []int32{0, 1, 2, 3, 4, 5}}}}}
	b := []Scores{{Experts: []Choice{{Layer: 2, First: 1, Width: 2, IDs: []int32{3, 2, 4, 6}}, {Layer: 3, Width: 1, IDs: []int32{1}}}}}
	got := agreement(a, b, func(s Scores) []Choice { return s.Experts })
	if len(got) != 1 || got[0] != (Agreement{Layer: 2, Tokens: 2, Equal: 1, Overlap: 0.75}) {
		t.Errorf("agreement is %+v, want 1 of 2 equal in layer 2, overlap 3/4", got)
	}
	a = []Scores{{Index: []Choice{{Layer: 1, Width: 3, IDs: []int32{0, 1, -1, -1, -1, -1}}}}}
	b = []Scores{{Index: []Choice{{Layer: 1, Width: 2, IDs: []int32{1, 0, -1, -1}}}}}
	got = agreement(a, b, func(s Scores) []Choice { return s.Index })
	if len(got) != 1 || got[0] != (Agreement{Layer: 1, Tokens: 2, Equal: 2, Overlap: 1}) {
		t.Errorf("agreement is %+v, want 2 of 2 equal", got)
	}
	a = []Scores{{Index: []Choice{{Layer: 1, Width: 3, IDs: []int32{0, 1, -1}}}}}
	b = []Scores{{Index: []Choice{{Layer: 1, Width: 3, IDs: []int32{0, 1, 2}}}}}
	got = agreement(a, b, func(s Scores) []Choice { return s.Index })
	if len(got) != 1 || got[0] != (Agreement{Layer: 1, Tokens: 1, Overlap: 1}) {
		t.Errorf("agreement is %+v, want none equal: B has one more", got)
	}
	s := top1([]Scores{{Top: []int32{1, 2, 3}}, {}}, []Scores{{Top: []int32{1, 2, 4}}, {Top: []int32{1}}})
	if s == nil || *s != (Share{Of: 3, Equal: 2}) {
		t.Errorf("top 1 is %+v, want 2 of 3", s)
	}
}

// tapper is a fake with taps.
type tapper struct {
	fake
	asked []string
}

func (t *tapper) Taps(_ context.Context, s Sequence) (*taps.Set, error) {
	t.asked = append(t.asked, s.ID)
	set := taps.NewSet(s.Tokens())
	return set, set.Add(&taps.Tap{Layer: 1, Name: "router_indices", Shape: []int{2}, Choice: make([]int32, 2*len(s.Tokens()))})
}

// The sequences with the widest gaps are tapped, what a finder says decides, and choices come along.
func TestFinder(t *testing.T) {
	a, b := &tapper{fake: fake{about: bytesAbout("one"), lp: plainRule}}, &tapper{fake: fake{about: bytesAbout("two")}}
	b.lp = func(s Sequence, t, n int) float32 {
		if s.ID == "t2" && t == 3 {
			return plainRule(s, t, n) - 1
		}
		return plainRule(s, t, n)
	}
	o := options(texts(5, 5, 5, 5))
	o.Taps = 1
	o.Find = func(_ context.Context, a, b Found) (*Divergence, error) {
		if a.Taps == nil || b.Taps == nil {
			t.Error("a finder got no taps")
		}
		return &Divergence{Method: "forced", Side: "B", Found: true, Layer: 3, Op: "attn_turned", Says: "it turns the wrong way."}, nil
	}
	res, err := Run(t.Context(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.asked) != 1 || b.asked[0] != "t2" {
		t.Errorf("tapped are %v, want t2", b.asked)
	}
	v := res.Report.Verdict
	if v.OK || v.Says != "differ: first at layer 3, attn_turned, in B" || v.Where != "layer 3, attn_turned" || v.More[0] != "it turns the wrong way." {
		t.Errorf("verdict is %+v", v)
	}
	if d := res.Report.Divergence; d.Sequence != 2 {
		t.Errorf("divergence is in sequence %d, want 2", d.Sequence)
	}
	if e := res.Report.Comparisons[0].Experts; len(e) != 1 || e[0].Layer != 1 || e[0].Equal != e[0].Tokens {
		t.Errorf("experts agree as %+v, want layer 1", e)
	}
	o.Find = func(context.Context, Found, Found) (*Divergence, error) { return nil, errBusy }
	if res, err = Run(t.Context(), a, b, o); err != nil || len(res.Report.Notes) == 0 || !strings.Contains(res.Report.Notes[0], "it is busy") {
		t.Errorf("notes are %v (%v), want why nothing was found", res.Report.Notes, err)
	}
}

// The terminal's text has the verdict, the gap's place, and the worst token in its context.
func TestText(t *testing.T) {
	res := between(t, texts(200), func(b *fake, _ *Options) {
		b.lp = shifted(func(t int) float32 { return -0.125 * float32(t/150) })
	})
	var w strings.Builder
	if err := res.Report.Text(&w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A  one, weights bf16", "Differ: the largest gap is 0.125", "the gap begins at response position 128", "scored", "128-255", "####", "sequence 0, position 155: ", "75%"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("text has no %q:\n%s", want, w.String())
		}
	}
}
