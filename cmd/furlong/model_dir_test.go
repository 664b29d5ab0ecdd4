package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path leads to a model: its own, or the one inside a checkpoint. Any other path stays what it was, for whoever complains of it.
func TestModelDir(t *testing.T) {
	dir := t.TempDir()
	put := func(path string) {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("model/config.json")
	put("step/trainer/model/config.json")
	put("both/config.json")
	put("both/trainer/model/config.json")
	put("odd/trainer/model/config.json/x")
	put("odd/a")
	for path, want := range map[string]string{"model": "model", "step": "step/trainer/model", "both": "both", "odd": "odd", "none": "none"} {
		if got := modelDir(filepath.Join(dir, path)); got != filepath.Join(dir, want) {
			t.Errorf("modelDir(%s) = %s, want %s", path, got, want)
		}
	}
	if got := modelDir(""); got != "" {
		t.Errorf("modelDir of nothing is %q", got)
	}
}

func TestHasLogProbs(t *testing.T) {
	for text, want := range map[string]bool{
		"":                              false,
		`{"prompt":[1],"response":[2]}`: false,
		"{\"prompt\":[1]}\n{\"logprobs\":[-1]}\n":      true,
		`{"prompt":[1],"response":[2],"generated":[]}`: true,
	} {
		if got := hasLogProbs(strings.NewReader(text)); got != want {
			t.Errorf("hasLogProbs(%s) = %t, want %t", text, got, want)
		}
	}
}
