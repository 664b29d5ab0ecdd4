package grammar

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var regexes = []string{
	``, `a`, `abc`, `a|b|`, `(ab)*`, `a+b?c{2,4}`, `(a|b)*abb`, `[^a]`, `.`, `.*`, `(?s).{0,3}`, `[a-c]{3}|x`, `(a*)*`, `(a|ab)(c|bcd)`, `^a$`, `^(a|b$|c)`,
	`(^a|b)c?`, `a(^b)?`, `(a$)?b?`, `(?i)k+`, `é+`, `[à-ÿ]{1,2}`, `\p{Greek}{1,2}`, `[^\x00-\x{ffff}]`, `\d{4}-\d{2}-\d{2}`, `[\x{7fe}-\x{802}]`,
	`[\x{d000}-\x{e001}]`, `[€-😀]`, `"(\\.|[^"\\])*"`, `(?:a{0,3}b){0,3}`, `((a|b)(c|d)){2}`, `\w+@\w+\.(com|org)`, `(a{0,5}){0,5}`, `a.c`,
}

func TestRegexAgreesWithStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	v, dice := pieces(), rand.New(rand.NewPCG(1, 2))
	for _, src := range regexes {
		g, err := CompileRegex(src)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		whole := regexp.MustCompile(`\A(?:` + src + `)\z`)
		for range 60 {
			if got := walk(t, g, v, dice, 6); !whole.MatchString(got) {
				t.Errorf("%q produced %q, which does not match", src, got)
			}
		}
		agree(t, src, g, "abcx", 5, whole.MatchString)
		agree(t, src, g, "a\xc3\xa9\n", 5, whole.MatchString)
	}
}

// agree holds every string over a few bytes against what it should be. Invalid UTF-8 is in no text.
func agree(t *testing.T, name string, g *Grammar, letters string, longest int, want func(string) bool) {
	t.Helper()
	var try func(prefix string, m *set)
	r := g.reader(bare)
	try = func(prefix string, m *set) {
		valid := strings.ToValidUTF8(prefix, "") == prefix
		if valid && m.done != want(prefix) {
			t.Errorf("%s: %q is accepted: %v, want %v", name, prefix, m.done, !m.done)
		}
		for i := 0; i < len(letters) && len(prefix) < longest; i++ {
			try(prefix+letters[i:i+1], r.step(m, g.class[letters[i]]))
		}
	}
	try("", r.root)
}

// bare has no tokens: grammars are tried byte by byte.
var bare = NewVocabulary(0, nil, nil)
