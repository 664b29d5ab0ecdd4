package main

import (
	"strings"
	"testing"
)

// A run that is evaluated on a server of its own is the run that is evaluated by the engine that generates: samples, figures, evaluations and weights. Its rows may
// come in another order.
func TestEvalURL(t *testing.T) {
	model := tiny(t)
	for _, loop := range []string{"sync", "one-step-off"} {
		t.Run(loop, func(t *testing.T) {
			unlessShort(t, "sync")
			args := strings.Fields("--num-rollout 3 --eval-interval 1 --keep-experts none --loop " + loop)
			want := trainTiny(t, model, args...)
			dir := t.TempDir()
			args = append(args, "--eval-url", serving(t, model, dir).url)
			if loop == "sync" { // weights go by files, to the server that draws and to the one that evaluates
				args = append(args, "--rollout-url", serving(t, model, dir).url, "--update-weight-transport", "disk", "--update-weight-dir", dir)
			}
			sameTraining(t, trainTiny(t, model, args...), want)
		})
	}
	u := "http://127.0.0.1:1"
	if r := furlong(t, "train", "--eval-url", u, "--rollout-url", u); r.code != exitUsage || !strings.Contains(r.stderr, "--eval-url and --rollout-url both name "+u) {
		t.Errorf("one server for both: exit code %d, %s; want %d and why", r.code, r.stderr, exitUsage)
	}
}
