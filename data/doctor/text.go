package doctor

import (
	"crypto/sha256"
	"strings"
	"unicode"
)

// A key stands for a text.
type key [16]byte

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// A wrapper is the instruction around the problems of a file.
type wrapper struct{ before, after string }

// learned counts paragraphs to find a file's wrapper.
type learned struct {
	texts         map[key]bool
	before, after map[string]int
}

// How much of a file is looked at for its wrapper, and how many of its different prompts must share one.
const (
	learnFrom   = 1000
	leastShared = 5
	longestRule = 2000 // bytes of an instruction
)

func newLearned() *learned {
	return &learned{map[key]bool{}, map[string]int{}, map[string]int{}}
}

// see counts a prompt. One that stands there several times counts once.
func (l *learned) see(text string) {
	text = strings.TrimSpace(text)
	k := keyOf(text)
	if l.texts[k] {
		return
	}
	l.texts[k] = true
	if first, _, ok := strings.Cut(text, "\n\n"); ok && len(first) <= longestRule {
		l.before[first]++
	}
	if i := strings.LastIndex(text, "\n\n"); i >= 0 && len(text)-i <= longestRule {
		l.after[text[i+2:]]++
	}
}

// wrapper returns what most prompts begin and end with.
func (l *learned) wrapper() wrapper {
	return wrapper{most(l.before, len(l.texts)), most(l.after, len(l.texts))}
}

func most(counts map[string]int, all int) string {
	for text, n := range counts {
		if n >= leastShared && 2*n > all { // at most one
			return text
		}
	}
	return ""
}

// problem takes the wrapper off and makes white space one blank. Nothing but whole paragraphs is taken off, and never all.
func (w wrapper) problem(text string) string {
	text = strings.TrimSpace(text)
	if w.before != "" {
		if rest, ok := strings.CutPrefix(text, w.before+"\n\n"); ok {
			text = rest
		}
	}
	if w.after != "" {
		if rest, ok := strings.CutSuffix(text, "\n\n"+w.after); ok {
			text = rest
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// words cuts a problem into words, in lower case, and numbers.
func words(problem string) (all, numbers []string) {
	rest := strings.ToLower(problem)
	for rest != "" {
		begin := strings.IndexFunc(rest, wordy)
		if begin < 0 {
			return all, numbers
		}
		rest = rest[begin:]
		digits := unicode.IsDigit([]rune(rest[:min(4, len(rest))])[0])
		end := strings.IndexFunc(rest, func(r rune) bool { return !wordy(r) || unicode.IsDigit(r) != digits })
		if end < 0 {
			end = len(rest)
		}
		all = append(all, rest[:end])
		if digits {
			numbers = append(numbers, rest[:end])
		}
		rest = rest[end:]
	}
	return all, numbers
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// eaten are beginnings of LaTeX commands that are an escape in JSON and Python too: what is left of each, by the control
// character that its beginning became.
var eaten = map[byte][]string{
	'\a': {"lpha", "ngle", "pprox", "rctan", "rcsin", "rccos"},
	'\b': {"egin", "eta", "oxed", "inom", "mod", "ar", "ot", "igl", "ullet", "ecause"},
	'\t': {"ext", "imes", "heta", "frac", "riangle", "herefore", "ilde", "extbf", "extit"},
	'\n': {"eq", "abla", "eg", "otin", "mid"},
	'\v': {"ec", "arepsilon", "ert", "dots", "arphi"},
	'\f': {"rac", "orall", "box", "lat"},
	'\r': {"ight", "angle", "ho", "floor", "ceil"},
}

// brokenEscape returns a command of which the backslash and a letter became a control character.
func brokenEscape(text string) string {
	for i := range len(text) - 1 {
		for _, rest := range eaten[text[i]] {
			if !strings.HasPrefix(text[i+1:], rest) || letterAt(text, i+1+len(rest)) {
				continue
			}
			if text[i] == '\n' && !closes(text, i+1+len(rest)) {
				continue // a line that begins with such a word
			}
			return string(escapeLetter[text[i]]) + rest
		}
	}
	return ""
}

var escapeLetter = map[byte]rune{'\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r'}

// closes tells whether a command ends at i as it does in a formula.
func closes(text string, i int) bool {
	return i < len(text) && strings.IndexByte(" {0123456789-$", text[i]) >= 0 && !strings.Contains("otin", text[max(0, i-4):i])
}

func letterAt(text string, i int) bool {
	return i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
}

// commands are LaTeX commands that do not stand right behind a line break, so that two backslashes before them are one
// too many.
var commands = []string{"frac", "dfrac", "sqrt", "cdot", "times", "left", "right", "boxed", "sum", "int", "angle", "leq", "geq", "infty", "overline", "pi", "theta"}

// doubleEscape returns a command with two backslashes.
func doubleEscape(text string) string {
	for i := strings.Index(text, `\\`); i >= 0 && i < len(text); {
		end := i
		for end < len(text) && text[end] == '\\' {
			end++
		}
		for _, c := range commands {
			if (end-i)%2 == 0 && strings.HasPrefix(text[end:], c) && !letterAt(text, end+len(c)) {
				return c
			}
		}
		next := strings.Index(text[end:], `\\`)
		if next < 0 {
			return ""
		}
		i = end + next
	}
	return ""
}

// lostBackslash returns a command that has its braces and no backslash.
func lostBackslash(text string) string {
	for _, c := range []string{"frac{", "sqrt{", "boxed{", "mathbb{", "overline{"} {
		for from := 0; ; {
			i := strings.Index(text[from:], c)
			if i < 0 {
				break
			}
			i += from
			if i == 0 || text[i-1] != '\\' && text[i-1] >= ' ' && !letterAt(text, i-1) {
				return strings.TrimSuffix(c, "{")
			}
			from = i + len(c)
		}
	}
	return ""
}

// control tells whether a text has control characters that no text needs.
func control(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f })
}

// misread tells whether a text has characters that come from reading UTF-8 as something else.
func misread(text string) bool {
	return strings.Contains(text, "\uFFFD") || strings.Contains(text, "â€") || strings.Contains(text, "Ã©") || strings.Contains(text, "Â°")
}
