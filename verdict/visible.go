package verdict

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how many combining marks in a row are kept: more are drawn far above and below their line.
const most = 4

// A Piece is a stretch of text: as it is, or what stands in the place of something that is not seen.
type Piece struct {
	Text string
	Box  bool
}

// Pieces cuts text into what is seen as it is, and boxes for all that is not seen or that changes how the rest is seen: controls, marks of direction and zero-width characters as
// U+202E, bytes that are no UTF-8 as ⟨E2 80⟩, and combining marks beyond the fourth in a row as their number.
func Pieces(text string) (all []Piece) {
	var plain strings.Builder
	marks := 0
	box := func(format string, args ...any) {
		if plain.Len() > 0 {
			all = append(all, Piece{Text: plain.String()})
			plain.Reset()
		}
		all = append(all, Piece{Text: fmt.Sprintf(format, args...), Box: true})
	}
	more := func() {
		if marks > most {
			box("⟨%d marks⟩", marks-most)
		}
		marks = 0
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		mark := unicode.Is(unicode.M, r) && !Hidden(r)
		if !mark {
			more()
		} else if marks++; marks > most {
			text = text[n:]
			continue
		}
		switch {
		case r == utf8.RuneError && n == 1:
			n = broken(text)
			box("⟨% X⟩", text[:n])
		case Hidden(r):
			box("U+%04X", r)
		default:
			plain.WriteRune(r)
		}
		text = text[n:]
	}
	more()
	if plain.Len() > 0 {
		all = append(all, Piece{Text: plain.String()})
	}
	return all
}

// Visible returns text as [Pieces] shows it.
func Visible(text string) string {
	var b strings.Builder
	for _, p := range Pieces(text) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// broken returns how many bytes at the start of text are no UTF-8.
func broken(text string) int {
	for i := 0; i < len(text); i++ {
		if r, n := utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || n != 1 {
			return i
		}
	}
	return len(text)
}

// Hidden reports whether a character leaves no mark of its own or turns the text around it.
func Hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // joiners, fillers, variation selectors
		return true
	}
	return false
}

// Short returns the beginning of text, of at most n characters, with an ellipsis where it goes on.
func Short(text string, n int) string {
	at := 0
	for i := range text {
		if at == n {
			return text[:i] + "…"
		}
		at++
	}
	return text
}

// said returns what another part of the program said, made fit for a sentence.
func said(text string) string { return Short(Visible(strings.TrimSpace(text)), 400) }
