package reward

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/rl"
)

// An answer is right for itself in every mode that can read it, however it is spaced.
func TestAnswersAreRightForThemselves(t *testing.T) {
	for _, label := range []string{
		"34", "-7", "0.25", `\frac{3}{4}`, `2\sqrt{3}`, `\frac{\pi}{6}`, "x^2+1", "(1,2)", "[0,1)", "1,2,3", `\text{(C)}`, "B", `\begin{pmatrix} 1 \\ 2 \end{pmatrix}`, "3:4", "12:30",
	} {
		for _, mode := range []string{"furlong", "math", "deepscaler", "math-verify", "gsm8k", "dapo"} {
			number := !strings.ContainsAny(label, `x(,:B\`)
			if mode == "gsm8k" && !number || mode == "dapo" && (!number || strings.Contains(label, ".")) {
				continue
			}
			for _, form := range []string{`\boxed{%}`, `So $\boxed{%}$`, `Answer: \boxed{%}`} {
				if mode == "dapo" && !strings.HasPrefix(form, "Answer") {
					continue
				}
				text := "</think>" + strings.ReplaceAll(form, "%", label)
				if s := judge(t, mode, text, label); s.Verdict != rl.Right {
					t.Errorf("%s: %q for %q is %v: %s", mode, text, label, s.Verdict, s.Why)
				}
			}
		}
	}
}

// A thousand gradings by 64 workers, with a bomb among them, give what one worker gives, and the bomb is invalid.
func TestPoolOfModes(t *testing.T) {
	bomb := `\boxed{` + strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000) + "}"
	thousand := func() []*rl.Sample {
		samples := indexed(1000)
		for i, s := range samples {
			p := pairs[i%len(pairs)]
			s.Prompt = &rl.Prompt{ID: "p", Label: p.label, Metadata: []byte(`{"rm_type":"` + columns[i%len(columns)] + `"}`)}
			s.Text, s.Stop = p.text, rl.StopToken
		}
		samples[500].Text = bomb
		return samples
	}
	r, _ := New("")
	serial, parallel := thousand(), thousand()
	one, err1 := NewPool(r, Config{Workers: 1, Deadline: time.Minute}).Grade(t.Context(), serial)
	many, err2 := NewPool(r, Config{Workers: 64, Deadline: time.Minute}).Grade(t.Context(), parallel)
	if err1 != nil || err2 != nil || one != many || !reflect.DeepEqual(serial, parallel) {
		t.Errorf("one worker: %+v, %v; 64: %+v, %v", one, err1, many, err2)
	}
	if one.Invalid != 1 || one.Raised == 0 || serial[500].Verdict != rl.Invalid {
		t.Errorf("counts are %+v, want one invalid and some that raise", one)
	}
}

// scraps are what answers are made of.
var scraps = strings.Fields(`\boxed{ } { ( ) [ ] \frac 1 2 34 7.5 x y n , ; : = < > \le \in \pi \sqrt ^ _ + - * / \cdot \text{ cm } % \% \$ $ Answer: answer the is final or and ! | \begin{pmatrix}
	\end{pmatrix} \\ & \{ \} \infty \cup \pm e i \sin \log ^\circ million . 0 9 #### <answer> </answer> </think> ` + "\u2212 ½ π")

// scrap returns a random text.
func scrap(dice *rand.Rand) string {
	var b strings.Builder
	for range dice.IntN(24) {
		b.WriteString(scraps[dice.IntN(len(scraps))])
		if dice.IntN(3) == 0 {
			b.WriteByte(' ')
		}
	}
	if dice.IntN(2) == 0 {
		return `\boxed{` + b.String() + "}"
	}
	return b.String()
}

// slowest grades n random texts in every mode and returns the time that all but one in a hundred stay below.
func slowest(t *testing.T, n int) time.Duration {
	dice := rand.New(rand.NewPCG(7, 11))
	modes := Names()
	took := make([]time.Duration, n)
	for i := range took {
		text, label, mode := scrap(dice), scrap(dice), modes[i%len(modes)]
		if mode == "countdown" {
			label = `{"nums":[1,2,34],"target":7}`
		}
		began := time.Now()
		v, why, err := Judge(mode, Rules{}, text, GoldOf(label))
		took[i] = time.Since(began)
		if err != nil || v == rl.Ungraded || why == "" {
			t.Fatalf("%s: %q for %q is %v, %q, %v", mode, text, label, v, why, err)
		}
	}
	slices.Sort(took)
	return took[n*99/100]
}

func TestRandomTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	if p99 := slowest(t, 3000); p99 > time.Second {
		t.Errorf("one in a hundred takes more than %v", p99)
	}
}

func FuzzGraders(f *testing.F) {
	for _, p := range pairs {
		f.Add(p.text, p.label)
	}
	f.Add(`<answer>(1+2)*3</answer>`, `{"nums":[1,2,3],"target":9}`)
	f.Fuzz(func(t *testing.T, text, label string) {
		for _, name := range Names() {
			a, b := judge(t, name, text, label), judge(t, name, text, label)
			if a.Verdict != b.Verdict || a.Why != b.Why || a.Verdict == 0 || a.Why == "" || (a.Reward == 1) != (a.Verdict == rl.Right) {
				t.Fatalf("%s: %v %v %q and %v %q", name, a.Verdict, a.Reward, a.Why, b.Verdict, b.Why)
			}
		}
	})
}

func TestCountdown(t *testing.T) {
	for _, tt := range []struct {
		text string
		want rl.Verdict
		why  string
	}{
		{"<answer>(1+2)*3</answer>", rl.Right, "is 9"},
		{"<answer> 3 * (2 + 1) </answer>", rl.Right, ""},
		{"<answer>1</answer> no, <answer>(1+2)*3</answer>", rl.Right, ""},
		{`\boxed{(1+2)\times 3}`, rl.Right, ""},
		{`\boxed{\left(1+2\right)\cdot3}`, rl.Right, ""},
		{"Answer: 3*(1+2)", rl.Right, ""},
		{"(1+2)*3", rl.Right, ""},
		{"<think>hm</think>(1+2)*3", rl.Right, ""},
		{"<answer>3/(1/(1+2))</answer>", rl.Wrong, "exactly once"},
		{"<answer>3*3</answer>", rl.Wrong, "uses [3, 3], want each of [1, 2, 3] exactly once"},
		{"<answer>9</answer>", rl.Wrong, "exactly once"},
		{"<answer>1+2+3</answer>", rl.Wrong, "is 6, want 9"},
		{"<answer>(1+2)*3=9</answer>", rl.Wrong, "no part of an expression"},
		{"<answer>(1+2)3</answer>", rl.Wrong, "no part of an expression"},
		{"<answer>(1+2*3</answer>", rl.Wrong, "never closed"},
		{"<answer>3/(1+2-3)</answer>", rl.Wrong, "divides by zero"},
		{"<answer>12-3</answer>", rl.Wrong, "exactly once"},
		{"<answer>3**2*1</answer>", rl.Wrong, "no number"},
		{"<answer></answer>", rl.Wrong, "no number"},
		{"<answer>-(-3)*(1+2)</answer>", rl.Right, ""},
		{"the sum", rl.Wrong, "no answer"},
		{"<answer>" + strings.Repeat("(", 3000) + "</answer>", rl.Wrong, "within each other"},
		{"<answer>" + strings.Repeat("1+", 1000) + "1</answer>", rl.Wrong, "more than 64 numbers"},
		{"<answer>" + strings.Repeat("9", 1000) + "</answer>", rl.Wrong, "no number"},
	} {
		s := judge(t, "countdown", tt.text, `{"nums":[1,2,3],"target":9}`)
		if s.Verdict != tt.want || !strings.Contains(s.Why, tt.why) {
			t.Errorf("%.60q is %v, %s, want %v, %s", tt.text, s.Verdict, s.Why, tt.want, tt.why)
		}
	}
	if s := judge(t, "countdown", "<answer>1/3*6</answer>", `{"nums":[1,3,6],"target":2}`); s.Verdict != rl.Right {
		t.Errorf("fractions in between: %v: %s", s.Verdict, s.Why)
	}
	for _, label := range []string{"9", `{"target":9}`, `{"nums":[],"target":9}`, `{"nums":["a"],"target":9}`, ""} {
		if s := judge(t, "countdown", "<answer>9</answer>", label); s.Verdict != rl.Invalid {
			t.Errorf("label %q is %v: %s", label, s.Verdict, s.Why)
		}
	}
	s := &rl.Sample{Prompt: &rl.Prompt{Label: "9", Metadata: []byte(`{"nums":[1,2,3]}`)}, Text: "<answer>(1+2)*3</answer>"}
	r, _ := New("countdown")
	if err := r.Reward(t.Context(), s); err != nil || s.Verdict != rl.Right {
		t.Errorf("numbers in the metadata: %v, %v: %s", s.Verdict, err, s.Why)
	}
}

func TestReadGold(t *testing.T) {
	for _, tt := range []struct{ raw, want, err string }{
		{`"34"`, "34", ""},
		{"34", "34", ""},
		{"12.50", "12.50", ""},
		{`["1",2]`, "1 | 2", ""},
		{`{"nums":[1],"target":1}`, "1", ""},
		{"null", "", "missing"},
		{"", "", "missing"},
		{"true", "", "want a text"},
		{"[]", "", "empty list"},
		{"[null]", "", "alternative 1"},
		{`{"target":1}`, "", "without nums"},
		{`{"nums":"1,2","target":1}`, "", "nums is of type string"},
		{`{"nums":[1,null],"target":1}`, "", `nums holds ""`},
		{"{", "", "gold: "},
	} {
		g, err := ReadGold([]byte(tt.raw))
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && g.String() != tt.want {
			t.Errorf("ReadGold(%s) = %q, %v, want %q, %s", tt.raw, g.String(), err, tt.want, tt.err)
		}
	}
	for _, raw := range []string{"0", "-0", "0.00", "0e9", "0E-999999999", `"0"`, "10", "0.10", "1e-999999999", strings.Repeat("7", 1_000_000)} {
		want := raw[0] != '"' && !strings.ContainsAny(raw, "17")
		if g, err := ReadGold([]byte(raw)); err != nil || g.Falsy != want {
			t.Errorf("ReadGold(%.20s) is falsy %t, %v, want %t", raw, g.Falsy, err, want)
		}
	}
	if g := GoldOf(`["5","6"]`); len(g.Alternatives) != 2 {
		t.Errorf("a list of texts is %+v", g)
	}
	if g := GoldOf("[5,6]"); g.Alternatives != nil || g.Text != "[5,6]" {
		t.Errorf("an interval is %+v", g)
	}
}

// A grader's name behind boxed_ judges what stands in the last box.
func TestBoxedPrefix(t *testing.T) {
	r, _ := New("")
	s := &rl.Sample{Prompt: &rl.Prompt{Label: "34", Metadata: []byte(`{"rm_type":"boxed_exact"}`)}, Text: `So \boxed{34}.`}
	if err := r.Reward(t.Context(), s); err != nil || s.Verdict != rl.Right {
		t.Errorf("verdict is %v, %v: %s", s.Verdict, err, s.Why)
	}
	if s := judge(t, "boxed_exact", `So \boxed{34}.`, "34"); s.Verdict != rl.Right {
		t.Errorf("by name: %v: %s", s.Verdict, s.Why)
	}
}

// The numbers of a countdown may stand beside the target, in the metadata of a prompt.
func TestNumbersBesideTheTarget(t *testing.T) {
	for _, tt := range []struct {
		label, metadata string
		want            rl.Verdict
	}{
		{"24", `{"nums":[4,6]}`, rl.Right},
		{`"24"`, `{"nums":[4,6]}`, rl.Right},
		{"24", `{"nums":[4,7]}`, rl.Wrong},
		{"24", `{}`, rl.Invalid},
		{"24", `{"nums":"4 6"}`, rl.Invalid},
		{"24", `{"nums":[]}`, rl.Invalid},
		{"x", `{"nums":[4,6]}`, rl.Invalid},
		{`{"nums":[4,6],"target":24}`, `{"nums":[1]}`, rl.Right},
	} {
		r, err := New("countdown")
		if err != nil {
			t.Fatal(err)
		}
		s := &rl.Sample{Prompt: &rl.Prompt{Label: tt.label, Metadata: []byte(tt.metadata)}, Text: "<answer>4*6</answer>", Stop: rl.StopToken}
		if err := r.Reward(t.Context(), s); err != nil || s.Verdict != tt.want {
			t.Errorf("label %s, metadata %s: %v, %v: %s, want %v", tt.label, tt.metadata, s.Verdict, err, s.Why, tt.want)
		}
	}
}

func TestWithNumbers(t *testing.T) {
	for _, tt := range []struct{ gold, nums, want string }{
		{"24", "[1,2]", `{"nums":[1,2],"target":24}`},
		{" 24 ", " [1, 2] ", `{"nums":[1, 2],"target":24}`},
		{`"24"`, "[1,2]", `{"nums":[1,2],"target":"24"}`},
		{`"x"`, "[1,2]", `"x"`},
		{"24", "", "24"},
		{"24", "3", "24"},
		{"24", `["a"]`, "24"},
		{"24", `[1e999]`, "24"},
		{"null", "[1]", "null"},
		{"true", "[1]", "true"},
		{"[1]", "[1]", "[1]"},
		{`{"x":1}`, "[1]", `{"x":1}`},
		{"", "[1]", ""},
	} {
		if got := WithNumbers([]byte(tt.gold), []byte(tt.nums)); string(got) != tt.want {
			t.Errorf("WithNumbers(%s, %s) = %s, want %s", tt.gold, tt.nums, got, tt.want)
		}
	}
}
