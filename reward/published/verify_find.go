package published

import (
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"furlong/reward/mathexpr"
)

const unlimited = math.MaxInt32

// A rank is a group of patterns that are tried together: matches that end last go first.
type rank []seeker

// A seeker finds matches of one kind.
type seeker struct {
	find  func(s *search) []match
	latex bool
}

// seek returns a seeker of a pattern.
func seek(p pattern, starts func(byte) bool, latex bool) seeker {
	return seeker{func(s *search) []match { return s.all(p, starts) }, latex}
}

// The first characters of patterns.
func startsF(c byte) bool   { return c == 'f' || c == 'F' }
func startsA(c byte) bool   { return c == 'a' || c == 'A' }
func startsEnv(c byte) bool { return strings.IndexByte("$\\- \t\n\r\v\f", c) >= 0 || c >= 0x80 }

var spaces = many(blank, 0, unlimited)

// notEscaped holds where no backslash stands before.
var notEscaped = behind(func(text string, at int) bool { return !after(text, at, `\`) })

// escapedDollar is a step in a formula within one line: a character, or an escaped dollar as one.
func escapedDollar(text string, at int) (int, bool) {
	if strings.HasPrefix(text[at:], `\$`) {
		return at + 2, true
	}
	return character(func(r rune) bool { return r != '\n' && r != '$' })(text, at)
}

// doubleDollar is a step up to $$.
func doubleDollar(text string, at int) (int, bool) {
	if strings.HasPrefix(text[at:], "$$") {
		return at, false
	}
	return anything(text, at)
}

// upTo returns a step up to a closing mark, within a line or not.
func upTo(mark string, line bool) step {
	return func(text string, at int) (int, bool) {
		if at >= len(text) || strings.HasPrefix(text[at:], mark) || line && text[at] == '\n' {
			return at, false
		}
		return anything(text, at)
	}
}

// content matches what a formula holds; one for boxes must hold a box.
func content(st step, boxedOnly bool) pattern {
	if !boxedOnly {
		return few(st, 1, unlimited)
	}
	return sequence(few(st, 0, unlimited), literal(`\boxed{`, false), few(st, 1, unlimited), literal("}", false), few(st, 0, unlimited))
}

// percentSign matches a percent sign or word.
var percentSign = either(literal(`\%`, false), literal("%", false), literal("percent", false), literal("Percent", false), literal("percentage", false), literal("Percentage", false), literal("pct", false), literal("Pct", false))

// formula matches one formula with its delimiters.
func formula(prefix string, boxedOnly bool) pattern {
	group := func(p pattern) pattern { return capture(prefix+"latex", p) }
	number := sequence(maybe(literal("-", false)), many(digit, 1, unlimited), maybe(sequence(one(among(".,")), many(digit, 1, unlimited))))
	dollars := either(
		sequence(notEscaped, literal("$$", false), group(content(doubleDollar, boxedOnly)), notEscaped, literal("$$", false)),
		sequence(behind(func(text string, at int) bool { return !after(text, at, `\0123456789`) }), literal("$", false), group(content(escapedDollar, boxedOnly)), notEscaped, literal("$", false)))
	fraction := group(sequence(maybe(literal("-", false)), literal(`\frac{`, false), number, literal("}{", false), number, literal("}", false)))
	commands := []pattern{
		sequence(notEscaped, literal(`\[`, false), group(content(upTo(`\]`, false), boxedOnly)), notEscaped, literal(`\]`, false)),
		sequence(notEscaped, literal(`\(`, false), group(content(upTo(`\)`, true), boxedOnly)), notEscaped, literal(`\)`, false)),
	}
	if boxedOnly {
		fraction = either()
	}
	slashes := either(append(commands, fraction)...)
	brackets := sequence(one(blank), literal("[", false), group(content(character(func(r rune) bool { return r != '\n' && r != ']' && r != '[' }), boxedOnly)), literal("]", false), one(blank))
	form := func(s *search, at int, then func(int) bool) bool {
		if s.left--; s.left < 0 || at >= len(s.text) {
			return false
		}
		switch c := s.text[at]; {
		case c == '$':
			return dollars(s, at, then)
		case c == '\\':
			return slashes(s, at, then)
		case c == '-':
			return fraction(s, at, then)
		}
		return brackets(s, at, then)
	}
	return sequence(form, spaces, maybe(capture(prefix+"percent", percentSign)))
}

// formulas matches up to six formulas that are joined by commas or words.
func formulas(boxedOnly bool) pattern {
	joint := either(literal(",and", false), literal("and", false), literal(",or", false), literal("or", false), literal(",", false))
	all := []pattern{formula("0", boxedOnly)}
	for i := 1; i <= 5; i++ {
		next := maybe(sequence(spaces, joint, spaces, formula(strconv.Itoa(i), boxedOnly)))
		if boxedOnly {
			next = sequence(spaces, next)
		}
		all = append(all, next)
	}
	return sequence(all...)
}

// plainBox matches \boxed{ and all up to the last brace of the text.
func plainBox(s *search) []match {
	from := strings.Index(s.text, `\boxed{`)
	end := strings.LastIndexByte(s.text, '}')
	if from < 0 || end < from+len(`\boxed{`)+1 {
		return nil
	}
	return []match{{from, end + 1, map[string]string{"0latex": s.text[from : end+1], "box": "1"}}}
}

const operators = "+-*×/^()÷"

// textEnd matches the end of a text, or the line break before it.
var textEnd = behind(func(text string, at int) bool { return at == len(text) || at == len(text)-1 && text[at] == '\n' })

// plainValue matches an expression of numbers, or one number.
func plainValue() (expression, number pattern) {
	stars := maybe(literal("**", false))
	before := sequence(either(behind(func(_ string, at int) bool { return at == 0 }), one(blank), literal("=", false)), stars)
	behindIt := sequence(stars, either(one(among(".,:")), one(blank), one(among(")$")), textEnd))
	signs := character(func(r rune) bool {
		return r >= '0' && r <= '9' || r == '.' || strings.ContainsRune(operators, r) || strings.ContainsRune(" \t\n\r\v\f\u00a0", r)
	})
	minus := maybe(literal("-", false))
	expression = sequence(before, capture("expr", sequence(minus, maybe(literal("(", false)), minus, one(digit), many(signs, 0, unlimited), one(among(operators)), many(signs, 1, unlimited), maybe(literal(")", false)))), behindIt)

	fraction := sequence(literal(".", false), many(digit, 1, unlimited))
	groups := func(s *search, at int, then func(int) bool) bool {
		triple := func(text string, at int) (int, bool) {
			if at+4 > len(text) || text[at] != ' ' && text[at] != ',' {
				return at, false
			}
			for _, c := range []byte(text[at+1 : at+4]) {
				if c < '0' || c > '9' {
					return at, false
				}
			}
			return at + 4, true
		}
		return many(triple, 1, unlimited)(s, at, then)
	}
	long := sequence(capture("integer", sequence(minus, one(among("123456789")), many(digit, 0, 2), groups)), maybe(capture("decimal", fraction)))
	point := sequence(capture("integer", sequence(minus, many(digit, 1, unlimited))), capture("decimal", sequence(one(among(".,")), many(digit, 1, unlimited))))
	words := sequence(spaces, either(literal("%", false), literal("percent", false), literal("Percent", false), sequence(spaces, either(literal("percentage", false), literal("Percentage", false))), sequence(spaces, either(literal("pct", false), literal("Pct", false)))))
	value := sequence(behind(func(text string, at int) bool { return !after(text, at, "0123456789") }),
		either(long, point, capture("decimal", fraction), capture("integer", sequence(minus, many(digit, 1, unlimited)))), maybe(capture("percent", words)))
	return expression, sequence(before, maybe(one(among("$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₭₮₯₰₱₲₳₴₵₶₷₸₺₻₼₾₿"))), value)
}

// ranks are the patterns of answers, best first; those of gold answers are of formulas alone.
var responseRanks, goldRanks = makeRanks(true), makeRanks(false)

func makeRanks(plain bool) []rank {
	answer, final := literal("answer", true), literal("final answer", true)
	hope := sequence(maybe(literal(".", false)), maybe(one(blank)), literal("I hope", false))
	colon := maybe(literal(":", false))
	latex, boxes := formulas(false), formulas(true)
	ranks := make([]rank, 5)
	if plain {
		expression, number := plainValue()
		value := either(expression, number)
		reach := either(sequence(many(inLine, 0, 100), literal("=", false), spaces), few(inLine, 0, 50))
		unequal := not(sequence(spaces, literal("=", false)))
		ranks[0] = append(ranks[0], seek(sequence(literal("final answer is", true), colon, spaces, value, hope), startsF, false))
		ranks[1] = append(ranks[1], seek(sequence(final, few(inLine, 0, 100), many(blank, 1, unlimited), literal("is", false), colon, value), startsF, false))
		ranks[2] = append(ranks[2], seek(sequence(answer, literal(":", false), reach, value, unequal), startsA, false))
		ranks[3] = append(ranks[3], seek(sequence(answer, reach, value, unequal), startsA, false))
		starts := func(c byte) bool { return c == '=' || c >= 0x80 || strings.IndexByte(" \t\n\r\v\f", c) >= 0 }
		ranks[4] = append(ranks[4], seek(expression, starts, false), seek(number, starts, false))
	}
	ranks[0] = append(ranks[0], seek(sequence(literal("final answer is", true), colon, spaces, latex, hope), startsF, true))
	ranks[1] = append(ranks[1], seek(sequence(final, few(anything, 0, 100), many(blank, 1, unlimited), literal("is", false), colon, spaces, latex), startsF, true),
		seek(boxes, startsEnv, true), seeker{plainBox, true})
	ranks[2] = append(ranks[2], seek(sequence(answer, literal(":", false), few(anything, 0, 50), latex), startsA, true))
	ranks[3] = append(ranks[3], seek(sequence(answer, few(anything, 0, 50), latex), startsA, true))
	ranks[4] = append(ranks[4], seek(latex, startsEnv, true))
	return ranks
}

// A candidate is what a text claims: an object if one could be read, and the text of the first match.
type candidate struct {
	object  *mathexpr.Node
	text    string
	complex bool // the object's variables are complex
}

// complexSigns are what make the published grader take variables for complex numbers.
var complexSigns = regexp.MustCompile(`\\mathbb\{C\}|\\i\b|\bi\b|\\text\{i\}|\\mathrm\{i\}|\\imath\b|\\det|\\operatorname\{(?:tr|rank|Re|Im)\}|\\text\{(?:rank|Re|Im)\}|\\(?:arg|Re|Im)\{`)

// extractBy finds the answer of a text: in the best rank that yields one, the match that ends last.
func extractBy(ranks []rank, text string) (c candidate, over bool) {
	s := &search{text: text, left: leastTries + triesPerByte*len(text)}
	for _, r := range ranks {
		type hit struct {
			match
			latex bool
		}
		var hits []hit
		for _, k := range r {
			for _, m := range k.find(s) {
				hits = append(hits, hit{m, k.latex})
			}
		}
		sort.SliceStable(hits, func(i, j int) bool {
			if hits[i].end != hits[j].end {
				return hits[i].end > hits[j].end
			}
			return hits[i].start < hits[j].start
		})
		for i, h := range hits {
			if i > 200 {
				return c, true
			}
			n, shown := readPlain(h.match)
			if h.latex {
				n, shown = readFormulas(h.match)
			}
			if c.text == "" {
				c.text = shown
			}
			if n != nil {
				c.object, c.complex = n, h.latex && complexSigns.MatchString(shown)
				return c, s.left < 0
			}
		}
	}
	return c, s.left < 0
}

// applied matches numbers and brackets side by side, which are no product in plain notation.
var applied = regexp.MustCompile(`[\d).]\s*\(|\)\s*[\d.]|[\d.]\s+[\d.]`)

// readPlain reads a number or an expression of numbers.
func readPlain(m match) (*mathexpr.Node, string) {
	integer, decimal := m.groups["integer"], m.groups["decimal"]
	if integer == "" && decimal == "" {
		expr := m.groups["expr"]
		if strings.ContainsAny(expr, "×÷") || applied.MatchString(expr) {
			return nil, expr
		}
		n, err := mathexpr.Arithmetic(strings.ReplaceAll(expr, "\n", " "))
		if err != nil {
			return nil, expr
		}
		return n, expr
	}
	integer = strings.TrimLeft(strings.NewReplacer(",", "", " ", "").Replace(integer), "0")
	if integer == "" {
		integer = "0"
	}
	text := integer + strings.ReplaceAll(decimal, ",", ".")
	n, ok := mathexpr.Numeral(text)
	if !ok {
		return nil, text
	}
	if m.groups["percent"] != "" {
		n = mathexpr.Hundredth(n)
	}
	return n, text
}

// readFormulas reads the formulas of a match; several are a set.
func readFormulas(m match) (*mathexpr.Node, string) {
	var objects []*mathexpr.Node
	var texts []string
	for i := range 6 {
		prefix := strconv.Itoa(i)
		latex, ok := m.groups[prefix+"latex"]
		if !ok {
			continue
		}
		text := normalLatex(latex, m.groups["box"] != "")
		texts = append(texts, text)
		n := readLatex(text)
		if n != nil && m.groups[prefix+"percent"] != "" {
			n = mathexpr.Hundredth(n)
		}
		objects = append(objects, n)
	}
	if len(objects) == 0 {
		return nil, ""
	}
	if len(objects) > 1 && !slices.Contains(objects, nil) {
		var all []*mathexpr.Node
		for _, n := range objects {
			if n.Kind == mathexpr.List || n.Kind == mathexpr.Set {
				all = append(all, n.Args...)
			} else {
				all = append(all, n)
			}
		}
		return mathexpr.Gathered(all), strings.Join(texts, " and ")
	}
	return objects[0], texts[0]
}

// readLatex reads a formula, or what follows its last equals sign where it has several and cannot be read.
func readLatex(text string) *mathexpr.Node {
	if n, err := mathexpr.Read(text); err == nil {
		return n
	}
	if strings.ContainsAny(text, ",;") || strings.Count(text, "=") < 2 {
		return nil
	}
	if n, err := mathexpr.Read(text[strings.LastIndexByte(text, '=')+1:]); err == nil {
		return n
	}
	return nil
}
