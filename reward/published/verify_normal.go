package published

import (
	"regexp"
	"strings"
	"unicode"
)

// boxJoint matches what may stand between boxes that belong together.
var boxJoint = regexp.MustCompile(`and|or|,|;`)

// boxContents returns what stands in the boxes of a formula, joined by commas: all, or from the last on those that are close
// or joined. A text without a box stays.
func boxContents(text string, lastOnly bool) string {
	var found []string
	before, limit, next := len(text), len(text), -1
	for {
		from := max(strings.LastIndex(text[:before], `\boxed`), strings.LastIndex(text[:before], `\fbox`))
		if from < 0 {
			break
		}
		brace := from + len(`\fbox`)
		if strings.HasPrefix(text[from:], `\boxed`) {
			brace++
		}
		for brace < limit && unicode.IsSpace(rune(text[brace])) {
			brace++
		}
		if brace >= limit {
			break
		}
		closed := -1
		if text[brace] == '{' {
			closed = closing(text[:limit], brace)
		}
		if closed < 0 {
			if len(found) == 0 {
				found = append(found, text[brace:])
			}
			break
		}
		inner := strings.TrimFunc(text[brace+1:closed], isSpace)
		if lastOnly && next >= 0 && !together(text, inner, found, closed, next) {
			break
		}
		found = append(found, inner)
		before, limit, next = from, from, from
	}
	if found == nil {
		return text
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return strings.Join(found, ",")
}

// closing returns where the brace at i is closed, or -1.
func closing(text string, i int) int {
	open := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// together reports whether a box belongs to the one that follows it.
func together(text, inner string, found []string, closed, next int) bool {
	last := ""
	if len(found) > 0 {
		last = found[len(found)-1]
	}
	between := ""
	if closed+1 < next {
		between = text[closed+1 : next]
	}
	n := len([]rune(between))
	return n < 10 || last != inner && n < 70 && boxJoint.MatchString(between)
}

var (
	openers      = regexp.MustCompile(`\\m?left(\\\{|\{|\\\||\||\[|\(|\\rbracl|\\lgroup|\\lbrace|\\lbrack|\\vert|\\lvert|\\lceil|\\lfloor|\\langle|\\llcorner|\\ulcorner)`)
	closersRight = regexp.MustCompile(`\\m?right(\\\}|\}|\\\||\||\]|\)|\\rbrack|\\rgroup|\\rbrace|\\vert|\\rvert|\\rceil|\\rfloor|\\rangle|\\lrcorner|\\urcorner)`)
	falling      = regexp.MustCompile(`\(([a-zA-Z0-9+\-*/\\ ]+?)\)_\{([a-zA-Z0-9+\-*/\\ ]+?)\}`)
	useless      = regexp.MustCompile(`\\mathrm\{th\}|\\!\s*|\\text\s*\{\s*\}|\\\$|\$|\\["']|["']|\\displaystyle`)
	doubled      = regexp.MustCompile(`\\\\([a-zA-Z])`)
	textAtEnd    = regexp.MustCompile(`(\\(?:text|mbox)\{.*?\})(\^\d|\{\^\d\})?$`)
	unitAtEnd    = regexp.MustCompile(`(\d|\}|\s)\s*(?:` + strings.Join(endUnits(), "|") + `)(?:s|es)?\s*$`)
)

// endUnits are what is taken off the end of a formula. Some are odd, and all of them are what the published grader has.
func endUnits() []string {
	words := strings.Fields(`a_. a_._m ab acre am apple are b_. bc by c c_. cc cent children_ticket cm cm_2 coin cu_._m cu_cm cube cubic d d_. day decrease deg
		degree digit dm e_. east edge excess f_. feet ft g g_. gain gal gallon gm h h_. hectare hour hr inch inches increase integerpoint kg km kmh kmph l lb
		less liter litre loss lt m m_square man mark meal men meter metre mile min minute minw mm monkey month more mp mph mt mtr multiple no_change noon
		number o ohm p_._m per pie pm pound prime profit profit_of_rs pure q_. ratio rd rise rounds rs rs_. rupee s s_. sec second soldier sq sq_._m sq_inch sq_m
		square st student sue Surface t th tile toy unit way west woman women yard year yr π_r_2 pi_sq_m °_f`)
	out := []string{` m east`}
	for _, w := range words {
		out = append(out, strings.ReplaceAll(w, "_", " ")) // a full stop among them stands for any character
	}
	return out
}

// A rewriting is one of the replacements that are made in a single pass. behind says which characters may not stand before
// it; a text that ahead matches may not follow.
type rewriting struct {
	pattern *regexp.Regexp
	with    string
	behind  func(r byte) bool
	ahead   func(rest string) bool
}

func asciiLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func backslash(c byte) bool { return c == '\\' }

var rewritings = []rewriting{
	{pattern: regexp.MustCompile(`^\\math(?:rm|it|bf)`), with: `\text`},
	{pattern: regexp.MustCompile(`^\\text(?:normal|bf|it|rm)`), with: `\text`},
	{pattern: regexp.MustCompile(`^\\(?:d|t|c)frac`), with: `\frac`},
	{pattern: regexp.MustCompile(`^\s\.`), with: " 0."},
	{pattern: regexp.MustCompile(`^\{\.`), with: "{0."},
	{pattern: regexp.MustCompile(`^~=`), with: `\approx`},
	{pattern: regexp.MustCompile(`^\s*\{\s*,\s*\}`), with: ","},
	{pattern: regexp.MustCompile(`^,?\s*(?:and|or)`), with: ",", behind: asciiLetter, ahead: func(rest string) bool { return rest != "" && asciiLetter(rest[0]) }},
	{pattern: regexp.MustCompile(`^,?\s*\\text\{\s*(?:and|or)\s*\}`), with: ","},
	{pattern: regexp.MustCompile(`^\\\s`), with: " ", behind: backslash},
	{pattern: regexp.MustCompile(`^infinity`), with: `\infty`},
	{pattern: regexp.MustCompile(`^,?\\ldots`), with: " "},
	{pattern: regexp.MustCompile(`^\s*percentage`), with: `\%`},
	{pattern: regexp.MustCompile(`^\\text\{percentage\}`), with: `\%`},
	{pattern: regexp.MustCompile(`^\s*percent`), with: `\%`},
	{pattern: regexp.MustCompile(`^\\text\{percent\}`), with: `\%`},
	{pattern: regexp.MustCompile(`^\s*pct`), with: `\%`},
	{pattern: regexp.MustCompile(`^\\text\{pct\}`), with: `\%`},
	{pattern: regexp.MustCompile(`^inf`), with: `\infty`, behind: backslash, ahead: func(rest string) bool { return strings.HasPrefix(rest, "inity") }},
	{pattern: regexp.MustCompile(`^ sqrt`), with: `\sqrt`},
}

// mayRewrite reports whether a replacement may begin with c.
func mayRewrite(c byte) bool { return strings.IndexByte("\\{~,aoip \t\n\r\v\f", c) >= 0 }

// rewrite makes the replacements from left to right.
func rewrite(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		n := 0
		for _, r := range rewritings {
			if !mayRewrite(text[at]) {
				break
			}
			m := r.pattern.FindString(text[at:])
			if m == "" || r.behind != nil && at > 0 && r.behind(text[at-1]) || r.ahead != nil && r.ahead(text[at+len(m):]) {
				continue
			}
			out.WriteString(r.with)
			n = len(m)
			break
		}
		if n == 0 {
			out.WriteByte(text[at])
			n = 1
		}
		at += n
	}
	return out.String()
}

// mended are operators that are written badly.
var mended = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\^\s?\((.*?)\)`), "^{${1}}"},
	{regexp.MustCompile(`sqrt\s?\((.*?)\)`), `\sqrt{${1}}`},
	{regexp.MustCompile(`\\frac\s?(\d)\s?(\d+)`), `\frac{${1}}{${2}}`},
	{regexp.MustCompile(`\\log_\s?(\d)\s?(\d+)`), `\log_{${1}}{${2}}`},
	{regexp.MustCompile(`\\frac\s?\{(.*?)\}\s?(\d)`), `\frac{${1}}{${2}}`},
	{regexp.MustCompile(`\\frac\s?(\d)\s?\{(.*?)\}`), `\frac{${1}}{${2}}`},
	{regexp.MustCompile(`\\sqrt\s?(\d)`), `\sqrt{${1}}`},
}

// longestFormula is the most bytes of a formula that are brought into normal form; longer ones are compared as they are.
const longestFormula = 1 << 14

// normalLatex is the normal form of a formula.
func normalLatex(text string, lastOnly bool) string {
	if len(text) > longestFormula {
		return text
	}
	text = boxContents(text, lastOnly)
	for _, r := range [][2]string{{`\mathrm{T}`, "T"}, {`\mathrm{d}`, "d"}, {`{\rm d}`, "d"}, {`\left[\begin{matrix}`, `\begin{bmatrix}`}, {`\end{matrix}\right]`, `\end{bmatrix}`}} {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	text = openers.ReplaceAllString(text, "${1}")
	text = closersRight.ReplaceAllString(text, "${1}")
	text = falling.ReplaceAllString(text, `\frac{(${1})!}{((${1})-(${2}))!}`)
	text = useless.ReplaceAllStringFunc(text, func(m string) string {
		if m == `\"` || m == `\'` { // an escaped quote stays
			return m
		}
		return ""
	})
	text = rewrite(text)
	text = strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	if !strings.Contains(text, "matrix") {
		text = doubled.ReplaceAllString(text, `\${1}`)
	}
	if t := strings.TrimFunc(textAtEnd.ReplaceAllString(text, ""), isSpace); t != "" {
		text = t
	}
	for range 2 {
		if t := unitAtEnd.ReplaceAllString(text, "${1}"); t != "" {
			text = t
		}
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if text == "0.5" {
		text = `\frac{1}{2}`
	}
	for _, m := range mended {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	text = strings.ReplaceAll(text, " sqrt", `\sqrt`)
	return strings.TrimFunc(slashed(bareFractions(bareRoots(text))), isSpace)
}

// bareRoots turns \sqrt3 into \sqrt{3}.
func bareRoots(text string) string {
	parts := strings.Split(text, `\sqrt`)
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		p = strings.TrimLeftFunc(p, isSpace)
		if p != "" && p[0] != '{' && p[0] != '[' {
			first, rest := firstRune(p)
			p = "{" + first + "}" + rest
		}
		out.WriteString(`\sqrt` + p)
	}
	return out.String()
}

// bareFractions turns \frac12 into \frac{1}{2}.
func bareFractions(text string) string {
	parts := strings.Split(text, `\frac`)
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		p = strings.TrimLeftFunc(p, isSpace)
		a, rest := firstRune(p)
		switch {
		case a == "{":
			out.WriteString(`\frac` + p)
			continue
		case rest == "":
			return text
		}
		b, rest := firstRune(rest)
		if b != "{" {
			b = "{" + b + "}"
		}
		out.WriteString(`\frac{` + a + "}" + b + rest)
	}
	return out.String()
}
