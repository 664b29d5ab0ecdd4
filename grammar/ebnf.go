package grammar

import (
	"errors"
	"fmt"
)

// CompileEBNF returns the texts of the rule root of a grammar in Backus-Naur form, in the spelling that SGLang, xgrammar and llama.cpp share:
//
//	# arithmetic
//	root ::= term (("+" | "-") term)*
//	term ::= [0-9]{1,3} | "(" root ")"
//
// A rule ends where the next one begins. Expressions are "strings", [sets] and [^sets] of characters, . for any character, names of rules and
// (groups), each with *, +, ?, {n}, {n,} or {n,m} after it; one after the other is a sequence, and | separates alternatives. Escapes are
// \n \r \t \0 \xHH \uHHHH \UHHHHHHHH, and a backslash before a character that has a meaning.
//
// A rule that begins with itself is a loop and fine. One that comes to itself through another before it reads anything is refused.
func CompileEBNF(src string) (*Grammar, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("ebnf is %d bytes, want at most %d", len(src), maxSource)
	}
	p := &ebnf{scanner: scanner{src: src}, d: newDraft(), ids: map[string]int32{}, defined: map[string]bool{}}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("ebnf: line %d: %w", p.line(), err)
	}
	if err := p.complete(); err != nil {
		return nil, fmt.Errorf("ebnf: %w", err)
	}
	g, err := p.d.link(p.ids["root"])
	if err != nil {
		return nil, fmt.Errorf("ebnf: %w", err)
	}
	return g, nil
}

// An ebnf parses rules into a draft.
type ebnf struct {
	scanner
	d       *draft
	ids     map[string]int32 // of rules that were met
	names   []string         // of rules in the order in which they were met
	defined map[string]bool
	depth   int
}

func (p *ebnf) file() error {
	for p.space(); !p.atEnd(); p.space() {
		name := p.name()
		if name == "" {
			return fmt.Errorf("found %.10q, want the name of a rule", p.rest())
		}
		if p.space(); !p.take("::=") {
			return fmt.Errorf("found %.10q after %s, want ::=", p.rest(), name)
		}
		if p.defined[name] {
			return fmt.Errorf("rule %s is there twice", name)
		}
		p.defined[name] = true
		body, err := p.alternatives()
		if err != nil {
			return err
		}
		if p.d.define(p.id(name), body); p.d.err != nil {
			return p.d.err
		}
	}
	return nil
}

// complete checks that rules which are named are there.
func (p *ebnf) complete() error {
	if !p.defined["root"] {
		return errors.New("there is no rule root")
	}
	for _, n := range p.names {
		if !p.defined[n] {
			return fmt.Errorf("rule %s is used and not there", n)
		}
	}
	return nil
}

func (p *ebnf) id(name string) int32 {
	id, ok := p.ids[name]
	if !ok {
		id = p.d.rule(name)
		p.ids[name] = id
		p.names = append(p.names, name)
	}
	return id
}

func (p *ebnf) alternatives() (piece, error) {
	if p.depth++; p.depth > maxNested {
		return nil, fmt.Errorf("brackets are nested more than %d deep", maxNested)
	}
	defer func() { p.depth-- }()
	var all []piece
	for {
		one, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if !p.take("|") {
			return either(all...), nil
		}
	}
}

func (p *ebnf) sequence() (piece, error) {
	var all []piece
	for p.space(); !p.sequenceEnds(); p.space() {
		one, err := p.element()
		if err != nil {
			return nil, err
		}
		if one, err = p.repeated(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return sequence(all...), nil
}

// sequenceEnds looks for |, a closing bracket, the end, and the next rule.
func (p *ebnf) sequenceEnds() bool {
	if p.atEnd() || p.at('|') || p.at(')') {
		return true
	}
	ahead := ebnf{scanner: p.scanner}
	if ahead.name() == "" {
		return false
	}
	ahead.space()
	return ahead.take("::=")
}

func (p *ebnf) element() (piece, error) {
	switch {
	case p.at('"'):
		return p.quoted()
	case p.at('['):
		set, err := p.set()
		return runes(set), err
	case p.take("."):
		return runes(anyRune), nil
	case p.take("(="), p.take("(!"):
		return nil, errors.New("looking ahead, (= and (!, is not supported")
	case p.take("("):
		return p.group()
	}
	name := p.name()
	switch {
	case name == "":
		return nil, fmt.Errorf("found %.10q, want an expression", p.rest())
	case name == "TagDispatch":
		return nil, errors.New("TagDispatch is not supported, want structural tags of their own")
	}
	return rule(p.id(name)), nil
}

func (p *ebnf) group() (piece, error) {
	inner, err := p.alternatives()
	if err == nil && !p.take(")") {
		err = errors.New("a bracket is not closed")
	}
	return inner, err
}

// repeated reads what may stand after an element.
func (p *ebnf) repeated(one piece) (piece, error) {
	for {
		switch p.space(); {
		case p.take("*"):
			one = many(one)
		case p.take("+"):
			one = times(one, 1, -1)
		case p.take("?"):
			one = maybe(one)
		case p.take("{"):
			low, high, err := p.counts()
			if err != nil {
				return nil, err
			}
			one = times(one, low, high)
		default:
			return one, nil
		}
	}
}

// counts reads n}, n,} or n,m}; high is negative for no limit.
func (p *ebnf) counts() (low, high int, err error) {
	low, ok := p.number()
	high = low
	if ok && p.take(",") {
		if p.space(); p.at('}') {
			high = -1
		} else {
			high, ok = p.number()
		}
	}
	if p.space(); !ok || !p.take("}") || high >= 0 && high < low {
		return 0, 0, fmt.Errorf("found %.10q in a repetition, want {n}, {n,} or {n,m} with m not less than n", p.rest())
	}
	return low, high, nil
}

// number reads digits; what has more than nine is too large for any grammar.
func (p *ebnf) number() (int, bool) {
	p.space()
	n, digits := 0, 0
	for ; !p.atEnd() && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' && digits < 9; p.pos++ {
		n = 10*n + int(p.src[p.pos]-'0')
		digits++
	}
	p.space()
	return n, digits > 0
}
