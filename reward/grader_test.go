package reward

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"furlong/rl"
)

func TestGraders(t *testing.T) {
	for _, tt := range []struct {
		grader, text, label string
		want                rl.Verdict
		why                 string
	}{
		{"arithmetic", `86*9=774 774-34=\boxed{740}`, "740", rl.Right, "box 740"},
		{"arithmetic", `\boxed{740} \boxed{741}`, "740", rl.Wrong, "box 741, want 740"},
		{"arithmetic", `\boxed{740} \boxed{74`, "740", rl.Right, "box 740"},
		{"arithmetic", `\boxed{740} \boxed{x}`, "740", rl.Right, "box 740"},
		{"arithmetic", `\boxed{0740}`, "740", rl.Right, "box 0740"},
		{"arithmetic", `\boxed{-12}`, "-12", rl.Right, "box -12"},
		{"arithmetic", `\boxed{-0}`, "0", rl.Right, "box -0"},
		{"arithmetic", `\boxed{7.0}`, "7", rl.Wrong, "no complete"},
		{"arithmetic", `\boxed{99999999999999999999}`, "7", rl.Wrong, "box 9999"},
		{"arithmetic", "740", "740", rl.Wrong, "no complete"},
		{"arithmetic", `\boxed{740}`, "74O", rl.Invalid, `label is "74O", want an integer`},
		{"dapo", `Answer: \boxed{34}`, "34", rl.Right, `box "34" is 34`},
		{"dapo", `Answer: 34.5`, "34", rl.Wrong, `Answer: line "34.5", want 34`},
		{"dapo", `Answer: \boxed{12}`, "12.5", rl.Invalid, `label is "12.5", want a whole number`},
		{"dapo", `Answer: x`, "x", rl.Invalid, `label is "x", want a whole number`},
		{"dapo", `Answer: 34`, " ", rl.Invalid, `label is " ", want an answer`},
		{"dapo", `Answer: 34`, "1,034", rl.Wrong, "want 1,034"},
		{"gsm8k", "so 10 left\n#### 10,000", "10000", rl.Right, `#### "10,000" is 10000`},
		{"gsm8k", "Answer: $18", "5*3=15 15+3=18\n#### 18", rl.Right, `Answer: line "$18" is 18`},
		{"gsm8k", "#### 18 eggs", "18", rl.Wrong, "is no number"},
		{"gsm8k", "####", "18", rl.Wrong, "is no number"},
		{"gsm8k", "18", "18", rl.Wrong, "no answer"},
		{"gsm8k", "#### 18", "eighteen", rl.Invalid, "want a number"},
		{"math", "#### 18", "18", rl.Wrong, "no answer"},
		{"math", `\boxed{p-q}`, "p - q", rl.Right, `box "p-q" is "p - q" as text`},
		{"math", `\boxed{}`, "", rl.Invalid, `label is "", want an answer`},
		{"math", `\boxed{34}`, strings.Repeat("1", 5000), rl.Invalid, "label is 5000 bytes long"},
		{"math", `_Answer:_ 34`, "34", rl.Right, ""},
		{"math", `unanswer: 34`, "34", rl.Wrong, "no answer"},
		{"exact", " 34 \n", "34", rl.Right, "response is the label"},
		{"exact", "<think>a</think> 34<|im_end|>", "34", rl.Right, ""},
		{"exact", "34.", "34", rl.Wrong, `response is "34.", want "34"`},
		{"exact", "34", "", rl.Invalid, "label is"},
	} {
		s := judge(t, tt.grader, tt.text, tt.label)
		if s.Verdict != tt.want || !strings.HasPrefix(s.Why, tt.grader+": ") || !strings.Contains(s.Why, tt.why) {
			t.Errorf("%s: %q for %q is %v, %s, want %v, %s", tt.grader, tt.text, tt.label, s.Verdict, s.Why, tt.want, tt.why)
		}
		if (s.Reward == 1) != (tt.want == rl.Right) {
			t.Errorf("%s: %q for %q has reward %v", tt.grader, tt.text, tt.label, s.Reward)
		}
	}
}

func TestNewNamesTheNearest(t *testing.T) {
	for given, want := range map[string]string{"maths": "math", "gsm8": "gsm8k", "DAPO": "dapo", "aritmetic": "arithmetic", "extract": "exact"} {
		_, err := New(given)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("grader is %q, want one of arithmetic, math, dapo, gsm8k, exact; the nearest is %q", given, want)) {
			t.Errorf("New(%q): error is %v, want %q as the nearest", given, err, want)
		}
	}
}

func TestMetadataGoesFirst(t *testing.T) {
	for _, tt := range []struct {
		usual, metadata string
		want            rl.Verdict
		why             string
	}{
		{"exact", "", rl.Wrong, "exact: "},
		{"exact", `{"rm_type":"math"}`, rl.Right, "math: "},
		{"exact", `{"other":1}`, rl.Wrong, "exact: "},
		{"", `{"rm_type":"math"}`, rl.Right, "math: "},
		{"", "", rl.Invalid, "names no rm_type"},
		{"exact", `{"rm_type":"mth"}`, rl.Invalid, `the nearest is "math"`},
		{"exact", `{"rm_type":3}`, rl.Invalid, "metadata: "},
	} {
		r, err := New(tt.usual)
		if err != nil {
			t.Fatal(err)
		}
		s := &rl.Sample{Prompt: &rl.Prompt{ID: "p", Label: "34"}, Text: `\boxed{34}`}
		if tt.metadata != "" {
			s.Prompt.Metadata = json.RawMessage(tt.metadata)
		}
		err = r.Reward(t.Context(), s)
		if s.Verdict != tt.want || !strings.Contains(s.Why, tt.why) || (err != nil) != (tt.want == rl.Invalid) {
			t.Errorf("%q with %s: %v, %s, error %v, want %v, %s", tt.usual, tt.metadata, s.Verdict, s.Why, err, tt.want, tt.why)
		}
	}
}

func TestCheckLabels(t *testing.T) {
	r, _ := New("dapo")
	prompts := []*rl.Prompt{{ID: "a", Label: "1"}, {ID: "b", Label: "1.5"}, {ID: "c", Label: "x"}}
	want := `2 of 3 labels cannot be graded; the first: prompt b: dapo: label is "1.5", want a whole number`
	if err := Check(t.Context(), r, prompts); err == nil || err.Error() != want {
		t.Errorf("Check = %v, want %s", err, want)
	}
	if err := Check(t.Context(), r, prompts[:1]); err != nil {
		t.Errorf("Check = %v, want none", err)
	}
}

func Example() {
	r, err := New("math")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := &rl.Sample{Prompt: &rl.Prompt{Label: "1234"}, Text: `The sum is \boxed{1{,}234}.`, Stop: rl.StopToken}
	pool := NewPool(r, Default())
	err = pool.Reward(context.Background(), s)
	fmt.Println(s.Reward, s.Verdict, err)
	fmt.Println(s.Why)
	// Output:
	// 1 right <nil>
	// math: box "1{,}234" is 1234
}
