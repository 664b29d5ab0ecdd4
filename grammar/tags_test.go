package grammar

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

const twoTags = `{"type": "structural_tag", "structures": [
	{"begin": "<func", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, "end": "</"},
	{"begin": "<fn>", "schema": {"type": "boolean"}, "end": ""}],
	"triggers": ["<f"]}`

func TestTags(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	g, err := CompileTags(twoTags)
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`(?s)\A([^<]|<+[^<f])*(<+(func\{"a": ?(0|-?[1-9][0-9]*)\}</|fn>(true|false))([^<]|<+[^<f])*)*<*\z`)
	v, dice := pieces(), rand.New(rand.NewPCG(11, 12))
	structures := 0
	for range 300 {
		got := walk(t, g, v, dice, 30)
		if !whole.MatchString(strings.ToValidUTF8(got, "?")) {
			t.Errorf("produced %q", got)
		}
		structures += strings.Count(got, "<f")
	}
	if structures == 0 {
		t.Error("no text has a structure, want some")
	}
	for s, want := range map[string]bool{
		"": true, "free < text <<": true, "<f": false, "<func": false, `<func{"a":1}`: false, `<func{"a":1}</`: true, `x<func{"a": 1}</y<fn>truez`: true,
		`<func{"a":1}</<f`: false, `<<fn>false`: true, `<fn>1`: false, "\xff\x00": true,
	} {
		if got := accepts(g, s); got != want {
			t.Errorf("%q is accepted: %v, want %v", s, got, want)
		}
	}
}

func TestTagsWithSeveralTriggers(t *testing.T) {
	g, err := CompileTags(`{"structures": [{"begin": "aab", "schema": {"const": 1}, "end": "."}, {"begin": "ac", "schema": {"const": 2}, "end": "."},
		{"begin": "acd", "schema": {"const": 3}, "end": "."}], "triggers": ["aab", "ac", "acd"]}`)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		"aaab1.": true, "aaab2.": false, "aac2.": true, "acd3.": true, "acd2.": false, "ac3.": false, "aa": true, "xaabx": false, "aab1.ac2.aaa": true,
	} {
		if got := accepts(g, s); got != want {
			t.Errorf("%q is accepted: %v, want %v", s, got, want)
		}
	}
}

func TestTagsRefuses(t *testing.T) {
	schema := `"schema": {}, "end": ""`
	for _, tt := range []struct{ name, src, want string }{
		{"no JSON", `x`, "not JSON"},
		{"another kind", `{"type": "structural_tag", "format": {}}`, `"format" is not supported`},
		{"names run together", `{"structures|triggers": []}`, "is not supported"},
		{"nothing", `{}`, "needs structures and triggers"},
		{"no schema", `{"structures": [{"begin": "a", "end": "b"}], "triggers": ["a"]}`, "and a schema"},
		{"bad schema", `{"structures": [{"begin": "a", "schema": {"not": {}}, "end": "b"}], "triggers": ["a"]}`, `#/structures/0/schema: keyword "not"`},
		{"no trigger", `{"structures": [{"begin": "ab", ` + schema + `}], "triggers": ["b"]}`, `begin "ab" begins with no trigger`},
		{"no structure", `{"structures": [{"begin": "ab", ` + schema + `}], "triggers": ["a", "b"]}`, `trigger "b" begins no structure`},
		{"empty trigger", `{"structures": [{"begin": "ab", ` + schema + `}], "triggers": [""]}`, "not empty"},
		{"hidden", `{"structures": [{"begin": "abc", ` + schema + `}, {"begin": "b", ` + schema + `}], "triggers": ["abc", "b"]}`, `has trigger "b" in it`},
		{"never", `{"structures": [{"begin": "a", "schema": false, "end": ""}], "triggers": ["a"]}`, ""},
		{"long triggers", `{"structures": [{"begin": "` + strings.Repeat("a", 5000) + `", ` + schema + `}], "triggers": ["` + strings.Repeat("a", 5000) + `"]}`, "at most 4096"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := CompileTags(tt.src)
			if tt.want == "" {
				if err != nil {
					t.Errorf("got error %v, want free text without the trigger", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestTagsReferToTheirOwnSchema(t *testing.T) {
	g, err := CompileTags(`{"structures": [{"begin": "a", "schema": {"$defs": {"x": {"const": 1}}, "$ref": "#/$defs/x"}, "end": ""},
		{"begin": "b", "schema": {"$defs": {"x": {"const": 2}}, "$ref": "#/$defs/x"}, "end": ""}], "triggers": ["a", "b"]}`)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{"a1b2": true, "a2": false, "b1": false} {
		if got := accepts(g, s); got != want {
			t.Errorf("%q is accepted: %v, want %v", s, got, want)
		}
	}
}
