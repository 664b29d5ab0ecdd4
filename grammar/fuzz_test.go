package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"
)

// draws walks a grammar of moderate size, and gives the text to check.
func draws(t *testing.T, g *Grammar, v *Vocabulary, check func(string)) {
	if len(g.nodes) > 3000 {
		return
	}
	dice := rand.New(rand.NewPCG(uint64(len(g.nodes)), 0))
	for range 3 {
		check(walk(t, g, v, dice, 10))
	}
}

func FuzzCompileRegex(f *testing.F) {
	for _, src := range append(regexes, `a{1000}{1000}`, `(?m)^a$`, `\b`, `(?=a)`, `(a`, `[[:^alpha:]]`, `\Q\E`, `\Q`) {
		f.Add(src)
	}
	v := pieces()
	f.Fuzz(func(t *testing.T, src string) {
		g, err := CompileRegex(src)
		if err != nil {
			return
		}
		re := regexp.MustCompile(src)
		re.Longest()
		draws(t, g, v, func(s string) {
			if at := re.FindStringIndex(s); at == nil || at[1]-at[0] != len(s) {
				t.Errorf("%q produced %q, which does not match", src, s)
			}
		})
	})
}

func FuzzCompileSchema(f *testing.F) {
	for _, tt := range schemaTexts {
		f.Add(tt.src)
	}
	for _, src := range []string{
		`{"$ref":"#"}`, `{"$ref":"#/a~1b/%41/0"}`, `{"properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"minimum":-1e-17,"maximum":1E+2}`, `{"enum":[1e400],"minimum":1}`,
		`{"items":[true,false]}`, `{"minItems":3,"maxItems":2}`, `{"additionalProperties":{"$ref":"#"},"properties":{"\u0000":false}}`, "\xff", `{"pattern":"\\b"}`,
	} {
		f.Add(src)
	}
	v := pieces()
	f.Fuzz(func(t *testing.T, src string) {
		g, err := CompileSchema(src)
		if err != nil {
			return
		}
		draws(t, g, v, func(s string) {
			if !json.Valid([]byte(s)) || !utf8.ValidString(s) {
				t.Errorf("%s produced %q, which is not JSON", src, s)
			}
		})
	})
}

func FuzzCompileEBNF(f *testing.F) {
	for _, tt := range ebnfs {
		f.Add(tt.src)
	}
	for _, src := range []string{`root ::= root`, `root ::= (`, "root ::= \"\\x\"", `root ::= [^]`, `root ::= a{,3}`, `root::="a"b ::= "c"`, `root ::= "a"{3}{4,}*?`, "# only", "root ::= #\n\"a\""} {
		f.Add(src)
	}
	v := pieces()
	f.Fuzz(func(t *testing.T, src string) {
		if g, err := CompileEBNF(src); err == nil {
			draws(t, g, v, func(s string) {
				if !accepts(g, s) {
					t.Errorf("%s produced %q, which it does not accept", src, s)
				}
			})
		}
	})
}

func FuzzCompileTags(f *testing.F) {
	for _, src := range []string{
		twoTags, `{"structures": [], "triggers": []}`, `{"structures": [{"begin": "ab", "schema": {}, "end": "c"}], "triggers": ["a", "ab"]}`,
		`{"structures": [{"begin": "\u0000", "schema": true, "end": "\ud800"}], "triggers": ["\u0000"]}`, `{"structures": [null], "triggers": [1]}`,
	} {
		f.Add(src)
	}
	v := pieces()
	f.Fuzz(func(t *testing.T, src string) {
		if g, err := CompileTags(src); err == nil {
			draws(t, g, v, func(s string) {
				if !accepts(g, s) {
					t.Errorf("%s produced %q, which it does not accept", src, s)
				}
			})
		}
	})
}
