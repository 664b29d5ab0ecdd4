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

// The short form of the default run, in each loop: 30 cycles, 128 held-out problems. The full run gains 0.1 and more; a run of this length that gains
// less than 0.03 does not learn. Where no token is older than the trainer, no logprob differs.
func TestEveryLoopLearns(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "furlong")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, loop := range []string{"sync", "one-step-off", "fully-async"} {
		t.Run(loop, func(t *testing.T) {
			s := shortForm(t, bin, "--loop", loop)
			if gain := s.Eval.After["pass@1"] - s.Eval.Before["pass@1"]; gain < 0.03 || s.Reward.Slope <= 0 {
				t.Errorf("held-out pass@1 gained %.3f, want at least 0.03; slope of the reward %v, want more than 0", gain, s.Reward.Slope)
			}
			if loop == "sync" && s.Gap.MaxAbs != 0 {
				t.Errorf("gap %v, want 0", s.Gap.MaxAbs)
			}
		})
	}
}

// shortForm runs it and returns its closing table.
func shortForm(t *testing.T, bin string, args ...string) (s summary.Summary) {
	t.Helper()
	out, err := exec.Command(bin, append([]string{
		"train", "--run-dir", filepath.Join(t.TempDir(), "run"), "--num-rollout", "30", "--eval-problems", "128",
		"--eval-interval", "0", "--save-interval", "0", "--quiet", "--no-dash", "--json",
	}, args...)...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		t.Fatal(err)
	}
	return s
}
