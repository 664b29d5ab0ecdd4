package published

import (
	"regexp"
	"strings"
	"unicode"

	"furlong/reward/mathexpr"
)

var (
	scales = strings.NewReplacer("trillion", "*10^12") // after million and billion, which are within no other word
	units  = unitPatterns(`degree cm centimeter meter mile second minute hour day week month year foot feet inch yard`)

	angle      = regexp.MustCompile(`\^ *\\circ`)
	negative   = regexp.MustCompile(`,\\! *`)
	minusSpace = regexp.MustCompile(`- *`)
	mixedSpace = regexp.MustCompile(`([0-9]) +([0-9])`)
	thousands  = regexp.MustCompile(`(\d),(\d\d\d)($|\D)`)
	fractional = regexp.MustCompile(`^-?[0-9]+.?/0*[1-9][0-9]*.?\n?$`)
	tallPowers = regexp.MustCompile(`\^[0-9]+\^|\^[0-9][0-9]+`)
)

func unitPatterns(list string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, u := range strings.Fields(list) {
		all = append(all, regexp.MustCompile(u+`(es)?(s)? *(\^[0-9]+)?`))
	}
	return all
}

// normalPlain is the second normal form: plain text that a computer algebra system reads.
func normalPlain(s string) string {
	if m := enclosing.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	for _, step := range [][2]string{{`\%`, "%"}, {`\$`, "$"}, {"$", ""}, {"%", ""}, {" or ", " , "}, {" and ", " , "}, {"million", "*10^6"}, {"billion", "*10^9"}} {
		s = strings.ReplaceAll(s, step[0], step[1])
	}
	s = scales.Replace(s)
	for _, u := range units {
		s = u.ReplaceAllString(s, "")
	}
	s = angle.ReplaceAllString(s, "")
	if len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}' {
		s = s[1 : len(s)-1]
	}
	s = negative.ReplaceAllString(s, "")
	if x, ok := float(s); ok && nearWhole(x) {
		s, _ = truncated(roundEven(x))
	}
	if strings.Contains(s, `\`) {
		s = plainText(s)
	}
	s = minusSpace.ReplaceAllString(s, "-")
	s = mixedSpace.ReplaceAllString(s, "$1+$2")
	s = strings.NewReplacer(" ", "", "{", "", "}", "").Replace(s)
	s = strings.ToLower(s)
	if isWhole(s) {
		x, _ := float(strings.ReplaceAll(s, ",", ""))
		s, _ = truncated(x)
	}
	return s
}

// withoutThousands takes commas before groups of three digits away.
func withoutThousands(s string) string {
	for {
		next := thousands.ReplaceAllString(s, "$1$2$3")
		if next == s {
			return s
		}
		s = next
	}
}

// isWhole reports whether a text is a number near a whole one.
func isWhole(s string) bool {
	x, ok := float(withoutThousands(s))
	return ok && nearWhole(x)
}

// parts splits a tuple or interval, with brackets of any kind, into its elements; another text is one element.
func parts(s string) []string {
	s = withoutThousands(s)
	const brackets = "()[]"
	switch {
	case s == "":
		return nil
	case len(s) <= 2 || !strings.ContainsRune(brackets, rune(s[0])) || !strings.ContainsRune(brackets, rune(s[len(s)-1])) || strings.ContainsAny(s[1:len(s)-1], brackets):
		return []string{s}
	}
	var out []string
	for _, p := range strings.Split(s[1:len(s)-1], ",") {
		out = append(out, strings.TrimFunc(p, isSpace))
	}
	return out
}

// longestPlain is the most bytes of a text that the second test reads. It goes through a text some thirty times, so that a longer
// one would be a question of how busy the machine is.
const longestPlain = 64 << 10

// sameSymbolic is the second test: both texts in plain notation, element by element.
func sameSymbolic(answer, gold string) Verdict {
	if len(answer) > longestPlain || len(gold) > longestPlain {
		return Verdict{Over: true}
	}
	g, a := normalPlain(gold), normalPlain(answer)
	switch {
	case a == g:
		return Verdict{Right: true, How: "in plain notation"}
	case a == "":
		return Verdict{}
	}
	golds, answers := parts(g), parts(a)
	if len(golds) > 1 && (g[0] != a[0] || g[len(g)-1] != a[len(a)-1]) || len(golds) != len(answers) {
		return Verdict{}
	}
	if len(golds) == 0 {
		return Verdict{Raised: true}
	}
	for i := range golds {
		if v := sameElement(answers[i], golds[i]); !v.Right {
			return v
		}
	}
	return Verdict{Right: true, How: "by algebra"}
}

// sameElement compares two elements: fractions letter for letter, whole numbers with whole numbers, the rest by algebra.
func sameElement(answer, gold string) Verdict {
	if fractional.MatchString(gold) && fractional.MatchString(answer) {
		return Verdict{Right: gold == answer}
	}
	if isWhole(gold) != isWhole(answer) {
		return Verdict{}
	}
	if !mayEvaluate("(" + gold + ")-(" + answer + ")") {
		return Verdict{}
	}
	equal, over := mathexpr.Identity(gold, answer)
	return Verdict{Right: equal, Over: over}
}

// mayEvaluate refuses what might take a computer algebra system long: more than two letters, powers in brackets or of two
// digits, towers.
func mayEvaluate(s string) bool {
	letters := map[rune]bool{}
	for _, r := range strings.NewReplacer("frac", "").Replace(strings.ReplaceAll(s, "sqrt", "")) {
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	return len(letters) <= 2 && !strings.Contains(s, "^{") && !strings.Contains(s, "^(") && !tallPowers.MatchString(s)
}
