package published

import (
	"regexp"
	"strings"
	"unicode"
)

// tail is how many characters of a response DAPO's grader looks at.
const tail = 300

var answerLine = regexp.MustCompile(`(?i)Answer[\s\x0b\x1c-\x1f\x85\p{Z}]*:[\s\x0b\x1c-\x1f\x85\p{Z}]*([^\n]+)`)

// DAPO judges the last "Answer:" line within the last 300 characters of a response: it must be the gold answer, a whole
// number, letter for letter after both are normalised. pred is what the line says.
func DAPO(response, gold string) (v Verdict, pred string) {
	text := []rune(response)
	response = string(text[max(0, len(text)-tail):])
	found := "[INVALID]"
	if all := answerLine.FindAllStringSubmatch(response, -1); all != nil {
		found = all[len(all)-1][1]
	}
	pred = normalFinal(found)
	x, ok := float(normalFinal(gold))
	if !ok {
		return Verdict{Raised: true}, pred
	}
	want, ok := truncated(x)
	if !ok || pred != want {
		return Verdict{Raised: !ok}, pred
	}
	return Verdict{Right: true, How: "letter for letter"}, pred
}

// replaced and removed are the steps of the normal form, in their order.
var (
	replaced = [][2]string{{"an ", ""}, {"a ", ""}, {".$", "$"}, {`\$`, ""}, {`\ `, ""}, {" ", ""}, {"mbox", "text"}, {`,\text{and}`, ","}, {`\text{and}`, ","}, {`\text{m}`, `\text{}`}}
	removed  = []string{
		"square", "ways", "integers", "dollars", "mph", "inches", "hours", "km", "units", `\ldots`, "sue", "points", "feet", "minutes", "digits", "cents", "degrees",
		"cm", "gm", "pounds", "meters", "meals", "edges", "students", "childrentickets", "multiples", `\text{s}`, `\text{.}`, "\\text{\ns}", `\text{}^2`,
		`\text{}^3`, "\\text{\n}", `\text{}`, `\mathrm{th}`, `^\circ`, `^{\circ}`, `\;`, `,\!`, "{,}", `"`, `\dots`, "<|im_end|>", "<|endoftext|>",
	}
	unwrapped = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`.*?\$(.*?)\$.*`), "$$${1}$$"},
		{regexp.MustCompile(`\\text\{(.*?)\}`), "${1}"},
		{regexp.MustCompile(`\\textbf\{(.*?)\}`), "${1}"},
		{regexp.MustCompile(`\\overline\{(.*?)\}`), "${1}"},
		{regexp.MustCompile(`\\boxed\{(.*)\}`), "${1}"},
		{regexp.MustCompile(`frac([^{])(.)`), "frac{${1}}{${2}}"},
		{regexp.MustCompile(`sqrt([^{])`), "sqrt{${1}}"},
	}
)

// normalFinal is the normal form of an answer.
func normalFinal(s string) string {
	s = s[strings.LastIndex(s, "=")+1:]
	for _, r := range replaced {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	for _, r := range removed {
		s = strings.ReplaceAll(s, r, "")
	}
	for _, u := range unwrapped {
		s = u.pattern.ReplaceAllString(s, u.with)
	}
	s = strings.ReplaceAll(s, "$", "")
	if joined := strings.ReplaceAll(s, ",", ""); joined != "" && strings.IndexFunc(joined, func(r rune) bool {
		return !unicode.IsDigit(r) && !strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹", r)
	}) < 0 {
		s = joined
	}
	return strings.TrimFunc(s, isSpace)
}
