package reward

import (
	"regexp"
	"strings"
)

// dollar stands for a currency sign once the $ of mathematics are told apart from it.
const dollar = `\dollar`

// spelling turns spellings of one thing into one. Spaces of all kinds become plain ones.
var spelling = strings.NewReplacer(
	`\\`, `\\`, "\u2212", "-", `\dfrac`, `\frac`, `\tfrac`, `\frac`, `\cfrac`, `\frac`, `\left`, "", `\right`, "", "{,}", ",",
	`\$`, dollar, `\%`, "%", `^{\circ}`, `\text{degrees}`, `^\circ`, `\text{degrees}`, `\degree`, `\text{degrees}`, "°", `\text{degrees}`,
	`\;`, " ", `\:`, " ", `\ `, " ", `\quad`, " ", "~", " ", "\u00a0", " ", "\u202f", " ", "\t", " ", "\n", " ",
	`\mbox{`, `\text{`, `\textbf{`, `\text{`, `\textit{`, `\text{`, `\textrm{`, `\text{`,
	`\mathbf{`, `\text{`, `\mathrm{`, `\text{`, `\mathit{`, `\text{`, `\boldsymbol{`, `\text{`,
)

var (
	negativeSpace = regexp.MustCompile(`\\! *`)
	thinSpace     = regexp.MustCompile(`(\d)\\,(\d)`)
)

// tidy returns an answer or label in one spelling, without what surrounds it: $ and \( \), a box, emphasis, a full stop. A
// thin space between digits separates thousands, as a comma does.
func tidy(text string) string {
	text = negativeSpace.ReplaceAllString(text, "")
	for range 2 { // the digits of 1\,2\,3 overlap
		text = thinSpace.ReplaceAllString(text, "$1,$2")
	}
	text = spelling.Replace(strings.ReplaceAll(text, `\,`, " "))
	for {
		n := len(text)
		text = peel(text)
		if len(text) == n {
			return text
		}
	}
}

// wrappings are what may surround an answer as a whole.
var wrappings = [][2]string{{"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}, {"**", "**"}, {`\text{`, "}"}, {box + "{", "}"}, {"{", "}"}}

// peel takes one layer off: blanks, a full stop, a wrapping.
func peel(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimSuffix(text, "."))
	for _, w := range wrappings {
		inner, ok := strings.CutPrefix(text, w[0])
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, w[1]); ok && (w[1] != "}" || balanced(inner)) {
			return inner
		}
	}
	return text
}

// balanced reports whether the braces of text close within it, so that none of them belongs to what surrounds it.
func balanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

var (
	plainText  = regexp.MustCompile(`\\text\{([^{}]*)\}`)
	shortRoot  = regexp.MustCompile(`\\sqrt *(\w)`)
	shortFrac  = regexp.MustCompile(`\\frac *(\d) *(\d)`)
	choice     = regexp.MustCompile(`^\(?([A-Za-z])\)?$`)
	words      = regexp.MustCompile(`^[A-Za-z]{2,}$`)
	everyBlank = regexp.MustCompile(` +`)
)

// asText returns a tidy text in the form in which texts are compared: without spaces and text markup, short forms of
// roots and fractions with braces, a lettered choice without parentheses, words in lower case.
func asText(tidy string) string {
	text := plainText.ReplaceAllString(tidy, "$1")
	text = shortFrac.ReplaceAllString(text, `\frac{$1}{$2}`)
	text = shortRoot.ReplaceAllString(text, `\sqrt{$1}`)
	text = everyBlank.ReplaceAllString(text, "")
	if m := choice.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if words.MatchString(text) {
		return strings.ToLower(text)
	}
	return text
}
