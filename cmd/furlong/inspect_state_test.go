package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/weightsync"
)

// packed is a small model in a format, and its config.json.
func packed(t *testing.T, format string, seed uint64) (*dsv4.Model, []byte) {
	t.Helper()
	raw, err := os.ReadFile("testdata/tiny/config.json")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quant.ParseRecipe(format)
	if err != nil {
		t.Fatal(err)
	}
	m, from := dsv4.New(cfg, dtype.BF16), dsv4.New(cfg, dtype.BF16)
	from.Init(seed)
	if err := r.Apply(m.Params()); err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Params() {
		if w := from.Params()[i].Value; p.Value.Quantised() {
			quant.Pack(p.Value, w)
		} else {
			copy(p.Value.Mem, w.Mem)
		}
	}
	return m, raw
}

func saveAs(t *testing.T, m *dsv4.Model, raw []byte, s hf.Scheme, shard int64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := hf.Save(dir, m.Params(), s, raw, hf.SaveOptions{Experts: m.Config().Experts, ShardBytes: shard}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The state of a checkpoint is that of the weights in memory, whatever the names, the files and the format.
func TestStateIsTheWeights(t *testing.T) {
	for _, format := range []string{"bf16", "fp8", "fp8+fp4", "fp8-f32scales"} {
		m, raw := packed(t, format, 1)
		want := weightsync.SumsOf(m.Params())
		for s := hf.Memory; s <= hf.Wire; s++ {
			for _, shard := range []int64{0, 20000} {
				got := looked(t, saveAs(t, m, raw, s, shard), true).Model.State
				if got.State != want.State() || got.Tensors != len(want) || got.Recipe != format || len(got.List) != len(want) {
					t.Fatalf("%s in %v names: state is %v of %d tensors in %s, want %v of %d", format, s, got.State, got.Tensors, got.Recipe, want.State(), len(want))
				}
				for i, x := range want {
					if l := got.List[i]; l.Name != x.Name || l.Digest != x.Source || l.Format != x.Type {
						t.Errorf("%s in %v names: tensor %d is %+v, want %+v", format, s, i, l, x)
					}
				}
			}
		}
	}
}

// Weights that are packed first have the state of weights that were packed when they were saved.
func TestStateAs(t *testing.T) {
	plain, raw := packed(t, "bf16", 1)
	dir := saveAs(t, plain, raw, hf.Ref, 0)
	for _, format := range []string{"bf16", "fp8", "fp8+fp4"} {
		m, _ := packed(t, format, 1)
		code, out, errs := inspectCommand("--digest", "--json", "--as", format, dir)
		var got contents
		if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil || errs != "" {
			t.Fatalf("exits with %d, %v, %s", code, err, errs)
		}
		if want := weightsync.SumsOf(m.Params()).State(); got.Model.State.State != want {
			t.Errorf("as %s the state is %v, want %v", format, got.Model.State.State, want)
		}
	}
	code, out, _ := inspectCommand("--digest", "--as", "fp8", dir)
	if want := "recipe fp8: BF16 F32 F8_E4M3/128x128 F8_E8M0 I32\n"; code != exitOK || !strings.Contains(out, want) {
		t.Errorf("prints\n%s\nwant %q in it", out, want)
	}
}

// Two checkpoints are compared tensor by tensor.
func TestStatesAreCompared(t *testing.T) {
	m, raw := packed(t, "bf16", 1)
	a, b := saveAs(t, m, raw, hf.Ref, 0), saveAs(t, m, raw, hf.Wire, 9000)
	if code, out, errs := inspectCommand("--digest", a, b); code != exitOK || !strings.Contains(out, "the same: every tensor, byte for byte\n") {
		t.Errorf("one model in two schemes: exits with %d, %s\n%s", code, errs, out)
	}
	m.Params()[3].Value.Mem[5] ^= 1
	name := m.Params()[3].Name
	c := saveAs(t, m, raw, hf.Ref, 0)
	code, out, errs := inspectCommand("--digest", "--json", a, c)
	var got comparison
	if err := json.Unmarshal([]byte(out), &got); code != exitFailed || err != nil || errs != "" {
		t.Fatalf("one byte changed: exits with %d, %v, %s", code, err, errs)
	}
	if len(got.Differences) != 1 || got.Differences[0].Name != name || !strings.Contains(got.Differences[0].What, "has other bytes: ") {
		t.Errorf("differences are %v, want %s", got.Differences, name)
	}
	q, _ := packed(t, "fp8", 1)
	d := saveAs(t, q, raw, hf.Ref, 0)
	code, out, _ = inspectCommand("--digest", a, d)
	for _, want := range []string{
		"model.layers.0.mlp.experts.down_proj_scale_inv is in the second alone\n",
		"formats differ: bf16 and fp8; --as packs both alike first\n", " in the first, F8_E4M3[",
	} {
		if code != exitFailed || !strings.Contains(columns.ReplaceAllString(out, " "), want) {
			t.Errorf("exits with %d and does not print %q:\n%s", code, want, out)
		}
	}
	if code, out, _ = inspectCommand("--digest", "--as", "fp8", a, d); code != exitOK {
		t.Errorf("packed alike: exits with %d\n%s", code, out)
	}
}

// columns is the space between two columns.
var columns = regexp.MustCompile("  +")

func TestInspectRefusesFlags(t *testing.T) {
	for _, args := range [][]string{{"a", "b"}, {"--as", "fp8", "a"}, {"--dtype", "f32", "a"}} {
		if code, _, errs := inspectCommand(args...); code != exitUsage || !strings.Contains(errs, "give --digest") {
			t.Errorf("%v: exits with %d, says %q", args, code, errs)
		}
	}
}

// attested returns the states that a run's log has of its versions, in order.
func attested(t *testing.T, dir string) (states []string) {
	t.Helper()
	lines, bad, err := disk.ReadLines(filepath.Join(dir, rundir.LogFile), func(line []byte) (map[string]any, error) {
		var m map[string]any
		return m, json.Unmarshal(line, &m)
	})
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	for _, l := range lines {
		if l["msg"] == "weights updated" {
			states = append(states, fmt.Sprint(l["state"]))
		}
	}
	return states
}

// What the engine attests in a run, what inspect finds in the run's checkpoint, and what eval's engine attests of it are one state.
func TestStateIsOneEverywhere(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct{ actor, rollout string }{{"bf16", "bf16"}, {"bf16", "fp8"}, {"fp8", "fp8"}, {"bf16", "fp8+fp4"}, {"fp8+fp4", "fp8+fp4"}} {
		t.Run(tt.actor+" "+tt.rollout, func(t *testing.T) {
			unlessShort(t, "bf16_fp8")
			t.Parallel()
			run := trainTiny(t, model, "--num-rollout", "3", "--actor-format", tt.actor, "--rollout-format", tt.rollout)
			states := attested(t, run.dir)
			if len(states) != 4 {
				t.Fatalf("the log has %d updates, want 4", len(states))
			}
			saved := filepath.Join(run.dir, "checkpoints", "step-000003")
			var c contents
			if err := json.Unmarshal([]byte(succeed(t, "inspect", "--digest", "--json", "--as", tt.rollout, saved).stdout), &c); err != nil {
				t.Fatal(err)
			}
			if got, want := c.Model.State.State.String(), states[3]; got != want || states[0] == want {
				t.Errorf("inspect finds state %s, attested was %s, at first %s", got, want, states[0])
			}
			out := succeed(t, "eval", "--recipe", "none", "--hf-checkpoint", filepath.Join(saved, "trainer", "model"), "--rollout-format", tt.rollout, "--quiet", "--json",
				"--eval-prompt-data", "held-out", "testdata/tiny/held-out.jsonl", "--input-key", "question", "--label-key", "answer", "--rm-type", "math",
				"--n-samples-per-eval-prompt", "1", "--rollout-max-response-len", "16", "--context-length", "64").stdout
			lines := strings.Split(strings.TrimSpace(out), "\n")
			var e evaluated
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil || e.State.String() != states[3] {
				t.Errorf("eval attests %v, %v, want %s", e.State, err, states[3])
			}
		})
	}
}

// With --check-weight-update-equal a run begins with a rehearsal, every update is compared, and nothing else changes.
func TestRehearsedRun(t *testing.T) {
	model := tiny(t)
	formats := []string{"--num-rollout", "3", "--actor-format", "fp8", "--rollout-format", "fp8"}
	want := trainTiny(t, model, formats...)
	got := trainTiny(t, model, append(formats, "--check-weight-update-equal")...)
	if g, w := got.closing(t).Digest, want.closing(t).Digest; g != w {
		t.Errorf("weights have SHA-256 %s, want %s", g, w)
	}
	if !slices.Equal(attested(t, got.dir), attested(t, want.dir)) {
		t.Errorf("attested states are %v, want %v", attested(t, got.dir), attested(t, want.dir))
	}
	for dir, compared := range map[string]float64{got.dir: 1, want.dir: 0} {
		for _, r := range cycles(t, dir) {
			if r.Values["update/attested"] != 1 || r.Values["update/compared"] != compared {
				t.Errorf("cycle %d: attested %v, compared %v, want 1, %v", r.Cycle, r.Values["update/attested"], r.Values["update/compared"], compared)
			}
		}
	}
	log, err := os.ReadFile(filepath.Join(got.dir, rundir.LogFile))
	if err != nil || strings.Count(string(log), "updates rehearsed") != 1 {
		t.Errorf("the log has no one line of a rehearsal, %v:\n%s", err, log)
	}
}
