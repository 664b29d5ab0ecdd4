//go:build slow

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"furlong/summary"
)

// The short form of the default run: 30 cycles, 128 held-out problems. The full run gains 0.1 and more; a run of this length that gains
// less than 0.03 does not learn.
func TestDefaultRunLearns(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "furlong")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(bin, "train", "--run-dir", filepath.Join(t.TempDir(), "run"), "--num-rollout", "30", "--eval-problems", "128",
		"--eval-interval", "0", "--save-interval", "0", "--quiet", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var s summary.Summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		t.Fatal(err)
	}
	if gain := s.Eval.After["pass@1"] - s.Eval.Before["pass@1"]; gain < 0.03 {
		t.Errorf("held-out pass@1 gained %.3f, want at least 0.03", gain)
	}
	if s.Gap.MaxAbs != 0 || s.Reward.Slope <= 0 {
		t.Errorf("gap %v, want 0; slope of the reward %v, want more than 0", s.Gap.MaxAbs, s.Reward.Slope)
	}
}
