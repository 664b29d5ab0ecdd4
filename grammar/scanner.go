package grammar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A scanner reads the words of a grammar in Backus-Naur form.
type scanner struct {
	src string
	pos int
}

func (s *scanner) atEnd() bool    { return s.pos >= len(s.src) }
func (s *scanner) at(b byte) bool { return s.pos < len(s.src) && s.src[s.pos] == b }
func (s *scanner) rest() string   { return s.src[s.pos:] }
func (s *scanner) line() int      { return 1 + strings.Count(s.src[:s.pos], "\n") }

// take reads a word if it is next.
func (s *scanner) take(word string) bool {
	ok := strings.HasPrefix(s.rest(), word)
	if ok {
		s.pos += len(word)
	}
	return ok
}

// space reads white space and comments.
func (s *scanner) space() {
	for ; !s.atEnd(); s.pos++ {
		switch s.src[s.pos] {
		case ' ', '\t', '\r', '\n':
		case '#':
			end := strings.IndexByte(s.rest(), '\n')
			if end < 0 {
				end = len(s.rest()) - 1
			}
			s.pos += end
		default:
			return
		}
	}
}

// name reads the name of a rule, or nothing.
func (s *scanner) name() string {
	from := s.pos
	for ; !s.atEnd(); s.pos++ {
		b := s.src[s.pos]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
		if !letter && (s.pos == from || !strings.ContainsRune("0123456789.-", rune(b))) {
			break
		}
	}
	return s.src[from:s.pos]
}

// quoted reads a string.
func (s *scanner) quoted() (piece, error) {
	s.pos++
	var all []piece
	for !s.take(`"`) {
		if s.atEnd() || s.at('\n') {
			return nil, errors.New(`a string is not closed, want " on the same line`)
		}
		r, isByte, err := s.character()
		if err != nil {
			return nil, err
		}
		if isByte {
			all = append(all, octet(byte(r), byte(r)))
		} else {
			all = append(all, text(string(r)))
		}
	}
	return sequence(all...), nil
}

// set reads characters in square brackets.
func (s *scanner) set() ([]rune, error) {
	s.pos++
	not := s.take("^")
	var set []rune
	for !s.take("]") {
		lo, err := s.member()
		if err != nil {
			return nil, err
		}
		hi := lo
		if s.at('-') && !strings.HasPrefix(s.rest(), "-]") {
			s.pos++
			if hi, err = s.member(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("a range goes from %q down to %q", lo, hi)
		}
		set = append(set, lo, hi)
	}
	if set = normal(set); not {
		set = others(set)
	}
	return set, nil
}

func (s *scanner) member() (rune, error) {
	if s.atEnd() || s.at('\n') {
		return 0, errors.New("a set of characters is not closed, want ] on the same line")
	}
	r, _, err := s.character()
	return r, err
}

// character reads one, which may be escaped. isByte says that \x gave a byte that is no character.
func (s *scanner) character() (r rune, isByte bool, err error) {
	if s.take(`\`) {
		return s.escape()
	}
	r, n := utf8.DecodeRuneInString(s.rest())
	if r == utf8.RuneError && n <= 1 {
		return 0, false, errors.New("the source is not UTF-8")
	}
	s.pos += n
	return r, false, nil
}

var escapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '0': 0}

func (s *scanner) escape() (r rune, isByte bool, err error) {
	if s.atEnd() {
		return 0, false, errors.New("the source ends after a backslash")
	}
	b := s.src[s.pos]
	s.pos++
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[b]; digits > 0 {
		return s.hex(b, digits)
	}
	if r, ok := escapes[b]; ok {
		return r, false, nil
	}
	if b < utf8.RuneSelf && strings.ContainsRune(`\"'[]^-/.|(){}*+?`, rune(b)) {
		return rune(b), false, nil
	}
	return 0, false, fmt.Errorf(`the escape \%c is not known`, b)
}

func (s *scanner) hex(kind byte, digits int) (rune, bool, error) {
	word := s.rest()[:min(digits, len(s.rest()))]
	n, err := strconv.ParseUint(word, 16, 32)
	if err != nil || len(word) < digits || n > utf8.MaxRune || n >= 0xd800 && n <= 0xdfff {
		return 0, false, fmt.Errorf(`the escape \%c%s is no character, want %d hexadecimal digits`, kind, word, digits)
	}
	s.pos += digits
	return rune(n), kind == 'x' && n >= utf8.RuneSelf, nil
}
