package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPythonString(t *testing.T) {
	for _, tt := range []struct{ source, want, err string }{
		{`"a\n\t\"\\\x41\u4e2d"`, "a\n\t\"\\A中", ""},
		{`'it"s'` + " # comment\nx = 1", `it"s`, ""},
		{`"""a "quoted"` + "\nline" + `"""` + "\n", "a \"quoted\"\nline", ""},
		{"\"\"\"a\\\nb\"\"\"", "ab", ""},
		{"(\n  \"a \"  # first\n  'b'\n)\n", "a b", ""},
		{`"a" "b"`, "ab", ""},
		{`r"\d"`, `\d`, ""},
		{`"a" + b`, "", `goes on with "+ b"`},
		{`f"a{b}"`, "", "goes on with"},
		{`("a"`, "", `goes on with ""`},
		{`"a`, "", "has no end"},
		{"\"a\nb\"", "", "has no end"},
		{`"\q"`, "", `escape is \q`},
		{`"\xzz"`, "", `escape is \xzz`},
		{`"\x1`, "", `escape is \x`},
		{`"a\`, "", "has no end"},
		{``, "", "goes on with"},
		{`5`, "", "goes on with"},
	} {
		got, err := pythonString(tt.source)
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("pythonString(%q) = %q, %v, want an error with %q", tt.source, got, err, tt.err)
		}
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("pythonString(%q) = %q, %v, want %q", tt.source, got, err, tt.want)
		}
	}
}

func FuzzPythonString(f *testing.F) {
	for _, s := range []string{`"a\n"`, `('a' "b")`, `"""x"""`, "'", `"\`, `r"`, "(#", "(# x\n'a')"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, source string) { pythonString(source) })
}

// encoder writes a checkpoint whose encoder is the given program.
func encoder(t *testing.T, source string) *DeepSeek {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "encoding"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "encoding", "encoding_x.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDeepSeek(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenDeepSeek(t *testing.T) {
	d := encoder(t, "import json\n\nTOOLS_SYSTEM_TEMPLATE = \"\"\"Tools: {tool_schemas} with {dsml_token}\n\"\"\"\nREASONING_EFFORT_MAX: str = (\n    'Very '\n    'hard.'\n)\n")
	p, err := d.Render(&Conversation{Messages: []Message{{Role: "user", Content: "Q"}}, Tools: []Tool{weather}, Options: Options{Thinking: true, Effort: "max"}})
	if err != nil {
		t.Fatal(err)
	}
	want := short.Replace("[Very hard.\n\nTools: " + `{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}` + " with @\nU:QA:<think>")
	if p.Text() != want {
		t.Errorf("Render is %q, want %q", p.Text(), want)
	}
	if !strings.HasSuffix(d.Texts().From, "encoding_x.py") {
		t.Errorf("texts are from %q, want the encoder's file", d.Texts().From)
	}
}

// TestMissingTexts: an encoder that can't be read stops what needs its texts, and nothing else.
func TestMissingTexts(t *testing.T) {
	ask := []Message{{Role: "user", Content: "Q"}}
	tools := Conversation{Messages: ask, Tools: []Tool{weather}}
	effort := Conversation{Messages: ask, Options: Options{Thinking: true, Effort: "max"}}
	for _, tt := range []struct {
		name, source string
		c            Conversation
		want         string
	}{
		{"no tools", "x = 1\n", tools, "tools are given: "},
		{"no effort", "x = 1\n", effort, "reasoning effort is max: "},
		{"no place for tools", "TOOLS_TEMPLATE = 'x'\n", tools, "text has 0 places {tool_schemas}"},
		{"a strange place", "TOOLS_TEMPLATE = '{tool_schemas} {other}'\n", tools, `text has a place "{other}"`},
		{"two texts", "TOOLS_TEMPLATE = '{tool_schemas}'\nTOOLS_B_TEMPLATE = ''\n", tools, "2 assignments match"},
		{"empty", "REASONING_EFFORT_MAX = ''\n", effort, "it is empty"},
		{"no literal", "REASONING_EFFORT_MAX = f('x')\n", effort, "expression goes on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := encoder(t, tt.source)
			if _, err := d.Render(&tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Render: %v, want %q", err, tt.want)
			}
			if _, err := d.Render(&Conversation{Messages: ask}); err != nil {
				t.Errorf("Render of what needs no text: %v", err)
			}
		})
	}
	d, err := OpenDeepSeek(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkTools(d.Texts().Tools); err != nil {
		t.Errorf("our own text about tools: %v", err)
	}
	if _, err := d.Render(&effort); err == nil || !strings.Contains(err.Error(), "encoder is not there") {
		t.Errorf("Render with effort max and no encoder: %v, want an error", err)
	}
}

func TestSpaced(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{"b":[1,2.50,{"a":null}],"a":{},"c":[],"d":true}`, `{"b": [1, 2.50, {"a": null}], "a": {}, "c": [], "d": true}`},
		{`"é\u4e2d\u0001\/<&>\u2028\"\\\n"`, "\"é中\\u0001/<&>\u2028\\\"\\\\\\n\""},
		{` 1e5 `, `1e5`},
	} {
		if got, err := spaced([]byte(tt.raw)); got != tt.want || err != nil {
			t.Errorf("spaced(%s) = %s, %v, want %s", tt.raw, got, err, tt.want)
		}
	}
}
