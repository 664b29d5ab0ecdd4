package main

import (
	"path/filepath"
	"testing"
)

// trainTiny runs a whole run of the small model.
func trainTiny(t *testing.T, model string, more ...string) finished {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	return finished{dir, succeed(t, flags(model, dir, more...)...)}
}

// What must not matter does not: who computes, on how many threads, in which pieces, and whether activations are kept.
func TestSameRun(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model)
	if got := len(cycles(t, want.dir)); got != 10 {
		t.Fatalf("%d cycles, want 10", got)
	}
	for name, more := range map[string][]string{
		"again":             nil,
		"reference":         {"--backend", "ref"},
		"one thread":        {"--threads", "1"},
		"two threads":       {"--threads", "2"},
		"micro-batches":     {"--max-tokens-per-gpu", "20"},
		"one micro-batch":   {"--max-tokens-per-gpu", "100000"},
		"recompute":         {"--recompute"},
		"other checkpoints": {"--save-interval", "1", "--save-keep", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "two_threads", "recompute")
			t.Parallel()
			sameRun(t, trainTiny(t, model, more...), want)
		})
	}
}

// Where the rollout engine works in another order, samples share other prompts and evaluations finish in another order; the policy and
// what it was trained on are the same.
func TestSamePolicy(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model)
	for name, more := range map[string][]string{
		"one at a time": {"--max-running-requests", "1", "--chunked-prefill-size", "1", "--page-size", "8"},
		"no sharing":    {"--disable-radix-cache"},
		"crowded":       {"--max-running-requests", "3", "--chunked-prefill-size", "7", "--max-total-tokens", "64"},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "crowded")
			t.Parallel()
			got := trainTiny(t, model, more...)
			if g, w := got.closing(t).Digest, want.closing(t).Digest; g != w {
				t.Errorf("weights have SHA-256 %s, want %s", g, w)
			}
		})
	}
}

// What must matter does: a test that compares equal whatever it is given would show nothing.
func TestOtherRun(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model, "--num-rollout", "2").closing(t).Digest
	for name, more := range map[string][]string{
		"seed": {"--rollout-seed", "43"}, "rate": {"--lr", "4e-3"}, "one step ahead": {"--loop", "one-step-off"}, "length": {"--num-rollout", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			unlessShort(t, "seed")
			t.Parallel()
			got := trainTiny(t, model, append([]string{"--num-rollout", "2"}, more...)...).closing(t).Digest
			if got == want {
				t.Errorf("weights are those of the first run, %s", got)
			}
		})
	}
}
