package reward

import (
	"strings"
	"testing"
	"time"

	"furlong/rl"
)

// judge grades a finished response by name.
func judge(t *testing.T, name, text, label string) *rl.Sample {
	t.Helper()
	r, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &rl.Sample{Prompt: &rl.Prompt{ID: "p", Label: label}, Text: text, Stop: rl.StopToken}
	if err := r.Reward(t.Context(), s); err != nil {
		t.Fatalf("%s grading %q: %v", name, text, err)
	}
	return s
}

// The published test pairs, by number, as far as numbers and texts go. A pair that needs more is in notYet.
var pairs = []struct {
	number      int
	text, label string
	right       bool
}{
	{1, `Answer: \boxed{34}`, "34", true},
	{2, "Answer: 34", "34", true},
	{3, "Answer: $34$", "34", true},
	{4, `So it is \boxed{34}.`, "34", true},
	{5, "Answer:\n\\boxed{34}", "34", true},
	{6, `Answer: \boxed{034}`, "34", true},
	{7, `Answer: \boxed{34.0}`, "34", true},
	{8, `\boxed{34.}`, "34", true},
	{9, `Answer: \boxed{3}`, "3.0", true},
	{10, "Answer: 34.", "34", true},
	{11, `Answer: \boxed{34}.`, "34", true},
	{12, `Answer: $\boxed{34}$.`, "34", true},
	{13, `Answer: \(\boxed{34}\)`, "34", true},
	{14, "**Answer:** 34", "34", true},
	{15, "answer : 34", "34", true},
	{16, `Answer: \boxed{34}<|im_end|>`, "34", true},
	{17, `Answer: \boxed{34}<｜end▁of▁sentence｜>`, "34", true},
	{18, `Answer: \boxed{1,234}`, "1234", true},
	{19, `Answer: \boxed{1{,}234}`, "1234", true},
	{20, `\boxed{1\,234}`, "1234", true},
	{21, `\boxed{12,34}`, "1234", false},
	{22, `Answer: \boxed{-7}`, "-7", true},
	{23, "\\boxed{\u22127}", "-7", true},
	{24, `\boxed{-0}`, "0", true},
	{25, `Answer: \boxed{x=34}`, "34", true},
	{26, "Answer: x = 34", "34", true},
	{27, `\boxed{ab+c=34}`, "34", false},
	{28, `Answer: \boxed{34^\circ}`, "34", true},
	{29, `Answer: \boxed{34\text{ cm}}`, "34", true},
	{30, `Answer: \boxed{34 \text{cm}^2}`, "34", true},
	{31, `\boxed{34\%}`, "34", true},
	{32, `\boxed{34} and also \boxed{35}`, "34", false},
	{33, `First \boxed{35}, corrected: \boxed{34}`, "34", true},
	{34, "Answer: 34\nAnswer: 35", "34", false},
	{35, `\boxed{34}. Answer: 35`, "34", true},
	{36, "Answer: 34 is my guess", "34", false},
	{37, "Answer: the value is 12", "12", false},
	{38, "Answer: 12 apples", "12", false},
	{39, "Answer: 12 units", "12", true},
	{40, "Answer: 12", "12.5", false},
	{41, "No box at all, just 34.", "34", false},
	{42, `\boxed{34        (never closed)`, "34", false},
	{43, `\boxed{}`, "34", false},
	{44, `\boxed{\boxed{34}}`, "34", true},
	{45, `\fbox{34}`, "34", false},
	{46, `\boxed 34`, "34", false},
	{47, `\boxed{\text{34}}`, "34", true},
	{48, `Answer: \boxed{\mathbf{34}}`, "34", true},
	{49, `\boxed{34 + 0}`, "34", false},
	{50, `\boxed{17\cdot 2}`, "34", false},
	{51, `\boxed{2^{3}}`, "8", false},
	{53, `\boxed{10^3}`, "1000", false},
	{54, `\boxed{1e3}`, "1000", true},
	{55, `\boxed{\dfrac12}`, `\frac12`, true},
	{55, `\boxed{1/2}`, `\frac12`, true},
	{55, `\boxed{0.5}`, `\frac12`, true},
	{55, `\boxed{.5}`, `\frac12`, true},
	{55, `\boxed{\frac{1}{2}}`, `\frac12`, true},
	{56, `\boxed{\frac{2}{4}}`, `\frac12`, true},
	{57, `\boxed{0.3333}`, "1/3", false},
	{58, `\boxed{1\frac12}`, `\frac32`, true},
	{59, `\boxed{7 3/4}`, "31/4", true},
	{62, `\boxed{3.14159}`, `\pi`, false},
	{63, `\boxed{1.4142}`, `\sqrt2`, false},
	{64, `\boxed{(1,2)}`, "(1, 2)", true},
	{65, `\boxed{(1,2)}`, "[1,2]", false},
	{66, `\boxed{(2,1)}`, "(1,2)", false},
	{69, `\boxed{(-\infty,2]}`, `(-\infty,2)`, false},
	{76, `\boxed{\text{(B)}}`, "B", true},
	{77, `\boxed{\text{yes}}`, "Yes", true},
	{78, `\boxed{\$12.50}`, "12.5", true},
	{81, `\boxed{50\%}`, "0.5", true},
	{82, `\boxed{33\frac13\%}`, `33\frac13`, true},
	{84, `\boxed{12:30}`, "12:30", true},
	{85, `\boxed{two}`, "2", false},
	{86, `\boxed{(3)}`, "3", true},
	{87, `\boxed{e^{i\pi}}`, "-1", false},
	{89, `\boxed{\begin{pmatrix} 1 \\ 2 \end{pmatrix}}`, `\begin{pmatrix}1\\2\end{pmatrix}`, true},
	{90, `It is \boxed{34}`, `\boxed{34}`, true},
}

func TestPairs(t *testing.T) {
	for _, tt := range pairs {
		want := rl.Wrong
		if tt.right {
			want = rl.Right
		}
		if s := judge(t, "math", tt.text, tt.label); s.Verdict != want || (s.Reward == 1) != tt.right {
			t.Errorf("pair %d: %q for %q is %v, want %v: %s", tt.number, tt.text, tt.label, s.Verdict, want, s.Why)
		}
	}
}

// The pairs that a grader of numbers and texts calls wrong although they are right. When one of these tests fails, the
// grader has learnt something: move the pair to the table above and mend the package comment.
func TestNotYet(t *testing.T) {
	for _, tt := range []struct {
		number      int
		text, label string
	}{
		{52, `\boxed{8}`, "2^3"},
		{60, `\boxed{\sqrt8}`, `2\sqrt2`},
		{61, `\boxed{\frac{\sqrt3}{3}}`, `\frac1{\sqrt3}`},
		{67, `\boxed{1,2}`, "2,1"},
		{68, `\boxed{\{1,2\}}`, `\{2,1\}`},
		{70, `\boxed{x \in (1,2)}`, "(1,2)"},
		{71, `\boxed{x>2}`, "2<x"},
		{72, `\boxed{x=1,y=2}`, "(1,2)"},
		{73, `\boxed{(x+1)^2}`, "x^2+2x+1"},
		{74, `\boxed{a+b+c}`, "c+b+a"},
		{75, `\boxed{2i+1}`, "1+2i"},
		{79, `\boxed{3 \text{ million}}`, "3000000"},
		{80, `\boxed{5\text{ or }7}`, "5,7"},
		{83, `\boxed{3:4}`, "3/4"},
		{88, `\boxed{n(n+1)/2}`, `\frac{n(n+1)}{2}`},
	} {
		if s := judge(t, "math", tt.text, tt.label); s.Verdict != rl.Wrong {
			t.Errorf("pair %d: %q for %q is %v now: %s", tt.number, tt.text, tt.label, s.Verdict, s.Why)
		}
	}
}

func TestThoughts(t *testing.T) {
	for _, tt := range []struct {
		name, prompt, text string
		stop               rl.Stop
		want               rl.Verdict
	}{
		{"C1 answer only in the thought", "", `It is \boxed{34}.</think>`, rl.StopToken, rl.Wrong},
		{"answer after the thought", "", `\boxed{35}</think>\boxed{34}`, rl.StopToken, rl.Right},
		{"the last of several ends", "", `</think>\boxed{34}</think>\boxed{35}`, rl.StopToken, rl.Wrong},
		{"C2 cut off in its thought", "", `So \boxed{34}`, rl.StopLength, rl.Wrong},
		{"cut off after its thought", "", `</think>\boxed{34} and`, rl.StopLength, rl.Right},
		{"C3 no thought, finished", "", `So \boxed{34}`, rl.StopToken, rl.Right},
		{"the prompt opened one", "Q<think>\n", `So \boxed{34}`, rl.StopToken, rl.Wrong},
		{"the response opened one", "", `<think>So \boxed{34}`, rl.StopToken, rl.Wrong},
		{"C4 answer far before the end", "", "Answer: 34\n" + strings.Repeat("And so on. ", 100), rl.StopToken, rl.Right},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &rl.Sample{Prompt: &rl.Prompt{Text: tt.prompt, Label: "34"}, Text: tt.text, Stop: tt.stop}
			r, _ := New("math")
			if err := r.Reward(t.Context(), s); err != nil || s.Verdict != tt.want {
				t.Errorf("verdict is %v, %v, want %v: %s", s.Verdict, err, tt.want, s.Why)
			}
		})
	}
	if s := judge(t, "math", `\boxed{0}`, "0"); s.Verdict != rl.Right {
		t.Errorf("C5: 0 for 0 is %v: %s", s.Verdict, s.Why)
	}
}

// C7 and more of its kind. Each must take milliseconds; the bound is wide since test machines are busy.
func TestBombs(t *testing.T) {
	digits := strings.Repeat("9", 100_000)
	for name, text := range map[string]string{
		"a long number":            `\boxed{` + digits + `}`,
		"a long number, bare":      "Answer: " + digits,
		"a long fraction":          `\boxed{\frac{` + digits + `}{7}}`,
		"a tower":                  `\boxed{9^{9^{9^{9}}}}`,
		"an exponent":              `\boxed{1e999999999}`,
		"a negative exponent":      `\boxed{1e-999999999}`,
		"an exponent in bounds":    `\boxed{1e1000}`,
		"braces that close":        `\boxed{` + strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000) + `}`,
		"braces, just short":       `\boxed{` + strings.Repeat("{", 2000) + strings.Repeat("}", 2000) + `}`,
		"braces that do not":       `\boxed{34}` + strings.Repeat("{", 200_000) + strings.Repeat(`\boxed{`, 30_000),
		"closing braces":           strings.Repeat("}", 200_000) + `\boxed{35}`,
		"nested boxes":             strings.Repeat(`\boxed{`, 30_000) + "35" + strings.Repeat("}", 30_000),
		"nested boxes, just short": strings.Repeat(`\boxed{`, 500) + "35" + strings.Repeat("}", 500),
		"backslashes":              strings.Repeat(`\`, 200_000),
		"boxes with blanks":        strings.Repeat(`\boxed `, 30_000),
		"Answer lines":             strings.Repeat("Answer: ", 30_000),
		"end marks":                strings.Repeat("</s> ", 40_000),
		"dollars":                  `\boxed{` + strings.Repeat("$", 4000) + `}`,
		"thin spaces":              `\boxed{` + strings.Repeat(`1\,`, 1300) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, grader := range Names() {
				began := time.Now()
				s := judge(t, grader, text, "7")
				if took := time.Since(began); s.Verdict != rl.Wrong || took > 2*time.Second {
					t.Errorf("%s: verdict is %v after %v, want wrong in milliseconds: %.80s", grader, s.Verdict, took, s.Why)
				}
			}
		})
	}
}
