package published

import (
	"regexp"
	"strconv"
	"strings"
)

// enclosing matches a text that begins with \text{ and ends with a brace.
var enclosing = regexp.MustCompile(`^\\text\{(.+?)\}\n?$`)

// sameString is the first test: both texts are normalised and compared.
func sameString(answer, gold string) bool { return normalString(answer) == normalString(gold) }

// normalString is the first normal form. Where a step of it fails the text stays as it is.
func normalString(text string) string {
	text = strings.TrimFunc(text, isSpace)
	if m := enclosing.FindStringSubmatch(text); m != nil {
		text = strings.TrimFunc(m[1], isSpace)
	}
	if out, ok := stripped(text); ok {
		return out
	}
	return text
}

var layout = []*strings.Replacer{
	strings.NewReplacer("\n", ""), strings.NewReplacer(`\!`, ""), strings.NewReplacer(`\\`, `\`), strings.NewReplacer("tfrac", "frac"),
	strings.NewReplacer("dfrac", "frac"), strings.NewReplacer(`\left`, ""), strings.NewReplacer(`\right`, ""), strings.NewReplacer(`^{\circ}`, ""),
	strings.NewReplacer(`^\circ`, ""), strings.NewReplacer(`\$`, ""),
}

// stripped takes layout, units and other small differences away, one step after the other.
func stripped(s string) (string, bool) {
	for _, r := range layout {
		s = r.Replace(s)
	}
	if head, tail, ok := strings.Cut(s, `\text{ `); ok {
		if strings.Contains(tail, `\text{ `) {
			return "", false
		}
		s = head
	}
	s = strings.ReplaceAll(s, `\%`, "")
	s = strings.ReplaceAll(s, " .", " 0.")
	s = strings.ReplaceAll(s, "{.", "{0.")
	if s == "" {
		return s, true
	}
	if s[0] == '.' {
		s = "0" + s
	}
	if strings.Count(s, "=") == 1 {
		if left, right, _ := strings.Cut(s, "="); len([]rune(left)) <= 2 {
			s = right
		}
	}
	s, ok := bracedRoots(s)
	if !ok {
		return "", false
	}
	s = strings.ReplaceAll(s, " ", "")
	if s, ok = bracedFractions(s); !ok {
		return "", false
	}
	if s == "0.5" {
		s = `\frac{1}{2}`
	}
	return slashed(s), true
}

// bracedRoots turns \sqrt3 into \sqrt{3}. It fails where nothing follows a root.
func bracedRoots(s string) (string, bool) {
	parts := strings.Split(s, `\sqrt`)
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		if p[0] == '{' {
			out.WriteString(`\sqrt` + p)
			continue
		}
		first, rest := firstRune(p)
		out.WriteString(`\sqrt{` + first + "}" + rest)
	}
	return out.String(), true
}

func firstRune(s string) (first, rest string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// bracedFractions turns \frac12 and \frac1{2} into \frac{1}{2}. It fails where nothing follows, and changes nothing where
// less than two characters do.
func bracedFractions(s string) (string, bool) {
	parts := strings.Split(s, `\frac`)
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		out.WriteString(`\frac`)
		if p[0] == '{' {
			out.WriteString(p)
			continue
		}
		a, rest := firstRune(p)
		if rest == "" {
			return s, true
		}
		b, rest := firstRune(rest)
		if b == "{" {
			out.WriteString("{" + a + "}" + b + rest)
		} else {
			out.WriteString("{" + a + "}{" + b + "}" + rest)
		}
	}
	return out.String(), true
}

var overWhole = regexp.MustCompile(`^(-?[1-9][0-9]*|0)/(-?[1-9][0-9]*|0)$`)

// slashed turns a/b of whole numbers into \frac{a}{b}.
func slashed(s string) string {
	if m := overWhole.FindStringSubmatch(s); m != nil {
		return `\frac{` + m[1] + "}{" + m[2] + "}"
	}
	return s
}

// quoted writes a list of texts as Python does.
func quoted(list []string) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, "'"+strings.Trim(strconv.Quote(s), `"`)+"'")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
