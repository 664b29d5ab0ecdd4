package grammar

import (
	"encoding/json"
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A checker holds values against a schema, by its words and not by this package's code.
type checker struct{ doc map[string]any }

func decode(t *testing.T, src string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return v
}

func (c checker) holds(schema, v any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema.(bool)
	}
	for key, x := range s {
		if !c.keyword(s, key, x, v) {
			return false
		}
	}
	return true
}

func (c checker) keyword(s map[string]any, key string, x, v any) bool {
	switch key {
	case "type":
		if list, ok := x.([]any); ok {
			return count(list, func(t any) bool { return isType(t.(string), v) }) > 0
		}
		return isType(x.(string), v)
	case "enum":
		return count(x.([]any), func(e any) bool { return reflect.DeepEqual(e, v) }) > 0
	case "const":
		return reflect.DeepEqual(x, v)
	case "$ref":
		at := any(c.doc)
		for key := range strings.SplitSeq(strings.TrimPrefix(x.(string), "#"), "/") {
			if key != "" {
				at = at.(map[string]any)[key]
			}
		}
		return c.holds(at, v)
	case "anyOf":
		return count(x.([]any), func(e any) bool { return c.holds(e, v) }) > 0
	case "oneOf":
		return count(x.([]any), func(e any) bool { return c.holds(e, v) }) == 1
	case "allOf":
		return count(x.([]any), func(e any) bool { return c.holds(e, v) }) == len(x.([]any))
	}
	switch v := v.(type) {
	case string:
		return ofString(key, x, v)
	case json.Number:
		return ofNumber(key, x, v)
	case []any:
		return c.ofArray(s, key, x, v)
	case map[string]any:
		return c.ofObject(s, key, x, v)
	}
	return true
}

func count(list []any, ok func(any) bool) int {
	n := 0
	for _, e := range list {
		if ok(e) {
			n++
		}
	}
	return n
}

func isType(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && rat(v).IsInt()
	case []any:
		return name == "array"
	}
	return name == "object"
}

func rat(n any) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n.(json.Number)))
	return r
}

func size(n any) int { i, _ := n.(json.Number).Int64(); return int(i) }

func ofString(key string, x any, v string) bool {
	switch key {
	case "minLength":
		return utf8.RuneCountInString(v) >= size(x)
	case "maxLength":
		return utf8.RuneCountInString(v) <= size(x)
	case "pattern":
		return regexp.MustCompile(x.(string)).MatchString(v)
	case "format":
		return ofFormat(x.(string), v)
	}
	return true
}

func ofFormat(name, v string) bool {
	var err error
	switch name {
	case "date":
		_, err = time.Parse(time.DateOnly, v)
	case "time":
		_, err = time.Parse(time.RFC3339, "2000-01-01T"+v)
	case "date-time":
		_, err = time.Parse(time.RFC3339, v)
	case "ipv4":
		a, e := netip.ParseAddr(v)
		return e == nil && a.Is4()
	case "ipv6":
		a, e := netip.ParseAddr(v)
		return e == nil && a.Is6()
	case "email":
		_, err = mail.ParseAddress(v)
	case "uri":
		_, err = url.Parse(v)
	case "uuid":
		return len(v) == 36 && strings.Count(v, "-") == 4
	case "hostname":
		return len(v) <= 253 && v != ""
	case "duration":
		return strings.HasPrefix(v, "P") && len(v) > 2
	}
	return err == nil
}

func ofNumber(key string, x any, v json.Number) bool {
	switch key {
	case "minimum":
		return rat(v).Cmp(rat(x)) >= 0
	case "maximum":
		return rat(v).Cmp(rat(x)) <= 0
	case "exclusiveMinimum":
		return rat(v).Cmp(rat(x)) > 0
	case "exclusiveMaximum":
		return rat(v).Cmp(rat(x)) < 0
	}
	return true
}

func (c checker) ofArray(s map[string]any, key string, x any, v []any) bool {
	prefix, _ := s["prefixItems"].([]any)
	switch key {
	case "minItems":
		return len(v) >= size(x)
	case "maxItems":
		return len(v) <= size(x)
	case "prefixItems":
		for i := range min(len(prefix), len(v)) {
			if !c.holds(prefix[i], v[i]) {
				return false
			}
		}
	case "items":
		rest := v[min(len(prefix), len(v)):]
		return count(rest, func(e any) bool { return c.holds(x, e) }) == len(rest)
	}
	return true
}

func (c checker) ofObject(s map[string]any, key string, x any, v map[string]any) bool {
	properties, _ := s["properties"].(map[string]any)
	switch key {
	case "required":
		return count(x.([]any), func(name any) bool { _, ok := v[name.(string)]; return ok }) == len(x.([]any))
	case "properties":
		for name, p := range properties {
			if e, ok := v[name]; ok && !c.holds(p, e) {
				return false
			}
		}
	case "additionalProperties":
		for name, e := range v {
			if _, ok := properties[name]; !ok && !c.holds(x, e) {
				return false
			}
		}
	}
	return true
}
