package arithmetic

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

// next takes n prompts.
func next(t *testing.T, s rl.PromptSource, n int) []*rl.Prompt {
	t.Helper()
	p, err := s.Next(n)
	if err != nil || len(p) != n {
		t.Fatalf("Next(%d) = %d prompts, %v", n, len(p), err)
	}
	return p
}

func TestSourceResumesExactly(t *testing.T) {
	for _, cut := range []int{0, 1, 31, 100} {
		whole := NewSource(tokenizer.Bytes{}, 7)
		next(t, whole, cut)
		st, err := whole.State()
		if err != nil {
			t.Fatal(err)
		}
		resumed := NewSource(tokenizer.Bytes{}, 7)
		if err := resumed.Restore(st); err != nil {
			t.Fatal(err)
		}
		if got, want := next(t, resumed, 50), next(t, whole, 50); !reflect.DeepEqual(got, want) {
			t.Errorf("after %d prompts the resumed source goes on with %v, want %v", cut, got[0], want[0])
		}
	}
}

func TestSourceDoesNotDependOnCalls(t *testing.T) {
	a, b := NewSource(tokenizer.Bytes{}, 3), NewSource(tokenizer.Bytes{}, 3)
	parts := slices.Concat(next(t, b, 5), next(t, b, 0), next(t, b, 11))
	if want := next(t, a, 16); !reflect.DeepEqual(parts, want) {
		t.Error("5 and 11 prompts are not the same as 16")
	}
	if c := next(t, NewSource(tokenizer.Bytes{}, 4), 16); c[0].Text == parts[0].Text && c[1].Text == parts[1].Text {
		t.Error("seeds 3 and 4 give the same prompts")
	}
}

func TestSourceRefusesStates(t *testing.T) {
	s := NewSource(tokenizer.Bytes{}, 7)
	st, _ := NewSource(tokenizer.Bytes{}, 8).State()
	for _, tt := range []struct{ state, want string }{
		{string(st), "seed 8, want seed 7"},
		{"{", "state: unexpected end"},
		{`{"set":"tiny-arithmetic","seed":7,"rand":"AAAA"}`, "invalid PCG encoding"},
	} {
		if err := s.Restore([]byte(tt.state)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Restore(%s) = %v, want an error with %q", tt.state, err, tt.want)
		}
	}
	if got, want := next(t, s, 1)[0], next(t, NewSource(tokenizer.Bytes{}, 7), 1)[0]; got.Text != want.Text {
		t.Errorf("after refused states the source gives %s, want its first prompt %s", got.Text, want.Text)
	}
}

func TestTrainingAndHeldOutAreDisjoint(t *testing.T) {
	held, err := HeldOut(tokenizer.Bytes{}, 1, 256)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range held {
		if ids[p.ID] {
			t.Errorf("%s is held out twice", p.ID)
		}
		ids[p.ID] = true
		if !parse(t, p.Text).HeldOut() {
			t.Errorf("%s is not a held-out problem", p.Text)
		}
	}
	for _, p := range next(t, NewSource(tokenizer.Bytes{}, 1), 20_000) {
		if ids[p.ID] || parse(t, p.Text).HeldOut() {
			t.Fatalf("%s is trained on and held out", p.ID)
		}
	}
	for _, n := range []int{-1, mostHeldOut + 1} {
		if _, err := HeldOut(tokenizer.Bytes{}, 1, n); err == nil {
			t.Errorf("%d held-out problems were given", n)
		}
	}
}

func TestExamples(t *testing.T) {
	tok := tokenizer.Bytes{}
	all := slices.Collect(Examples(tok, 5, R2(), 300))
	if again := slices.Collect(Examples(tok, 5, R2(), 300)); !reflect.DeepEqual(all, again) {
		t.Error("ranging twice gives other examples")
	}
	careless := 0
	for _, s := range all {
		p := parse(t, s.Prompt.Text)
		if p.HeldOut() {
			t.Errorf("%s is held out", p)
		}
		if s.Response[len(s.Response)-1] != tok.EOS() || tok.Decode(s.Response) != s.Text {
			t.Errorf("response %v does not spell %q and an end", s.Response, s.Text)
		}
		if s.Text != p.Solution() {
			careless++
		}
	}
	// 0.65 of solutions are wrong somewhere; 300 draws have a standard deviation of 0.03.
	if share := float64(careless) / 300; share < 0.55 || share > 0.75 {
		t.Errorf("share of careless solutions is %.2f, want about 0.65", share)
	}
}

func Example() {
	source := NewSource(tokenizer.Bytes{}, 42)
	prompts, err := source.Next(2)
	for _, p := range prompts {
		fmt.Println(p.Group, p.Text, p.Label, err)
	}
	p, _ := Parse("11*5+69-72=")
	fmt.Println(p.Solution())
	fmt.Println(Teacher{Plus: 1, Minus: 1}.Solve(p, NewRand(0)))
	// Output:
	// 0 88*8+52-72= 684 <nil>
	// 1 49*9-10= 431 <nil>
	// 11*5=55 55+69=124 124-72=\boxed{52}
	// 11*5=55 55+69=114 114-72=\boxed{142}
}
