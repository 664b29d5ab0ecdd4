package grammar

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A rules are alternatives of symbols: a and b are themselves, 0 to 2 are rules, and root is rule 0.
type rules [3][]string

func randomRules(dice *rand.Rand) (g rules) {
	for r := range g {
		for range 1 + dice.IntN(3) {
			alternative := ""
			for range dice.IntN(4) {
				alternative += string("aabb012"[dice.IntN(7)])
			}
			g[r] = append(g[r], alternative)
		}
	}
	return g
}

func (g rules) source() string {
	names := strings.NewReplacer("a", `"a" `, "b", `"b" `, "0", "root ", "1", "x ", "2", "y ")
	var b strings.Builder
	for r, name := range []string{"root", "x", "y"} {
		var all []string
		for _, a := range g[r] {
			all = append(all, names.Replace(a)+`""`)
		}
		fmt.Fprintf(&b, "%s ::= %s\n", name, strings.Join(all, " | "))
	}
	return b.String()
}

// texts returns all texts of root that are not longer than most, by adding to what the rules have until nothing is new.
func (g rules) texts(most int) map[string]bool {
	have := [3]map[string]bool{{}, {}, {}}
	for grown := true; grown; {
		grown = false
		for r, alternatives := range g {
			for _, a := range alternatives {
				for _, s := range expand(a, have, most) {
					grown = grown || !have[r][s]
					have[r][s] = true
				}
			}
		}
	}
	return have[0]
}

func expand(symbols string, have [3]map[string]bool, most int) []string {
	all := []string{""}
	for _, c := range symbols {
		var next []string
		for _, before := range all {
			if c >= 'a' {
				next = append(next, before+string(c))
				continue
			}
			for s := range have[c-'0'] {
				next = append(next, before+s)
			}
		}
		slices.Sort(next)
		all = slices.DeleteFunc(slices.Compact(next), func(s string) bool { return len(s) > most })
	}
	return all
}

// TestRandomGrammars holds small grammars of all kinds against all of their short texts: ambiguous, nullable, left recursive or without end.
func TestRandomGrammars(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const most = 5
	dice, compared, refused := rand.New(rand.NewPCG(13, 14)), 0, 0
	for range 4000 {
		g := randomRules(dice)
		want := g.texts(most)
		made, err := CompileEBNF(g.source())
		switch {
		case err != nil && strings.Contains(err.Error(), "left recursion"):
			refused++
			continue
		case err != nil && strings.Contains(err.Error(), "no text") && len(want) == 0:
			continue
		case err != nil:
			t.Fatalf("%s: %v, and its texts are %v", g.source(), err, want)
		}
		compared++
		agree(t, g.source(), made, "ab", most, func(s string) bool { return want[s] })
		if t.Failed() {
			return
		}
	}
	if compared < 2000 || refused == 0 {
		t.Errorf("compared %d grammars and refused %d, want 2000 and some", compared, refused)
	}
}

func randomRegex(dice *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"a", "b", ".", "[^a]", "é", "", "^", "$"}[dice.IntN(8)]
	}
	x, y := randomRegex(dice, depth-1), randomRegex(dice, dice.IntN(depth))
	return []string{x + y, y + x, "(" + x + "|" + y + ")", "(" + x + ")*", "(" + x + ")+?", "(?:" + x + ")?", "(" + x + "){1,2}", "(" + y + "){2,}"}[dice.IntN(8)]
}

// TestRandomRegexes holds expressions with anchors anywhere against the standard library.
func TestRandomRegexes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	dice, compared := rand.New(rand.NewPCG(15, 16)), 0
	for range 3000 {
		src := randomRegex(dice, 4)
		whole := regexp.MustCompile(`\A(?:` + src + `)\z`).MatchString
		g, err := CompileRegex(src)
		if err != nil {
			agree(t, src, compiled(t, CompileRegex, "c"), "ab\xc3\xa9", 4, whole) // no text over these letters
			continue
		}
		compared++
		if agree(t, src, g, "ab\xc3\xa9", 4, whole); t.Failed() {
			return
		}
	}
	if compared < 2000 {
		t.Errorf("compared %d expressions, want 2000", compared)
	}
}
