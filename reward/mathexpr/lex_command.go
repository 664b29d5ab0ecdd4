package mathexpr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// silent are commands that change the looks only.
var silent = set(`left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle textstyle scriptstyle limits nolimits ! , ; : > quad qquad
	hspace vspace bf rm it sf tt cal mathstrut strut enspace thinspace space nobreakspace centering boldmath`)

// texts are commands whose argument is text.
var texts = set(`text mbox hbox textbf textit textrm textsf texttt textnormal textup textsc emph`)

// fonts are commands whose argument is mathematics in another font.
var fonts = set(`mathbf mathrm mathit mathsf mathtt boldsymbol bm pmb mathnormal operatorname mathop displaylines boxed fbox underline phantom cancel`)

// signs are commands that are signs.
var signs = map[string]string{
	"{": "\\{", "}": "\\}", "lbrace": "\\{", "rbrace": "\\}", "%": "%", "cdot": "*", "times": "*", "ast": "*", "div": "/", "cup": "∪", "bigcup": "∪", "cap": "∩",
	"setminus": "∖", "backslash": "∖", "in": "∈", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "lt": "<", "gt": ">",
	"ne": "≠", "neq": "≠", "pm": "±", "mp": "∓", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
	"lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "|": "‖", "colon": ":", "degree": "°", "circ": "°", "prime": "'", "lbrack": "[", "rbrack": "]",
	"lparen": "(", "rparen": ")", "land": ",", "wedge": ",", "lor": ",", "vee": ",", "slash": "/", "percent": "%", "\\": "\\\\", "cr": "\\\\", "&": "&", "leqq": "≤", "geqq": "≥",
}

// set makes a set of words.
func set(list string) map[string]bool {
	s := map[string]bool{}
	for _, w := range strings.Fields(list) {
		s[w] = true
	}
	return s
}

// command cuts off a command with what belongs to it.
func (l *lexer) command() error {
	name := l.commandName()
	switch {
	case name == "":
		return fmt.Errorf("a backslash at the end")
	case l.strict && strictUnread[name] && !(name == "circ" && l.raises()):
		return fmt.Errorf("\\%s has no meaning here", name)
	case l.strict && name == "operatorname" && !l.namesOperator():
		return errors.New("\\operatorname without a name")
	case l.strict && len(name) == 1 && strings.Contains("()[]", name):
		l.add(symbol, name)
		l.bracket(name)
		return nil
	case name == "begin" || name == "end":
		return l.environment(name)
	case name == "$":
		l.add(word, "$")
		return nil
	case name == " " || name == "\n" || name == "\t" || silent[name]:
		l.space = true
		if name == "left" || name == "right" {
			l.dot()
		}
		return nil
	case texts[name]:
		return l.text()
	case fonts[name]:
		return l.font()
	case signs[name] != "":
		l.add(symbol, signs[name])
		l.bracket(signs[name])
		return nil
	case name == "dfrac" || name == "tfrac" || name == "cfrac" || name == "frac":
		name = "frac"
	case name == "dbinom" || name == "tbinom":
		name = "binom"
	case !l.strict && strings.HasPrefix(name, "var") && len(name) > 3 && name != "varnothing":
		name = name[3:]
	}
	l.add(command, name)
	return nil
}

// namesOperator reports whether the argument that follows is a name of two letters and more.
func (l *lexer) namesOperator() bool {
	ahead := *l
	content, ok := ahead.argument()
	return ok && len(content) > 1 && !isDigit(content[0])
}

// raises reports whether what comes stands above the line.
func (l *lexer) raises() bool {
	n := len(l.out)
	return n > 0 && (l.out[n-1].is("^") || l.out[n-1].is("{") && n > 1 && l.out[n-2].is("^"))
}

// bracket follows the depth of brackets.
func (l *lexer) bracket(sign string) {
	switch sign {
	case "\\{", "(", "[", "⟨":
		l.depth++
	case "\\}", ")", "]", "⟩":
		l.depth--
	}
}

// dot skips the dot of \left. and \right. which is no bracket.
func (l *lexer) dot() {
	if l.at < len(l.in) && l.in[l.at] == '.' {
		l.at++
	}
}

// argument cuts off {...} with balanced braces.
func (l *lexer) argument() (string, bool) {
	i := l.at
	for i < len(l.in) && l.in[i] == ' ' {
		i++
	}
	if i == len(l.in) || l.in[i] != '{' {
		return "", false
	}
	depth := 0
	for j := i; j < len(l.in); j++ {
		switch l.in[j] {
		case '\\':
			j++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				l.at = j + 1
				return l.in[i+1 : j], true
			}
		}
	}
	return "", false
}

// text adds the content of \text{}. One without letters is mathematics.
func (l *lexer) text() error {
	content, ok := l.argument()
	if !ok {
		return nil // \text before something else: only the font
	}
	plain := strings.TrimSpace(content)
	if l.strict && wholeFraction.MatchString(content) {
		return l.inline(content)
	}
	if l.strict {
		l.add(word, strings.Trim(strings.Join(strings.Fields(strings.ToLower(content)), ""), "()"))
		return nil
	}
	if strings.IndexFunc(plain, isAnyLetter) < 0 {
		return l.inline(plain)
	}
	l.add(word, plain)
	return nil
}

// wholeFraction matches a fraction of whole numbers.
var wholeFraction = regexp.MustCompile(`^\\frac\{\d+\}\{\d+\}$`)

func isAnyLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xc0 }

// font adds the content of \mathbf{} and the like: mathematics, where words are functions, units or names.
func (l *lexer) font() error {
	content, ok := l.argument()
	if !ok {
		return nil
	}
	plain := strings.TrimSpace(strings.NewReplacer(`\,`, "", `\ `, " ", "~", " ").Replace(content))
	if name := names[plain]; name != "" && len(plain) > 1 {
		l.add(command, name)
		return nil
	}
	if _, ok := readMeasure(plain); ok && !l.strict && !l.plain && l.last().kind == digits && strings.Trim(plain, "0123456789") != "" && (len(plain) == 1 || strings.ContainsAny(plain, "/^")) {
		l.add(word, plain)
		return nil
	}
	if len(plain) > 1 && strings.Trim(plain, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ. ") == "" {
		l.add(word, plain)
		return nil
	}
	return l.inline(content)
}

// inline lexes a piece of mathematics as a group.
func (l *lexer) inline(content string) error {
	if len(content) >= len(l.in) {
		return fmt.Errorf("text within itself")
	}
	if l.depth++; l.depth > mostDepth {
		return ErrBudget
	}
	inner, err := lex(content, options{plain: l.plain, strict: l.strict, thousands: l.thousands && l.depth <= 1})
	l.depth--
	if err != nil {
		return err
	}
	inner = inner[:len(inner)-1]
	if len(inner) != 1 {
		inner = append(append([]token{{kind: symbol, text: "{"}}, inner...), token{kind: symbol, text: "}"})
	}
	if len(inner) > 0 {
		inner[0].space = l.space
	}
	l.out, l.space = append(l.out, inner...), false
	return nil
}

// environment adds the beginning or end of one.
func (l *lexer) environment(which string) error {
	name, ok := l.argument()
	if !ok {
		return fmt.Errorf("\\%s without a name", which)
	}
	name = strings.TrimSuffix(strings.TrimSpace(name), "*")
	if which == "end" {
		l.add(finish, name)
		l.depth--
		return nil
	}
	l.depth++
	l.add(begin, name)
	if name == "array" {
		l.argument() // the columns
	}
	return nil
}
