package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"furlong/metrics/samples"
	"furlong/nearest"
	"furlong/rl"
)

// A Filter says which samples are wanted: those for which all terms hold.
type Filter struct {
	terms []term
	evals bool // a term speaks of evaluations, so that their samples are looked at as well
}

// A term holds where one of its predicates does, or, turned around, where none does.
type term struct {
	not bool
	any []predicate
}

// A kind of predicate.
type kind int

const (
	inRange kind = iota
	hasFlag
	hasVerdict
	inSet
	hasText
)

// A predicate is one thing that can be said of a sample.
type predicate struct {
	kind    kind
	field   *field
	lo, hi  float64 // of a range
	openLo  bool    // lo itself is outside
	openHi  bool
	outside bool // != : holds of numbers outside
	flag    samples.Flags
	verdict rl.Verdict
	text    string // name of a set, or lower-case text
}

// A field is a number of a sample that a filter can speak of.
type field struct {
	name   string
	column samples.Column
	mask   uint32 // of the column's bits; 0 for all
	stale  bool   // made from version and the newest of the cycle
}

var fields = []*field{
	{name: "cycle", column: samples.ColCycle},
	{name: "group", column: samples.ColGroup},
	{name: "slot", column: samples.ColSlot},
	{name: "reward", column: samples.ColReward},
	{name: "advantage", column: samples.ColAdvantage},
	{name: "prompt", column: samples.ColPromptLen},
	{name: "len", column: samples.ColResponseLen},
	{name: "version", column: samples.ColVersion, mask: 0xffffff},
	{name: "span", column: samples.ColSpan},
	{name: "gap", column: samples.ColGapMean},
	{name: "max", column: samples.ColGapMax},
	{name: "entropy", column: samples.ColEntropy},
	{name: "pos", column: samples.ColGapPos},
	{name: "stale", column: samples.ColVersion, mask: 0xffffff, stale: true},
}

// Words that stand alone.
var (
	flagWords    = []string{"truncated", "aborted", "masked", "dropped", "repeated", "garbled", "mixed", "eval"}
	verdictWords = []string{"ungraded", "right", "wrong", "invalid"} // in the order of rl.Verdict
)

// maxFilter is how long a filter may be, in bytes.
const maxFilter = 2 << 10

// ParseFilter reads a filter. An error names the column, from 1.
func ParseFilter(q string) (*Filter, error) {
	if len(q) > maxFilter {
		return nil, asked(Wrong, "filter is %d bytes, want at most %d", len(q), maxFilter)
	}
	p := parser{q: q}
	f := &Filter{}
	for p.blanks(); p.at < len(q); p.blanks() {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		f.terms = append(f.terms, t)
		for _, a := range t.any {
			f.evals = f.evals || a.kind == hasFlag && a.flag == samples.Eval
		}
	}
	return f, nil
}

// text returns the terms that need the answers' text, and the filter without them.
func (f *Filter) split() (rest *Filter, text []term) {
	rest = &Filter{evals: f.evals}
	for _, t := range f.terms {
		if slices.ContainsFunc(t.any, func(p predicate) bool { return p.kind == hasText }) {
			text = append(text, t)
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	return rest, text
}

// A parser is a place in a filter.
type parser struct {
	q  string
	at int
}

func (p *parser) bad(at int, format string, args ...any) *Asked {
	a := asked(Wrong, "column %d: %s", at+1, fmt.Sprintf(format, args...))
	offset := int64(at + 1)
	a.Reply.Offset = &offset
	return a
}

func (p *parser) blanks() {
	for p.at < len(p.q) && strings.IndexByte(" \t\r\n", p.q[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) take(s string) bool {
	if strings.HasPrefix(p.q[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) term() (t term, err error) {
	t.not = p.take("-")
	for {
		a, err := p.predicate()
		if err != nil {
			return t, err
		}
		t.any = append(t.any, a)
		if !p.take("|") {
			break
		}
	}
	if p.at < len(p.q) && strings.IndexByte(" \t\r\n", p.q[p.at]) < 0 {
		return t, p.bad(p.at, "%q follows a term, want a blank", p.q[p.at:min(p.at+1, len(p.q))])
	}
	return t, nil
}

// name takes letters.
func (p *parser) name() string {
	from := p.at
	for p.at < len(p.q) && (p.q[p.at] >= 'a' && p.q[p.at] <= 'z' || p.q[p.at] >= 'A' && p.q[p.at] <= 'Z' || p.q[p.at] == '_') {
		p.at++
	}
	return p.q[from:p.at]
}

var operators = []string{":", "<=", ">=", "!=", "<", ">", "="} // longer ones before their beginnings

func (p *parser) predicate() (predicate, error) {
	from := p.at
	name := strings.ToLower(p.name())
	if name == "" {
		return predicate{}, p.bad(from, "%q is no word, want a field or a flag", p.q[from:min(from+1, len(p.q))])
	}
	op := ""
	for _, o := range operators {
		if p.take(o) {
			op = o
			break
		}
	}
	if op == "" {
		return p.word(name, from)
	}
	switch name {
	case "set", "text":
		return p.textual(name, op)
	}
	i := slices.IndexFunc(fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return predicate{}, p.unknown(name, from)
	}
	return p.number(fields[i], op)
}

func (p *parser) word(name string, from int) (predicate, error) {
	if i := slices.Index(flagWords, name); i >= 0 {
		return predicate{kind: hasFlag, flag: 1 << i}, nil
	}
	if i := slices.Index(verdictWords, name); i >= 0 {
		return predicate{kind: hasVerdict, verdict: rl.Verdict(i)}, nil
	}
	if name == "set" || name == "text" || slices.ContainsFunc(fields, func(f *field) bool { return f.name == name }) {
		return predicate{}, p.bad(p.at, "%s needs a value, as in %s:…", name, name)
	}
	return predicate{}, p.unknown(name, from)
}

func (p *parser) unknown(name string, from int) *Asked {
	known := slices.Concat(flagWords, verdictWords, []string{"set", "text"})
	for _, f := range fields {
		known = append(known, f.name)
	}
	a := p.bad(from, "there is no field or flag %q", name)
	if near := nearest.Name(name, known); near != "" {
		return a.hint("did you mean %s?", near)
	}
	return a.hint("fields and flags are %s", strings.Join(known, ", "))
}

func (p *parser) textual(name, op string) (predicate, error) {
	from := p.at
	if op != ":" && op != "=" {
		return predicate{}, p.bad(from, "%s%s, want %s:", name, op, name)
	}
	v, err := p.value()
	if err != nil {
		return predicate{}, err
	}
	if v == "" {
		return predicate{}, p.bad(from, "%s needs a value", name)
	}
	if name == "set" {
		return predicate{kind: inSet, text: v}, nil
	}
	return predicate{kind: hasText, text: strings.ToLower(v)}, nil
}

// value takes a word, or a text between quotes in which \ makes the next character a plain one.
func (p *parser) value() (string, error) {
	from := p.at
	if !p.take(`"`) {
		for p.at < len(p.q) && strings.IndexByte(" \t\r\n|", p.q[p.at]) < 0 {
			p.at++
		}
		return p.q[from:p.at], nil
	}
	var b strings.Builder
	for ; p.at < len(p.q); p.at++ {
		switch c := p.q[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.q):
			p.at++
			b.WriteByte(p.q[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.bad(from, "quote has no end")
}

func (p *parser) number(f *field, op string) (predicate, error) {
	out := predicate{kind: inRange, field: f, lo: math.Inf(-1), hi: math.Inf(1)}
	from := p.at
	text, _ := p.value() // a quote is no number and is refused below
	lo, hi, isRange := strings.Cut(text, "..")
	var err error
	if op == ":" && isRange {
		if lo != "" {
			out.lo, err = p.parse(f, lo, from)
		}
		if hi != "" && err == nil {
			out.hi, err = p.parse(f, hi, from+len(lo)+2)
		}
		if err == nil && lo == "" && hi == "" {
			err = p.bad(from, "range has no end, want at least one")
		}
		if err == nil && out.lo > out.hi {
			err = p.bad(from, "range %s begins above its end", text)
		}
		return out, err
	}
	v, err := p.parse(f, text, from)
	switch op {
	case "<", "<=":
		out.hi, out.openHi = v, op == "<"
	case ">", ">=":
		out.lo, out.openLo = v, op == ">"
	default:
		out.lo, out.hi, out.outside = v, v, op == "!="
	}
	return out, err
}

// parse reads a number as the column holds it: those of float columns are rounded as the column's are.
func (p *parser) parse(f *field, text string, at int) (float64, error) {
	if f.name == "version" {
		text = strings.TrimPrefix(text, "v")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, p.bad(at, "%s is %.40q, want a number", f.name, text)
	}
	if isFloat(f.column) {
		v = float64(float32(v))
	}
	return v, nil
}

func isFloat(c samples.Column) bool {
	switch c {
	case samples.ColReward, samples.ColAdvantage, samples.ColGapMean, samples.ColGapMax, samples.ColEntropy:
		return true
	}
	return false
}

// holds reports whether a number is in the range.
func (p *predicate) holds(v float64) bool {
	in := (v > p.lo || v == p.lo && !p.openLo) && (v < p.hi || v == p.hi && !p.openHi)
	return in != p.outside && !math.IsNaN(v)
}

// String returns the filter in its plainest form.
func (f *Filter) String() string {
	var terms []string
	for _, t := range f.terms {
		var any []string
		for _, p := range t.any {
			any = append(any, p.String())
		}
		s := strings.Join(any, "|")
		if t.not {
			s = "-" + s
		}
		terms = append(terms, s)
	}
	return strings.Join(terms, " ")
}

// String returns the predicate as a filter says it.
func (p predicate) String() string {
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch p.kind {
	case hasFlag:
		for i, w := range flagWords {
			if p.flag == 1<<i {
				return w
			}
		}
	case hasVerdict:
		return verdictWords[p.verdict]
	case inSet:
		return "set:" + quoted(p.text)
	case hasText:
		return "text:" + quoted(p.text)
	}
	switch name := p.field.name; {
	case p.outside:
		return name + "!=" + num(p.lo)
	case p.lo == p.hi:
		return name + "=" + num(p.lo)
	case p.openHi:
		return name + "<" + num(p.hi)
	case p.openLo:
		return name + ">" + num(p.lo)
	case math.IsInf(p.lo, -1):
		return name + "<=" + num(p.hi)
	case math.IsInf(p.hi, 1):
		return name + ">=" + num(p.lo)
	default:
		return name + ":" + num(p.lo) + ".." + num(p.hi)
	}
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
