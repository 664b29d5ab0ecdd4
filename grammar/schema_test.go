package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var schemaTexts = []struct{ name, src string }{
	{"anything", `{}`},
	{"true", `true`},
	{"types", `{"type": ["null", "boolean", "integer"]}`},
	{"number", `{"type": "number"}`},
	{"string", `{"type": "string"}`},
	{"one integer", `{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`},
	{"optional in order", `{"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "boolean"}, "c": {"type": "null"}}, "required": ["b"]}`},
	{"all optional", `{"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}`},
	{"closed", `{"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": false}`},
	{"open", `{"type": "object", "properties": {"a": {"const": 1}, "ab": {"const": 2}, "\"": {}}, "required": ["a"], "additionalProperties": {"type": "string"}}`},
	{"required only", `{"type": "object", "required": ["x", "y"], "additionalProperties": {"type": "integer"}}`},
	{"map", `{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}}`},
	{"enum", `{"enum": ["a", "b\n", 1, 2.50, null, true, [1, {"x": "é"}], {}]}`},
	{"enum of a type", `{"type": "string", "enum": ["a", 1, "b"]}`},
	{"enum and more", `{"enum": ["a", "abc", "xbc", 1, 5, null, "2026-01-01"], "minLength": 2, "pattern": "^a|^2", "maximum": 3}`},
	{"const", `{"const": {"a": ["b", "\u0001\"\\"]}}`},
	{"array", `{"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4}`},
	{"empty array", `{"type": "array", "maxItems": 0}`},
	{"at least", `{"type": "array", "items": {"type": "boolean"}, "minItems": 2}`},
	{"tuple", `{"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": {"type": "integer"}, "minItems": 1}`},
	{"closed tuple", `{"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": false}`},
	{"anyOf", `{"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}]}`},
	{"anyOf with siblings", `{"type": "object", "properties": {"k": {}}, "required": ["k"], "anyOf": [{"properties": {"k": {"type": "null"}}}, {"properties": {"k": {"type": "integer", "maximum": 5}}}]}`},
	{"anyOf twice", `{"allOf": [{"anyOf": [{"minimum": 3}, {"maximum": 1}]}, {"anyOf": [{"type": "integer"}, {"const": "x"}]}]}`},
	{"oneOf by type", `{"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}`},
	{"oneOf by const", `{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "null"}}, "required": ["k", "v"]},
		{"type": "object", "properties": {"k": {"const": "b"}, "w": {"type": "boolean"}}, "required": ["k"]}]}`},
	{"allOf", `{"allOf": [{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 2}, "b": {"type": "null"}}}]}`},
	{"allOf closed", `{"allOf": [{"type": "object", "properties": {"a": {}, "b": {}}}, {"properties": {"a": {"type": "null"}}, "additionalProperties": false}]}`},
	{"recursive", `{"$defs": {"node": {"type": "object", "properties": {"v": {"type": "boolean"}, "next": {"$ref": "#/$defs/node"}}, "required": ["v"]}}, "$ref": "#/$defs/node"}`},
	{"tree", `{"type": "array", "items": {"$ref": "#"}}`},
	{"recursive allOf", `{"$defs": {"n": {"properties": {"n": {"allOf": [{"$ref": "#/$defs/n"}, {"required": ["m"]}]}, "m": {"type": "null"}}, "type": "object"}}, "$ref": "#/$defs/n"}`},
	{"expression", `{"$defs": {"e": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {"op": {"enum": ["+", "-"]}, "l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}}, "required": ["op", "l", "r"]}]}}, "$ref": "#/$defs/e"}`},
	{"pattern", `{"type": "string", "pattern": "^a[b\"\\\\\\n]{1,3}$"}`},
	{"pattern anywhere", `{"type": "string", "pattern": "ab|^b"}`},
	{"pattern and length", `{"type": "string", "pattern": "^(ab)+$", "minLength": 3, "maxLength": 6}`},
	{"length", `{"type": "string", "minLength": 2, "maxLength": 3}`},
	{"at least so long", `{"type": "string", "minLength": 4}`},
	{"integer range", `{"type": "integer", "minimum": -17, "maximum": 1203}`},
	{"open range", `{"type": "integer", "exclusiveMinimum": -2, "exclusiveMaximum": 3}`},
	{"from", `{"type": "integer", "minimum": 95}`},
	{"up to", `{"type": "integer", "maximum": -95}`},
	{"fractional bounds", `{"type": "integer", "minimum": -2.5, "maximum": 1e1}`},
	{"number range", `{"type": "number", "minimum": -1.25, "maximum": 0.5}`},
	{"unit", `{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}`},
	{"small", `{"type": "number", "minimum": 1e-3, "maximum": 2e-3}`},
	{"date", `{"type": "string", "format": "date"}`},
	{"time", `{"type": "string", "format": "time"}`},
	{"date-time", `{"type": "string", "format": "date-time"}`},
	{"duration", `{"type": "string", "format": "duration"}`},
	{"uuid", `{"type": "string", "format": "uuid"}`},
	{"ipv4", `{"type": "string", "format": "ipv4"}`},
	{"ipv6", `{"type": "string", "format": "ipv6"}`},
	{"hostname", `{"type": "string", "format": "hostname", "maxLength": 12}`},
	{"email", `{"type": "string", "format": "email", "maxLength": 20}`},
	{"uri", `{"type": "string", "format": "uri"}`},
	{"annotations", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t", "description": "d", "default": 3, "examples": [1], "x-y": 1, "type": "null"}`},
}

func TestSchemaTextsSatisfy(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	v := pieces()
	for _, tt := range schemaTexts {
		t.Run(tt.name, func(t *testing.T) {
			g, err := CompileSchema(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			dice := rand.New(rand.NewPCG(5, 6))
			schema := decode(t, tt.src)
			doc, _ := schema.(map[string]any)
			for range 60 {
				got := walk(t, g, v, dice, 25)
				if !(checker{doc}).holds(schema, decode(t, got)) {
					t.Errorf("produced %s, which does not satisfy %s", got, tt.src)
				}
				var plain any
				if err := json.Unmarshal([]byte(got), &plain); err != nil {
					t.Errorf("produced %s: %v", got, err)
				}
			}
		})
	}
}

// accepts says whether a text is one of the grammar's.
func accepts(g *Grammar, s string) bool {
	r := g.reader(bare)
	at := r.root
	for i := range len(s) {
		at = r.step(at, g.class[s[i]])
	}
	return at.done
}

func TestSchemaAccepts(t *testing.T) {
	for _, tt := range []struct{ src, yes, no string }{
		{`{}`, `1|-0.5|1e5|"a"|[]|{}|[1, 2]|[1,2]|{"a":1}|{"a": [null, true]}`, `01|[1,]|[1 , 2]|{"a" :1}| 1|1 |[ 1]|"\x"`},
		{`{"type":"string"}`, `""|"\u00e9\/"|"\ud83d\ude00"|"é"`, `"\ud83d"|"\ud83dx"|"\ude00"|'a'`},
		{`{"properties":{"a":{},"b":{}},"required":["b"]}`, `{"a":1,"b":2}|{"b":2}|{"a":1, "b": 2}`, `{"a":1}|{}|{"b":2,"a":1}|{"b":1,"c":2}|{"b":1,"b":1}|{"a":1,}`},
		{`{"properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"b":2}|{"b":2}|{}|{"aa":1}|{"":1}`, `{"b":2,"a":1}|{"\u0061":1}|{"a":1,"a":2}`},
		{`{"properties":{"\"":{},"":{},"a":{}},"required":["\""],"additionalProperties":true}`, `{"\"":1,"\\":2}|{"\"":1,"aa":1}`, `{"\"":1,"\"":2}|{"\"":1,"":3,"":3}`},
		{`{"enum":[1,12,123,3,"a","ab","","b"]}`, `1|12|123|3|"a"|"ab"|""|"b"`, `2|13|1234|"c"|"aba"|"|`},
		{`{"type":"object"}`, `{}|{"a":1}`, `[]|1`},
		{`{"properties":{"a":{}}}`, `{}|{"a":{}}`, `{"b":1}|1`},
		{`{"type":"array","prefixItems":[{"const":1},{"const":2}]}`, `[]|[1]|[1,2]`, `[2]|[1,2,3]`},
		{`{"type":"array","items":[{"const":1}],"minItems":2}`, `[1,2]|[1,"x",null]`, `[1]|[2,2]`},
		{`{"type":"integer"}`, `0|-1|123456789012345678`, `-0|1.0|1e3|1234567890123456789`},
		{`{"type":"integer","minimum":8,"maximum":112}`, `8|9|10|99|100|112`, `7|113|1|08|-9`},
		{`{"type":"number","minimum":-1,"exclusiveMaximum":2.5}`, `-1|-1.0|-0.5|0|2|2.4999|2.49|0.0`, `-1.01|2.5|2.50|3|-2|1e0`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}],"maxLength":2}`, `"ab"|null`, `"abc"`},
		{`{"pattern":"b"}`, `"abc"|"b"`, `"ac"|""`},
	} {
		g, err := CompileSchema(tt.src)
		if err != nil {
			t.Fatalf("%s: %v", tt.src, err)
		}
		for s := range strings.SplitSeq(tt.yes, "|") {
			if !accepts(g, s) {
				t.Errorf("%s: %s is not accepted, want it to be", tt.src, s)
			}
		}
		for s := range strings.SplitSeq(tt.no, "|") {
			if accepts(g, s) {
				t.Errorf("%s: %s is accepted, want it not to be", tt.src, s)
			}
		}
	}
}

// TestSchemaIntegerRanges holds every integer near the bounds against them.
func TestSchemaIntegerRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	dice := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		low := dice.IntN(2400) - 1200
		high := low + dice.IntN(1500)
		src, _ := json.Marshal(map[string]any{"type": "integer", "minimum": low, "maximum": high})
		g, err := CompileSchema(string(src))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		for n := -1300; n < 2900; n++ {
			text, _ := json.Marshal(n)
			if got, want := accepts(g, string(text)), low <= n && n <= high; got != want {
				t.Fatalf("%s: %d is accepted: %v, want %v", src, n, got, want)
			}
		}
	}
}

func TestObject(t *testing.T) {
	g, v, dice := CompileObject(), pieces(), rand.New(rand.NewPCG(9, 10))
	for range 100 {
		var got map[string]any
		if text := walk(t, g, v, dice, 30); json.Unmarshal([]byte(text), &got) != nil || got == nil {
			t.Errorf("produced %s, want an object", text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000)
	wide := `{"allOf":[` + strings.Repeat(`{"anyOf":[{"type":"string"},{"minLength":3},{"maxLength":9}]},`, 30) + `{}]}`
	many := strings.NewReplacer("\x00", "x").Replace(`{"properties":{` + numbered(6000) + `"z":{}}}`)
	for _, tt := range []struct{ name, src, want string }{
		{"no JSON", `{"type"`, "not JSON"},
		{"more JSON", `{} {}`, "follows"},
		{"no schema", `[]`, "want a schema"},
		{"twice", `{"type":"null","type":"string"}`, "two members"},
		{"unknown keyword", `{"properties":{"a":{"multipleOf":2}}}`, `#/properties/a: keyword "multipleOf" is not supported`},
		{"not", `{"not":{}}`, `keyword "not"`},
		{"if", `{"if":{}}`, `keyword "if"`},
		{"unique", `{"uniqueItems":true}`, `keyword "uniqueItems"`},
		{"type", `{"type":"float"}`, "#/type"},
		{"format", `{"format":"iri"}`, `"iri"`},
		{"pattern", `{"pattern":"(?=a)"}`, "#/pattern: regex"},
		{"count", `{"minItems":-1}`, "#/minItems is -1"},
		{"old bounds", `{"minimum":1,"exclusiveMinimum":true}`, "#/exclusiveMinimum is true, want a number"},
		{"bound", `{"minimum":1e400}`, "out of range"},
		{"huge bound", `{"minimum":1e999999999999}`, "out of range"},
		{"reference", `{"$ref":"#/$defs/x"}`, "not there"},
		{"remote", `{"$ref":"https://example.com/x"}`, "same document"},
		{"itself", `{"$ref":"#"}`, "refers to itself"},
		{"each other", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "refers to itself"},
		{"through anyOf", `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"string"}]}},"$ref":"#/$defs/a"}`, "left recursion"},
		{"never ends", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "no text satisfies it"},
		{"contradiction", `{"type":"integer","minimum":3,"maximum":2}`, "no text satisfies it"},
		{"false", `false`, "no text satisfies it"},
		{"enum and more", `{"enum":["a"],"minLength":3}`, "no text satisfies it"},
		{"enum of objects and more", `{"enum":[{"a":1}],"required":["a"]}`, "required beside an enum"},
		{"oneOf", `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, "may both hold"},
		{"oneOf in oneOf", `{"oneOf":[{"type":"null"},{"anyOf":[{"type":"string"}]}]}`, "want anyOf"},
		{"long string", `{"type":"string","maxLength":10000000}`, "nodes"},
		{"long array", `{"type":"array","minItems":10000000}`, "nodes"},
		{"deep", deep, "nested"},
		{"exponential", wide, "rules"},
		{"many optional", many, "nodes"},
		{"long", `{"title":"` + strings.Repeat("x", 10<<20) + `"}`, "bytes"},
		{"doubling", `{"pattern":"^([ab]*a[ab]{40})$"}`, "simpler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			quick(t, tt.name)
			_, err := CompileSchema(tt.src)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 700 {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// numbered are n properties.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"p` + strings.Repeat("i", i%7) + string(rune('A'+i%26)) + string(rune(0x4e00+i)) + `":{},`)
	}
	return b.String()
}

// TestSchemaNumberRanges holds numbers of three decimals against bounds of two, in thousandths.
func TestSchemaNumberRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	dice := rand.New(rand.NewPCG(17, 18))
	written := func(n int) string {
		sign := ""
		if n < 0 {
			sign, n = "-", -n
		}
		return fmt.Sprintf("%s%d.%03d", sign, n/1000, n%1000)
	}
	for range 100 {
		low := 10 * (dice.IntN(2600) - 1300)
		high := low + 10*dice.IntN(1500)
		for _, words := range [][2]string{{"minimum", "maximum"}, {"exclusiveMinimum", "exclusiveMaximum"}} {
			src := fmt.Sprintf(`{"type": "number", %q: %s, %q: %s}`, words[0], written(low), words[1], written(high))
			g, err := CompileSchema(src)
			if err != nil && low == high {
				continue // nothing is between
			}
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			open := words[0] != "minimum"
			for _, n := range append([]int{low, high, low - 1, high + 1, low + 1, high - 1}, dice.Perm(30000)[:200]...) {
				want := low < n && n < high || !open && (n == low || n == high)
				if got := accepts(g, written(n)); got != want {
					t.Fatalf("%s: %s is accepted: %v, want %v", src, written(n), got, want)
				}
				if got := accepts(g, strings.TrimSuffix(written(n), "0")); n%1000 != 0 && got != want {
					t.Fatalf("%s: %s without its last zero is accepted: %v, want %v", src, written(n), got, want)
				}
			}
		}
	}
}
