package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"furlong/dash/api"
	"furlong/dash/store"
	"furlong/parity"
)

// The command that the page of a sample's tokens prints runs as it is printed, and scores that sample alone. By the weights that drew it, and in the run's formats, both engines
// give the logprobs that the run kept, to the bit.
func TestRescoreRunsAsPrinted(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell is here")
	}
	dir := filepath.Join(t.TempDir(), "a run's")
	succeed(t, flags(tiny(t), dir, "--num-rollout", "7", "--save-keep", "9", "--rollout-format", "fp8", "--rollout-kv-format", "fp8_e4m3", "--lr", "1e-2")...)
	o, err := storeOptions()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Open(dir, "run", o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, tt := range []struct {
		q, weights string
		drew       bool
	}{
		{"cycle:1", "the weights that the run began with: v1, which drew the sample", true},
		{"cycle:4", "the checkpoint of cycle 3: v4, which drew the sample", true},
		{"cycle:6", "the checkpoint of cycle 6: v7, where v6 drew the sample", false},
		{"cycle:6 eval", "the checkpoint of cycle 6: v7, which drew the sample", true},
	} {
		all, err := r.Samples(store.SampleAsk{Q: tt.q, Limit: 1})
		if err != nil || len(all.Rows) == 0 {
			t.Fatalf("%s: %v", tt.q, err)
		}
		s := all.Rows[0]
		in, err := r.Inspect(store.SampleID{Cycle: s.Cycle, Group: s.Group, Slot: s.Slot, Eval: s.Eval}, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if in.Weights != tt.weights {
			t.Errorf("%s: weights are %q, want %q", tt.q, in.Weights, tt.weights)
		}
		got := execute(t, exec.Command(sh, "-c", in.Command+" --json --quiet"))
		var rep parity.Report
		if err := json.Unmarshal([]byte(got.stdout), &rep); err != nil {
			t.Fatalf("%s exits with %d: %s", in.Command, got.code, got.stderr)
		}
		if len(rep.Sequences) != 1 || len(rep.Sequences[0].A) != s.Len {
			t.Fatalf("%s: %d sequences, want one of %d tokens", tt.q, len(rep.Sequences), s.Len)
		}
		for side, v := range map[string][]float32{"rollout": rep.Sequences[0].A, "trainer": rep.Sequences[0].B} {
			kept := map[string][]api.Number{"rollout": in.Rollout, "trainer": in.Train}[side]
			if same := kept != nil && equalNumbers(v, kept); same != tt.drew && (kept != nil || side == "rollout") {
				t.Errorf("%s: the %s's logprobs are %v, kept were %v; the same: %v, want %v", tt.q, side, v, kept, same, tt.drew)
			}
		}
	}
}

// equalNumbers reports whether numbers are those that were written.
func equalNumbers(v []float32, written []api.Number) bool {
	if len(v) != len(written) {
		return false
	}
	for i, n := range written {
		f, err := strconv.ParseFloat(strings.Trim(string(n), `"`), 32)
		if err != nil || float32(f) != v[i] {
			return false
		}
	}
	return true
}
