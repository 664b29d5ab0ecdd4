package mathexpr

import "testing"

// As SymPy 1.14 parses and simplifies them, with implicit products and applications.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{"2x+3", "3+2x", true},
		{"x(x+1)", "x^2+x", true},
		{"ab", "ba", true},
		{"sqrt(8)", "2sqrt(2)", true},
		{"sqrt8", "2sqrt2", false},
		{"1/2x", "x/2", true},
		{"2^3x", "8x", true},
		{"pi", "3.14159", false},
		{"2pi", "pi*2", true},
		{"pix", "xpi", true},
		{"e", "2.718281828", false},
		{"i^2", "-1", false},
		{"ln(8)", "3ln(2)", true},
		{"5!", "120", true},
		{"3(4)", "12", true},
		{"1/4", "0.25", true},
		{"3/10", "0.3", true},
		{"1/3", "0.3333", false},
		{"b^5.", "b^5", false},
		{"2x-4.", "2x-4", true},
		{"7/5.+x", "7/5+x", false},
		{"43_6", "436", true},
		{"sqrt(x^2)", "x", false},
		{"(x+1)(x-1)", "x^2-1", true},
		{"x", "", false},
		{"x=1", "x=1", false},
		{"1,2", "1,2", false},
		{"|x|", "|x|", false},
		{"1-(1/2)", "1/2", true},
	} {
		if equal, over := Identity(tt.a, tt.b); equal != tt.equal || over {
			t.Errorf("%s and %s: %t, %t, want %t", tt.a, tt.b, equal, over, tt.equal)
		}
	}
}

// As Math-Verify reads LaTeX.
func TestRead(t *testing.T) {
	for _, tt := range []struct{ text, same string }{
		{"1,234", "1234"},
		{"3 4", "7"},
		{"7 3/4", "5/2"},
		{`1\frac12`, "3/2"},
		{"2(3)", "5"},
		{"1/2x", "1/(2x)"},
		{"3:4", "3/4"},
		{"90^\\circ", "90"},
		{"52_8", "52"},
		{"B", "b"},
		{`x\approx 3`, "3"},
		{`\text{No Way}`, `\text{noway}`},
		{"[3]", "3"},
		{"--5", "5"},
	} {
		a, err := Read(tt.text)
		b, other := Read(tt.same)
		if err != nil || other != nil || a.Form() != b.Form() && !NewSteps().SameValue(a, b) {
			t.Errorf("%s and %s: %v, %v, %+v, %+v", tt.text, tt.same, err, other, a, b)
		}
	}
	for _, text := range []string{"34.", "3...", `0.\overline{3}`, "90°", "3x\\%", `x\to 3`, `\{x | x>2\}`, "3^-", `\left(3`, "{(1,2)}", "(1,2)^\\circ", "[1,2,3)", ""} {
		if n, err := Read(text); err == nil && text != `0.\overline{3}` {
			t.Errorf("%s is %+v, want an error", text, n)
		}
	}
}
