package published

import (
	"unicode"
	"unicode/utf8"
)

// leastTries and triesPerByte bound the steps of finding an answer by patterns.
const leastTries, triesPerByte = 300_000, 3

// A search matches patterns against one text. It counts its steps: when they are used up nothing matches any more.
type search struct {
	text   string
	left   int
	groups map[string][2]int
}

// A pattern matches from a place on and calls then with each place where the match may end, in the order of preference,
// until then returns true. It is a backtracking matcher: unlike the regular expressions of the standard library it can look
// behind itself.
type pattern func(s *search, at int, then func(end int) bool) bool

// A step tells where one repetition from a place on ends.
type step func(text string, at int) (next int, ok bool)

// literal matches a text, ignoring the case of ASCII letters if fold is set.
func literal(word string, fold bool) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		if s.left--; s.left < 0 || len(s.text)-at < len(word) {
			return false
		}
		for i := range len(word) {
			c := s.text[at+i]
			if fold && c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c != word[i] {
				return false
			}
		}
		return then(at + len(word))
	}
}

// one matches a step once.
func one(st step) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		next, ok := st(s.text, at)
		s.left--
		return ok && s.left >= 0 && then(next)
	}
}

// sequence matches patterns one after the other.
func sequence(all ...pattern) pattern {
	if len(all) == 1 {
		return all[0]
	}
	first, rest := all[0], sequence(all[1:]...)
	return func(s *search, at int, then func(int) bool) bool {
		return first(s, at, func(mid int) bool { return rest(s, mid, then) })
	}
}

// either matches the first of the patterns with which all goes on.
func either(all ...pattern) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		for _, p := range all {
			if p(s, at, then) {
				return true
			}
		}
		return false
	}
}

// maybe matches p or nothing.
func maybe(p pattern) pattern {
	return func(s *search, at int, then func(int) bool) bool { return p(s, at, then) || then(at) }
}

// many repeats a step, as often as possible first.
func many(st step, least, most int) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		ends := []int{at}
		for len(ends) <= most {
			next, ok := st(s.text, ends[len(ends)-1])
			if s.left--; !ok || s.left < 0 {
				break
			}
			ends = append(ends, next)
		}
		for i := len(ends) - 1; i >= least; i-- {
			if then(ends[i]) {
				return true
			}
		}
		return false
	}
}

// few repeats a step, as seldom as possible first.
func few(st step, least, most int) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		for n := 0; n <= most; n++ {
			if s.left--; s.left < 0 {
				return false
			}
			if n >= least && then(at) {
				return true
			}
			next, ok := st(s.text, at)
			if !ok {
				return false
			}
			at = next
		}
		return false
	}
}

// capture notes what p matched.
func capture(name string, p pattern) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		return p(s, at, func(end int) bool {
			old, had := s.groups[name]
			s.groups[name] = [2]int{at, end}
			if then(end) {
				return true
			}
			if had {
				s.groups[name] = old
			} else {
				delete(s.groups, name)
			}
			return false
		})
	}
}

// behind goes on where the characters before a place are as wanted.
func behind(ok func(text string, at int) bool) pattern {
	return func(s *search, at int, then func(int) bool) bool { return ok(s.text, at) && then(at) }
}

// not goes on where p does not match.
func not(p pattern) pattern {
	return func(s *search, at int, then func(int) bool) bool {
		return !p(s, at, func(int) bool { return true }) && then(at)
	}
}

// A match is where a pattern matched, and its groups.
type match struct {
	start, end int
	groups     map[string]string
}

// all returns the matches of p that do not overlap, from the left. Matches begin only where starts says so.
func (s *search) all(p pattern, starts func(c byte) bool) []match {
	var out []match
	for at := 0; at < len(s.text); at++ {
		if at > 0 && starts != nil && !starts(s.text[at]) {
			continue
		}
		if s.left < 0 {
			return out
		}
		s.groups = map[string][2]int{}
		finish := -1
		if !p(s, at, func(end int) bool { finish = end; return true }) {
			continue
		}
		m := match{start: at, end: finish, groups: map[string]string{}}
		for name, g := range s.groups {
			m.groups[name] = s.text[g[0]:g[1]]
		}
		out = append(out, m)
		at = max(at, finish-1)
	}
	return out
}

// The steps.

// character returns a step over one character for which ok holds.
func character(ok func(r rune) bool) step {
	return func(text string, at int) (int, bool) {
		if at >= len(text) {
			return at, false
		}
		r, n := utf8.DecodeRuneInString(text[at:])
		return at + n, ok(r)
	}
}

var (
	anything = character(func(rune) bool { return true })
	inLine   = character(func(r rune) bool { return r != '\n' })
	blank    = character(unicode.IsSpace)
	digit    = character(func(r rune) bool { return r >= '0' && r <= '9' })
)

// among returns a step over one of the characters.
func among(chars string) step {
	return character(func(r rune) bool {
		for _, c := range chars {
			if c == r {
				return true
			}
		}
		return false
	})
}

// after reports whether the character before a place is one of chars.
func after(text string, at int, chars string) bool {
	if at == 0 {
		return false
	}
	for i := range len(chars) {
		if text[at-1] == chars[i] {
			return true
		}
	}
	return false
}
