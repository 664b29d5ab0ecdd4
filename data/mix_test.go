package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"furlong/chat"
	"furlong/rl"
	"furlong/tokenizer"
)

// files writes files of n rows each, and returns --prompt-data for a mix of them.
func mixOf(t testing.TB, sizes []int, weights []string) string {
	t.Helper()
	dir := t.TempDir()
	var parts []string
	for i, n := range sizes {
		path := filepath.Join(dir, fmt.Sprintf("f%d.jsonl", i))
		if err := os.WriteFile(path, []byte(numbered(n)), 0o644); err != nil {
			t.Fatal(err)
		}
		part := fmt.Sprintf("s%d=%s", i, path)
		if weights != nil {
			part += ":" + weights[i]
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

func open(t testing.TB, file string, change func(*Config)) *Set {
	t.Helper()
	set, err := Open(settings(func(c *Config) {
		c.File = file
		if change != nil {
			change(c)
		}
	}), tokenizer.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// Along the whole way each file has as many prompts as its weight says, to within one.
func TestMixFollowsWeights(t *testing.T) {
	for _, tt := range []struct {
		weights []string
		want    []float64
	}{{nil, []float64{3, 10, 7}}, {[]string{"1", "2", "0.5"}, []float64{1, 2, 0.5}}, {[]string{"1e3", "1e3", "1e3"}, []float64{1, 1, 1}}} {
		s := NewSource(open(t, mixOf(t, []int{3, 10, 7}, tt.weights), nil), 9, true)
		sum, counts := 0.0, map[string]int{}
		for _, w := range tt.want {
			sum += w
		}
		for n := 1; n <= 300; n++ {
			p := take(t, s, 1)[0]
			counts[p.Set]++
			for i, w := range tt.want {
				if got, want := float64(counts[fmt.Sprint("s", i)]), float64(n)*w/sum; math.Abs(got-want) > 1 {
					t.Fatalf("weights %v: after %d prompts %v are of file %d, want %.2f", tt.weights, n, got, i, want)
				}
			}
			if !strings.HasPrefix(p.ID, p.Set+"/sha256-") || p.Group != int64(n-1) {
				t.Fatalf("prompt %d is %s of group %d", n, p.ID, p.Group)
			}
		}
	}
}

// Without weights every prompt of every file comes once in an epoch of all.
func TestMixWithoutWeightsIsWhole(t *testing.T) {
	set := open(t, mixOf(t, []int{4, 9, 1}, nil), nil)
	s := NewSource(set, 3, true)
	for epoch := range 3 {
		seen := map[string]int{}
		for _, p := range take(t, s, 14) {
			seen[p.ID]++
		}
		if len(seen) != 14 {
			t.Errorf("epoch %d has %d different prompts, want 14", epoch, len(seen))
		}
	}
}

// However often a run is interrupted, and however large its batches are, it sees what the unbroken one sees.
func TestResumeMixesInRandomSchedules(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 40 {
		sizes := []int{1 + r.IntN(5), 1 + r.IntN(9), 1 + r.IntN(3)}[:1+r.IntN(3)]
		weights := []string{"1", "3", "0.25"}[:len(sizes)]
		if len(sizes) == 1 || r.IntN(2) == 0 {
			weights = nil
		}
		file := mixOf(t, sizes, weights)
		seed, shuffle := r.Uint64(), r.IntN(4) > 0
		// Where the bytes lie and who tokenised them must not matter either.
		set := open(t, file, func(c *Config) { c.Memory, c.Workers = r.IntN(2)*1000, 1+r.IntN(4) })
		want := take(t, NewSource(open(t, file, nil), seed, shuffle), 60)
		s := NewSource(set, seed, shuffle)
		var got []*rl.Prompt
		for len(got) < len(want) {
			got = append(got, take(t, s, r.IntN(min(9, len(want)-len(got))+1))...)
			if r.IntN(3) == 0 {
				st, err := s.State()
				if err != nil {
					t.Fatal(err)
				}
				s = NewSource(set, seed, shuffle)
				take(t, s, r.IntN(20)) // a source that has been elsewhere
				if err := s.Restore(st); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: sizes %v, weights %v, shuffle %t: resumed sees %s, unbroken %s", round, sizes, weights, shuffle, order(got), order(want))
		}
	}
}

func TestResumeRefusesAChangedFile(t *testing.T) {
	file := mixOf(t, []int{5, 6}, nil)
	s := NewSource(open(t, file, nil), 1, true)
	take(t, s, 3)
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(file, "s0="), ",")
	for _, tt := range []struct{ name, content, file, want string }{
		{"a label", strings.Replace(numbered(5), `"l":"3"`, `"l":"4"`, 1), file, "f0.jsonl had 5 prompts with digest"},
		{"metadata", strings.Replace(numbered(5), `"l":"3"`, `"l":"3","m":{}`, 1), file, "f0.jsonl had 5 prompts with digest"},
		{"a row more", numbered(7), file, "and has 7 with"},
		{"a file less", numbered(5), path, "files are 2, want 1"},
		{"another name", numbered(5), strings.Replace(file, "s1=", "s2=", 1), "file is s1 with weight 6, want s2"},
		{"weights", numbered(5), strings.Replace(file, ",", ":1,", 1) + ":2", "want s0 with weight 1"},
	} {
		if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := NewSource(open(t, tt.file, nil), 1, true).Restore(st); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Restore = %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := os.WriteFile(path, []byte(numbered(5)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := NewSource(open(t, file, nil), 1, true).Restore(st); err != nil {
		t.Errorf("the old file again: %v", err)
	}
}

// A row that changes while the run goes on is an error, and the source stays where it is.
func TestFileChangesInTheMeantime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.jsonl")
	if err := os.WriteFile(path, []byte(numbered(5)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSource(open(t, path, func(c *Config) { c.Memory = 0 }), 1, false)
	take(t, s, 2)
	if err := os.WriteFile(path, []byte(strings.Replace(numbered(5), `"l":"3"`, `"l":"9"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(3); err == nil || !strings.Contains(err.Error(), "f.jsonl:4: row has changed since the file was loaded: another text or label") {
		t.Errorf("error is %v", err)
	}
	if p := take(t, s, 1)[0]; p.Label != "2" || p.Group != 2 {
		t.Errorf("after the error comes %s of group %d, want 2", p.Label, p.Group)
	}
}

func TestParts(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"a.jsonl", "a a.jsonl 0-9223372036854775807 0"},
		{"dir/a,b.jsonl", "a,b dir/a,b.jsonl 0-9223372036854775807 0"},
		{"a.jsonl:3", "a a.jsonl:3 0-9223372036854775807 0"},
		{"./lr=1/a.jsonl@[2:4]", "a ./lr=1/a.jsonl 2-4 0"},
		{"x=a.jsonl:3,y=b.parquet@[:9]:0.5", "x a.jsonl 0-9223372036854775807 3; y b.parquet 0-9 0.5"},
		{"x=a,b.jsonl,y=c:d.jsonl", "x a,b.jsonl 0-9223372036854775807 0; y c:d.jsonl 0-9223372036854775807 0"},
		{"x=a.jsonl:0", `weight is "0", want a number above 0`},
		{"x=a.jsonl:-1", `weight is "-1"`},
		{"x=a.jsonl:1,y=b.jsonl", "1 of 2 files have a weight, want all or none"},
		{"x=a.jsonl,x=b.jsonl", "two files are called x"},
		{"x=", "x has no file, want NAME=FILE"},
		{"x=a@[3:1],y=b", "first row is 3, want less than 1"},
	} {
		parts, err := Config{File: tt.file}.parts()
		var got []string
		for _, p := range parts {
			got = append(got, fmt.Sprintf("%s %s %d-%d %v", p.name, p.path, p.rows.from, p.rows.to, p.weight))
		}
		if text := strings.Join(got, "; "); text != tt.want && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s is %q, %v, want %q", tt.file, text, err, tt.want)
		}
	}
}

// Parquet gives the prompts that the same rows give as jsonl, kept in memory or not.
func TestParquetAsJSONL(t *testing.T) {
	change := func(file string, memory int) func(*Config) {
		return func(c *Config) {
			c.File, c.InputKey, c.LabelKey, c.MetadataKey, c.Memory = file, "reward_model.ground_truth", "rank", "extra_info", memory
		}
	}
	want := prompts(t, open(t, "", change("rows/testdata/rows.jsonl", 1<<20)))
	if len(want) != 50 || want[2].Text != "4" || want[2].Label != "18446744073709551613" {
		t.Fatalf("%d prompts, the third is %+v", len(want), want[2])
	}
	for _, memory := range []int{0, 3000, 1 << 20} {
		got := prompts(t, open(t, "", change("rows/testdata/snappy.parquet", memory)))
		for i := range want {
			w, g := *want[i], *got[i]
			if !sameJSON(t, w.Metadata, g.Metadata) {
				t.Errorf("metadata of %d is %s, want %s", i, g.Metadata, w.Metadata)
			}
			w.Metadata, g.Metadata, w.Set, g.Set = nil, nil, "", ""
			if !reflect.DeepEqual(g, w) {
				t.Errorf("memory %d: prompt %d is %+v, want %+v", memory, i, g, w)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("%s or %s is no JSON", a, b)
	}
	return reflect.DeepEqual(x, y)
}

// Workers and batches change nothing, neither in prompts nor in reports nor in errors.
func TestWorkersDoNotMatter(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "{\"p\":\"%s\",\"l\":\"%d\"}\n", strings.Repeat("x", i%300), i%700)
		if i == 1500 || i == 2800 {
			b.WriteString("{\n")
		}
	}
	text := strings.Replace(b.String(), `"p":""`, `"p":"-"`, -1)
	load := func(workers int, text string) (string, error) {
		set, err := Read(strings.NewReader(text), settings(func(c *Config) { c.Workers = workers }), tokenizer.Bytes{})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(set.Report(), set.Report().Notes, set.files[0].digest, texts(t, set)), nil
	}
	want, err := load(1, text)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := strings.Replace(strings.Replace(text, `"l":"650"`, `"z":"650"`, -1), `"l":"651"`, `"l":true`, -1)
	for _, workers := range []int{2, 3, 7} {
		if got, err := load(workers, text); got != want || err != nil {
			t.Errorf("%d workers: %v, or another set", workers, err)
		}
		if _, err := load(workers, spoiled); err == nil || !strings.HasPrefix(err.Error(), "f.jsonl:651: l is empty or missing") {
			t.Errorf("%d workers: error is %v", workers, err)
		}
	}
}

// The index of a file on disk takes little memory beside the file's size.
func TestLargeFileStaysOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	path := filepath.Join(t.TempDir(), "large.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", 20_000)
	const n = 1500 // 30 MB
	for i := range n {
		fmt.Fprintf(f, "{\"p\":\"%d\",\"l\":\"1\",\"pad\":\"%s\"}\n", i, pad)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	set := open(t, path, func(c *Config) { c.Memory = 1 << 20 })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 || set.Len() != n {
		t.Errorf("%d prompts of 30 MB hold %d bytes, want at most 2 MiB", set.Len(), grown)
	}
	if p := take(t, NewSource(set, 1, false), n)[n-1]; p.Text != fmt.Sprint(n-1) {
		t.Errorf("the last prompt is %s", p.Text)
	}
	runtime.KeepAlive(set)
}

func TestLabelsOfSeveralParts(t *testing.T) {
	set := read(t, `{"p":"a","l":["1/2", 0.50]}
{"p":"b","l":{"target": 24, "nums": [1, 2, 12]}}
{"p":"c","l":{"x":1}}`, func(c *Config) { c.File += "@[:2]" })
	if got, want := texts(t, set), `a=["1/2","0.50"] b={"target":24,"nums":[1,2,12]}`; got != want {
		t.Errorf("labels are %s, want %s", got, want)
	}
	for label, want := range map[string]string{
		"true": "f.jsonl:1: l is true, want a text, a number, a list of these, or an object with nums and target", `{"x":1}`: "nums and target",
		"[[1]]": "l is [[1]], want a text", "{}": "l is {}, want a text", "[]": "l is [], want a text",
	} {
		_, err := Read(strings.NewReader(`{"p":"c","l":`+label+`}`), settings(nil), tokenizer.Bytes{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("label %s: error is %v, want %q", label, err, want)
		}
	}
}

// The numbers of a countdown beside its target go where graders look for them. What is no countdown stays as it is.
func TestNumbersBesideTheTarget(t *testing.T) {
	for _, tt := range []struct{ row, metadata string }{
		{`{"p":"a","l":24,"nums":[1,2,12]}`, `{"nums":[1,2,12]}`},
		{`{"p":"a","l":"24","nums":[1, 2, 12],"m":{}}`, `{"nums":[1, 2, 12]}`},
		{`{"p":"a","l":24,"nums":[1,2,12],"m":{"x":1}}`, `{"nums":[1,2,12],"x":1}`},
		{`{"p":"a","l":24,"nums":[1,2,12],"m":{"nums":[24]}}`, `{"nums":[24]}`},
		{`{"p":"a","l":"four","nums":[1,2,12]}`, ``},
		{`{"p":"a","l":24,"nums":"1 2 12"}`, ``},
		{`{"p":"a","l":24,"nums":3}`, ``},
		{`{"p":"a","l":24,"nums":["x"]}`, ``},
		{`{"p":"a","l":{"nums":[1],"target":1},"nums":[2]}`, ``},
	} {
		p := prompts(t, read(t, tt.row, nil))[0]
		if string(p.Metadata) != tt.metadata {
			t.Errorf("%s: metadata are %s, want %s", tt.row, p.Metadata, tt.metadata)
		}
	}
}

// marks is a template that shows what it was given.
type marks struct{ chat.Plain }

func (marks) Render(c *chat.Conversation) (chat.Prompt, error) {
	text := fmt.Sprintf("thinking %t;", c.Thinking)
	for _, t := range c.Tools {
		text += fmt.Sprintf(" tool %s %s;", t.Name, t.Schema)
	}
	for _, m := range c.Messages {
		text += fmt.Sprintf(" %s: %s%s", m.Role, m.Reasoning, m.Content)
	}
	return chat.Prompt{Pieces: []chat.Piece{{Text: text}}}, nil
}

func TestTemplatesAndTools(t *testing.T) {
	with := func(kwargs string) func(*Config) {
		return func(c *Config) { c.Template, c.TemplateArgs, c.ApplyChatTemplate = marks{}, kwargs, true }
	}
	row := `{"p":"a","l":"1","tools":[{"type":"function","function":{"name":"f","x":1}},{"name":"g"}]}`
	if got, want := texts(t, read(t, row, with(`{"enable_thinking": true}`))), `thinking true; tool f {"name":"f","x":1}; tool g {"name":"g"}; user: a=1`; got != want {
		t.Errorf("text is %s, want %s", got, want)
	}
	row = `{"p":[{"role":"assistant","content":"b","reasoning_content":"a"},{"role":"tool","content":"c","tool_call_id":null,"name":null}],"l":"1","tools":[]}`
	if got, want := texts(t, read(t, row, with(""))), "thinking false; assistant: ab tool: c=1"; got != want {
		t.Errorf("text is %s, want %s", got, want)
	}
	for _, tt := range []struct{ row, kwargs, want string }{
		{`{"p":"a","l":"1"}`, `{"speed": 3}`, "--apply-chat-template-kwargs: "},
		{`{"p":"a","l":"1"}`, `[`, "--apply-chat-template-kwargs is \"[\", want a JSON object"},
		{`{"p":"a","l":"1","tools":3}`, "", "tools is 3, want a list of functions"},
		{`{"p":"a","l":"1","tools":[{"x":1}]}`, "", "tools: tool 0 has no name"},
		{`{"p":"a","l":"1","tools":[null]}`, "", "tools: tool 0 is null"},
		{`{"p":"a","l":"1","tools":[{"function":[]}]}`, "", "tools: tool 0: function is []"},
	} {
		_, err := Read(strings.NewReader(tt.row), settings(with(tt.kwargs)), tokenizer.Bytes{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.row, err, tt.want)
		}
	}
	_, err := Read(strings.NewReader(`{"p":"a","l":"1","tools":[{"name":"g"}]}`), settings(nil), tokenizer.Bytes{})
	if err == nil || !strings.Contains(err.Error(), "tools are given for a prompt that is used as it is") {
		t.Errorf("tools without a template: %v", err)
	}
}

func FuzzRestore(f *testing.F) {
	set, err := Read(strings.NewReader(numbered(5)), settings(nil), tokenizer.Bytes{})
	if err != nil {
		f.Fatal(err)
	}
	s := NewSource(set, 1, true)
	st, err := s.State()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(st)
	f.Add(bytes.Replace(st, []byte(`"place":0`), []byte(`"place":5`), 1))
	f.Fuzz(func(t *testing.T, st []byte) {
		s := NewSource(set, 1, true)
		if s.Restore(st) != nil {
			return
		}
		if _, err := s.Next(12); err != nil {
			t.Fatal(err)
		}
	})
}
