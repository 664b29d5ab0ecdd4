package data

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"furlong/rl"
	"furlong/tokenizer"
)

// settings returns the settings of most tests: keys p and l.
func settings(change func(*Config)) Config {
	c := Default()
	c.File, c.InputKey, c.LabelKey, c.MetadataKey = "f.jsonl", "p", "l", "m"
	if change != nil {
		change(&c)
	}
	return c
}

// read reads a file that must be right.
func read(t *testing.T, text string, change func(*Config)) *Set {
	t.Helper()
	set, err := Read(strings.NewReader(text), settings(change), tokenizer.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// prompts returns all prompts of a set, read again.
func prompts(t testing.TB, set *Set) []*rl.Prompt {
	t.Helper()
	all, err := set.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// texts returns the prompts' texts and labels in one string.
func texts(t testing.TB, set *Set) string {
	var all []string
	for _, p := range prompts(t, set) {
		all = append(all, p.Text+"="+p.Label)
	}
	return strings.Join(all, " ")
}

func TestReadRows(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		change     func(*Config)
		want       string
	}{
		{"strings", `{"p":"1+1","l":"2"}`, nil, "1+1=2"},
		{"a number as label is kept as written", `{"p":"a","l":0}` + "\n" + `{"p":"b","l":-3.50}`, nil, "a=0 b=-3.50"},
		{"blanks around a label", `{"p":"a","l":" 7\n"}`, nil, "a=7"},
		{"no label key", `{"p":"a","l":["x"]}`, func(c *Config) { c.LabelKey = "" }, "a="},
		{"line ends", "{\"p\":\"a\",\"l\":\"1\"}\r\n\n  \n{\"p\":\"b\",\"l\":\"2\"}\r\n", nil, "a=1 b=2"},
		{"a byte order mark", "\ufeff" + `{"p":"a","l":"1"}`, nil, "a=1"},
		{"messages", `{"p":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"l":"1"}`, nil, "system: s\nuser: u\nassistant: =1"},
		{"a string as message", `{"p":"u","l":"1"}`, func(c *Config) { c.ApplyChatTemplate = true }, "user: u\nassistant: =1"},
		{"escapes", `{"p":"\u00e9\ud83d\ude00\n","l":"1"}`, nil, "é😀\n=1"},
		{"a replacement character that is meant", `{"p":"\uFFFd` + "\uFFFD" + `","l":"1"}`, nil, "\uFFFD\uFFFD=1"},
		{"null label, allowed", `{"p":"a","l":null}` + "\n" + `{"p":"b","l":"2"}`, func(c *Config) { c.AllowEmptyLabels = true }, "b=2"},
		{"longer ones out", `{"p":"abc","l":"1"}` + "\n" + `{"p":"ab","l":"2"}`, func(c *Config) { c.MaxPromptTokens = 2 }, "ab=2"},
		{"the longest line", `{"p":"a","l":"1"}` + "\r\n", func(c *Config) { c.MaxLineBytes = 17 }, "a=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts(t, read(t, tt.file, tt.change)); got != tt.want {
				t.Errorf("prompts are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	good := `{"p":"a","l":"1"}` + "\n"
	for _, tt := range []struct {
		name, file string
		change     func(*Config)
		want       string
	}{
		{"no JSON", good + "{oops}\n", nil, "f.jsonl: 1 of 2 lines are malformed, want at most 0.1 %; the first: line 2: invalid character"},
		{"cut off", good + `{"p":"b","l":`, nil, "line 2: unexpected end"},
		{"two objects", `{"p":"a","l":"1"} {}`, nil, "line 1: invalid character '{' after"},
		{"null", "null", nil, "line 1: line is null, want an object"},
		{"no UTF-8", "{\"p\":\"\xff\",\"l\":\"1\"}", nil, "line 1: line is not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00", nil, "line 1: line is not UTF-8"},
		{"half a character", `{"p":"\ud83d","l":"1"}`, nil, "line 1: p: an escape in a string is half a character"},
		{"no prompt", good + `{"q":"b","l":"2"}`, nil, `f.jsonl:2: no key "p" (--input-key), only ["l" "q"]`},
		{"empty prompt", `{"p":"","l":"1"}`, nil, "f.jsonl:1: p is empty"},
		{"a number as prompt", `{"p":12,"l":"1"}`, nil, "f.jsonl:1: p: is 12, want a string"},
		{"empty label", good + "\n" + `{"p":"b","l":" "}`, nil, "f.jsonl:3: l is empty or missing"},
		{"no label", `{"p":"b"}`, nil, "f.jsonl:1: l is empty or missing"},
		{"an empty list as label", `{"p":"b","l":[]}`, nil, `f.jsonl:1: l is [], want a text, a number, a list`},
		{"a key twice", good + `{"p":"b","l":"1","l":"2"}`, nil, `f.jsonl:2: key "l" is there twice`},
		{"a key twice, deep", `{"p":"b","l":"1","m":{"a":[{"b":1,"c":{},"b":2}]}}`, nil, `f.jsonl:1: key "m.a.b" is there twice`},
		{"an id of another kind", `{"id":[1],"p":"b","l":"1"}`, nil, `f.jsonl:1: id is [1], want a text or a number`},
		{"metadata", `{"p":"b","l":"1","m":[]}`, nil, "f.jsonl:1: m is [], want an object"},
		{"one id, two problems", `{"id":"x","p":"a","l":"1"}` + "\n" + `{"id":"x","p":"a","l":"2"}`, nil, `f.jsonl:2: id "x" stands for another problem in line 1`},
		{"content that is no text", `{"p":[{"role":"user","content":[{"type":"text"}]}],"l":"1"}`, nil, "p: message 0: content: is ["},
		{"tool calls", `{"p":[{"role":"user","content":"a","tool_calls":[]}],"l":"1"}`, nil, "p: message 0: tool_calls: is not rendered"},
		{"no content", `{"p":[{"role":"user"}],"l":"1"}`, nil, `message 0: keys are ["role"], want role and content`},
		{"a list of strings", `{"p":["a"],"l":"1"}`, nil, "p: is a list of something else"},
		{"an empty conversation", `{"p":[],"l":"1"}`, nil, "p: conversation is empty"},
		{"a long line", good + `{"p":"` + strings.Repeat("x", 70_000) + `","l":"1"}`, func(c *Config) { c.MaxLineBytes = 1000 }, "1 of 2 lines are malformed, want at most 0.1 %; the first: line 2: line is longer than 1000 bytes (--max-line-bytes)"},
		{"all too long", `{"p":"abc","l":"1"}`, func(c *Config) { c.MaxPromptTokens = 2 }, "every prompt left is longer than --rollout-max-prompt-len (2)"},
		{"nothing", "\n\n", nil, "no prompt is left: 0 prompts from 0 lines of f.jsonl; 2 blank lines besides"},
		{"all out", `{"p":"a"}`, func(c *Config) { c.AllowEmptyLabels = true }, "no prompt is left: 0 prompts from 1 lines of f.jsonl; 1 with an empty label left out"},
		{"a slice beyond the end", good, func(c *Config) { c.File += "@[1:2]" }, "no prompt is left: 0 prompts from 1 lines of f.jsonl; 1 outside of the slice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := Read(strings.NewReader(tt.file), settings(tt.change), tokenizer.Bytes{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v, %v, want an error with %q", set, err, tt.want)
			}
		})
	}
}

// numbered returns a file of n rows.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"p\":\"%d\",\"l\":\"%d\"}\n", i, i)
	}
	return b.String()
}

func TestMalformedLinesUpToOneInAThousand(t *testing.T) {
	set := read(t, numbered(999)+"{\n", nil)
	rep := set.Report()
	if rep.Malformed != 1 || rep.Rows != 999 || len(rep.Notes) != 1 || !strings.HasPrefix(rep.Notes[0], "line 1000: left out: ") {
		t.Errorf("report is %+v, want line 1000 left out", rep)
	}
	_, err := Read(strings.NewReader(numbered(998)+"{\n"), settings(nil), tokenizer.Bytes{})
	if err == nil || !strings.Contains(err.Error(), "1 of 999 lines are malformed") {
		t.Errorf("1 of 999 malformed: error is %v", err)
	}
}

func TestSlices(t *testing.T) {
	for _, tt := range []struct{ slice, want string }{
		{"", "0=0 1=1 2=2 3=3"},
		{"@[1:3]", "1=1 2=2"},
		{"@[2:]", "2=2 3=3"},
		{"@[:2]", "0=0 1=1"},
		{"@[:]", "0=0 1=1 2=2 3=3"},
		{"@[3:99]", "3=3"},
	} {
		set := read(t, numbered(4), func(c *Config) { c.File += tt.slice })
		if got := texts(t, set); got != tt.want {
			t.Errorf("slice %q gives %q, want %q", tt.slice, got, tt.want)
		}
		if rep := set.Report(); rep.Outside != 4-rep.Rows || rep.File != "f.jsonl" {
			t.Errorf("slice %q: report is %+v", tt.slice, rep)
		}
	}
	// What is wrong outside of the slice is not looked at, but its lines count.
	if got := texts(t, read(t, "{oops\n"+numbered(2), func(c *Config) { c.File += "@[2:3]" })); got != "1=1" {
		t.Errorf("row 2 is %q, want 1=1", got)
	}
}

func TestRowsAreKnownByID(t *testing.T) {
	file := `{"id":"x","p":"a","l":"1"}
{"id":"y","p":"a","l":"2"}
{"id":7,"p":"b","l":"3"}
{"p":"c","l":"4"}
{"p":"c","l":"5"}
{"id":"x","p":"a","l":"1"}
{"id":"z","p":"a","l":"1"}
`
	set := read(t, file, nil)
	var ids []string
	for _, p := range prompts(t, set) {
		ids = append(ids, p.ID)
	}
	if ids[0] != "x" || ids[1] != "y" || ids[2] != "7" || ids[5] != "x" || ids[6] != "z" {
		t.Errorf("ids are %q", ids)
	}
	if !strings.HasPrefix(ids[3], "sha256-") || !strings.HasPrefix(ids[4], "sha256-") || ids[3] == ids[4] {
		t.Errorf("ids without a key are %q and %q, want different hashes", ids[3], ids[4])
	}
	if rep := set.Report(); rep.Duplicates != 2 || rep.Conflicts != 2 || rep.Rows != 7 {
		t.Errorf("report is %+v, want 2 duplicates and 2 conflicts", rep)
	}
	set = read(t, file, func(c *Config) { c.DropDuplicates = true })
	if got, want := texts(t, set), "a=1 a=2 b=3 c=4 c=5"; got != want {
		t.Errorf("without duplicates: %q, want %q", got, want)
	}
	want := "5 prompts from 7 lines of f.jsonl; 2 duplicates left out; 2 with the text of an earlier row and another label, kept"
	if got := set.Report().String(); got != want {
		t.Errorf("report is %q, want %q", got, want)
	}
}

func TestPromptFields(t *testing.T) {
	set := read(t, `{"id":"x","p":"ab","l":"1","m":{"rm_type":"dapo", "n":1}}`, func(c *Config) { c.File = "dir/my-set.jsonl@[0:1]" })
	p := prompts(t, set)[0]
	if p.Set != "my-set" || string(p.Metadata) != `{"rm_type":"dapo", "n":1}` || len(p.Tokens) != 2 || p.Tokens[1] != 'b' {
		t.Errorf("prompt is %+v", p)
	}
}

func TestOpenFiles(t *testing.T) {
	c := Default()
	c.File, c.InputKey, c.LabelKey = "testdata/dapo-form.jsonl", "prompt", "label"
	set, err := Open(c, tokenizer.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	p := prompts(t, set)[3]
	if set.Len() != 4 || p.ID != "dapo-form-3" || p.Label != "-8" || string(p.Metadata) != `{"rm_type": "dapo"}` {
		t.Errorf("last of %d prompts is %+v", set.Len(), p)
	}
	if !strings.HasPrefix(p.Text, "user: Solve the following") || !strings.HasSuffix(p.Text, "\"Answer:\".\nassistant: ") {
		t.Errorf("text is %q", p.Text)
	}
	c.File, c.InputKey, c.LabelKey = "testdata/gsm8k-form.jsonl@[1:]", "question", "answer"
	if set, err = Open(c, tokenizer.Bytes{}); err != nil || set.Len() != 2 || prompts(t, set)[1].Label != "10,000" {
		t.Errorf("Open = %v, %v, want 2 prompts", set, err)
	}
	for file, want := range map[string]string{
		"testdata/none.jsonl":  "no such file",
		"testdata":             "is no regular file",
		"f.jsonl@[2:1]":        "first row is 2, want less than 1",
		"f.jsonl@[-2:]":        `row is "-2", want a number from 0`,
		"f.jsonl@[a:b]":        `row is "a"`,
		"f.jsonl@[3]":          "slice of \"f.jsonl@[3]\" is not closed, want FILE or FILE@[a:b]",
		"testdata/gsm8k.jsonl": "no such file",
	} {
		c.File = file
		if _, err := Open(c, tokenizer.Bytes{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want an error with %q", file, err, want)
		}
	}
}

// A label in a column that has no form in JSON is missing in every row: the error says where it may be.
func TestMissingLabelNamesColumnsNotRead(t *testing.T) {
	c := Default()
	c.File, c.InputKey, c.LabelKey = "rows/testdata/snappy.parquet", "reward_model.ground_truth", "raw"
	if _, err := Open(c, tokenizer.Bytes{}); err == nil || !strings.HasSuffix(err.Error(), "raw is empty or missing, want the gold answer (--allow-empty-labels leaves such rows out); columns not read: raw") {
		t.Errorf("error is %v", err)
	}
}

func TestValidateNamesFlags(t *testing.T) {
	err := (Config{File: "f@[2:1]", MaxPromptTokens: -1, Workers: -1, TemplateArgs: "[]"}).Validate()
	for _, want := range []string{"--prompt-data", "--input-key", "--label-key", "--rollout-max-prompt-len", "--max-line-bytes", "--prompt-data-workers", "--apply-chat-template-kwargs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("complaint is %v, want %s in it", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"p":"a","l":1}`, `{"p":[{"role":"user","content":"x"}],"l":" "}`, "\ufeff{}\r\n\n", `{"p": "\ud800" , "id": 3 }`, `{"p":"a","l":-,"m":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c := settings(func(c *Config) { c.MaxLineBytes = 200 })
		set, err := Read(bytes.NewReader(file), c, tokenizer.Bytes{})
		if err != nil {
			return
		}
		rep := set.Report()
		if set.Len() == 0 || rep.Rows != set.Len() || rep.Rows+rep.Malformed+rep.Outside != rep.Lines {
			t.Fatalf("%d prompts, report %+v", set.Len(), rep)
		}
		for _, p := range prompts(t, set) {
			if p.ID == "" || p.Text == "" || p.Label == "" || len(p.Tokens) != len(p.Text) {
				t.Fatalf("prompt is %+v", p)
			}
		}
	})
}
