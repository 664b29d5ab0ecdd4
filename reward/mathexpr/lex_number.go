package mathexpr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// separators are what may stand between groups of three digits wherever a number stands.
var separators = []string{`{,}`, `,\!`, `\!,`, `\,`, `\!`, `\;`, `\ `, "\u2009", "\u202f", "\u00a0", ","}

// number cuts off a number: digits with or without separators of thousands, decimals, digits that repeat, an exponent.
func (l *lexer) number() error {
	from := l.at
	text := l.grouped()
	for l.plain && l.at+1 < len(l.in) && l.in[l.at] == '_' && isDigit(l.in[l.at+1]) { // 43_6 is 436
		l.at++
		text += l.run()
	}
	whole := text != ""
	point := false
	if l.at+1 < len(l.in) && l.in[l.at] == '.' && (isDigit(l.in[l.at+1]) || l.repeats(l.at+1)) {
		l.at++
		point = true
		text += "." + l.run()
	} else if l.plain && l.at < len(l.in) && l.in[l.at] == '.' {
		l.at++
		text += ".0" // 24. is 24 as a decimal
	}
	rep := ""
	if point {
		rep = l.repeating()
	}
	if l.strict {
		if l.at < len(l.in) && l.in[l.at] == 'E' {
			text += l.exponent()
		}
		l.add(digits, orZero(text, whole))
		return nil
	}
	if exp := l.exponent(); exp != "" && rep == "" {
		text += exp
	}
	text = orZero(text, whole)
	if len(text) > mostDigits {
		return fmt.Errorf("a number of %d digits, want at most %d", l.at-from, mostDigits)
	}
	l.add(digits, text)
	l.out[len(l.out)-1].rep = rep
	return nil
}

// orZero returns a number with a digit before its point.
func orZero(text string, whole bool) string {
	if whole {
		return text
	}
	return "0" + text
}

// run cuts off digits.
func (l *lexer) run() string {
	from := l.at
	for l.at < len(l.in) && isDigit(l.in[l.at]) {
		l.at++
	}
	return l.in[from:l.at]
}

// grouped cuts off digits with separators between groups of three.
func (l *lexer) grouped() string {
	text := l.run()
	if len(text) > 3 || text == "" || text[0] == '0' {
		return text
	}
	first := ""
	for {
		sep := l.separator()
		if sep == "" || first != "" && sep != first {
			return text
		}
		first = sep
		rest := strings.TrimLeft(l.in[l.at+len(sep):], " ")
		if sep == "," {
			rest = l.in[l.at+len(sep):]
		}
		if len(rest) < 3 || !isDigit(rest[0]) || !isDigit(rest[1]) || !isDigit(rest[2]) || len(rest) > 3 && isDigit(rest[3]) {
			return text
		}
		text += rest[:3]
		l.at = len(l.in) - len(rest) + 3
	}
}

// separator returns the separator of thousands that stands here. A plain comma is one only outside brackets.
func (l *lexer) separator() string {
	for _, s := range separators {
		if strings.HasPrefix(l.in[l.at:], s) && (s != "," || l.thousands && l.depth <= 0) && (!l.plain && !l.strict || s == ",") {
			return s
		}
	}
	return ""
}

// overlines are the marks of digits that repeat.
var overlines = []string{`\overline{`, `\bar{`, `\dot{`, `\overline `, `\bar `}

// repeats reports whether digits that repeat are marked at i.
func (l *lexer) repeats(i int) bool {
	for _, o := range overlines {
		if strings.HasPrefix(l.in[i:], o) {
			return !l.strict
		}
	}
	return false
}

// repeating cuts off digits that repeat.
func (l *lexer) repeating() string {
	if l.strict {
		return ""
	}
	for _, o := range overlines {
		rest, ok := strings.CutPrefix(l.in[l.at:], o)
		if !ok {
			continue
		}
		n := 0
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		closed := strings.HasSuffix(o, "{")
		if n == 0 || closed && (n == len(rest) || rest[n] != '}') {
			return ""
		}
		l.at += len(o) + n
		if closed {
			l.at++
		}
		return rest[:n]
	}
	return ""
}

// exponent cuts off e3 or E-3 right behind digits.
func (l *lexer) exponent() string {
	i := l.at
	if i >= len(l.in) || l.in[i] != 'e' && l.in[i] != 'E' {
		return ""
	}
	i++
	if i < len(l.in) && (l.in[i] == '-' || l.in[i] == '+') {
		i++
	}
	from := i
	for i < len(l.in) && isDigit(l.in[i]) {
		i++
	}
	if i == from || i < len(l.in) && (isLetter(l.in[i]) || l.in[i] == '.' && i+1 < len(l.in) && isDigit(l.in[i+1])) {
		return ""
	}
	text := l.in[l.at:i]
	l.at = i
	return text
}

// commandName cuts off a backslash and a name, or one character.
func (l *lexer) commandName() string {
	l.at++
	from := l.at
	for l.at < len(l.in) && isLetter(l.in[l.at]) {
		l.at++
	}
	if l.at > from || l.at == len(l.in) {
		return l.in[from:l.at]
	}
	_, n := utf8.DecodeRuneInString(l.in[l.at:])
	l.at += n
	return l.in[from:l.at]
}
