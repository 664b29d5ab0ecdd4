package reward

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{`10,\!080`, "10080", true},
		{`11,\! 111,\! 111,\! 100`, "11111111100", true},
		{`\$32,\!348`, "32348", true},
		{"$18", "18", true},
		{"18$", "18.00", true},
		{"-$5", "-5", true},
		{`$\$5$`, "5", true},
		{"+5", "5", true},
		{"- 5", "-5", true},
		{"--5", "5", false},
		{"5-", "5", false},
		{"1.2.3", "1.2", false},
		{"1,2345", "12345", false},
		{"0,034", "34", false},
		{"12,345,678.5", "12345678.5", true},
		{"2.5e-3", "0.0025", true},
		{`\frac 59`, "5/9", true},
		{`-\frac{35}{9}`, `\frac{-35}{9}`, true},
		{`\frac{1}{0}`, "0", false},
		{"1/0", "0", false},
		{"1,000/10", "100", true},
		{`137 \frac{1}{2}`, "137.5", true},
		{`-1\frac{1}{2}`, "-1.5", true},
		{`1\frac{-1}{2}`, "0.5", false},
		{"7 3/4", "7.75", true},
		{`864 \mbox{ inches}^2`, "864", true},
		{`864 \text{ square inches}`, `864\text{ inches}^2`, true},
		{`864 \text{ inches}`, `864\text{ inches}^2`, false},
		{`8\text{ m}`, `8\text{ cm}`, false},
		{"8m", "8", false},
		{`\frac{270}7\text{ degrees}`, `\frac{270}{7}^\circ`, true},
		{`5.4 \text{ cents}`, "5.4", true},
		{`\$5.4 \text{ cents}`, "5.4", false},
		{"12 sq. units", "12", true},
		{"x=5", "5", true},
		{"x=5", "y=5", false},
		{"50%", "0.5", true},
		{"50%", "50", true},
		{"50%", "5", false},
		{"50%", "0.5%", false},
		{"(3)", "3", true},
		{"(1,234)", "1234", false},
		{"{34}", "34", true},
		{"**34**", "34", true},
		{"0.1", "0.10000000000000000000000000000001", false},
		{"52_8", "52", false},
		{"", "0", false},
		{".", "0", false},
	} {
		a, b, equal := number{}, number{}, false
		var ok bool
		if a, ok = parseNumber(tidy(tt.a)); ok {
			b, ok = parseNumber(tidy(tt.b))
			equal = ok && a.equals(b)
		}
		if equal != tt.equal {
			t.Errorf("%q equals %q is %t, want %t (%+v, %+v)", tt.a, tt.b, equal, tt.equal, a, b)
		}
		if ok && b.equals(a) != equal {
			t.Errorf("%q and %q: the order matters", tt.a, tt.b)
		}
	}
}

// Labels as the MATH data set spells them. Each must at least be right for itself.
func TestLabelsAreRightForThemselves(t *testing.T) {
	for _, label := range []string{
		`\left( 3, \frac{\pi}{2} \right)`, "p - q", `\text{Evelyn}`, `90^\circ`, `3\sqrt{13}`, "6 - 5i", `\pi`, "x=5", "1,-2", "52_8",
		`11\sqrt2`, "3, 5, 7", `-\frac{\pi}{6}`, ".0000672", `1 \pm \sqrt{19}`, `\begin{pmatrix} -1/3 \\ 2/3 \\ 5/3 \end{pmatrix}`,
		"(3,4]", `4210_{5}`, `(2,\infty)`, `(0,9) \cup (9,36)`, `x \in [-2,7]`, `\{1\pm\sqrt{5},-2\}`, "y = 2x + 3", `15\mbox{ cm}^2`, `\$18.90`, `\text{(C)}`,
	} {
		for _, text := range []string{`\boxed{` + label + `}`, "Answer: " + label, "Answer: $" + label + "$."} {
			if s := judge(t, "math", text, label); s.Reward != 1 {
				t.Errorf("%q for %q is %v: %s", text, label, s.Verdict, s.Why)
			}
		}
	}
}

func TestTextsThatDiffer(t *testing.T) {
	for _, tt := range [][2]string{
		{`1/2004!`, `1/2006!`}, {"n=2,3,4", "n=1,2,3"}, {"a", "A"}, {"(1,2]", "(1,2)"}, {`\sqrt{12}`, `\sqrt{1}2`}, {"AB", "A B C"}, {"even", "odd"},
	} {
		for _, p := range [][2]string{{tt[0], tt[1]}, {tt[1], tt[0]}} {
			if s := judge(t, "math", `\boxed{`+p[0]+`}`, p[1]); s.Reward != 0 {
				t.Errorf("%q for %q is %v: %s", p[0], p[1], s.Verdict, s.Why)
			}
		}
	}
}

func FuzzGraders(f *testing.F) {
	for _, p := range pairs {
		f.Add(p.text, p.label)
	}
	f.Fuzz(func(t *testing.T, text, label string) {
		for _, name := range Names() {
			a, b := judge(t, name, text, label), judge(t, name, text, label)
			if a.Verdict != b.Verdict || a.Why != b.Why || a.Verdict == 0 || (a.Reward == 1) != (a.Verdict == 1) {
				t.Fatalf("%s: %v %v %q and %v %q", name, a.Verdict, a.Reward, a.Why, b.Verdict, b.Why)
			}
		}
		if len(text) > longestAnswer || len(label) > longestAnswer {
			return // tidy is given no longer ones
		}
		m, ok := parseNumber(tidy(text))
		if n, fine := parseNumber(tidy(label)); ok && fine && m.equals(n) != n.equals(m) {
			t.Fatalf("%q and %q: the order matters", text, label)
		}
		if again := tidy(tidy(text)); ok && again != tidy(text) && !strings.Contains(text, `\`) {
			t.Fatalf("tidy %q is %q, and of that %q", text, tidy(text), again)
		}
	})
}
