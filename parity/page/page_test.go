package page

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"furlong/parity"
)

var keep = flag.String("keep", "", "also write the example pages to this folder")

// example returns a report with every part in it.
func example() *parity.Report {
	r := rand.New(rand.NewPCG(1, 2))
	rep := &parity.Report{
		Made: "2026-11-30T08:00:00Z", Build: "furlong devel",
		A:        parity.About{Side: "rollout:format=fp8", Kind: "rollout", Name: "rollout engine, FP8", Weights: "fp8", KV: "auto", Context: 512, Vocab: 97},
		B:        parity.About{Side: "trainer", Kind: "trainer", Name: "trainer, BF16", Weights: "bf16", Context: 512, Vocab: 97},
		Settings: parity.Settings{Source: "4 held-out prompts, answered by A", Command: []string{"furlong", "parity", "rollout:format=fp8", "trainer"}, Seed: 7},
		Checks:   []parity.Check{{Name: "vocabulary", A: "97", B: "97", OK: true}, {Name: "context", A: "512", B: "256", Says: "prompts are short", Ignored: true}},
		Verdict:  parity.Verdict{Kind: parity.Differs, Says: "They differ: first at layer 3, attn_turned.", More: []string{"The gap begins at position 64."}, Limit: 2e-5, Reason: "float32 rounding", Where: "layer 3, attn_turned"},
		Notes:    []string{"B does not tell which entries its indexer chose."},
	}
	for i := range 4 {
		row := parity.SequenceRow{ID: fmt.Sprintf("held-out-%d", i), Prompt: "What is 3 + 4?\n<script>alert(1)</script>"}
		for t := range 120 {
			lp := -r.ExpFloat64()
			gap := math.Pow(10, -9+8*r.Float64()*float64(t)/100)
			row.Response = append(row.Response, int32(t%97))
			row.Texts = append(row.Texts, []string{" the", "4", "\n", "<img src=x>", "x\u202e", "+", "", "\xff"}[t%8])
			row.A = append(row.A, float32(lp))
			row.B = append(row.B, float32(lp+gap*float64(1-2*(t%2))))
			row.Generated = append(row.Generated, float32(lp))
		}
		rep.Sequences = append(rep.Sequences, row)
	}
	rep.Sequences[2].B[7] = float32(math.Inf(-1))
	gap := parity.Gap{Tokens: 480, NonFinite: 1, Mean: 0.0123, Signed: -0.001, P50: 1e-5, P95: 0.02, P99: 0.3, P999: 0.9, Max: 1.7, Exact: 0.25}
	c := parity.Comparison{
		Name: "scored", Says: "A's scores against B's", Gap: gap, K1: 0.001, K3: 0.002, Sampled: true,
		Ratio: parity.Ratio{Mean: 1.001, Min: 0.2, Max: 5}, Correlation: 0.9991, Top1: &parity.Share{Of: 480, Equal: 470},
		Experts: []parity.Agreement{{Layer: 3, Tokens: 600, Equal: 590, Overlap: 0.99}}, Index: []parity.Agreement{{Layer: 2, Tokens: 600, Equal: 600, Overlap: 1}},
		Worst: []parity.WorstToken{{Sequence: 2, Position: 7, Text: "</td>", Class: "punctuation", Before: "so ", After: " is", A: -1, B: parity.Figure(math.Inf(-1)), Gap: parity.Figure(math.Inf(1))}},
	}
	for i, name := range []string{"0-63", "64-127", "128-255"} {
		c.ByPosition = append(c.ByPosition, parity.Bucket{Name: name, Gap: parity.Gap{Tokens: 160, Mean: parity.Figure(0.001 * math.Pow(5, float64(i))), P99: 0.1, Max: 0.4}})
	}
	c.ByProbability, c.ByClass = c.ByPosition[:2], []parity.Bucket{{Name: "digit", Gap: gap}, {Name: "none", Gap: parity.Gap{Mean: parity.Figure(math.NaN())}}}
	rep.Comparisons = []parity.Comparison{c, {Name: "decode", Says: "A as it drew against A as it scores", Gap: parity.Gap{Tokens: 480, Exact: 1}, Correlation: parity.Figure(math.NaN())}}
	d := &parity.Divergence{Method: "forced", Judge: "A", Found: true, Layer: 3, Op: "attn_turned", At: 64, Local: 0.3, Limit: 1e-6, Says: "Layer 3, attn_turned: B does not turn the output back.", Suspects: []parity.SuspectRow{{Name: "unturned", Says: "leaves the output as values carry it", Left: 1e-7, Match: true}, {Name: "by key", Left: 0.2}}}
	for l := range 4 {
		for _, op := range []string{"attn_in", "q", "attn_mix", "attn_turned", "mlp_out"} {
			over := l == 3 && op == "attn_turned"
			row := parity.OpRow{Layer: l, Op: op, Local: 2e-7, Inherited: parity.Figure(1e-6 * math.Pow(8, float64(l))), Limit: 1e-6, At: -1, Over: over}
			if over {
				row.Local, row.At = 0.3, 64
			}
			d.Ops = append(d.Ops, row)
		}
	}
	rep.Divergence = d
	return rep
}

func render(t *testing.T, r *parity.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageSaysEverything(t *testing.T) {
	text := html.UnescapeString(render(t, example()))
	for _, want := range []string{
		"They differ: first at layer 3, attn_turned.", "The gap begins at position 64.", "0.0123", "held-out-3", "A's scores against B's", "leaves the output as values carry it",
		"B does not tell which entries its indexer chose.", "prompts are short", "97.92 %", "+∞", "1 without a number", "Share of tokens with a gap above x",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Text of models is shown and not obeyed; the page runs nothing and asks for nothing.
func TestPageIsInert(t *testing.T) {
	page := render(t, example())
	for _, bad := range []string{"<script", "\u202e", "<img", "javascript:", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, link := range regexp.MustCompile(`https?://[^"' ]+`).FindAllString(page, -1) {
		if link != "http://www.w3.org/2000/svg" {
			t.Errorf("the page names %s", link)
		}
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page has no policy")
	}
}

func TestStrips(t *testing.T) {
	page := render(t, example())
	if n := strings.Count(page, " title=\"position "); n != 480 {
		t.Errorf("%d tokens have a cell, want 480", n)
	}
	if n := strings.Count(page, "<details open>"); n != 1 {
		t.Errorf("%d strips are open, want that with the largest gap", n)
	}
	if !regexp.MustCompile(`<details open><summary><code>held-out-2`).MatchString(page) {
		t.Error("open is another strip than that without a number")
	}
}

func TestShade(t *testing.T) {
	for gap, want := range map[float64]string{
		0: "g0", 1e-5: "g0", -2e-5: "g0", 3e-5: "a1", -3e-5: "b1", 0.02: "a3", -0.6: "b5", 5: "a6", math.Inf(1): "bad", math.NaN(): "bad",
	} {
		if got := shade(gap); got != want {
			t.Errorf("shade(%v) = %s, want %s", gap, got, want)
		}
	}
}

func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"": "∅", " a ": "␣a␣", "a\nb": "a⏎b", "\u200f": "⟨U+200F⟩", "\x00": "⟨U+0000⟩", "\xff": "�", "7": "7", "é漢": "é漢",
	} {
		if got := show(text); got != want {
			t.Errorf("show(%q) = %q, want %q", text, got, want)
		}
	}
}

// Prompts keep their lines, and turn nothing around.
func TestLines(t *testing.T) {
	if got, want := lines("a\tb\n \u202ec\x1b\r\u2028\xff"), "a\tb\n ⟨U+202E⟩c⟨U+001B⟩⟨U+000D⟩⟨U+2028⟩\ufffd"; got != want {
		t.Errorf("lines gives %q, want %q", got, want)
	}
	r := example()
	r.Sequences[0].Prompt = "one\n\u202etwo\x1b"
	if page := html.UnescapeString(render(t, r)); !strings.Contains(page, "one\n⟨U+202E⟩two⟨U+001B⟩") {
		t.Error("the page does not show what a prompt hides")
	}
}

func TestSurvival(t *testing.T) {
	rows := []parity.SequenceRow{{A: parity.Figures{0, 1, 2, 3}, B: parity.Figures{0, 2, 0, float32(math.NaN())}}}
	c := survival(rows, func(r *parity.SequenceRow) parity.Figures { return r.A })
	if fmt.Sprint(c.X, c.Y) != "[1 2] [0.5 0.25]" {
		t.Errorf("%v of tokens have gaps from %v, want 0.5 and 0.25 from 1 and 2", c.Y, c.X)
	}
}

// Sequences beyond the limit are counted, not dropped in silence.
func TestManyTokens(t *testing.T) {
	long := parity.SequenceRow{ID: "long", Texts: make([]string, 60_000), Response: make([]int32, 60_000), A: make(parity.Figures, 60_000), B: make(parity.Figures, 60_000)}
	got, hidden := strips([]parity.SequenceRow{long, long, long})
	if len(got) != 1 || hidden != 2 {
		t.Errorf("%d strips and %d hidden, want 1 and 2", len(got), hidden)
	}
}

// A report with next to nothing in it has a page too.
func TestEmpty(t *testing.T) {
	if page := render(t, &parity.Report{}); !strings.Contains(page, "</html>") {
		t.Error("the page does not end")
	}
	var b bytes.Buffer
	if err := WriteSelf(&b, &parity.SelfReport{}); err != nil {
		t.Error(err)
	}
}

func TestSelf(t *testing.T) {
	r := &parity.SelfReport{
		Side:       parity.About{Side: "rollout", Name: "rollout engine"},
		Verdict:    parity.Verdict{OK: false, Says: "It is not one function: under 'batch of 8' tokens change."},
		Conditions: []parity.Condition{{Name: "batch of 8", Says: "eight at a time", Gap: parity.Gap{Tokens: 80, Exact: 0.5, Max: 0.1}, First: &parity.WorstToken{Sequence: 3, Position: 9, Text: "<i>"}}, {Name: "flushed", Failed: "the server has no flush"}},
	}
	var b bytes.Buffer
	if err := WriteSelf(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"batch of 8", "sequence 3, position 9", "not tried: the server has no flush", "&lt;i&gt;", "50 %"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestKeep(t *testing.T) {
	if *keep == "" {
		t.Skip("no -keep")
	}
	if err := os.WriteFile(filepath.Join(*keep, "parity.html"), []byte(render(t, example())), 0o644); err != nil {
		t.Fatal(err)
	}
}
