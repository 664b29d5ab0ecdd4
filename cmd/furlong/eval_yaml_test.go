package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A file of YAML says what the same file of JSON says.
func TestEvalConfigOfYAML(t *testing.T) {
	dir := t.TempDir()
	read := func(name, text string) (*evalConfig, error) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return readEvalConfig(path)
	}
	want, err := read("sets.json", `{"defaults":{"n_samples_per_eval_prompt":8,"top_p":0.7,"temperature":1},
		"datasets":[{"name":"aime","path":"/data/aime.jsonl","rm_type":"math","max_response_len":4096},{"name":"no","path":"b.jsonl","top_k":20,"stop_token_ids":[1,2]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	const sets = `
defaults: &all
  n_samples_per_eval_prompt: 8   # samples
  top_p: 0.7
  temperature: 1
datasets:
  - name: aime
    path: "/data/aime.jsonl"
    rm_type: math
    max_response_len: 4096
  - {name: "no", path: b.jsonl, top_k: 20, stop_token_ids: [1, 2]}
`
	for name, text := range map[string]string{"plain.yaml": sets, "under.yml": "eval:" + strings.ReplaceAll(sets, "\n", "\n  ")} {
		got, err := read(name, text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                            "it is empty",
		"datasets: [":                 "yaml: line 1",
		"a: 1\n---\nb: 2\n":           "more than one document",
		"datasets: []\ndefault: {}\n": `unknown field "default"`,
		"datasets: []\n":              "datasets is empty",
		"datasets: [{name: a, path: b, temperature: hot}]\n": "temperature",
		"datasets: [{name: a, path: b, name: c}]\n":          `"name" already defined`,
		"datasets: [{name: a, path: b, top_p: .nan}]\n":      "it says what JSON cannot",
		"datasets: [{1: a}]\n":                               "it says what JSON cannot",
		bomb():                                               "excessive aliasing",
	} {
		if _, err := read("bad.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error is %v, want %s", text, err, want)
		}
	}
}

// bomb is a small document that unfolds into a large one.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		at := string(rune('a' + i))
		from := "a0"
		if i > 0 {
			from = "n" + string(rune('a'+i-1))
		}
		b.WriteString("n" + at + ": &n" + at + " [" + strings.TrimSuffix(strings.Repeat("*"+from+", ", 10), ", ") + "]\n")
	}
	return b.String()
}
