package mathexpr

import (
	"fmt"
	"strings"
	"unicode"
)

// strictUnread are commands that Math-Verify does not read: the answer is no formula for it.
var strictUnread = set(`big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle textstyle scriptstyle limits nolimits > bf rm it sf tt cal enspace nobreakspace
	hbox textsf texttt textup textsc emph mathsf mathtt boldsymbol bm pmb mathnormal mathop underline phantom cancel lbrace ast slash leqq geqq bigcup backslash lparen rparen mid
	colon degree circ langle rangle land lor wedge vee percent`)

// strictNames are commands that Math-Verify takes for variables.
var strictNames = set(`alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi chi psi omega varepsilon vartheta varpi varrho
	varsigma varphi ell hbar hslash nabla angle triangle prime re im imath jmath wp square eth natural`)

// strictRunes are the signs outside ASCII that it reads, as signs or commands.
var strictRunes = map[rune][2]string{
	'−': {"-", ""}, '×': {"*", ""}, '⋅': {"*", ""}, '∗': {"*", ""}, '÷': {"/", ""}, '∕': {"/", ""}, '≤': {"≤", ""}, '≥': {"≥", ""}, '≠': {"≠", ""}, '∪': {"∪", ""}, '∩': {"∩", ""},
	'±': {"±", ""}, 'π': {"", "pi"}, 'Π': {"", "pi"}, '∅': {"", "emptyset"}, 'ϕ': {"", "varphi"}, 'ϑ': {"", "vartheta"}, 'ϵ': {"", "varepsilon"}, 'ς': {"", "varsigma"},
}

// greek are the names of the letters from α on.
var greek = strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau upsilon phi chi psi omega")

// strictRune adds a sign outside ASCII as Math-Verify reads it.
func (l *lexer) strictRune(r rune) error {
	if s, ok := strictRunes[r]; ok {
		if s[0] != "" {
			l.add(symbol, s[0])
		} else {
			l.add(command, s[1])
		}
		return nil
	}
	small := unicode.ToLower(r)
	switch {
	case r == 'ℝ':
		l.add(command, "mathbb")
		l.add(symbol, "{")
		l.add(letter, "r")
		l.add(symbol, "}")
	case small >= 'α' && small <= 'ω':
		l.add(command, greek[small-'α'])
	case unicode.IsSpace(r):
		l.space = true
	default:
		return fmt.Errorf("%q has no meaning here", r)
	}
	return nil
}

// strictFunctions are functions of matrices and whole numbers that are seen within any run of letters: there is a trace in true.
var strictFunctions = strings.Fields("tr orth norm rank diag floor ceil gcd lcm rows cols eig rref svd hstack vstack zeros ones")

// strictLetters adds the letters of a run. A d before another letter or a command is one name with it: dx.
func (l *lexer) strictLetters(run string) error {
	for _, name := range strictFunctions {
		if strings.Contains(run, name) {
			return fmt.Errorf("%q in %q stands without an argument", name, run)
		}
	}
	for i := 0; i < len(run); i++ {
		if run[i] == 'd' && i+1 < len(run) {
			i++
			l.add(letter, "d"+strings.ToLower(run[i:i+1]))
			continue
		}
		if run[i] == 'd' && l.differential() {
			return nil
		}
		l.add(letter, strictCase(run[i]))
	}
	return nil
}

// strictCase returns a letter in lower case; E and I are no variables there and keep theirs.
func strictCase(c byte) string {
	if c == 'I' || c == 'E' {
		return string(c)
	}
	return strings.ToLower(string(c))
}

// differential adds a d with the letter or command that follows it.
func (l *lexer) differential() bool {
	rest := strings.TrimLeft(l.in[l.at:], " ")
	switch {
	case rest == "" || rest[0] != '\\' && !isLetter(rest[0]) || rest[0] == '\\' && (len(rest) < 2 || !isLetter(rest[1])):
		return false
	case rest[0] != '\\':
		l.at = len(l.in) - len(rest) + 1
		l.add(letter, "d"+strings.ToLower(rest[:1]))
		return true
	}
	l.at = len(l.in) - len(rest)
	l.add(letter, "d"+strings.ToLower(l.commandName()))
	return true
}
