package mathexpr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind says what a token is.
type tokenKind uint8

const (
	end     tokenKind = iota
	digits            // a number as it is written, thousands joined
	letter            // one variable
	command           // a name without its backslash
	word              // text: the content of \text{}, a unit, or, and
	symbol            // one sign of mathematics
	begin             // \begin{text}
	finish            // \end{text}
)

// A token is a piece of a text.
type token struct {
	kind  tokenKind
	text  string
	space bool   // blanks before it
	rep   string // of a number: the digits that repeat
	bare  bool   // a word that does not stand in \text{}
}

// is reports whether t is a sign.
func (t token) is(sign string) bool { return t.kind == symbol && t.text == sign }

// A lexer cuts a text into tokens.
type lexer struct {
	in        string
	at        int
	out       []token
	space     bool
	plain     bool // python-like text: words are split into letters, no units, no LaTeX
	strict    bool // LaTeX as Math-Verify reads it
	thousands bool // 1,234 is one number where no bracket is open
	depth     int  // of brackets
}

// lex cuts text into tokens.
func lex(text string, o options) ([]token, error) {
	l := lexer{in: text, plain: o.plain, strict: o.strict, thousands: o.thousands}
	for l.at < len(l.in) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return append(l.out, token{kind: end}), nil
}

func (l *lexer) add(k tokenKind, text string) {
	l.out = append(l.out, token{kind: k, text: text, space: l.space})
	l.space = false
}

// last returns the token before, or one of kind end.
func (l *lexer) last() token {
	if len(l.out) == 0 {
		return token{}
	}
	return l.out[len(l.out)-1]
}

// next cuts off one token, or blanks.
func (l *lexer) next() error {
	c := l.in[l.at]
	switch {
	case c == '~' && l.strict:
		return errors.New("~ has no meaning here")
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~' || c == '$':
		l.at++
		l.space = true
		return nil
	case c >= '0' && c <= '9', c == '.' && l.at+1 < len(l.in) && (isDigit(l.in[l.at+1]) || strings.HasPrefix(l.in[l.at+1:], `\overline{`) && isBlankBefore(l)):
		return l.number()
	case c == '\\':
		return l.command()
	case isLetter(c):
		return l.letters()
	case c < utf8.RuneSelf:
		return l.sign(string(c))
	}
	r, n := utf8.DecodeRuneInString(l.in[l.at:])
	l.at += n
	return l.rune(r)
}

// isBlankBefore reports whether no number stands before.
func isBlankBefore(l *lexer) bool { return l.last().kind != digits || l.space }

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// sign adds a sign of ASCII and follows the brackets.
func (l *lexer) sign(s string) error {
	if s == "{" && l.joins() {
		return nil
	}
	l.at++
	switch s {
	case "(", "[", "{":
		l.depth++
	case ")", "]", "}":
		l.depth--
	case "*":
		if l.strict && strings.HasPrefix(l.in[l.at:], "*") {
			return errors.New("** has no meaning here")
		}
		if strings.HasPrefix(l.in[l.at:], "*") {
			l.at++
			s = "^"
		}
	case "<", ">", "!":
		if strings.HasPrefix(l.in[l.at:], "=") {
			l.at++
			s = map[string]string{"<": "≤", ">": "≥", "!": "≠"}[s]
		}
	}
	if l.plain && strings.Contains("[]{}|%&':;", s) {
		return fmt.Errorf("%q has no meaning here", s)
	}
	if !strings.Contains("()[]{}+-*/^_=<>≤≥≠!,;:|%&'.", s) {
		return fmt.Errorf("%q has no meaning here", s)
	}
	l.add(symbol, s)
	return nil
}

// joins skips {,} that stands in a number as a decimal comma or a separator would, but between no digits.
func (l *lexer) joins() bool {
	if !strings.HasPrefix(l.in[l.at:], "{,}") {
		return false
	}
	l.at += 3
	l.add(symbol, ",")
	return true
}

// runes are signs outside ASCII: as signs, or as commands.
var runes = map[rune][2]string{
	'−': {"-", ""}, '–': {"-", ""}, '×': {"*", ""}, '·': {"*", ""}, '⋅': {"*", ""}, '∗': {"*", ""}, '÷': {"/", ""}, '⁄': {"/", ""}, '∕': {"/", ""},
	'≤': {"≤", ""}, '⩽': {"≤", ""}, '≥': {"≥", ""}, '⩾': {"≥", ""}, '≠': {"≠", ""}, '∈': {"∈", ""}, '∪': {"∪", ""}, '∩': {"∩", ""}, '∖': {"∖", ""},
	'±': {"±", ""}, '∓': {"∓", ""}, '∞': {"", "infty"}, 'π': {"", "pi"}, '√': {"", "surd"}, '∅': {"", "emptyset"}, '°': {"°", ""},
	'（': {"(", ""}, '）': {")", ""}, '，': {",", ""}, '、': {",", ""}, '：': {":", ""}, '∶': {":", ""}, '％': {"%", ""}, '＝': {"=", ""}, '＋': {"+", ""}, '－': {"-", ""},
	'⟨': {"⟨", ""}, '⟩': {"⟩", ""}, '⌊': {"⌊", ""}, '⌋': {"⌋", ""}, '⌈': {"⌈", ""}, '⌉': {"⌉", ""}, '′': {"'", ""},
}

// raised and vulgar are digits above the line, and fractions in one character.
var (
	raised = map[rune]string{'⁰': "0", '¹': "1", '²': "2", '³': "3", '⁴': "4", '⁵': "5", '⁶': "6", '⁷': "7", '⁸': "8", '⁹': "9"}
	vulgar = map[rune]string{'½': "12", '⅓': "13", '⅔': "23", '¼': "14", '¾': "34", '⅕': "15", '⅖': "25", '⅗': "35", '⅘': "45", '⅙': "16", '⅚': "56", '⅛': "18", '⅜': "38", '⅝': "58", '⅞': "78"}
)

// rune adds a sign outside ASCII.
func (l *lexer) rune(r rune) error {
	if l.strict {
		return l.strictRune(r)
	}
	if l.plain {
		if !unicode.IsLetter(r) {
			return fmt.Errorf("%q has no meaning here", r)
		}
		l.add(letter, string(r))
		return nil
	}
	if r == 'ℝ' {
		l.add(command, "mathbb")
		l.add(letter, "R")
		return nil
	}
	if s, ok := runes[r]; ok {
		if s[0] != "" {
			l.add(symbol, s[0])
		} else {
			l.add(command, s[1])
		}
		return nil
	}
	if d, ok := raised[r]; ok {
		if t := l.last(); t.kind == digits && t.rep == "^" {
			l.out[len(l.out)-1].text += d
			return nil
		}
		l.add(symbol, "^")
		l.out = append(l.out, token{kind: digits, text: d, rep: "^"})
		return nil
	}
	if f, ok := vulgar[r]; ok {
		l.add(command, "frac")
		l.out = append(l.out, token{kind: digits, text: f[:1]}, token{kind: digits, text: f[1:]})
		return nil
	}
	switch {
	case unicode.IsSpace(r) || r == '\u200b' || r == '\u2061' || r == '\u2062':
		l.space = true
		return nil
	case strings.ContainsRune("€£¥₹", r):
		l.add(word, string(r))
		return nil
	case unicode.IsLetter(r):
		l.add(letter, string(r))
		return nil
	}
	return fmt.Errorf("%q has no meaning here", r)
}

// names are words that stand for commands where LaTeX is not written.
var names = map[string]string{
	"sqrt": "sqrt()", "pi": "pi", "infinity": "infty", "inf": "infty", "infty": "infty", "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec",
	"csc": "csc", "log": "log", "ln": "ln", "exp": "exp", "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan", "abs": "abs", "floor": "floor", "ceil": "ceil",
	"sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "cbrt": "cbrt", "U": "cup", "theta": "theta", "alpha": "alpha", "beta": "beta", "gamma": "gamma", "phi": "phi", "lambda": "lambda", "omega": "omega",
	"oo": "infty", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "binomial": "binomial", "factorial": "factorial",
}

// letters cuts off a run of letters: a name, a unit behind a number, or variables.
func (l *lexer) letters() error {
	from := l.at
	for l.at < len(l.in) && isLetter(l.in[l.at]) {
		l.at++
	}
	run := l.in[from:l.at]
	before := l.last()
	switch {
	case l.plain:
		l.plainLetters(run)
		return nil
	case l.strict:
		return l.strictLetters(run)
	}
	switch name := names[run]; {
	case l.halfDay(from):
		return nil
	case run == "U" && !before.is(")") && !before.is("]") && !before.is("}"):
	case name != "":
		l.add(command, name)
		return nil
	case l.wordy(run, before):
		l.add(word, run)
		l.out[len(l.out)-1].bare = true
		return nil
	}
	for i, c := range run {
		if name := names[run[i:]]; i > 0 && len(run)-i > 2 && name != "" {
			l.add(command, name)
			return nil
		}
		l.add(letter, string(c))
	}
	return nil
}

// afterClock matches a.m. and p.m. as they stand behind a time.
var afterClock = regexp.MustCompile(`^[APap](\.?)\s?[Mm]\b\.?`)

// halfDay adds a.m. or p.m. behind a time of the clock.
func (l *lexer) halfDay(from int) bool {
	n := len(l.out)
	if n < 3 || l.out[n-1].kind != digits || !l.out[n-2].is(":") {
		return false
	}
	m := afterClock.FindString(l.in[from:])
	if m == "" {
		return false
	}
	l.at = from + len(m)
	l.add(word, m)
	return true
}

// plainNames are the words that the plain dialect knows, where they stand alone.
var plainNames = map[string]string{
	"sqrt": "sqrt()", "pi": "pi", "ln": "ln", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "oo": "infty",
	"alpha": "alpha", "beta": "beta", "gamma": "gamma", "theta": "theta", "phi": "phi", "omega": "omega",
}

// plainLetters adds a word of the plain dialect: a name that is known, else its letters as factors.
func (l *lexer) plainLetters(run string) {
	if name := plainNames[run]; name != "" && (l.at == len(l.in) || !isDigit(l.in[l.at])) {
		l.add(command, name)
		return
	}
	for _, c := range run {
		l.add(letter, string(c))
	}
}

// wordy reports whether a run of letters is text: a separator, or a unit behind a value.
func (l *lexer) wordy(run string, before token) bool {
	low := strings.ToLower(run)
	if low == "or" || low == "and" {
		return before.kind != end
	}
	value := before.kind == digits || before.kind == word || before.is("}") || before.is(")") || before.is("%") || before.kind == command && before.text == "pi"
	apart := l.space && len(run) > 3 && (before.kind == letter || before.is("]") || before.is(`\}`))
	return (value && len(run) > 1 || apart) && isUnitWord(low) || before.kind == word && before.bare && isUnitWord(low)
}
