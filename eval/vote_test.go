package eval

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
)

func TestClaimed(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"box", `It is \boxed{34}.`, "34"},
		{"the last box", `\boxed{1}, no: \boxed{2}`, "2"},
		{"braces within", `\boxed{\frac{1}{2}}`, `\frac{1}{2}`},
		{"escaped braces", `\boxed{\{1\}}`, `\{1\}`},
		{"the last is open", `\boxed{1} and \boxed{2`, "1"},
		{"line", "Answer: 7.\nSo it is.", "7"},
		{"line below", "Answer:\n 7 \n", "7"},
		{"hashes", "3+4\n#### 7", "7"},
		{"box before line", `\boxed{1} Answer: 2`, "1"},
		{"after thoughts", `<think>\boxed{1}</think> Answer: 2`, "2"},
		{"none", "I don't know", ""},
		{"empty box", `\boxed{}`, ""},
		{"open boxes", strings.Repeat(`\boxed{`, 100_000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := claimed(tt.text); got != tt.want {
				t.Errorf("claimed(%.60q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// byCounting is maj@k by looking at every choice: answers[i] is what sample i says, 0 the right answer, -1 none.
func byCounting(answers []int, k int) float64 {
	sum, all := 0.0, 0
	for choice := range uint(1) << len(answers) {
		if bits.OnesCount(choice) != k {
			continue
		}
		all++
		votes, most := map[int]int{}, 0
		for i, a := range answers {
			if choice&(1<<i) != 0 && a >= 0 {
				votes[a]++
				most = max(most, votes[a])
			}
		}
		level := 0
		for _, n := range votes {
			if n == most {
				level++
			}
		}
		if most > 0 && votes[0] == most {
			sum += 1 / float64(level)
		}
	}
	return sum / float64(all)
}

func TestMajAtKByCounting(t *testing.T) {
	for _, tt := range []struct {
		right, silent int
		wrong         []int
	}{
		{3, 0, []int{2, 2, 1}}, {2, 3, []int{2, 2}}, {0, 2, []int{5}}, {8, 0, nil}, {1, 7, nil}, {1, 0, []int{1, 1, 1, 1, 1, 1}}, {0, 8, nil}, {4, 1, []int{4}},
	} {
		var answers []int
		for range tt.right {
			answers = append(answers, 0)
		}
		for i, m := range tt.wrong {
			for range m {
				answers = append(answers, i+1)
			}
		}
		for range tt.silent {
			answers = append(answers, -1)
		}
		for k := 1; k <= len(answers); k++ {
			got, err := MajAtK(tt.right, tt.wrong, tt.silent, k)
			if want := byCounting(answers, k); err != nil || math.Abs(got-want) > 1e-13 {
				t.Errorf("MajAtK(%d, %v, %d, %d) = %v, %v, want %v", tt.right, tt.wrong, tt.silent, k, got, err, want)
			}
		}
	}
}

// Of one sample the majority is that sample, and where all wrong samples disagree with each other a right answer given twice wins.
func TestMajAtKOfOneIsPassAtOne(t *testing.T) {
	for c := range 9 {
		got, err := MajAtK(c, []int{8 - c}, 0, 1)
		if want, _ := PassAtK(8, c, 1); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("maj@1 with %d of 8 right is %v, %v, want %v", c, got, err, want)
		}
	}
	if got, err := MajAtK(2, []int{1, 1, 1, 1, 1, 1}, 0, 8); err != nil || got != 1 {
		t.Errorf("two against six single ones: %v, %v, want 1", got, err)
	}
	if got, err := MajAtK(128, []int{64, 64}, 0, 256); err != nil || got != 1 {
		t.Errorf("256 samples: %v, %v, want 1", got, err)
	}
}

func TestMajAtKRefuses(t *testing.T) {
	for _, tt := range []struct {
		right, k int
		want     string
	}{{4, 5, "maj@5: k is 5, want 1 to 4"}, {4, 0, "k is 0"}, {257, 1, "257 samples, want at most 256"}} {
		if got, err := MajAtK(tt.right, nil, 0, tt.k); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("MajAtK(%d, k = %d) = %v, %v, want %q", tt.right, tt.k, got, err, tt.want)
		}
	}
}

func ExampleMajAtK() {
	fmt.Println(MajAtK(3, []int{2, 2, 1}, 0, 8))
	fmt.Println(MajAtK(4, []int{4}, 0, 8))
	// Output:
	// 1 <nil>
	// 0.5 <nil>
}
