//go:build slow

package main

import (
	"path/filepath"
	"testing"
)

// The default recipe, whole, has the same curves whoever draws its samples.
func TestDefaultRunOverAServer(t *testing.T) {
	run := func(more ...string) finished {
		dir := filepath.Join(t.TempDir(), "run")
		return finished{dir, succeed(t, append([]string{"train", "--run-dir", dir, "--quiet", "--json"}, more...)...)}
	}
	want := run()
	sameTraining(t, run("--rollout-url", hosts(t, "serve", "--quiet").url), want)
}
