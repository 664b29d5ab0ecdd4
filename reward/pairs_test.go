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

// The columns of pairs.
var columns = []string{"math", "deepscaler", "dapo", "math-verify", "furlong"}

func TestPairs(t *testing.T) {
	for _, tt := range pairs {
		for i, mode := range columns {
			text := tt.text
			if mode == "deepscaler" {
				text = "Thoughts.</think>" + text
			}
			want := rl.Wrong
			if tt.marks[i] == '1' {
				want = rl.Right
			}
			s := judge(t, mode, text, tt.label)
			if s.Verdict != want || (s.Reward == 1) != (want == rl.Right) {
				t.Errorf("pair %d: %q for %q is %v, want %v: %s", tt.number, tt.text, tt.label, s.Verdict, want, s.Why)
			}
			if raised := strings.Contains(s.Why, "breaks"); raised != (tt.marks[i] == 'E') {
				t.Errorf("pair %d, %s: %s, want %c", tt.number, mode, s.Why, tt.marks[i])
			}
		}
	}
}

// The same answers in other surroundings.
func TestContexts(t *testing.T) {
	far := "Answer: 34\n" + strings.Repeat("And so on. ", 100)
	for _, tt := range []struct {
		name, prompt, text string
		stop               rl.Stop
		verdicts           map[string]rl.Verdict
	}{
		{"C1 answer only in the thought", "", `It is \boxed{34}.</think>`, rl.StopToken, map[string]rl.Verdict{"math": rl.Right, "deepscaler": rl.Wrong, "furlong": rl.Wrong}},
		{"answer after the thought", "", `\boxed{35}</think>\boxed{34}`, rl.StopToken, map[string]rl.Verdict{"math": rl.Right, "deepscaler": rl.Right, "furlong": rl.Right}},
		{"the last of several ends", "", `</think>\boxed{34}</think>\boxed{35}`, rl.StopToken, map[string]rl.Verdict{"deepscaler": rl.Wrong, "furlong": rl.Wrong}},
		{"C2 cut off in its thought", "", `So \boxed{34}`, rl.StopLength, map[string]rl.Verdict{"math": rl.Right, "deepscaler": rl.Wrong, "furlong": rl.Wrong}},
		{"cut off after its thought", "", `</think>\boxed{34} and`, rl.StopLength, map[string]rl.Verdict{"furlong": rl.Right}},
		{"C3 no thought, finished", "", `So \boxed{34}`, rl.StopToken, map[string]rl.Verdict{"deepscaler": rl.Wrong, "furlong": rl.Right}},
		{"the other mark", "", `###Response \boxed{34}`, rl.StopToken, map[string]rl.Verdict{"deepscaler": rl.Right}},
		{"the prompt opened one", "Q<think>\n", `So \boxed{34}`, rl.StopToken, map[string]rl.Verdict{"furlong": rl.Wrong}},
		{"the response opened one", "", `<think>So \boxed{34}`, rl.StopToken, map[string]rl.Verdict{"furlong": rl.Wrong}},
		{"C4 answer far before the end", "", far, rl.StopToken, map[string]rl.Verdict{"dapo": rl.Wrong, "furlong": rl.Right}},
	} {
		for mode, want := range tt.verdicts {
			s := &rl.Sample{Prompt: &rl.Prompt{Text: tt.prompt, Label: "34"}, Text: tt.text, Stop: tt.stop}
			r, _ := New(mode)
			if err := r.Reward(t.Context(), s); err != nil || s.Verdict != want {
				t.Errorf("%s, %s: verdict is %v, %v, want %v: %s", tt.name, mode, s.Verdict, err, want, s.Why)
			}
		}
	}
}

// C5: a gold answer that is the number 0. C6: several gold answers.
func TestGoldForms(t *testing.T) {
	for _, tt := range []struct {
		mode, gold, text string
		want             rl.Verdict
	}{
		{"math", "0", `\boxed{0}`, rl.Wrong},
		{"math", `"0"`, `\boxed{0}`, rl.Right},
		{"deepscaler", "0", `</think>\boxed{0}`, rl.Right},
		{"furlong", "0", `\boxed{0}`, rl.Right},
		{"dapo", "0", "Answer: 0", rl.Right},
		{"math", `["33","34"]`, `\boxed{34}`, rl.Wrong},
		{"deepscaler", `["33","34"]`, `</think>\boxed{34}`, rl.Right},
		{"furlong", `["33",34]`, `\boxed{34}`, rl.Right},
		{"furlong", `["33","35"]`, `\boxed{34}`, rl.Wrong},
		{"math-verify", `["33","34"]`, `\boxed{34}`, rl.Right},
		{"gsm8k", `["33","34"]`, `#### 34`, rl.Right},
		{"exact", `["33","34"]`, `34`, rl.Right},
		{"dapo", `["33","34"]`, `Answer: 34`, rl.Wrong},
		{"furlong", "12.50", `\boxed{12.5}`, rl.Right},
	} {
		g, err := ReadGold([]byte(tt.gold))
		if err != nil {
			t.Fatal(err)
		}
		v, why, err := Judge(tt.mode, Rules{}, tt.text, g)
		if err != nil || v != tt.want {
			t.Errorf("%s: %s for %s is %v, %v, want %v: %s", tt.mode, tt.text, tt.gold, v, err, tt.want, why)
		}
	}
}

// C7 and more of its kind. Each takes milliseconds to a second; the bound only tells them from what never ends.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			for _, grader := range Names() {
				label := "7"
				switch grader {
				case "countdown":
					label = `{"nums":[7],"target":7}`
				case "gpqa":
					label = "B"
				}
				began := time.Now()
				s := judge(t, grader, text, label)
				if took := time.Since(began); s.Verdict != rl.Wrong || took > time.Minute {
					t.Errorf("%s: verdict is %v after %v, want wrong at once: %.80s", grader, s.Verdict, took, s.Why)
				}
			}
		})
	}
}

// bombs are responses that could take long to judge, or break a grader.
func bombs() map[string]string {
	digits := strings.Repeat("9", 100_000)
	return map[string]string{
		"a long number":            `\boxed{` + digits + `}`,
		"a long number, bare":      "Answer: " + digits,
		"a long fraction":          `\boxed{\frac{` + digits + `}{8}}`,
		"a tower":                  `\boxed{9^{9^{9^{9}}}}`,
		"a plain tower":            `\boxed{9^9^9^9}`,
		"a factorial":              `\boxed{((99!)!)!}`,
		"an exponent":              `\boxed{1e999999999}`,
		"a negative exponent":      `\boxed{1e-999999999}`,
		"an exponent in bounds":    `\boxed{1e1000}`,
		"nested braces":            `\boxed{` + strings.Repeat("{", 10_000) + strings.Repeat("}", 10_000) + `}`,
		"braces, just short":       `\boxed{` + strings.Repeat("{", 2000) + strings.Repeat("}", 2000) + `}`,
		"brackets":                 `\boxed{` + strings.Repeat("(", 2000) + strings.Repeat(")", 2000) + `}`,
		"closing braces":           strings.Repeat("}", 200_000) + `\boxed{35}`,
		"nested boxes":             strings.Repeat(`\boxed{`, 30_000) + "35" + strings.Repeat("}", 30_000),
		"nested boxes, just short": strings.Repeat(`\boxed{`, 500) + "35" + strings.Repeat("}", 500),
		"nested fractions":         `\boxed{` + strings.Repeat(`\frac{1}{1+`, 300) + "1" + strings.Repeat("}", 300) + `}`,
		"nested roots":             `\boxed{` + strings.Repeat(`\sqrt{`, 500) + "2" + strings.Repeat("}", 500) + `}`,
		"fractions of fractions":   `\boxed{` + strings.Repeat(`\frac`, 20_000) + `}`,
		"a long power":             `\boxed{(a+b+c+d+e+f+g+h)^{100}}`,
		"a long product":           `\boxed{` + strings.Repeat("(x+y+z)", 500) + `}`,
		"a long list":              `\boxed{` + strings.Repeat("1,", 2000) + `1}`,
		"backslashes":              strings.Repeat(`\`, 50_000),
		"boxes with blanks":        strings.Repeat(`\boxed `, 10_000),
		"Answer lines":             strings.Repeat("Answer: ", 8_000),
		"end marks":                strings.Repeat("</s> ", 10_000),
		"dollars":                  `\boxed{` + strings.Repeat("$", 4000) + `}`,
		"many dollars":             strings.Repeat("$", 30_000),
		"thin spaces":              `\boxed{` + strings.Repeat(`1\,`, 1300) + `}`,
		"minus signs":              `\boxed{` + strings.Repeat("-", 4000) + `8}`,
		"plus or minus":            `\boxed{` + strings.Repeat(`1\pm`, 40) + `8}`,
		"many texts":               strings.Repeat(`\text{a`, 20_000),
	}
}

// Braces beyond counting are no answer and no attempt at one: they cannot be judged.
func TestBraceBombIsInvalid(t *testing.T) {
	for name, text := range map[string]string{
		"closed":   `\boxed{` + strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000) + `}`,
		"open":     `\boxed{` + strings.Repeat("{", 200_000),
		"bare":     strings.Repeat("{", 200_000),
		"with box": `\boxed{34}` + strings.Repeat("{", 200_000) + strings.Repeat(`\boxed{`, 30_000),
	} {
		for _, grader := range Names() {
			if s := judge(t, grader, text, "34"); s.Verdict != rl.Invalid || !strings.Contains(s.Why, "braces within each other") {
				t.Errorf("%s, %s: verdict is %v: %s", name, grader, s.Verdict, s.Why)
			}
		}
	}
}

// What is too long for a grader is bounded in bytes, so that the verdict is the same on a busy machine.
func TestLongResponses(t *testing.T) {
	for _, tt := range []struct {
		mode, text string
		want       rl.Verdict
		why        string
	}{
		{"math", `\boxed{` + strings.Repeat("x+", 40_000) + `1}`, rl.Wrong, "would take too long to work out"},
		{"math", `\boxed{` + strings.Repeat("9", 200_000) + `}`, rl.Wrong, "would take too long to work out"},
		{"math", strings.Repeat("so ", 900_000) + `\boxed{34}`, rl.Right, "text against text"},
		{"deepscaler", `</think>\boxed{` + strings.Repeat("minutes", 20_000) + `}`, rl.Wrong, "would take too long to work out"},
		{"math-verify", strings.Repeat("x = 3 and ", 110_000) + `\boxed{34}`, rl.Wrong, "would take too long to work out"},
		{"furlong", strings.Repeat("so ", 900_000) + `\boxed{34}`, rl.Right, "box: 34"},
		{"furlong", strings.Repeat("so ", 1_500_000) + `\boxed{34}`, rl.Invalid, "response is 4500010 bytes long, want at most 4194304"},
		{"dapo", strings.Repeat("so ", 1_500_000) + "Answer: 34", rl.Invalid, "response is 4500010 bytes long"},
	} {
		if s := judge(t, tt.mode, tt.text, "34"); s.Verdict != tt.want || !strings.Contains(s.Why, tt.why) {
			t.Errorf("%s, %.30q, %d bytes: %v: %.100s, want %v: %s", tt.mode, tt.text, len(tt.text), s.Verdict, s.Why, tt.want, tt.why)
		}
	}
	if s := judge(t, "exact", "34", strings.Repeat("3", 1<<20+1)); s.Verdict != rl.Invalid || !strings.Contains(s.Why, "label is 1048577 bytes long") {
		t.Errorf("a long label: %v: %s", s.Verdict, s.Why)
	}
}
