package mathexpr

import "testing"

// Sets of real numbers are the same however they are put together.
func TestSpans(t *testing.T) {
	for _, tt := range []struct {
		gold, answer string
		equal        bool
	}{
		{`(1,4)`, `(1,3)\cup(2,4)`, true},
		{`(1,3)`, `(1,2]\cup(2,3)`, true},
		{`(1,3)`, `(1,2)\cup(2,3)`, false},
		{`[1,2]\cup[2,3]`, `[1,3]`, true},
		{`(1,2)\cup\{2\}\cup(2,3)`, `(1,3)`, true},
		{`(1,3)\cap(2,4)`, `(2,3)`, true},
		{`[1,2]\cap[2,3]`, `\{2\}`, true},
		{`x\ne3`, `(-\infty,3)\cup(3,\infty)`, true},
		{`x\ne3`, `\mathbb{R}\setminus\{3\}`, true},
		{`x\ne3`, `\mathbb{R}\setminus\{4\}`, false},
		{`(-\infty,-1)\cup(1,\infty)`, `\mathbb{R}\setminus[-1,1]`, true},
		{`(-\infty,-1)\cup(1,\infty)`, `\mathbb{R}\setminus(-1,1)`, false},
		{`\mathbb{R}`, `(-\infty,\infty)`, true},
		{`\mathbb{R}`, `ℝ`, true},
		{`\mathbb{R}`, `\mathbb{Z}`, false},
		{`\{1,2\}\cup\{3\}`, `\{3,2,1\}`, true},
		{`(0,1)\cup(2,3)`, `(2,3)\cup(0,1)`, true},
		{`(0,1)\cup(2,3)`, `(0,1)\cup[2,3)`, false},
		{`(0,\sqrt2)\cup(2,3)`, `(2,3)\cup(0,\sqrt2)`, true},
		{`A\cup B`, `B\cup A`, true},
		{`A\cup B`, `A\cap B`, false},
	} {
		if r := Equal(tt.gold, tt.answer, Rules{}); r.Equal != tt.equal {
			t.Errorf("%s for %s is %t, want %t: %s", tt.answer, tt.gold, r.Equal, tt.equal, r.Why)
		}
	}
}
