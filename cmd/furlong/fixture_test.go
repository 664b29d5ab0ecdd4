package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"furlong/summary"
)

// A result is what the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// furlong runs the program to its end.
func furlong(t *testing.T, args ...string) result {
	t.Helper()
	return execute(t, exec.Command("furlong", args...))
}

// execute runs a command to its end. The code of one that was killed is -1. Runs of the small model live for a second and hold little: with the heap of a few
// megabytes that is the default, they would spend a tenth of their time on sweeping it.
func execute(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if c.Env == nil {
		c.Env = append(os.Environ(), "GOGC=400")
	}
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// succeed runs the program, which must succeed.
func succeed(t *testing.T, args ...string) result {
	t.Helper()
	r := furlong(t, args...)
	if r.code != exitOK {
		t.Fatalf("furlong %s exits with %d, want 0:\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// refuse runs the program, which must exit with code and say every one of wants.
func refuse(t *testing.T, code int, args []string, wants ...string) result {
	t.Helper()
	r := furlong(t, args...)
	if r.code != code {
		t.Errorf("furlong %s exits with %d, want %d:\n%s", strings.Join(args, " "), r.code, code, r.stderr)
	}
	for _, w := range wants {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("furlong %s does not say %q:\n%s", strings.Join(args, " "), w, r.stderr)
		}
	}
	return r
}

// closing returns what --json prints in the last line.
func (r result) closing(t *testing.T) summary.Summary {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var s summary.Summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		t.Fatalf("last line is %.80q, want the closing table as JSON: %v", lines[len(lines)-1], err)
	}
	return s
}

// trained is the small checkpoint of testdata/tiny, file by file: made once, by furlong sft.
var trained = sync.OnceValues(func() (map[string][]byte, error) {
	parent, err := os.MkdirTemp("", "furlong-tiny")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "model")
	c := exec.Command("furlong", "sft", "--recipe", "none", "--model-config", "testdata/tiny/config.json", "--save-hf", dir,
		"--prompt-data", "testdata/tiny/imitate.jsonl", "--input-key", "question",
		"--num-steps", "40", "--global-batch-size", "20", "--lr", "3e-2", "--quiet")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	files := map[string][]byte{}
	for _, name := range []string{"config.json", "model.safetensors"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// writeTiny writes the small checkpoint into dir, which it makes.
func writeTiny(dir string) error {
	files, err := trained()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name := range maps.Keys(files) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tiny returns the directory of a copy of the small checkpoint.
func tiny(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := writeTiny(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flags are those of a run of the small model: ten cycles of about ten milliseconds, with real rewards and evaluations.
// Prompts run over the end of their file in every third cycle.
func flags(model, dir string, more ...string) []string {
	return append([]string{
		"train", "--recipe", "none", "--hf-checkpoint", model, "--run-dir", dir, "--quiet", "--json",
		"--prompt-data", "testdata/tiny/prompts.jsonl", "--input-key", "question", "--label-key", "answer", "--rm-type", "math", "--rollout-shuffle",
		"--eval-prompt-data", "held-out", "testdata/tiny/held-out.jsonl", "--eval-interval", "2", "--n-samples-per-eval-prompt", "2",
		"--num-rollout", "10", "--rollout-batch-size", "2", "--n-samples-per-prompt", "4", "--rollout-max-response-len", "16", "--context-length", "64",
		"--save-interval", "3", "--lr", "3e-3",
	}, more...)
}

// unlessShort skips a case with -short, unless it is one of those that are worth it: under the race detector a run takes ten times as long.
func unlessShort(t *testing.T, worth ...string) {
	t.Helper()
	for _, w := range worth {
		if strings.HasSuffix(t.Name(), "/"+w) {
			return
		}
	}
	if testing.Short() {
		t.Skip("takes a while")
	}
}
