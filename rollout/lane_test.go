package rollout

import (
	"slices"
	"testing"

	"furlong/rollout/sched"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		runs  int
		want  []int // tokens of each run
	}{
		{[]int{1, 1, 1, 1}, 2, []int{2, 2}},
		{[]int{1, 1, 1}, 2, []int{2, 1}},
		{[]int{5, 1, 1}, 2, []int{5, 2}},
		{[]int{1, 1, 5}, 2, []int{7}},
		{[]int{9}, 2, []int{9}},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 8}, 2, []int{6, 10}}, // tokens that go on count twice
		{[]int{2, 2, 2, 2, 2, 2}, 4, []int{4, 2, 4, 2}},
	} {
		var chunks []sched.Chunk
		for _, size := range tt.sizes {
			chunks = append(chunks, sched.Chunk{From: 3, To: 3 + size})
		}
		var got []int
		for _, part := range cut(chunks, tt.runs) {
			got = append(got, effort(part)-len(part))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("cut(%v, %d) gives runs of %v tokens, want %v", tt.sizes, tt.runs, got, tt.want)
		}
	}
}

func TestEven(t *testing.T) {
	two, heavy := &lanes{split: make([]*lane, 2)}, &lanes{split: make([]*lane, 2), heavy: true}
	for _, tt := range []struct {
		what  string
		ls    *lanes
		sizes []int
		want  bool
	}{
		{"two alike", two, []int{1, 1}, true},
		{"nobody to share with", &lanes{}, []int{1, 1}, false},
		{"one sequence", two, []int{100}, false},
		{"a long prompt among tokens", two, []int{1, 1, 100}, false},
		{"prompts", two, []int{1, 1, 64, 64}, true},
		{"few rows of heavy weights", heavy, []int{1, 1, 1, 1}, false},
		{"many rows of heavy weights", heavy, []int{16, 16}, true},
	} {
		var chunks []sched.Chunk
		n := 0
		for _, size := range tt.sizes {
			chunks = append(chunks, sched.Chunk{To: size})
			n += size
		}
		if got := tt.ls.even(chunks, n); got != tt.want {
			t.Errorf("%s: even is %v, want %v", tt.what, got, tt.want)
		}
	}
}
