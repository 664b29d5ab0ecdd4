package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// Values that no run can have are refused by the flag's name, in a dry run too.
func TestFlagsOutOfBounds(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // "" for nothing
	}{
		{[]string{"--rollout-temperature", "1e308"}, "--rollout-temperature is 1e+308, want 0, or 1e-06 to 1e+06"},
		{[]string{"--rollout-temperature", "1e-40"}, "--rollout-temperature is 1e-40, want 0, or 1e-06 to 1e+06"},
		{[]string{"--rollout-temperature", "-1"}, "--rollout-temperature is -1, want 0 or more"},
		{[]string{"--rollout-temperature", "1e6"}, ""},
		{[]string{"--rollout-temperature", "0"}, ""},
		{[]string{"--eval-temperature", "1e7"}, "--eval-temperature is 1e+07, want 0, or 1e-06 to 1e+06"},
		{[]string{"--run-id", "a\xffb"}, `--run-id is "a\xffb", want a name in UTF-8 without control characters`},
		{[]string{"--run-id", "a\nb"}, `--run-id is "a\nb", want a name in UTF-8 without control characters`},
		{[]string{"--run-id", "größer/als 1"}, ""},
	} {
		var out, errs bytes.Buffer
		e := &env{name: "train", args: append([]string{"--dry-run"}, tt.args...), stdout: &out, stderr: &errs, log: slog.New(slog.DiscardHandler)}
		code := runTrain(context.Background(), e)
		if want := map[bool]int{true: exitOK, false: exitUsage}[tt.want == ""]; code != want || strings.Count(errs.String(), tt.want) == 0 {
			t.Errorf("%q exits with %d and says %q, want %d and %q", tt.args, code, errs.String(), want, tt.want)
		}
	}
}
