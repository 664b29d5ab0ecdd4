package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// CompileObject returns the texts that are any JSON object, spelled as CompileSchema spells JSON.
func CompileObject() *Grammar {
	d := newDraft()
	j := newJSON(d)
	root := d.rule("json")
	d.define(root, rule(j.rule("object")))
	g, err := d.link(root)
	if err != nil {
		panic(fmt.Sprintf("grammar: JSON itself: %v", err)) // its source is below
	}
	return g
}

// A jsonRules holds the rules of JSON without a schema, made when they are first asked for.
type jsonRules struct {
	d   *draft
	ids map[string]int32
}

func newJSON(d *draft) *jsonRules { return &jsonRules{d, map[string]int32{}} }

// rule returns value, object, array, string, key, integer or number.
func (j *jsonRules) rule(name string) int32 {
	if id, ok := j.ids[name]; ok {
		return id
	}
	id := j.d.rule("any " + name)
	j.ids[name] = id
	var p piece
	switch name {
	case "value":
		p = either(text("null"), text("true"), text("false"), rule(j.rule("number")), rule(j.rule("string")), rule(j.rule("array")), rule(j.rule("object")))
	case "object":
		member := sequence(rule(j.rule("string")), colon, rule(j.rule("value")))
		p = sequence(text("{"), maybe(sequence(member, many(sequence(comma, member)))), text("}"))
	case "array":
		v := rule(j.rule("value"))
		p = sequence(text("["), maybe(sequence(v, many(sequence(comma, v)))), text("]"))
	case "string":
		p = sequence(text(`"`), many(anyChar), text(`"`))
	case "integer":
		p = either(text("0"), sequence(maybe(text("-")), octet('1', '9'), times(digit, 0, maxWhole-1)))
	case "number":
		p = anyNumber
	}
	j.d.define(id, p)
	return id
}

// White space is one space after a colon or a comma, or none: a model cannot go on with it for ever.
var (
	comma = sequence(text(","), maybe(text(" ")))
	colon = sequence(text(":"), maybe(text(" ")))
	digit = octet('0', '9')
	hex   = either(digit, octet('a', 'f'), octet('A', 'F'))
)

// Numbers have so many digits at most before and after the point; so they end, and every reader has room for them.
const maxWhole, maxFraction = 18, 16

// anyNumber is a number of any kind. It fits a float64, since an exponent has two digits at most.
var anyNumber = sequence(
	maybe(text("-")),
	either(text("0"), sequence(octet('1', '9'), times(digit, 0, maxWhole-1))),
	maybe(sequence(text("."), times(digit, 1, maxFraction))),
	maybe(sequence(either(text("e"), text("E")), maybe(either(text("+"), text("-"))), times(digit, 1, 2))),
)

// must are the characters that a string has escaped only, besides the one that begins escapes.
var must = []rune{0, 0x1f, '"', '"', '\\', '\\'}

// anyChar is a character of a string in every spelling. Escaped surrogates are there in pairs only.
var anyChar = either(
	runes(others(must)),
	sequence(text(`\`), either(octet('"', '"'), octet('/', '/'), octet('\\', '\\'), text("b"), text("f"), text("n"), text("r"), text("t"), sequence(text("u"), escaped))),
)

var escaped = either(
	sequence(either(octet('0', '9'), octet('a', 'c'), octet('A', 'C'), octet('e', 'f'), octet('E', 'F')), hex, hex, hex),
	sequence(either(text("d"), text("D")), octet('0', '7'), hex, hex),
	sequence(either(text("d"), text("D")), either(octet('8', '9'), octet('a', 'b'), octet('A', 'B')), hex, hex,
		text(`\u`), either(text("d"), text("D")), either(octet('c', 'f'), octet('C', 'F')), hex, hex),
)

// jsonRunes is a character of the set as a string spells it: as itself where that may be, and in one way where it is escaped.
func jsonRunes(set []rune) piece {
	var all [][]span
	for plain := less(set, must); len(plain) > 0; plain = plain[2:] {
		all = encoded(all, plain[0], plain[1])
	}
	var spelled []string
	for i := 0; i < len(must); i += 2 {
		for r := must[i]; r <= must[i+1]; r++ {
			if contains(set, r) {
				spelled = append(spelled, spell(r))
			}
		}
	}
	slices.Sort(spelled) // those that begin alike are one branch
	all = append(all, each(spelled, spans)...)
	return func(d *draft, from, to int32) { readAll(d, from, to, all, map[string]int32{}) }
}

var short = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// spell is a character in a string.
func spell(r rune) string {
	if s, ok := short[r]; ok {
		return s
	}
	if r < ' ' {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// quote is s as a string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		b.WriteString(spell(r))
	}
	b.WriteByte('"')
	return b.String()
}
