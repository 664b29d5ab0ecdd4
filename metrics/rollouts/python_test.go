package rollouts

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The reader in docs/formats/rollouts.md reads what is written here.
func TestPythonReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3: the reader of docs/formats/rollouts.md is NOT TRIED")
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "rollouts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```python\n")
	script, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/formats/rollouts.md has no reader")
	}
	all := fullBatch(9, 2, 2)
	var out, bad strings.Builder
	cmd := exec.Command(python, "-c", script, written(t, Rollouts{Cycle: 3, Samples: all}))
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, bad.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d lines, want %d", len(lines), len(all))
	}
	for i, s := range all {
		reward, rest, _ := strings.Cut(lines[i], " ")
		tokens, total, _ := strings.Cut(rest, "] ")
		if got, err := strconv.ParseFloat(reward, 64); err != nil || got != s.Reward {
			t.Errorf("sample %d: reward %s, want %v", i, reward, s.Reward)
		}
		if want := strings.ReplaceAll(fmt.Sprint(s.Response), " ", ", "); tokens+"]" != want {
			t.Errorf("sample %d: tokens %s], want %s", i, tokens, want)
		}
		want := 0.0
		for _, lp := range s.LogProbs {
			want += float64(lp)
		}
		if got, err := strconv.ParseFloat(total, 64); err != nil || math.Abs(got-want) > 1e-12 { // the order of Python's sum
			t.Errorf("sample %d: logprobs add up to %s, want %v", i, total, want)
		}
	}
}
