package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A typeSet is a set of JSON types. Numbers that are integers and those that are not are two.
type typeSet uint8

const (
	isNull typeSet = 1 << iota
	isBoolean
	isInteger
	isFraction
	isString
	isArray
	isObject
	isAnything = 1<<iota - 1
)

var typeNames = map[string]typeSet{
	"null": isNull, "boolean": isBoolean, "integer": isInteger, "number": isInteger | isFraction, "string": isString, "array": isArray, "object": isObject,
}

// An own is what a schema says by itself.
type own struct {
	v       *value
	types   typeSet // of which its type allows
	meant   typeSet // types that its keywords speak of; none for none
	chosen  []*value
	chooses bool   // chosen are all that there are
	narrows string // the last of its keywords that say more than a type or a choice

	properties, additional *value
	required               []string
	prefix                 []*value
	items                  *value
	minItems, maxItems     int // maxItems is negative for no limit
	minLength, maxLength   int
	patterns               []*value
	formats                []*value
	low, high              *bound
}

// A keyword is obeyed by set; meant are the types it speaks of.
type keyword struct {
	meant typeSet
	set   func(o *own, x *value) error
}

// annotations change nothing.
var annotations = []string{
	"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$schema", "$id", "id", "$comment", "$defs", "definitions",
	"contentMediaType", "contentEncoding", "contentSchema", "discriminator", "externalDocs",
}

// elsewhere are obeyed by flattener.
var elsewhere = []string{"$ref", "allOf", "anyOf", "oneOf"}

var keywords = map[string]keyword{
	"type":                 {0, setType},
	"enum":                 {0, setEnum},
	"const":                {0, func(o *own, x *value) error { return o.choose(x) }},
	"properties":           {isObject, setProperties},
	"required":             {isObject, setRequired},
	"additionalProperties": {isObject, func(o *own, x *value) error { o.additional = x; return nil }},
	"items":                {isArray, setItems},
	"prefixItems":          {isArray, setPrefix},
	"minItems":             {isArray, func(o *own, x *value) error { return x.count(&o.minItems) }},
	"maxItems":             {isArray, func(o *own, x *value) error { return x.count(&o.maxItems) }},
	"uniqueItems":          {isArray, wantOnly("false")},
	"minLength":            {isString, func(o *own, x *value) error { return x.count(&o.minLength) }},
	"maxLength":            {isString, func(o *own, x *value) error { return x.count(&o.maxLength) }},
	"pattern":              {isString, func(o *own, x *value) error { o.patterns = append(o.patterns, x); return x.want(str, "a string") }},
	"format":               {isString, func(o *own, x *value) error { o.formats = append(o.formats, x); return x.want(str, "a string") }},
	"minimum":              {isInteger | isFraction, func(o *own, x *value) error { return o.bound(x, true, false) }},
	"maximum":              {isInteger | isFraction, func(o *own, x *value) error { return o.bound(x, false, false) }},
	"exclusiveMinimum":     {isInteger | isFraction, func(o *own, x *value) error { return o.bound(x, true, true) }},
	"exclusiveMaximum":     {isInteger | isFraction, func(o *own, x *value) error { return o.bound(x, false, true) }},
	"minProperties":        {isObject, wantOnly("0")},
	"nullable":             {0, wantOnly("false")},
}

// own reads a schema's keywords. Only false is a schema that is no object and gets here.
func (s *schemas) own(v *value) (*own, error) {
	if o := s.owns[v]; o != nil {
		return o, nil
	}
	o := &own{v: v, types: isAnything, maxItems: -1, maxLength: -1}
	if v.kind == boolean {
		o.types = 0
	}
	for i, key := range v.keys {
		k, ok := keywords[key]
		switch {
		case ok:
			if err := k.set(o, v.list[i]); err != nil {
				return nil, err
			}
			if o.meant |= k.meant; k.meant != 0 {
				o.narrows = key
			}
		case !slices.Contains(annotations, key) && !slices.Contains(elsewhere, key) && !strings.HasPrefix(key, "x-"):
			return nil, fmt.Errorf("%s: keyword %.40q is not supported", v.path(), key)
		}
	}
	s.owns[v] = o
	return o, nil
}

func (v *value) want(k kind, name string) error {
	if v.kind != k {
		return fmt.Errorf("%s is %.40s, want %s", v.path(), v.compact(), name)
	}
	return nil
}

// count reads a number of things.
func (v *value) count(n *int) error {
	i, err := strconv.Atoi(v.text)
	if v.kind != number || err != nil || i < 0 {
		return fmt.Errorf("%s is %.40s, want a whole number that is not negative", v.path(), v.compact())
	}
	*n = i
	return nil
}

// wantOnly refuses a keyword unless it says what holds without it.
func wantOnly(text string) func(o *own, x *value) error {
	return func(_ *own, x *value) error {
		if x.text != text {
			return fmt.Errorf("%s: keyword %q is not supported, but as %s", x.up.path(), x.key, text)
		}
		return nil
	}
}

func setType(o *own, x *value) error {
	list := []*value{x}
	if x.kind == array {
		list = x.list
	}
	o.types = 0
	for _, e := range list {
		t, ok := typeNames[e.text]
		if e.kind != str || !ok {
			return fmt.Errorf("%s is %.40s, want a type or a list of types", x.path(), x.compact())
		}
		o.types |= t
	}
	return nil
}

func setEnum(o *own, x *value) error {
	if err := x.want(array, "a list of values"); err != nil {
		return err
	}
	return o.choose(x.list...)
}

// choose allows values. A second choice leaves those that are in both.
func (o *own) choose(list ...*value) error {
	if o.chooses {
		list = common(o.chosen, list)
	}
	o.chosen, o.chooses = list, true
	return nil
}

// common are the values of a that are in b.
func common(a, b []*value) []*value {
	in := map[string]bool{}
	for _, v := range b {
		in[v.compact()] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(v *value) bool { return !in[v.compact()] })
}

func setProperties(o *own, x *value) error {
	o.properties = x
	return x.want(object, "an object of schemas")
}

func setRequired(o *own, x *value) error {
	if err := x.want(array, "a list of names"); err != nil {
		return err
	}
	for _, e := range x.list {
		if err := e.want(str, "a name"); err != nil {
			return err
		}
		o.required = append(o.required, e.text)
	}
	return nil
}

// setItems takes a list as what prefixItems says by now.
func setItems(o *own, x *value) error {
	if x.kind == array {
		return setPrefix(o, x)
	}
	o.items = x
	return nil
}

func setPrefix(o *own, x *value) error {
	if o.prefix != nil {
		return fmt.Errorf("%s: there is a list of first items already", x.path())
	}
	o.prefix = x.list
	return x.want(array, "a list of schemas")
}

func (o *own) bound(x *value, low, open bool) error {
	if err := x.want(number, "a number"); err != nil {
		return err
	}
	at, err := parseDecimal(x.text)
	if err != nil {
		return fmt.Errorf("%s: %w", x.path(), err)
	}
	b := &bound{at, open}
	if low {
		o.low = tighter(o.low, b, true)
	} else {
		o.high = tighter(o.high, b, false)
	}
	return nil
}

// typeOf is the type of a value that is written out.
func (v *value) typeOf() typeSet {
	if v.kind == number {
		if x, err := parseDecimal(v.text); err == nil && x.fraction == "" {
			return isInteger
		}
		return isFraction
	}
	return map[kind]typeSet{null: isNull, boolean: isBoolean, str: isString, array: isArray, object: isObject}[v.kind]
}
