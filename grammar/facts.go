package grammar

import (
	"fmt"
	"slices"
)

// Facts are what the schemas of a conjunction say together.
type facts struct {
	all     []*own
	types   typeSet // of the texts that are made
	may     typeSet // of the values that satisfy: schemas that name no type allow more than what they mean
	chosen  []*value
	chooses bool

	required             []string
	needs                map[string]bool // the same
	meant                typeSet         // that keywords speak of
	minItems, maxItems   int
	minLength, maxLength int
	patterns, formats    []*value
	low, high            *bound
}

// facts gathers what a conjunction without alternatives says.
func (s *schemas) facts(c conjunction) (*facts, error) {
	f := &facts{types: isAnything, may: isAnything, needs: map[string]bool{}, maxItems: -1, maxLength: -1}
	for _, p := range c {
		o, err := s.own(p.v)
		if err != nil {
			return nil, err
		}
		f.add(o)
	}
	if f.types == isAnything && f.meant != 0 {
		f.types = f.meant // nobody names a type
	}
	return f, f.choose()
}

// choose keeps the chosen values that satisfy the rest.
func (f *facts) choose() error {
	var kept []*value
	for _, v := range f.chosen {
		ok, err := f.allow(v)
		if err != nil {
			return err
		}
		if ok {
			kept = append(kept, v)
		}
	}
	f.chosen = kept
	return nil
}

// allow holds a value that is written out against the rest. Keywords of arrays and objects are refused beside such a value.
func (f *facts) allow(v *value) (bool, error) {
	t := v.typeOf()
	if t&f.types == 0 {
		return false, nil
	}
	for _, o := range f.all {
		if t&(isArray|isObject)&o.meant != 0 {
			return false, fmt.Errorf("%s: %s beside an enum or a const with arrays or objects is not supported", o.v.path(), o.narrows)
		}
	}
	switch t {
	case isInteger, isFraction:
		return f.within(v)
	case isString:
		return f.fits(v.text)
	}
	return true, nil
}

func (f *facts) within(v *value) (bool, error) {
	if f.low == nil && f.high == nil {
		return true, nil
	}
	at, err := parseDecimal(v.text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", v.path(), err)
	}
	b := &bound{at: at}
	return tighter(b, f.low, true) == b && tighter(b, f.high, false) == b, nil
}

func (f *facts) add(o *own) {
	f.all = append(f.all, o)
	f.may &= o.types
	f.types &= o.types
	f.meant |= o.meant
	if o.chooses && f.chooses {
		f.chosen = common(f.chosen, o.chosen)
	} else if o.chooses {
		f.chosen, f.chooses = o.chosen, true
	}
	f.required = append(f.required, o.required...)
	for _, name := range o.required {
		f.needs[name] = true
	}
	f.minItems, f.maxItems = max(f.minItems, o.minItems), fewer(f.maxItems, o.maxItems)
	f.minLength, f.maxLength = max(f.minLength, o.minLength), fewer(f.maxLength, o.maxLength)
	f.patterns, f.formats = append(f.patterns, o.patterns...), append(f.formats, o.formats...)
	f.low, f.high = tighter(f.low, o.low, true), tighter(f.high, o.high, false)
}

// fewer is the lesser of two limits, of which negative ones are none.
func fewer(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// plain returns the texts that satisfy facts.
func (s *schemas) plain(f *facts) (piece, error) {
	var parts []piece
	if f.chooses {
		var list []string
		for _, v := range f.chosen {
			list = append(list, v.compact())
		}
		return oneOf(list), nil
	}
	if f.types&isNull != 0 {
		parts = append(parts, text("null"))
	}
	if f.types&isBoolean != 0 {
		parts = append(parts, text("true"), text("false"))
	}
	for _, t := range []struct {
		types typeSet
		make  func(*facts) (piece, error)
	}{{isInteger | isFraction, s.number}, {isString, s.str}, {isArray, s.array}, {isObject, s.object}} {
		if f.types&t.types == 0 {
			continue
		}
		p, err := t.make(f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return either(parts...), nil
}

func (s *schemas) number(f *facts) (piece, error) {
	fraction := f.types&isFraction != 0
	switch {
	case f.low != nil || f.high != nil:
		return between(f.low, f.high, fraction), nil
	case fraction:
		return rule(s.json.rule("number")), nil
	}
	return rule(s.json.rule("integer")), nil
}

// apart says that it is certain that no value satisfies both.
func (s *schemas) apart(a, b *facts) bool {
	both := a.possible() & b.possible()
	if both == 0 {
		return true
	}
	if a.chooses && b.chooses {
		return len(common(a.chosen, b.chosen)) == 0
	}
	return both == isObject && s.discriminated(a, b)
}

// possible are the types of values that satisfy.
func (f *facts) possible() typeSet {
	if !f.chooses {
		return f.may
	}
	var types typeSet
	for _, v := range f.chosen {
		types |= v.typeOf()
	}
	return types & f.may
}

// discriminated says that a property which both require has values in each that the other does not allow.
func (s *schemas) discriminated(a, b *facts) bool {
	for _, name := range a.required {
		if s.met++; !b.needs[name] {
			continue
		}
		x, y := s.simple(a, name), s.simple(b, name)
		if x != nil && y != nil && (x.possible()&y.possible() == 0 || x.chooses && y.chooses && len(common(x.chosen, y.chosen)) == 0) {
			return true
		}
	}
	return false
}

// simple returns the facts of a property without alternatives, nil for others. Errors show when the property is compiled.
func (s *schemas) simple(f *facts, name string) *facts {
	var list []*value
	for _, o := range f.all {
		if o.properties != nil && o.properties.index[name] != nil {
			list = append(list, o.properties.index[name])
		}
	}
	c, err := s.flatten(list...)
	if err != nil || len(list) == 0 || slices.ContainsFunc(c, func(p part) bool { return p.keyword != "" }) {
		return nil
	}
	g, err := s.facts(c)
	if err != nil {
		return nil
	}
	return g
}
