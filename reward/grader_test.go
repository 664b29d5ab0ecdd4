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
		{"dapo", `Answer: \boxed{34}`, "34", rl.Right, `34 is 34 by the published rules, letter for letter`},
		{"dapo", `Answer: 34.5`, "34", rl.Wrong, `34.5 is not 34`},
		{"dapo", `Answer: \boxed{12}`, "12.5", rl.Right, ""},
		{"dapo", `Answer: x`, "x", rl.Wrong, "breaks"},
		{"dapo", `34`, "34", rl.Wrong, "no answer"},
		{"gsm8k", "so 10 left\n#### 10,000", "10000", rl.Right, `####: 10,000 equals 10000 as rationals`},
		{"gsm8k", "Answer: $18", "5*3=15 15+3=18\n#### 18", rl.Right, `Answer: line: $18 `},
		{"gsm8k", "#### 18 eggs", "18", rl.Right, ""},
		{"gsm8k", "#### 18 or 19", "18", rl.Wrong, "18 or 19 is not 18"},
		{"gsm8k", "####", "18", rl.Wrong, "#### is empty"},
		{"gsm8k", "18", "18", rl.Wrong, "no answer"},
		{"gsm8k", "#### 18", "eighteen", rl.Invalid, "want a number"},
		{"furlong", "#### 18", "18", rl.Wrong, "no answer: neither"},
		{"furlong", `\boxed{18`, "18", rl.Wrong, `the response ends without a closed \boxed{}`},
		{"furlong", `\boxed{p-q}`, "p - q", rl.Right, `box: p-q equals p - q by form`},
		{"furlong", `\boxed{1/2}`, "0.5", rl.Right, "box: 1/2 equals 0.5 as rationals"},
		{"furlong", `\boxed{}`, "", rl.Invalid, `label is "", want an answer`},
		{"furlong", `\boxed{}`, "3", rl.Wrong, `box is empty`},
		{"furlong", `\boxed{34}`, strings.Repeat("1", 5000), rl.Invalid, "label is 5000 bytes long"},
		{"furlong", `_Answer:_ 34`, "34", rl.Right, ""},
		{"furlong", `unanswer: 34`, "34", rl.Wrong, "no answer"},
		{"furlong", `\boxed{17\cdot2}`, "34", rl.Wrong, "it would have to be worked out"},
		{"math", `\boxed{34}`, "34", rl.Right, "by the published rules"},
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
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("grader is %q, want one of furlong, math, deepscaler, dapo, math-verify, gsm8k, countdown, gpqa, f1, exact, arithmetic; the nearest is %q", given, want)) {
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
		{"exact", `{"rm_type":"furlong"}`, rl.Right, "furlong: "},
		{"exact", `{"other":1}`, rl.Wrong, "exact: "},
		{"", `{"rm_type":"furlong"}`, rl.Right, "furlong: "},
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
	prompts := []*rl.Prompt{{ID: "a", Label: "1"}, {ID: "b", Label: "y"}, {ID: "c", Label: "x"}}
	want := `2 of 3 labels cannot be graded; the first: prompt b: dapo: the published grader breaks on the label y, which counts as wrong`
	for _, grades := range []rl.Rewarder{r, NewPool(r, Default())} {
		if err := Check(t.Context(), grades, prompts); err == nil || err.Error() != want {
			t.Errorf("Check = %v, want %s", err, want)
		}
		if err := Check(t.Context(), grades, prompts[:1]); err != nil {
			t.Errorf("Check = %v, want none", err)
		}
	}
}

func Example() {
	r, err := New("furlong")
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
	// furlong: box: 1{,}234 equals 1234 as rationals
}
