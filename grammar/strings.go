package grammar

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// str returns the strings that satisfy facts: those in all of several automata over the characters as they are spelled.
func (s *schemas) str(f *facts) (piece, error) {
	var all []piece
	for _, x := range f.formats {
		re, err := format(x)
		if err != nil {
			return nil, err
		}
		p, err := parseRegex(re, jsonRunes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.path(), err)
		}
		all = append(all, p)
	}
	for _, x := range f.patterns {
		p, err := parseRegex(x.text, jsonRunes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.path(), err)
		}
		anything := many(jsonRunes(anyRune)) // a pattern may match anywhere, unless it says where
		all = append(all, sequence(anything, p, anything))
	}
	if f.minLength > 0 || f.maxLength >= 0 {
		all = append(all, times(jsonRunes(anyRune), f.minLength, f.maxLength))
	}
	if f.maxLength >= 0 && f.minLength > f.maxLength {
		return never, nil
	}
	if len(all) == 0 {
		return rule(s.json.rule("string")), nil
	}
	m, err := s.inAll(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.all[0].v.path(), err)
	}
	return s.quoted(m), nil
}

// inAll makes the automaton of what is in all pieces.
func (s *schemas) inAll(all []piece) (*machine, error) {
	m, err := s.machine(all[0])
	for _, p := range all[1:] {
		var next *machine
		if err == nil {
			next, err = s.machine(p)
		}
		if err == nil {
			m, err = both(m, next, false)
		}
	}
	return m, err
}

// fits says whether a string satisfies facts.
func (f *facts) fits(s string) (bool, error) {
	n := utf8.RuneCountInString(s)
	ok := n >= f.minLength && (f.maxLength < 0 || n <= f.maxLength)
	for _, x := range f.patterns {
		re, err := regexp.Compile(x.text)
		if err != nil {
			return false, fmt.Errorf("%s: regex: %w", x.path(), err)
		}
		ok = ok && re.MatchString(s)
	}
	for _, x := range f.formats {
		re, err := format(x)
		if err != nil {
			return false, err
		}
		ok = ok && regexp.MustCompile(`\A(?:`+re+`)\z`).MatchString(s)
	}
	return ok, nil
}

func format(x *value) (string, error) {
	re, ok := formats[x.text]
	if !ok {
		return "", fmt.Errorf("%s is %.40q, want one of %s", x.path(), x.text, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return re, nil
}

const (
	reDate  = `(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|` + reLeap + `-02-29)`
	reLeap  = `(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	reTime  = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`
	reOctet = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	reIPv4  = reOctet + `(\.` + reOctet + `){3}`
	reH16   = `[0-9a-fA-F]{1,4}`
	reLow   = `(` + reH16 + `:` + reH16 + `|` + reIPv4 + `)`
	reLabel = `[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`
	reAtom  = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,20}"
	rePath  = `([a-zA-Z0-9._~!$&'()*+,;=:@/-]|%[0-9a-fA-F]{2})*`
)

// formats are those of JSON Schema 2020-12 that are known here, in the forms that their standards prefer.
var formats = map[string]string{
	"date":      reDate,
	"time":      reTime,
	"date-time": reDate + `T` + reTime,
	"duration":  `P(\d{1,9}W|(\d{1,9}Y(\d{1,9}M(\d{1,9}D)?)?|\d{1,9}M(\d{1,9}D)?|\d{1,9}D)(T` + reClock + `)?|T` + reClock + `)`,
	"uuid":      `[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`,
	"ipv4":      reIPv4,
	"ipv6":      reIPv6,
	"hostname":  reLabel + `(\.` + reLabel + `){0,2}`,
	"email":     reAtom + `(\.` + reAtom + `){0,2}@` + reLabel + `(\.` + reLabel + `){0,2}`,
	"uri":       `[a-zA-Z][a-zA-Z0-9+.-]*:` + rePath + `(\?(` + rePath + `|\?)*)?(#(` + rePath + `|\?)*)?`,
}

const reClock = `(\d{1,9}H(\d{1,9}M(\d{1,9}S)?)?|\d{1,9}M(\d{1,9}S)?|\d{1,9}S)`

// reIPv6 are the forms of RFC 3986: all eight groups, or fewer around one double colon.
var reIPv6 = func() string {
	all := []string{`(` + reH16 + `:){6}` + reLow, `::(` + reH16 + `:){5}` + reLow}
	for before := range 5 {
		left := fmt.Sprintf(`((%s:){0,%d}%s)?`, reH16, before, reH16)
		if after := 4 - before; after > 0 {
			all = append(all, fmt.Sprintf(`%s::(%s:){%d}%s`, left, reH16, after, reLow))
		} else {
			all = append(all, left+`::`+reLow)
		}
	}
	all = append(all, fmt.Sprintf(`((%s:){0,5}%s)?::%s`, reH16, reH16, reH16), fmt.Sprintf(`((%s:){0,6}%s)?::`, reH16, reH16))
	return `(` + strings.Join(all, `|`) + `)`
}()
