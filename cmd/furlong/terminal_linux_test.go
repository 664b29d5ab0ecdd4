package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// onTerminal runs a short training on a terminal of so many columns and returns what its stderr got there. A pseudo-terminal comes from util-linux's script.
func onTerminal(t *testing.T, columns int, env []string, flags ...string) string {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skipf("no pseudo-terminal without the command script: %v", err)
	}
	args := append([]string{
		"exec furlong train --num-rollout 3 --rollout-batch-size 2 --n-samples-per-prompt 2 --eval-problems 4 --n-samples-per-eval-prompt 1",
		"--eval-interval 0 --save-interval 0 --no-dash --run-dir run",
	}, flags...)
	cmd := exec.Command(script, "-q", "-e", "-c", fmt.Sprintf("stty cols %d && %s >results", columns, strings.Join(args, " ")), "/dev/null")
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh"), env...)
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	return string(got)
}

var (
	drawnLine  = regexp.MustCompile(`\r(?:\x1b\[\dA)?([^\r\n]*?)\x1b\[K`)
	drawnBelow = regexp.MustCompile(`\n([^\r\n]*?)\x1b\[K`)
	colourCode = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

// TestTerminal trains on terminals of three widths: all that is drawn has room, and the place in the run is always there.
func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		columns int
		with    []string
	}{
		{40, []string{"3/3 cycles"}},
		{80, []string{"train", "3/3 cycles", "reward ", "average"}},
		{120, []string{"train", "3/3 cycles", "100%", "reward ", "gap ", "average"}},
	} {
		got := onTerminal(t, tt.columns, nil)
		drawn := append(drawnLine.FindAllStringSubmatch(got, -1), drawnBelow.FindAllStringSubmatch(got, -1)...)
		if len(drawn) < 3 {
			t.Fatalf("%d columns: %d lines are drawn: %q", tt.columns, len(drawn), got)
		}
		var all strings.Builder
		for _, m := range drawn {
			text := colourCode.ReplaceAllString(m[1], "")
			if n := utf8.RuneCountInString(text); n >= tt.columns {
				t.Errorf("%d columns: %q has %d", tt.columns, text, n)
			}
			all.WriteString(text + "\n")
		}
		for _, want := range tt.with {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%d columns: nothing says %q:\n%s", tt.columns, want, all.String())
			}
		}
	}
}

// TestTerminalSaysLess asks for no colour, and for no progress.
func TestTerminalSaysLess(t *testing.T) {
	if got := onTerminal(t, 80, []string{"NO_COLOR=1"}); colourCode.MatchString(got) || !drawnLine.MatchString(got) {
		t.Errorf("with NO_COLOR the terminal gets %q", got)
	}
	if got := onTerminal(t, 80, nil, "--quiet"); drawnLine.MatchString(got) || !strings.Contains(got, "\n") {
		t.Errorf("with --quiet the terminal gets %q", got)
	}
}
