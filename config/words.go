package config

import (
	"fmt"
	"strings"
)

// A word is a piece of a command line and the line it begins on; lines count from 1.
type word struct {
	text string
	line int
}

// Split cuts text into words at any white space, as a shell would: single quotes keep everything, double quotes and
// backslashes escape. Nothing is expanded, and # is an ordinary character.
func Split(text string) ([]string, error) {
	list, err := scan(text, false)
	var out []string
	for _, w := range list {
		out = append(out, w.text)
	}
	return out, err
}

// scan cuts text into words. With comments, a # that begins a word hides the rest of its line.
func scan(text string, comments bool) ([]word, error) {
	sc := scanner{rest: text, line: 1}
	var out []word
	for {
		sc.skip(comments)
		if sc.rest == "" {
			return out, nil
		}
		w := word{line: sc.line}
		var err error
		if w.text, err = sc.word(); err != nil {
			return out, fmt.Errorf("line %d: %w", w.line, err)
		}
		out = append(out, w)
	}
}

type scanner struct {
	rest string
	line int
}

func (sc *scanner) next() byte {
	c := sc.rest[0]
	sc.rest = sc.rest[1:]
	if c == '\n' {
		sc.line++
	}
	return c
}

// skip passes over white space, continued lines and comments.
func (sc *scanner) skip(comments bool) {
	for sc.rest != "" {
		switch {
		case isBlank(sc.rest[0]):
			sc.next()
		case strings.HasPrefix(sc.rest, "\\\n"), strings.HasPrefix(sc.rest, "\\\r\n"):
			sc.next()
		case comments && sc.rest[0] == '#':
			_, after, found := strings.Cut(sc.rest, "\n")
			sc.rest = after
			if found {
				sc.line++
			}
		default:
			return
		}
	}
}

func isBlank(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 }

func (sc *scanner) word() (string, error) {
	var b strings.Builder
	for sc.rest != "" && !isBlank(sc.rest[0]) {
		c := sc.next()
		switch {
		case c == '\'' || c == '"':
			if err := sc.quoted(&b, c); err != nil {
				return "", err
			}
		case c == '\\' && sc.rest == "":
			return "", fmt.Errorf("a backslash ends the text, want a character after it")
		case c == '\\':
			if c := sc.next(); c != '\n' {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func (sc *scanner) quoted(b *strings.Builder, quote byte) error {
	for sc.rest != "" {
		c := sc.next()
		if c == quote {
			return nil
		}
		if c == '\\' && quote == '"' && sc.rest != "" && strings.IndexByte("\"\\$`\n", sc.rest[0]) >= 0 {
			if c = sc.next(); c == '\n' {
				continue
			}
		}
		b.WriteByte(c)
	}
	return fmt.Errorf("quote %c is not closed", quote)
}

// Quote writes words so that [Split], and a shell, read them back. No words give "".
func Quote(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoteWord(w)
	}
	return strings.Join(out, " ")
}

func quoteWord(w string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_=.,:/+@%", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
