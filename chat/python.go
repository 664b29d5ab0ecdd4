package chat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pythonString reads the string that Python source begins with: one literal, or several in parentheses.
func pythonString(source string) (string, error) {
	s, inside := strings.CutPrefix(source, "(")
	var text strings.Builder
	for n := 0; ; n++ {
		if inside {
			s = skipSpace(s)
		}
		if s == "" || s[0] != '"' && s[0] != '\'' && !strings.HasPrefix(s, "r\"") {
			return endString(s, text.String(), n, inside)
		}
		part, rest, err := literal(s)
		if err != nil {
			return "", err
		}
		text.WriteString(part)
		s = strings.TrimLeft(rest, " \t")
	}
}

// endString wants that at least one literal was read, and that the expression ends with it.
func endString(rest, text string, literals int, inside bool) (string, error) {
	ends := rest == "" || strings.ContainsRune("\r\n#", rune(rest[0]))
	if inside {
		ends = strings.HasPrefix(rest, ")")
	}
	if literals == 0 || !ends {
		return "", fmt.Errorf("expression goes on with %.20q, want string literals and no more", rest)
	}
	return text, nil
}

// skipSpace skips white space and comments.
func skipSpace(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if !strings.HasPrefix(s, "#") {
			return s
		}
		_, s, _ = strings.Cut(s, "\n")
	}
}

// literal reads one literal, with either kind of quotes, one or three of them.
func literal(s string) (text, rest string, err error) {
	s, raw := strings.CutPrefix(s, "r")
	mark := s[:1]
	if three := strings.Repeat(mark, 3); strings.HasPrefix(s, three) {
		mark = three
	}
	s = s[len(mark):]
	var b strings.Builder
	for !strings.HasPrefix(s, mark) {
		switch {
		case s == "", s[0] == '\n' && len(mark) == 1:
			return "", "", errors.New("string has no end")
		case s[0] == '\\' && len(s) > 1 && !raw:
			if s, err = unescape(&b, s[1:]); err != nil {
				return "", "", err
			}
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String(), s[len(mark):], nil
}

// unescape writes what a backslash and the beginning of s mean, and returns the rest.
func unescape(b *strings.Builder, s string) (string, error) {
	if s[0] == '\n' { // a line that goes on
		return s[1:], nil
	}
	if i := strings.IndexByte(`nrt\"'`, s[0]); i >= 0 {
		b.WriteByte("\n\r\t\\\"'"[i])
		return s[1:], nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if digits == 0 || len(s) <= digits {
		return "", fmt.Errorf(`escape is \%.1s, want one of n, r, t, x, u, U, a quote or a backslash`, s)
	}
	r, err := strconv.ParseUint(s[1:1+digits], 16, 31)
	if err != nil {
		return "", fmt.Errorf(`escape is \%s: %w`, s[:1+digits], err)
	}
	b.WriteRune(rune(r))
	return s[1+digits:], nil
}
