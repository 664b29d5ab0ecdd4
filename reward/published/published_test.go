package published

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

// A measured row has the marks of math, deepscaler, dapo and math-verify.
type measured struct{ Answer, Gold, Verdicts string }

// measurements reads testdata/verdicts.jsonl; its README says how it was made.
func measurements(t testing.TB) (all []measured) {
	t.Helper()
	f, err := os.Open("testdata/verdicts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var m measured
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if len(all) < 600 {
		t.Fatalf("%d rows, want 600 and more", len(all))
	}
	return all
}

// judges are the graders in the order of the marks.
var judges = []struct {
	name  string
	judge func(answer, gold string) Verdict
}{
	{"math", func(a, g string) Verdict { v, _ := Math(a, Gold{Text: g}); return v }},
	{"deepscaler", func(a, g string) Verdict { v, _ := DeepScaler("</think>"+a, Gold{Text: g}); return v }},
	{"dapo", func(a, g string) Verdict { v, _ := DAPO(a, g); return v }},
	{"math-verify", func(a, g string) Verdict { v, _ := MathVerify(a, Gold{Text: g}); return v }},
}

func TestVerdictsAreThoseMeasured(t *testing.T) {
	for _, m := range measurements(t) {
		for i, j := range judges {
			if v := j.judge(m.Answer, m.Gold); v.Right != (m.Verdicts[i] == '1') || i == 2 && v.Raised != (m.Verdicts[i] == 'E') {
				t.Errorf("%s: %q for %q is %+v, want %c", j.name, m.Answer, m.Gold, v, m.Verdicts[i])
			}
		}
	}
}

func TestContents(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		found      bool
	}{
		{`a \boxed{34}`, "34", true},
		{`\boxed{1}\boxed{2}`, "2", true},
		{`\boxed{\frac{1}{2}}`, `\frac{1}{2}`, true},
		{`\boxed{\boxed{3}}`, "3", true},
		{`\boxed 34`, "", false},
		{`\boxed {34}`, "", false},
		{`\boxed{34`, "", false},
		{"34", "", false},
	} {
		if got, found := extract(tt.text); found != tt.found || found && got != tt.want {
			t.Errorf("extract(%q) = %q, %t, want %q, %t", tt.text, got, found, tt.want, tt.found)
		}
	}
}

// Several gold answers: any of them will do, for those graders that know of several.
func TestAlternatives(t *testing.T) {
	g := Gold{Alternatives: []string{"33", `\boxed{34}`}}
	if v, _ := DeepScaler(`</think>\boxed{34}`, g); !v.Right {
		t.Errorf("deepscaler: %+v", v)
	}
	if v, _ := MathVerify(`\boxed{33}`, g); !v.Right {
		t.Errorf("math-verify: %+v", v)
	}
	if v, _ := Math(`\boxed{33}`, g); v.Right {
		t.Errorf("math: %+v", v)
	}
	if v, _ := Math(`\boxed{0}`, Gold{Text: "0", Falsy: true}); v.Right {
		t.Errorf("math takes the number 0 for an answer: %+v", v)
	}
}

// The matcher prefers what a regular expression prefers.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		p    pattern
		text string
		want []string
	}{
		{sequence(literal("a", false), few(anything, 0, 9), literal("b", false)), "xaabbab", []string{"aab", "ab"}},
		{sequence(literal("a", false), many(anything, 0, 9), literal("b", false)), "xaabbab", []string{"aabbab"}},
		{sequence(literal("a", true), maybe(literal("b", false))), "aAba", []string{"a", "Ab", "a"}},
		{sequence(either(literal("a", false), literal("ab", false)), literal("c", false)), "acabc", []string{"ac", "abc"}},
		{sequence(literal("a", false), not(literal("b", false))), "abac", []string{"a"}},
		{sequence(behind(func(s string, at int) bool { return after(s, at, "x") }), literal("a", false)), "axa", []string{"a"}},
		{sequence(many(digit, 2, 3)), "12345678", []string{"123", "456", "78"}},
	} {
		s := &search{text: tt.text, left: 1000}
		var got []string
		for _, m := range s.all(tt.p, nil) {
			got = append(got, tt.text[m.start:m.end])
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("in %q found %q, want %q", tt.text, got, tt.want)
		}
	}
}

// What is given to the graders, they end.
func TestGradersEnd(t *testing.T) {
	for _, piece := range []string{"$", "$$", `\[`, `\boxed{`, "answer ", "final answer is ", "1,", "{", `\frac`, "^(", "and ", `\text{`, " [1] ", "9"} {
		text := strings.Repeat(piece, 4_000/len(piece))
		for _, j := range judges {
			began := time.Now()
			j.judge(text, "7")
			j.judge("Answer: 7", text)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s took %v over %q", j.name, took, piece)
			}
		}
	}
}

// Arguments within arguments end as groups within groups do: the text stays as it is, however many there are.
func TestPlainTextIsBounded(t *testing.T) {
	for _, piece := range []string{`\frac`, `\sqrt`, `\vec`, "{", `\frac{`} {
		for _, n := range []int{500, 3_000_000} {
			text := strings.Repeat(piece, n)
			if got := plainText(text); got != text {
				t.Errorf("%d times %s is %.80q of %d bytes, want the text as it is", n, piece, got, len(got))
			}
		}
	}
	for text, want := range map[string]string{`\frac\frac123`: "1/2/3", `\sqrt\frac12`: "sqrt(1/2)", strings.Repeat("{", 300) + "7" + strings.Repeat("}", 300): "7"} {
		if got := plainText(text); got != want {
			t.Errorf("%.40s is %q, want %q", text, got, want)
		}
	}
}

func TestRandomTextsGetVerdicts(t *testing.T) {
	same := func(a, g string) bool {
		for _, j := range judges {
			if v, w := j.judge(a, g), j.judge(a, g); v != w {
				return false
			}
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func FuzzGraders(f *testing.F) {
	for i, m := range measurements(f) {
		if i%9 == 0 {
			f.Add(m.Answer, m.Gold)
		}
	}
	f.Fuzz(func(t *testing.T, answer, gold string) {
		for _, j := range judges {
			if v, w := j.judge(answer, gold), j.judge(answer, gold); v != w {
				t.Fatalf("%s: %+v and %+v", j.name, v, w)
			}
		}
	})
}
