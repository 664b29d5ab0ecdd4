package grammar

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CompileSchema returns JSON texts that a JSON schema holds of. The schema is JSON itself: an object, true or false.
//
// Every text satisfies the schema; not every spelling of what satisfies it is a text. White space is at most one space after a colon or a comma.
// Members come in the order of properties, then those that are required only, then others. Others are there where additionalProperties says so, and
// in objects of which nothing else is said; elements past prefixItems likewise. Numbers have at most 18 digits before and 16 after the
// point, and no exponent where they are bounded. Strings with a pattern, a format or a length have each character in one spelling. Where there is
// no type, the keywords that are there say which is meant.
//
// These keywords are obeyed: type, enum, const, properties, required, additionalProperties, items, prefixItems, minItems, maxItems, minLength,
// maxLength, pattern, format (date, time, date-time, duration, uuid, ipv4, ipv6, email, hostname, uri), minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, anyOf, oneOf (of alternatives that cannot hold both), allOf, and $ref within the document. Annotations, such as title, are
// passed over. Every other keyword is an error.
func CompileSchema(src string) (*Grammar, error) {
	v, err := parseJSON(src)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	d := newDraft()
	root, err := newSchemas(d, newJSON(d), v).compile()
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	g, err := d.link(root)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return g, nil
}

// A schemas turns the schemas of a document into rules.
type schemas struct {
	d     *draft
	json  *jsonRules
	doc   *value
	owns  map[*value]*own
	rules map[string]int32 // by conjunction
	queue []task
	met   int // parts looked at
}

// A task is a rule that has no body yet.
type task struct {
	rule int32
	all  conjunction
}

func newSchemas(d *draft, j *jsonRules, doc *value) *schemas {
	return &schemas{d: d, json: j, doc: doc, owns: map[*value]*own{}, rules: map[string]int32{}}
}

// compile returns the rule of the document, and defines all rules that it needs.
func (s *schemas) compile() (int32, error) {
	root, err := s.ruleOf(s.doc)
	if err != nil {
		return 0, err
	}
	for len(s.queue) > 0 {
		t := s.queue[0]
		s.queue = s.queue[1:]
		p, err := s.piece(t.all)
		if err != nil {
			return 0, err
		}
		if s.d.define(t.rule, p); s.d.err != nil {
			return 0, fmt.Errorf("%s: %w", t.all[0].v.path(), s.d.err)
		}
	}
	return root, s.d.err
}

// ruleOf returns the rule of what satisfies all schemas.
func (s *schemas) ruleOf(all ...*value) (int32, error) {
	c, err := s.flatten(all...)
	if err != nil {
		return 0, err
	}
	return s.rule(c), nil
}

func (s *schemas) rule(c conjunction) int32 {
	if len(c) == 0 {
		return s.json.rule("value")
	}
	id, ok := s.rules[c.key()]
	if !ok {
		id = s.d.rule(c[0].v.path())
		s.rules[c.key()] = id
		s.queue = append(s.queue, task{id, c})
	}
	return id
}

// piece returns the texts of a conjunction. Alternatives among its parts are taken first, one part at a time: each becomes a rule of its own,
// in which the other parts hold too.
func (s *schemas) piece(c conjunction) (piece, error) {
	i := slices.IndexFunc(c, func(p part) bool { return p.keyword != "" })
	if i < 0 {
		f, err := s.facts(c)
		if err != nil {
			return nil, err
		}
		return s.plain(f)
	}
	rest := slices.Delete(slices.Clone(c), i, i+1)
	list := c[i].v.index[c[i].keyword]
	var alternatives []conjunction
	var parts []piece
	for _, v := range list.list {
		one, err := s.flatten(v)
		if err != nil {
			return nil, err
		}
		one = rest.and(one)
		alternatives = append(alternatives, one)
		parts = append(parts, rule(s.rule(one)))
	}
	if c[i].keyword == "oneOf" {
		if err := s.exclusive(list, alternatives); err != nil {
			return nil, err
		}
	}
	return either(parts...), nil
}

// A part is what a schema says by itself, or one of its lists of alternatives.
type part struct {
	v       *value
	keyword string // anyOf, oneOf, or "" for what the schema says by itself
}

// A conjunction are parts that all hold, each once, in order.
type conjunction []part

func (p part) compare(q part) int {
	if p.v != q.v {
		return int(p.v.id - q.v.id)
	}
	return strings.Compare(p.keyword, q.keyword)
}

func (c conjunction) and(more conjunction) conjunction {
	all := slices.Concat(c, more)
	slices.SortFunc(all, part.compare)
	return slices.Compact(all)
}

func (c conjunction) key() string {
	var key []byte
	for _, p := range c {
		key = fmt.Appendf(key, "%d%s ", p.v.id, p.keyword)
	}
	return string(key)
}

// flatten returns the parts of schemas that all hold: references are followed and allOf is taken apart.
func (s *schemas) flatten(all ...*value) (conjunction, error) {
	f := &flattener{s: s, open: map[*value]bool{}}
	for _, v := range all {
		if err := f.add(v); err != nil {
			return nil, err
		}
	}
	if s.met += 1 + len(f.parts); s.met > maxParts {
		return nil, fmt.Errorf("%s: its alternatives combine to more than is reasonable", all[0].path())
	}
	return conjunction(nil).and(f.parts), nil
}

type flattener struct {
	s     *schemas
	open  map[*value]bool // schemas that were met: true while they are being added
	parts conjunction
}

func (f *flattener) add(v *value) error {
	if open, met := f.open[v]; open {
		return fmt.Errorf("%s: it refers to itself with nothing in between", v.path())
	} else if met || v.kind == boolean && v.text == "true" {
		return nil
	}
	if v.kind != object && v.kind != boolean {
		return fmt.Errorf("%s is %.40s, want a schema: an object, true or false", v.path(), v.compact())
	}
	f.open[v] = true
	f.parts = append(f.parts, part{v, ""})
	for i, key := range v.keys {
		if err := f.keyword(v, key, v.list[i]); err != nil {
			return err
		}
	}
	f.open[v] = false
	return nil
}

// keyword follows those that speak of other schemas for the same value.
func (f *flattener) keyword(v *value, key string, x *value) error {
	switch key {
	case "$ref":
		to, err := f.s.resolve(x)
		if err != nil {
			return err
		}
		return f.add(to)
	case "allOf", "anyOf", "oneOf":
		if x.kind != array || len(x.list) == 0 {
			return fmt.Errorf("%s is %.40s, want a list of schemas that is not empty", x.path(), x.compact())
		}
		if key != "allOf" {
			f.parts = append(f.parts, part{v, key})
			return nil
		}
		for _, e := range x.list {
			if err := f.add(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve finds what a reference refers to.
func (s *schemas) resolve(ref *value) (*value, error) {
	pointer, ok := strings.CutPrefix(ref.text, "#")
	if ref.kind != str || !ok || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("%s is %.60s, want a path in the same document, which begins with #/", ref.path(), ref.compact())
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	to := s.doc.at(pointer)
	if to == nil {
		return nil, fmt.Errorf("%s is %.60s, which is not there", ref.path(), ref.compact())
	}
	return to, nil
}

// exclusive checks that no two alternatives can hold of one value, since a text is made by one of them and never held against the others.
func (s *schemas) exclusive(list *value, alternatives []conjunction) error {
	facts := make([]*facts, len(alternatives))
	for i, c := range alternatives {
		if slices.ContainsFunc(c, func(p part) bool { return p.keyword != "" }) {
			return fmt.Errorf("%s/%d has alternatives itself, want anyOf in place of oneOf", list.path(), i)
		}
		f, err := s.facts(c)
		if err != nil {
			return err
		}
		facts[i] = f
	}
	for i, a := range facts {
		for j, b := range facts[:i] {
			if s.met++; s.met > maxParts {
				return errors.New("it has more alternatives than is reasonable")
			}
			if !s.apart(a, b) {
				return fmt.Errorf("%s: alternatives %d and %d may both hold, want them to differ in type, in const or in a required property's const, or want anyOf", list.path(), j, i)
			}
		}
	}
	return nil
}
