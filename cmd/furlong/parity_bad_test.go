package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/parity"
)

// What cannot be compared is told before anything is scored, with an exit code that no verdict has.
func TestParityOfWhatCannotBeCompared(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	row := `{"id":"a","prompt":[49,50],"response":[51]}`
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no such checkpoint", []string{"rollout:checkpoint=" + dir + "/none", "trainer"}, "side A: "},
		{"no such record", []string{"dir:" + dir + "/none", "trainer"}, "none"},
		{"a chunk beyond memory", []string{"rollout:chunk=99999999999", "trainer"}, `chunk is "99999999999", want a number from 1 to 1048576`},
		{"pages beyond memory", []string{"rollout:page=1048577", "trainer"}, `page is "1048577", want`},
		{"a tolerance that JSON cannot hold", []string{"--tolerance", "Inf"}, "--tolerance is +Inf, want a finite number"},
		{"an empty line", []string{"--sequences", write("empty.jsonl", row+"\r\n\r\n"+row)}, "line 2: is empty"},
		{"a byte order mark", []string{"--sequences", write("bom.jsonl", "\ufeff"+row)}, "line 1: begins with a byte order mark"},
		{"no response", []string{"--sequences", write("none.jsonl", `{"prompt":[49],"response":[]}`)}, "line 1: response has no token"},
		{"out is a file", []string{"--num-prompts", "1", "--out", write("file", "")}, "--out: mkdir"},
		{"out is below a file", []string{"--num-prompts", "1", "--out", filepath.Join(dir, "file", "x")}, "--out: mkdir"},
	} {
		rep, code, says := compares(t, tt.args...)
		if code != exitUsage || rep != nil || !strings.Contains(says, tt.want) || strings.Contains(says, "sequences/s") {
			t.Errorf("%s: exit code %d, want 2 and %q: %s", tt.name, code, tt.want, says)
		}
	}
	kept := filepath.Join(dir, "kept")
	if _, code, _ := compares(t, "rollout:checkpoint="+dir+"/none", "trainer", "--out", kept); code != exitUsage {
		t.Errorf("exit code is %d, want 2", code)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("a comparison that was none leaves a folder")
	}
}

// An interrupt is told as one, whatever is under way: it is no fault of a side.
func TestParityIsInterrupted(t *testing.T) {
	for _, args := range [][]string{{"rollout", "trainer"}, {"--self", "rollout"}} {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		var out, errs bytes.Buffer
		e := &env{args: append([]string{"parity", "--quiet", "--num-prompts", "2"}, args...), stdout: &out, stderr: &errs, log: newLog(&errs, false, false)}
		if code := dispatch(ctx, e); code != exitInterrupted || out.Len() != 0 || !strings.HasSuffix(errs.String(), "furlong parity: interrupted\n") {
			t.Errorf("%q: exit code %d, want 130: %s%s", args, code, out.String(), errs.String())
		}
	}
}

// A report that cannot be kept is printed all the same, and what is left behind is no record.
func TestParityPrintsWhatItCannotKeep(t *testing.T) {
	dir := t.TempDir()
	if _, code, says := compares(t, "--num-prompts", "2", "--out", dir); code != exitOK {
		t.Fatalf("exit code is %d: %s", code, says)
	}
	about := filepath.Join(dir, "b", "record.json")
	if err := os.Remove(about); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(about, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	rep, code, says := compares(t, "--num-prompts", "3", "--out", dir)
	if code != exitUsage || rep == nil || rep.Verdict.Kind != parity.SameBits || !strings.Contains(says, "record.json") {
		t.Errorf("exit code %d, want 2, the report and the file: %s", code, says)
	}
	for _, name := range []string{"report.json", "report.html", "b/sequences.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s of the comparison before is still there", name)
		}
	}
}

// The judge is the model that the command line holds for right, so that the other side is named, be it the first or the second.
func TestParityNamesTheSideAtFault(t *testing.T) {
	bad, good := withConfig(t, `"hc_sinkhorn_iters": 20`, `"hc_sinkhorn_iters": 3`), withConfig(t, `"vocab_size": 272`, `"vocab_size": 272`)
	for _, tt := range []struct {
		name, a, b, named, in string
	}{
		{"first, against the model inside", "rollout:checkpoint=" + bad, "trainer", "", "in A"},
		{"second, against the model inside", "rollout", "trainer:checkpoint=" + bad, "", "in B"},
		{"first, against the named model", "rollout:checkpoint=" + bad, "trainer", good, "in A"},
		{"first, against a copy of the named model", "rollout:checkpoint=" + bad, "trainer:checkpoint=" + good, good, "in A"},
		{"neither is the named model", "rollout:checkpoint=" + good, "trainer:checkpoint=" + bad, "", "in B"},
	} {
		args := []string{tt.a, tt.b, "--num-prompts", "2", "--taps", "1", "--ignore", "config"}
		if tt.named != "" {
			args = append(args, "--hf-checkpoint", tt.named)
		}
		rep, code, says := compares(t, args...)
		if code != exitFailed || rep == nil || !strings.Contains(rep.Verdict.Says, tt.in) || rep.Verdict.Where != "layer 0, attn_hc.comb" {
			t.Errorf("%s: exit code %d, want 1 and %s: %s", tt.name, code, tt.in, says)
			if rep != nil {
				t.Errorf("%+v", rep.Verdict)
			}
		}
	}
}

// Two recordings of a model that nobody names are not judged by the one inside the binary, whatever is to be ignored: all of it would be at fault.
func TestParityGuessesNoJudge(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	same, other := withConfig(t, `"hc_sinkhorn_iters": 20`, `"hc_sinkhorn_iters": 3`), withConfig(t, `"sliding_window": 16`, `"sliding_window": 12`)
	compares(t, "rollout:checkpoint="+same, "trainer:checkpoint="+other, "--num-prompts", "2", "--taps", "1", "--ignore", "config", "--out", kept)
	a, b := "dir:"+filepath.Join(kept, "a"), "dir:"+filepath.Join(kept, "b")
	rep, code, says := compares(t, a, b, "--taps", "1", "--ignore", "config", "weights")
	if code != exitFailed || rep == nil || rep.Divergence == nil || rep.Divergence.Method != "growth" || !strings.Contains(strings.Join(rep.Verdict.More, " "), "--hf-checkpoint names its model") {
		t.Errorf("exit code %d, want 1 and growth from op to op: %s", code, says)
	}
	if rep, _, says = compares(t, a, b, "--taps", "1", "--ignore", "config", "--hf-checkpoint", same); rep == nil || rep.Verdict.Where != "layer 0, attn_hc.comb" || !strings.Contains(rep.Verdict.Says, "in B") {
		t.Errorf("with the model named: %s", says)
	}
}
