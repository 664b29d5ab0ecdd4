package grammar

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
)

// CompileRegex returns the texts that match a regular expression as a whole. The syntax is that of the standard library's regexp package, which
// has no references back and no looking around; of what it has, word boundaries and the anchors of lines are refused.
func CompileRegex(src string) (*Grammar, error) {
	d := newDraft()
	p, err := parseRegex(src, runes)
	if err != nil {
		return nil, err
	}
	root := d.rule("regex")
	d.define(root, p)
	g, err := d.link(root)
	if err != nil {
		return nil, fmt.Errorf("regex: %w", err)
	}
	return g, nil
}

// An alphabet says how a character of a set is written.
type alphabet func(set []rune) piece

// parseRegex returns an expression's texts.
func parseRegex(src string, write alphabet) (piece, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("regex is %d bytes, want at most %d", len(src), maxSource)
	}
	tree, err := syntax.Parse(src, syntax.Perl)
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, fmt.Errorf("regex: %s: %.60q", e.Code, e.Expr)
		}
		return nil, fmt.Errorf("regex: %w", err)
	}
	p, err := regexPiece(tree, write)
	if err != nil {
		return nil, fmt.Errorf("regex: %w", err)
	}
	return p, nil
}

// regexPiece translates a parsed expression. Greedy or not is the same language.
func regexPiece(re *syntax.Regexp, write alphabet) (piece, error) {
	parts := make([]piece, len(re.Sub))
	for i, sub := range re.Sub {
		var err error
		if parts[i], err = regexPiece(sub, write); err != nil {
			return nil, err
		}
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return never, nil
	case syntax.OpEmptyMatch:
		return nothing, nil
	case syntax.OpLiteral:
		return literal(re, write), nil
	case syntax.OpCharClass:
		return write(re.Rune), nil
	case syntax.OpAnyCharNotNL:
		return write([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}), nil
	case syntax.OpAnyChar:
		return write(anyRune), nil
	case syntax.OpCapture:
		return parts[0], nil
	case syntax.OpStar:
		return many(parts[0]), nil
	case syntax.OpPlus:
		return times(parts[0], 1, -1), nil
	case syntax.OpQuest:
		return maybe(parts[0]), nil
	case syntax.OpRepeat:
		return times(parts[0], re.Min, re.Max), nil
	case syntax.OpConcat:
		return sequence(parts...), nil
	case syntax.OpAlternate:
		return either(parts...), nil
	case syntax.OpBeginText:
		return begin, nil
	case syntax.OpEndText:
		return end, nil
	}
	return nil, fmt.Errorf("%s is not supported", refused[re.Op])
}

var refused = map[syntax.Op]string{
	syntax.OpBeginLine: "^ at lines, (?m)", syntax.OpEndLine: "$ at lines, (?m)",
	syntax.OpWordBoundary: `the word boundary \b`, syntax.OpNoWordBoundary: `\B`,
}

// literal is a string of characters, in both cases where the expression asks for it.
func literal(re *syntax.Regexp, write alphabet) piece {
	parts := make([]piece, len(re.Rune))
	for i, r := range re.Rune {
		set := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				set = append(set, f, f)
			}
		}
		parts[i] = write(normal(slices.Clone(set)))
	}
	return sequence(parts...)
}
