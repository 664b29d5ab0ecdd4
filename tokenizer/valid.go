package tokenizer

import "unicode/utf8"

// Valid returns text with U+FFFD in place of what is no UTF-8: one for each longest beginning of a character, and one
// for each byte that begins none. That is what Python's errors="replace", Rust's from_utf8_lossy and web browsers do.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	out := make([]byte, 0, len(text)+2*len(replacement))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			out = append(out, replacement...)
			i += beginning(text[i:])
			continue
		}
		out = append(out, text[i:i+size]...)
		i += size
	}
	return string(out)
}

// beginning returns how many of the bytes of s, which starts with no character, could begin one; at least 1.
func beginning(s string) int {
	want, lo, hi := 0, byte(0x80), byte(0xbf) // bytes to follow, and the range of the first of them
	switch b := s[0]; {
	case b >= 0xc2 && b <= 0xdf:
		want = 1
	case b >= 0xe0 && b <= 0xef:
		want = 2
		if b == 0xe0 {
			lo = 0xa0 // below are overlong spellings
		} else if b == 0xed {
			hi = 0x9f // above are surrogates
		}
	case b >= 0xf0 && b <= 0xf4:
		want = 3
		if b == 0xf0 {
			lo = 0x90
		} else if b == 0xf4 {
			hi = 0x8f // above is nothing
		}
	}
	n := 1
	for n < len(s) && n <= want && s[n] >= lo && s[n] <= hi {
		n, lo, hi = n+1, 0x80, 0xbf
	}
	return n
}
