package samples

import (
	"compress/zlib"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// tooShort is the length in bytes under which no text shrinks tenfold: what zlib writes of the least is ten bytes.
const tooShort = 100

// squeezers are writers to use again: a new one costs more than what it is asked about samples.
var squeezers = sync.Pool{New: func() any { return zlib.NewWriter(io.Discard) }}

// Repeats reports whether the last 10,000 characters of text shrink more than tenfold under zlib. Texts under 100 bytes never do.
func Repeats(text string) bool {
	tail := last(text, 10_000)
	return len(tail) >= tooShort && len(tail) > 10*squeezed(tail)
}

// squeezed returns how many bytes zlib makes of text.
func squeezed(text string) int {
	w := squeezers.Get().(*zlib.Writer)
	defer squeezers.Put(w)
	var n counter
	w.Reset(&n)
	io.WriteString(w, text)
	w.Close() // a counter takes everything
	return int(n)
}

// last returns the last n characters of s.
func last(s string, n int) string {
	at := len(s)
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// IsGarbled reports whether text is not clean: broken UTF-8, the replacement character, or controls other than tab and line ends. A
// character that the end of the text cuts is clean.
func IsGarbled(text string) bool {
	text = whole(text)
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
	})
}

// whole cuts off a character that text ends in the middle of.
func whole(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return text[:len(text)-n]
			}
			return text
		}
	}
	return text
}
