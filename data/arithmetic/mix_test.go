package arithmetic

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// near reports a share that is off. The wanted figures are given to a hundredth, so half of that and three standard
// deviations of 100,000 draws (at most 0.005) are allowed.
func near(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	if got := float64(count) / float64(of); math.Abs(got-want) > 0.01 {
		t.Errorf("%s: share is %.4f, want %.2f within 0.01", what, got, want)
	}
}

func TestMix(t *testing.T) {
	const draws = 100_000
	first, carries := map[byte]int{}, map[int]int{}
	tokens, heldOut := 0, 0
	s := NewStream(1)
	for range draws {
		p := s.Next()
		checkProblem(t, p)
		first[p.Signs[0]]++
		carries[min(p.Carries(), 4)]++
		tokens += len(p.Solution()) + 1
		if p.HeldOut() {
			heldOut++
		}
	}
	for sign, want := range map[byte]float64{'*': .45, '+': .42, '-': .13} {
		near(t, fmt.Sprintf("first sign %c", sign), first[sign], draws, want)
	}
	for n, want := range []float64{.12, .31, .31, .20, .06} {
		near(t, fmt.Sprintf("%d carries", n), carries[n], draws, want)
	}
	near(t, "held out", heldOut, draws, 0.125)
	if mean := float64(tokens) / draws; math.Abs(mean-32.5) > 0.1 {
		t.Errorf("mean response is %.2f tokens, want 32.5 within 0.1", mean)
	}
}

// The recipe gives 31.8 tokens for its 256 held-out problems. The lengths' standard deviation is 4.5, so that the mean of
// another 256 may well be 0.8 off.
func TestHeldOutLength(t *testing.T) {
	problems, err := HeldOutProblems(1, 256)
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for _, p := range problems {
		tokens += len(p.Solution()) + 1
	}
	if mean := float64(tokens) / 256; math.Abs(mean-31.8) > 1.2 {
		t.Errorf("mean response is %.2f tokens, want 31.8 within 1.2", mean)
	}
}

// checkProblem checks what holds for every problem: lengths, range, and that its prompt can be read back.
func checkProblem(t *testing.T, p Problem) {
	t.Helper()
	if n := len(p.String()); n < 8 || n > 12 {
		t.Fatalf("prompt %s has %d characters, want 8 to 12", p, n)
	}
	if n := len(p.Solution()) + 1; n < 24 || n > 40 {
		t.Fatalf("response %s has %d tokens, want 24 to 40", p.Solution(), n)
	}
	if q, err := Parse(p.String()); err != nil || q != p {
		t.Fatalf("Parse(%s) = %v, %v", p, q, err)
	}
	if a := p.Answer(); a < 0 || a > 999 {
		t.Fatalf("%s is %d, want 0 to 999", p, a)
	}
}

// The recipe's figures, 0.35 and 0.80, come from 256 problems and have standard errors of 0.02 and 0.025; those here, from
// 20,000, of 0.002 and 0.003. So 0.02 is allowed.
func TestTeacherScores(t *testing.T) {
	const problems, tries = 20_000, 8
	s, r := NewStream(2), NewRand(2)
	right, solved := 0, 0
	for range problems {
		p, c := s.Next(), 0
		for range tries {
			if passes(t, p, R2().Solve(p, r)) {
				c++
			}
		}
		right += c
		if c > 0 {
			solved++
		}
	}
	at1, at8 := float64(right)/(problems*tries), float64(solved)/problems
	if math.Abs(at1-0.35) > 0.02 || math.Abs(at8-0.80) > 0.02 {
		t.Errorf("pass@1 is %.4f and pass@8 %.4f, want 0.35 and 0.80 within 0.02", at1, at8)
	}
}

// passes reports whether a teacher's text boxes the right number, and checks that it is no longer than the recipe allows.
func passes(t *testing.T, p Problem, text string) bool {
	t.Helper()
	if n := len(text) + 1; n > 44 {
		t.Fatalf("teacher writes %d tokens, want at most 44: %s", n, text)
	}
	return strings.HasSuffix(text, fmt.Sprintf(`\boxed{%d}`, p.Answer()))
}
