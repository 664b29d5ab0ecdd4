package mathexpr

import (
	"regexp"
	"strings"
)

// wrappings are what may surround an answer as a whole.
var wrappings = [][2]string{
	{"$$", "$$"},
	{"$", "$"},
	{`\(`, `\)`},
	{`\[`, `\]`},
	{"**", "**"},
	{"`", "`"},
	{`\text{`, "}"},
	{`\mathbf{`, "}"},
	{`\textbf{`, "}"},
	{`\mathrm{`, "}"},
	{`\boxed{`, "}"},
	{`\displaystyle{`, "}"},
	{"{", "}"},
	{`\mbox{`, "}"},
	{`\boldsymbol{`, "}"},
}

// Tidy returns an answer without what surrounds it: blanks, $ and \( \), a box, emphasis, a full stop. Full-width characters become
// those of ASCII.
func Tidy(text string) string {
	text = strings.Map(narrow, text)
	for range mostBytes {
		n := len(text)
		if text = peel(text); len(text) == n {
			break
		}
	}
	return text
}

// narrow returns the ASCII character that a full-width one stands for, and others as they are.
func narrow(r rune) rune {
	if r >= 0xff01 && r <= 0xff5e {
		return r - 0xff01 + '!'
	}
	return r
}

// peel takes one layer off.
func peel(text string) string {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "。"))
	if t, ok := strings.CutSuffix(text, "."); ok && !strings.HasSuffix(t, `\left`) && !strings.HasSuffix(t, `\right`) && !strings.HasSuffix(t, ".") {
		text = strings.TrimSpace(t)
	}
	for _, space := range []string{`\,`, `\;`, `\!`, `\ `, `\quad`} {
		text = strings.TrimSpace(strings.TrimPrefix(text, space))
		if t, ok := strings.CutSuffix(text, space); ok && !strings.HasSuffix(t, `\`) {
			text = strings.TrimSpace(t)
		}
	}
	for _, w := range wrappings {
		inner, ok := strings.CutPrefix(text, w[0])
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, w[1]); ok && (w[1] != "}" || balanced(inner)) && (w[0] != "$" || strings.Count(inner, "$") == strings.Count(inner, `\$`)) && !strings.HasSuffix(inner, `\`) {
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

// markup is what does not matter in a text.
var markup = strings.NewReplacer(`\left`, "", `\right`, "", `\displaystyle`, "", `\dfrac`, `\frac`, `\tfrac`, `\frac`, `\!`, "", `\,`, "", `\;`, "", `\:`, "", `\ `, "",
	" ", "", "\t", "", "\n", "", "\r", "", "\u00a0", "", "~", "", `\quad`, "", "$", "", "\u2212", "-")

var (
	textCommand = regexp.MustCompile(`\\(?:text|textbf|textit|textrm|textnormal|mbox|mathrm|mathbf|mathit|operatorname|boldsymbol)\{([^{}]*)\}`)
	// betweenDigits matches a digit and the blanks that keep it from the next one.
	betweenDigits = regexp.MustCompile(`(\d)(?:[\s~]|\\[,;: !])+\b`)
	modulus       = regexp.MustCompile(`\\[pb]?mod\s*\{?\s*(\w+)\s*\}?`)
	choice        = regexp.MustCompile(`^\(?([A-Za-z])[).]?$`)
	wordy         = regexp.MustCompile(`^[\p{L}'’,.;-]*\p{L}[\p{L}'’,.;-]+$`)
)

// squeeze returns a text in the form in which texts are compared: without spaces and markup, a lettered choice without
// parentheses, words in lower case.
func squeeze(tidy string) string {
	tidy = modulus.ReplaceAllString(tidy, `\pmod{$1}`)
	hadText := textCommand.MatchString(tidy)
	text := betweenDigits.ReplaceAllString(textCommand.ReplaceAllString(tidy, "$1"), "$1\x00") // 7 3/4 is not 73/4
	text = markup.Replace(text)
	if m := choice.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if wordy.MatchString(text) || hadText && !strings.ContainsAny(text, `\^_{}`) {
		return strings.ToLower(text)
	}
	return text
}

// ordinal matches a number in order, its ending raised or not.
var ordinal = regexp.MustCompile(`^(\d+)\s*\^?\s*\{?\s*(?:\\(?:text|mathrm|textrm|textsuperscript)\s*\{\s*)?(st|nd|rd|th)\s*\}?\s*\}?$`)

// cardinal returns the number that an ordinal one stands for, or the text: 3rd is 3, as 3 cm are.
func cardinal(tidy string) string {
	m := ordinal.FindStringSubmatch(tidy)
	if m == nil {
		return tidy
	}
	want := "th"
	if n := len(m[1]); n < 2 || m[1][n-2] != '1' {
		switch m[1][n-1] {
		case '1':
			want = "st"
		case '2':
			want = "nd"
		case '3':
			want = "rd"
		}
	}
	if m[2] != want {
		return tidy
	}
	return m[1]
}

// sameText compares a gold text with an answer.
func sameText(a, b string) bool {
	x, y := squeeze(a), squeeze(b)
	if len(x) == 1 && x[0] >= 'A' && x[0] <= 'J' && strings.EqualFold(x, y) { // a choice
		return true
	}
	if x == "" || x != y {
		return false
	}
	if wordy.MatchString(x) { // words that are one only when their spaces go are not
		return len(strings.Fields(a)) == len(strings.Fields(b)) || textCommand.MatchString(a) || textCommand.MatchString(b) || len(strings.Fields(a)) > 1 && len(strings.Fields(b)) > 1
	}
	return true
}

// asText returns the text that an object is: its words, or the letters of a product of single ones.
func asText(n *Node) string {
	switch n.Kind {
	case Text:
		return strings.ToLower(squeeze(n.Name))
	case Symbol, Constant:
		return strings.ToLower(n.Name)
	case Mul:
		var s strings.Builder
		for _, a := range n.Args {
			if a.Kind != Symbol && a.Kind != Constant {
				return ""
			}
			s.WriteString(a.Name)
		}
		return strings.ToLower(s.String())
	}
	return ""
}
