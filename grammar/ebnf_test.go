package grammar

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func matches(re string) func(string) bool {
	return regexp.MustCompile(`\A(?:` + re + `)\z`).MatchString
}

func balanced(s string) bool {
	depth := 0
	for _, c := range s {
		if depth += map[rune]int{'(': 1, ')': -1}[c]; depth < 0 || !strings.ContainsRune("()", c) {
			return false
		}
	}
	return depth == 0
}

var ebnfs = []struct {
	name, src, letters string
	want               func(string) bool
}{
	{"string", `root ::= "abc"`, "abc", matches(`abc`)},
	{"alternatives", "root ::= \"a\" | \"b\" |\n \"\" # or nothing\n", "ab", matches(`a|b|`)},
	{"counts", `root ::= "a"{2} "b"{1,} "c"{0,2}`, "abc", matches(`a{2}b+c{0,2}`)},
	{"sets", `root ::= [^a-cx-] [a\]\-]+`, "a]-yx", matches(`[^a-cx-][a\]\-]+`)},
	{"rules", "root ::= x y?\nx ::= \"a\" | y\ny ::= \"b\"+", "ab", matches(`(a|b+)(b+)?`)},
	{"brackets", `root ::= ("(" root ")")*`, "()", balanced},
	{"brackets the other way", `root ::= "" | root "(" root ")"`, "()", balanced},
	{"even palindromes", `root ::= "a" root "a" | "b" root "b" | ""`, "ab", palindrome},
	{"left recursion", `root ::= root "b" | "a" | root "c" "c"`, "abc", matches(`a(b|cc)*`)},
	{"left recursion, doubled", `root ::= root root | "a"`, "ab", matches(`a+`)},
	{"left recursion past nothing", "root ::= n root \"x\" | \"y\"\nn ::= \"a\" | \"\"", "axy", counted},
	{"right recursion", `root ::= "a" root | "b"`, "ab", matches(`a*b`)},
	{"ambiguous", "root ::= s s\ns ::= \"a\" s s | \"a\" | \"\"", "ab", matches(`a*`)},
	{"empty rules", "root ::= e \"a\" e e \"b\"\ne ::= f f\nf ::= \"\" | \"c\"", "abc", matches(`c{0,2}ac{0,4}b`)},
	{"unused rule that never ends", "root ::= \"a\" | x\nx ::= \"b\" x", "ab", matches(`a`)},
	{"itself", "root ::= root | \"a\"", "ab", matches(`a`)},
	{"copies side by side", "root ::= a | b\na ::= \"a\" a \"b\" | \"a\" \"b\"\nb ::= \"a\" b \"bb\" | \"abb\"", "ab", copies},
	{"bytes", `root ::= "\xe9" | "\u00e9" | "\x41"`, "\xe9\xc3\xa9A", matches(`é|A`)},
	{"any", `root ::= . [\n] .`, "a\n", matches(`(?s).\n.`)},
}

func palindrome(s string) bool {
	for i := range len(s) / 2 {
		if s[i] != s[len(s)-1-i] {
			return false
		}
	}
	return len(s)%2 == 0
}

// counted: y after as many or fewer a than there are x at the end.
func counted(s string) bool {
	as, xs, ok := strings.Cut(s, "y")
	return ok && strings.Trim(as, "a") == "" && strings.Trim(xs, "x") == "" && len(as) <= len(xs)
}

// copies: as many a as b, or twice as many b.
func copies(s string) bool {
	as := len(s) - len(strings.TrimLeft(s, "a"))
	bs := len(s) - as
	return as > 0 && strings.Trim(s[as:], "b") == "" && (bs == as || bs == 2*as)
}

func TestEBNF(t *testing.T) {
	v, dice := pieces(), rand.New(rand.NewPCG(3, 4))
	for _, tt := range ebnfs {
		t.Run(tt.name, func(t *testing.T) {
			g, err := CompileEBNF(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, tt.name, g, tt.letters, 7, tt.want)
			for range 40 {
				if got := walk(t, g, v, dice, 8); strings.ToValidUTF8(got, "") == got && !tt.want(got) {
					t.Errorf("produced %q, which is no text of the grammar", got)
				}
			}
		})
	}
}

func TestEBNFRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, tt := range []struct{ name, src, want string }{
		{"nothing", "", "no rule root"},
		{"no root", `a ::= "b"`, "no rule root"},
		{"unknown rule", `root ::= b`, "rule b is used and not there"},
		{"twice", "root ::= \"a\"\nroot ::= \"b\"", "line 2: rule root is there twice"},
		{"indirect left recursion", "root ::= a\na ::= b \"x\" | \"y\"\nb ::= a | \"z\"", "left recursion: a -> b -> a"},
		{"hidden left recursion", "root ::= a\na ::= n b \"x\" | \"y\"\nb ::= a | \"z\"\nn ::= \"\"", "left recursion: a -> b -> a"},
		{"no text", `root ::= "a" root`, "no text satisfies it"},
		{"open string", `root ::= "abc`, "not closed"},
		{"open set", `root ::= [abc`, "not closed"},
		{"open bracket", `root ::= ("abc"`, "not closed"},
		{"closed too often", `root ::= "abc")`, `found ")"`},
		{"counts", `root ::= "a"{3,2}`, "repetition"},
		{"escape", `root ::= "\q"`, `escape \q`},
		{"range", `root ::= [z-a]`, "down to"},
		{"looking ahead", `root ::= "a" (= "b")`, "looking ahead"},
		{"dispatch", `root ::= TagDispatch(("a", b))`, "TagDispatch"},
		{"huge repetition", `root ::= "a"{999999999}`, "nodes"},
		{"nested repetitions", `root ::= ((("a"{1,9999}){1,9999}){1,9999}){1,9999}`, "nodes"},
		{"repeated nothing", `root ::= ((""{1,9999}){1,9999}){1,9999}`, "nodes"},
		{"deep", "root ::= " + strings.Repeat("(", 100000), "nested"},
		{"long", "root ::= " + strings.Repeat(" ", 10<<20), "bytes"},
		{"exponential", `root ::= [ab]* "a" [ab]{40}`, "simpler"},
		{"surrogate", `root ::= "\ud800"`, "no character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			quick(t, tt.name)
			if _, err := CompileEBNF(tt.src); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// quick skips sources that meet a limit only after much work, where tests are to be short.
func quick(t *testing.T, name string) {
	t.Helper()
	if testing.Short() && slices.Contains([]string{"exponential", "doubling", "long string", "long array", "many optional"}, name) {
		t.Skip("meets its limit after much work")
	}
}
