package page

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"furlong/parity"
)

// nats returns a figure with three digits; what is no number by name.
func nats(f parity.Figure) string {
	v := float64(f)
	switch {
	case math.IsNaN(v):
		return "not a number"
	case math.IsInf(v, 1):
		return "+∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	return strings.ReplaceAll(fmt.Sprintf("%.3g", v), "-", "−")
}

// percent returns a share; one that is not quite all or nothing does not read like it.
func percent(f parity.Figure) string {
	v := 100 * float64(f)
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 99.99 && v < 100:
		return "over 99.99 %"
	case v > 0 && v < 0.01:
		return "under 0.01 %"
	}
	return fmt.Sprintf("%.4g %%", v)
}

// show returns text in which nothing hides: line ends and tabs as signs, spaces at the ends too, and what acts on its surroundings by number.
func show(text string) string {
	if text == "" {
		return "∅"
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteRune('⏎')
		case r == '\t':
			b.WriteRune('⇥')
		case r == '\r':
			b.WriteRune('␍')
		case r == ' ' && (i == 0 || i == len(text)-1):
			b.WriteRune('␣')
		case r == unicode.ReplacementChar:
			b.WriteRune('�')
		case acts(r):
			b.WriteString(numbered(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lines returns text of several lines, its line ends and tabs as they are, and what acts on its surroundings by number.
func lines(text string) string {
	var b strings.Builder
	for _, r := range text {
		if acts(r) && r != '\n' && r != '\t' {
			b.WriteString(numbered(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// acts reports whether a character does something to those around it, or is not to be seen.
func acts(r rune) bool { return unicode.Is(unicode.C, r) || r == 0x2028 || r == 0x2029 }

// numbered writes a character as its number.
func numbered(r rune) string { return fmt.Sprintf("⟨U+%04X⟩", r) }
