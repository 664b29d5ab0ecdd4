package reward

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Bounds on what is read as a number, so that none takes long.
const (
	mostDigits   = 1000
	mostExponent = 1000
)

// A number is a numeric literal with what stands around it.
type number struct {
	value    *big.Rat
	percent  bool
	unit     string // "" for none
	variable string // x in x=5
}

// equals reports whether m and n are the same. A percentage p is p and p/100; a unit or a variable that only one side names
// does not matter. The order of m and n does not matter either.
func (n number) equals(m number) bool {
	if n.unit != m.unit && n.unit != "" && m.unit != "" || n.variable != m.variable && n.variable != "" && m.variable != "" {
		return false
	}
	if n.percent != m.percent && n.share().Cmp(m.share()) == 0 {
		return true
	}
	return n.value.Cmp(m.value) == 0
}

// share returns the value as a part of one.
func (n number) share() *big.Rat {
	if !n.percent {
		return n.value
	}
	return new(big.Rat).Mul(n.value, big.NewRat(1, 100))
}

var (
	assignment = regexp.MustCompile(`^([A-Za-z]) *= *`)
	enclosed   = regexp.MustCompile(`^\( *([+-]?[0-9.]+) *\)$`)
)

// parseNumber reads a tidy text that is one number as a whole.
func parseNumber(text string) (n number, ok bool) {
	if m := assignment.FindStringSubmatch(text); m != nil {
		n.variable, text = m[1], text[len(m[0]):]
	}
	if m := enclosed.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	s := scanner{text}
	dollars := s.currency()
	negative := s.sign()
	dollars = s.currency() || dollars
	if n.value, ok = s.magnitude(); !ok {
		return number{}, false
	}
	if negative {
		n.value.Neg(n.value)
	}
	n.percent = s.skip("%")
	dollars = s.currency() || dollars
	if n.unit, ok = unit(s.rest); !ok || dollars && n.unit != "" {
		return number{}, false
	}
	if dollars {
		n.unit = "dollar"
	}
	return n, true
}

// A scanner takes the parts of a number off the front of rest.
type scanner struct{ rest string }

// skip takes off blanks and then word, if word is there.
func (s *scanner) skip(word string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(s.rest, " "), word)
	if ok {
		s.rest = rest
	}
	return ok
}

// currency takes off one currency sign; one that closes mathematics is gone from a tidy text.
func (s *scanner) currency() bool { return s.skip(dollar) || s.skip("$") }

// sign takes off one sign and reports a minus.
func (s *scanner) sign() bool {
	return !s.skip("+") && s.skip("-")
}

var (
	// decimal matches 1234, 1,234, 0.5, .5 and 1e3: digits, decimals, exponent.
	decimal = regexp.MustCompile(`^([1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+|)(\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?`)
	// fraction matches \frac{1}{2}, \frac12, \frac{1}2 and \frac 1{2}.
	fraction = regexp.MustCompile(`^ *\\frac *(?:\{ *([+-]?[0-9]+) *\}|([0-9])) *(?:\{ *([+-]?[0-9]+) *\}|([0-9]))`)
	// slash matches the rest of 3/4, and of 7 3/4 after the 7.
	slash      = regexp.MustCompile(`^ */ *([0-9]+)`)
	mixedSlash = regexp.MustCompile(`^ +([0-9]+) */ *([0-9]+)`)
)

// magnitude takes off a number without sign: a fraction, or a decimal that may go on as a/b or as a mixed number.
func (s *scanner) magnitude() (*big.Rat, bool) {
	s.skip("")
	if f, found, ok := s.fraction(); found {
		return f, ok
	}
	m := decimal.FindStringSubmatch(s.rest)
	if m[1] == "" && m[2] == "" {
		return nil, false
	}
	s.rest = s.rest[len(m[0]):]
	digits := strings.ReplaceAll(m[1], ",", "")
	whole, ok := ratio(digits+m[2], m[3], "1")
	if !ok || m[2] != "" || m[3] != "" {
		return whole, ok
	}
	if over := slash.FindStringSubmatch(s.rest); over != nil {
		s.rest = s.rest[len(over[0]):]
		return ratio(digits, "", over[1])
	}
	return s.mixed(whole)
}

// mixed adds the fraction of a mixed number to its whole part, if one follows.
func (s *scanner) mixed(whole *big.Rat) (*big.Rat, bool) {
	part, found, ok := s.fraction()
	if m := mixedSlash.FindStringSubmatch(s.rest); !found && m != nil {
		s.rest, found = s.rest[len(m[0]):], true
		part, ok = ratio(m[1], "", m[2])
	}
	if !found {
		return whole, true
	}
	if !ok || part.Sign() < 0 {
		return nil, false
	}
	return part.Add(part, whole), true
}

// fraction takes off a \frac of whole numbers. ok is whether it has a value.
func (s *scanner) fraction() (f *big.Rat, found, ok bool) {
	m := fraction.FindStringSubmatch(s.rest)
	if m == nil {
		return nil, false, false
	}
	s.rest = s.rest[len(m[0]):]
	f, ok = ratio(m[1]+m[2], "", m[3]+m[4])
	return f, true, ok
}

// ratio returns top*10^exponent/bottom. It refuses a division by zero and what is out of bounds.
func ratio(top, exponent, bottom string) (*big.Rat, bool) {
	if len(top) > mostDigits || len(bottom) > mostDigits {
		return nil, false
	}
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -mostExponent || e > mostExponent {
			return nil, false
		}
		top += "e" + exponent
	}
	x, ok := new(big.Rat).SetString(top)
	y, fine := new(big.Rat).SetString(bottom)
	if !ok || !fine || y.Sign() == 0 {
		return nil, false
	}
	return x.Quo(x, y), true
}
