package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// A scanner reads the little JSON that headers consist of: objects whose shape is known, strings, arrays of
// whole numbers. It keeps the order of keys and sees those that come twice, which decoding into a map hides.
// It stops at the first error; every method does nothing after that.
type scanner struct {
	buf []byte
	at  int
	err error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %s", s.at, fmt.Sprintf(format, args...))
	}
}

// peek returns the next byte that is not white space, or 0 at the end and after an error.
func (s *scanner) peek() byte {
	for s.err == nil && s.at < len(s.buf) {
		switch c := s.buf[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take steps over c, which must come next.
func (s *scanner) take(c byte) {
	if got := s.peek(); got == c {
		s.at++
	} else {
		s.fail("is %s, want %q", s.show(), c)
	}
}

func (s *scanner) show() string {
	if s.at >= len(s.buf) {
		return "the end"
	}
	return fmt.Sprintf("%q", s.buf[s.at])
}

// list calls item for each element between open and close.
func (s *scanner) list(open, close byte, item func()) {
	s.take(open)
	for first := true; s.err == nil; first = false {
		if s.peek() == close {
			s.at++
			return
		}
		if !first {
			s.take(',')
		}
		item()
	}
}

// object calls member for each key; member must read the value. A key that comes twice is an error.
func (s *scanner) object(member func(key string)) {
	seen := map[string]bool{}
	s.list('{', '}', func() {
		key := s.text()
		s.take(':')
		if seen[key] {
			s.fail("%q comes twice", key)
		}
		seen[key] = true
		if s.err == nil {
			member(key)
		}
	})
}

// text reads a string.
func (s *scanner) text() string {
	s.take('"')
	start := s.at
	plain := true
	for ; s.err == nil && s.at < len(s.buf); s.at++ {
		switch c := s.buf[s.at]; {
		case c == '"':
			s.at++
			return s.unescape(s.buf[start:s.at-1], plain)
		case c == '\\':
			plain = false
			s.at++
		case c < ' ':
			s.fail("is a control character inside a string")
		}
	}
	s.fail("is the end inside a string")
	return ""
}

// unescape returns the string between the quotes.
func (s *scanner) unescape(raw []byte, plain bool) string {
	if plain {
		return string(raw)
	}
	var out string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if err := json.Unmarshal(quoted, &out); err != nil || strings.Count(out, replacement) != countReplacement(raw) {
		s.fail("ends a string with a broken escape: %s", quoted)
	}
	return out
}

// replacement is what the decoder puts, without an error, where an escape is half of a character.
const replacement = "\uFFFD"

// countReplacement counts the replacement characters that a string asks for.
func countReplacement(raw []byte) int {
	lower := bytes.ToLower(raw)
	return bytes.Count(lower, []byte(replacement)) + bytes.Count(lower, []byte(`\ufffd`))
}

// number reads a whole number that is not negative and fits an int.
func (s *scanner) number() int {
	if s.peek() == '-' {
		s.fail("is a negative number")
		return 0
	}
	start, n := s.at, 0
	for ; s.err == nil && s.at < len(s.buf) && '0' <= s.buf[s.at] && s.buf[s.at] <= '9'; s.at++ {
		d := int(s.buf[s.at] - '0')
		if n > (math.MaxInt-d)/10 {
			s.fail("is a number too large")
		}
		n = n*10 + d
	}
	switch digits := s.buf[start:s.at]; {
	case len(digits) == 0:
		s.fail("is %s, want a whole number", s.show())
	case len(digits) > 1 && digits[0] == '0':
		s.fail("ends a number with a leading zero")
	}
	return n
}

// numbers reads an array of whole numbers.
func (s *scanner) numbers() []int {
	list := []int{}
	s.list('[', ']', func() { list = append(list, s.number()) })
	return list
}

// texts reads an object whose values are strings, in order.
func (s *scanner) texts() (keys []string, values map[string]string) {
	values = map[string]string{}
	s.object(func(key string) {
		keys = append(keys, key)
		if s.peek() != '"' {
			s.fail("%q is not a string", key)
		}
		values[key] = s.text()
	})
	return keys, values
}

// end checks that nothing but white space is left.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.at < len(s.buf) {
		s.fail("is %s, want the end", s.show())
	}
}
