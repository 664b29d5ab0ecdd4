package data

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
	"furlong/tokenizer"
)

var _ rl.PromptSource = (*Source)(nil)

// take returns the next n prompts.
func take(t *testing.T, s *Source, n int) []*rl.Prompt {
	t.Helper()
	p, err := s.Next(n)
	if err != nil || len(p) != n {
		t.Fatalf("Next(%d) = %d prompts, %v", n, len(p), err)
	}
	return p
}

// order returns the prompts' labels, which are row numbers.
func order(prompts []*rl.Prompt) string {
	var all []string
	for _, p := range prompts {
		all = append(all, p.Label)
	}
	return strings.Join(all, " ")
}

func TestOrderOfEpochs(t *testing.T) {
	set := read(t, numbered(20), nil)
	plain, shuffled := NewSource(set, 42, false), NewSource(set, 42, true)
	first := order(take(t, plain, 20))
	if again := order(take(t, plain, 20)); first != again || !strings.HasPrefix(first, "0 1 2 3 ") {
		t.Errorf("unshuffled epochs are %s and %s", first, again)
	}
	a, b := take(t, shuffled, 20), take(t, shuffled, 20)
	if order(a) == first || order(a) == order(b) {
		t.Errorf("shuffled epochs are %s and %s", order(a), order(b))
	}
	for e, epoch := range [][]*rl.Prompt{a, b} {
		seen := map[string]bool{}
		for i, p := range epoch {
			seen[p.ID] = true
			if p.Group != int64(20*e+i) {
				t.Errorf("epoch %d: prompt %d is group %d, want %d", e, i, p.Group, 20*e+i)
			}
		}
		if len(seen) != 20 {
			t.Errorf("epoch %d has %d different prompts, want 20", e, len(seen))
		}
	}
	if next := NewSource(set, 43, true); order(take(t, next, 20)) != order(b) {
		t.Error("epoch 1 of seed 42 is not epoch 0 of seed 43, want seed + epoch")
	}
}

// Golden: a shuffle must not change with the release of Go or of ours, or a resumed run would see other data.
func TestShuffleIsFixed(t *testing.T) {
	if got, want := order(take(t, NewSource(read(t, numbered(10), nil), 42, true), 10)), "3 6 5 7 8 4 2 0 9 1"; got != want {
		t.Errorf("order is %s, want %s", got, want)
	}
}

func TestBatchesDoNotMatter(t *testing.T) {
	set := read(t, numbered(7), nil)
	a, b := NewSource(set, 1, true), NewSource(set, 1, true)
	parts := slices.Concat(take(t, a, 3), take(t, a, 0), take(t, a, 9), take(t, a, 18))
	if want := take(t, b, 30); !reflect.DeepEqual(parts, want) {
		t.Errorf("in parts: %s, at once: %s", order(parts), order(want))
	}
}

func TestResumeAroundTheEpochBorder(t *testing.T) {
	set := read(t, numbered(10), nil)
	for _, shuffle := range []bool{false, true} {
		for _, k := range []int{0, 1, 9, 10, 11, 19, 20, 21} {
			whole := NewSource(set, 5, shuffle)
			take(t, whole, k)
			st, err := whole.State()
			if err != nil {
				t.Fatal(err)
			}
			resumed := NewSource(set, 5, shuffle)
			if err := resumed.Restore(st); err != nil {
				t.Fatal(err)
			}
			if got, want := take(t, resumed, 25), take(t, whole, 25); !reflect.DeepEqual(got, want) {
				t.Errorf("shuffle %t, after %d: resumed goes on with %s, want %s", shuffle, k, order(got), order(want))
			}
			if resumed.Epoch() != whole.Epoch() {
				t.Errorf("shuffle %t, after %d: epoch is %d, want %d", shuffle, k, resumed.Epoch(), whole.Epoch())
			}
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	set := read(t, numbered(5), nil)
	s := NewSource(set, 1, true)
	take(t, s, 2)
	state := func(s *Source) string {
		b, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	mine := state(s)
	for _, tt := range []struct{ name, state, want string }{
		{"another seed", state(NewSource(set, 2, true)), "seed is 2, shuffle true, want 1, true"},
		{"another order", state(NewSource(set, 1, false)), "shuffle false, want 1, true"},
		{"other prompts", state(NewSource(read(t, numbered(6), nil), 1, true)), "the file or its filters have changed"},
		{"no JSON", "{", "unexpected end"},
		{"no place", strings.Replace(mine, `"place":2`, `"place":6`, 1), "place is 6 of epoch 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.Restore([]byte(tt.state)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Restore = %v, want an error with %q", err, tt.want)
			}
		})
	}
	if got := state(s); got != mine {
		t.Errorf("after refusals the state is %s, want %s", got, mine)
	}
}

func TestRolloutsPerEpoch(t *testing.T) {
	set := read(t, numbered(10), nil)
	for _, tt := range []struct{ batch, want int }{{1, 10}, {3, 3}, {5, 2}, {10, 1}} {
		if got, err := set.RolloutsPerEpoch(tt.batch); got != tt.want || err != nil {
			t.Errorf("RolloutsPerEpoch(%d) = %d, %v, want %d", tt.batch, got, err, tt.want)
		}
	}
	for _, batch := range []int{0, 11} {
		if _, err := set.RolloutsPerEpoch(batch); err == nil || !strings.Contains(err.Error(), "want 1 to 10") {
			t.Errorf("RolloutsPerEpoch(%d): error is %v", batch, err)
		}
	}
}

func Example() {
	c := Default()
	c.File, c.InputKey, c.LabelKey = "f.jsonl@[1:]", "question", "answer"
	set, err := Read(strings.NewReader(`{"id":"a","question":"1+1=","answer":"2"}
{"id":"b","question":"2+2=","answer":"4"}
{"id":"c","question":"3+3=","answer":"6"}
`), c, tokenizer.Bytes{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Report())
	prompts, _ := NewSource(set, 42, false).Next(3)
	for _, p := range prompts {
		fmt.Println(p.Group, p.ID, p.Text, p.Label)
	}
	// Output:
	// 2 prompts from 3 lines of f.jsonl; 1 outside of the slice
	// 0 b 2+2= 4
	// 1 c 3+3= 6
	// 2 b 2+2= 4
}
