package reward

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"furlong/rl"
)

func graded(t *testing.T, mode, text, label, metadata string) *rl.Sample {
	t.Helper()
	r, err := New(mode)
	if err != nil {
		t.Fatal(err)
	}
	s := &rl.Sample{Prompt: &rl.Prompt{Label: label, Metadata: json.RawMessage(metadata)}, Text: text, Stop: rl.StopToken}
	if metadata == "" {
		s.Prompt.Metadata = nil
	}
	if err := r.Reward(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Shares of words, worked out by hand: precision p and recall q of common words give 2pq/(p+q).
func TestF1(t *testing.T) {
	for _, tt := range []struct {
		text, label string
		want        float64
		verdict     rl.Verdict
	}{
		{"Paris", "paris", 1, rl.Right},
		{"The Eiffel Tower.", "eiffel tower", 1, rl.Right},
		{"It's a tower", "its tower!", 1, rl.Right},
		{"the cat sat", "the cat", 2.0 / 3, rl.Wrong},          // 1 of 2 said, 1 of 1 wanted
		{"big big cat", "big cat cat", 2.0 / 3, rl.Wrong},      // big and cat once each: 2 of 3 both ways
		{"one two three four", "four five", 1.0 / 3, rl.Wrong}, // 1 of 4, 1 of 2
		{"yes", "no", 0, rl.Wrong},
		{"", "no", 0, rl.Wrong},
		{"the a an", "no", 0, rl.Wrong},
		{"<think>no</think> yes", "yes", 1, rl.Right},
		{"<think>no", "no", 0, rl.Wrong},
		{"five", `["5", "five"]`, 1, rl.Right},
		{"x", "", 0, rl.Invalid},
		{"x", "the", 0, rl.Invalid},
		{"x", strings.Repeat("x ", 3000), 0, rl.Invalid},
	} {
		s := graded(t, "f1", tt.text, tt.label, "")
		if math.Abs(s.Reward-tt.want) > 1e-15 || s.Verdict != tt.verdict { // one rounding
			t.Errorf("f1 of %q for %.20q is %v, %v (%s), want %v, %v", tt.text, tt.label, s.Reward, s.Verdict, s.Why, tt.want, tt.verdict)
		}
	}
	if s := graded(t, "boxed_f1", `no \boxed{a dog}`, "dog", ""); s.Reward != 1 {
		t.Errorf("the box is worth %v", s.Reward)
	}
}

func TestGPQA(t *testing.T) {
	const more = `{"valid_letters": ["A", "B", "C", "D", "E", "F"]}`
	for _, tt := range []struct {
		text, label, metadata string
		want                  rl.Verdict
	}{
		{"The answer is B.", "B", "", rl.Right},
		{"Answer: (C)", "C", "", rl.Right},
		{"**Answer:** D", "D", "", rl.Right},
		{"The correct answer is option A", "A", "", rl.Right},
		{`\boxed{B}`, "B", "", rl.Right},
		{`\boxed{\text{(b)}}`, "B", "", rl.Right},
		{"I choose choice D, since", "D", "", rl.Right},
		{"reasons\n\n(A)\n", "A", "", rl.Right},
		{"so it must be (C), clearly", "C", "", rl.Right},
		{"The answer is A. No: the answer is C.", "C", "", rl.Right},
		{`The answer is A, so \boxed{D}`, "D", "", rl.Right},
		{"<think>The answer is A</think>The answer is B", "B", "", rl.Right},
		{"The answer is B", "(b)", "", rl.Right},
		{"The answer is E", "E", more, rl.Right},
		{"The answer is e5", "E", `{"valid_letters": "ABCDE"}`, rl.Wrong},
		{"The answer is B", "A", "", rl.Wrong},
		{"A plan: I will think", "A", "", rl.Wrong},
		{"The answer is a matter of taste", "A", "", rl.Wrong},
		{"The answer is And", "A", "", rl.Wrong},
		{"The answer is E", "A", "", rl.Wrong},
		{"", "A", "", rl.Wrong},
		{"The answer is E", "E", "", rl.Invalid},
		{"A", "", "", rl.Invalid},
		{"A", "AB", "", rl.Invalid},
		{"A", "7", "", rl.Invalid},
	} {
		if s := graded(t, "gpqa", tt.text, tt.label, tt.metadata); s.Verdict != tt.want {
			t.Errorf("%q for %s %s is %v (%s), want %v", tt.text, tt.label, tt.metadata, s.Verdict, s.Why, tt.want)
		}
	}
}

func TestUnbuilt(t *testing.T) {
	if _, err := New("ifbench"); err == nil || !strings.Contains(err.Error(), "Python package") {
		t.Errorf("got %v, want why it is not there", err)
	}
}
