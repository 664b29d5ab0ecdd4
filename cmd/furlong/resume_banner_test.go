package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// banner returns the plain lines before the first line of the log.
func banner(r result) string {
	var out []string
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "{") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// A run says what it will do: from where, with what of it there already, what of it done again, and how far.
func TestBanner(t *testing.T) {
	model := tiny(t)
	for _, tt := range []struct {
		name, step string
		more       []string // flags of both starts
		want       string
	}{
		{"sync", "train 5", nil, `run          DIR, start 2: goes on; start 1 died after cycle 4
from         DIR/checkpoints/step-000003, after cycle 3 of 10 and 3 optimizer steps; the next version is 1.4 (start 2, push 4)
data         6 prompts handed out: at 1 of the 5 prompts of prompts in epoch 1
buffers      empty
evaluated    held-out 2 times, the last after cycle 2
done again   cycle 4, which came after the checkpoint; the evaluations of held-out after 4
plan         cycles 4 to 10 (sync), each 2 prompts by 4 samples; evaluated every 2 cycles and at the end
checkpoints  every 3 cycles and at the end, the newest 2 kept
`},
		{"a batch waits", "train 5", []string{"--loop", "one-step-off"}, `buffers      8 samples of cycle 4 wait, begun under version 3
`},
		{"before the first checkpoint", "train 2", nil, `run          DIR, start 2: goes on; start 1 died after cycle 1
evaluated    held-out 1 times, the last after cycle 0
done again   cycle 1, which came after the checkpoint
plan         cycles 1 to 10 (sync), each 2 prompts by 4 samples; evaluated before the first, every 2 cycles and at the end
`},
		{
			"beside, and asked for", "train 5",
			[]string{"--async-save", "--save-trigger-sentinel", "/no/such/file", "--save-retain-interval", "6"},
			"checkpoints  every 3 cycles and at the end, the newest 2 kept and every 6th; written beside the run from a copy that takes ",
		},
		{"at the very end", "eval 10", nil, `done again   nothing
plan         no cycle: the run died after its last one, whose weights are pushed and, if that is missing, evaluated
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "sync")
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			if r := strikeAt(t, tt.step, 0, "kill", flags(model, dir, tt.more...)); r.code != -1 {
				t.Fatalf("the run exits with %d, want it killed:\n%s", r.code, r.stderr)
			}
			got := banner(succeed(t, flags(model, dir, append(tt.more, "--resume", "--no-quiet")...)...))
			if got = strings.ReplaceAll(got, dir, "DIR"); !strings.Contains(got, tt.want) {
				t.Errorf("says\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A new run says what it will do, and how an earlier start ended if it ended by itself.
func TestBannerOfABeginning(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	first := banner(succeed(t, flags(model, dir, "--num-rollout", "3", "--no-quiet")...))
	want := "run          " + dir + ", start 1: begins anew\nplan         cycles 1 to 3 (sync), each 2 prompts by 4 samples; evaluated before the first, every 2 cycles and at the end\ncheckpoints  every 3 cycles and at the end, the newest 2 kept\n"
	if !strings.Contains(first, want) {
		t.Errorf("says\n%s\nwant\n%s", first, want)
	}
	second := banner(succeed(t, flags(model, dir, "--num-rollout", "4", "--resume", "--no-quiet")...))
	if want := "goes on; start 1 finished in cycle 3: all cycles are done\n"; !strings.Contains(second, want) {
		t.Errorf("says\n%s\nwant it to say %s", second, want)
	}
}

// Asked to be quiet, a run says nothing on stderr but where its page is.
func TestQuietHasNoPlan(t *testing.T) {
	model := tiny(t)
	for _, page := range []string{"--no-dash", "--dash"} {
		r := succeed(t, flags(model, filepath.Join(t.TempDir(), "run"), "--num-rollout", "1", page)...)
		said := banner(r)
		if page == "--dash" {
			said = strings.TrimPrefix(said, "furlong train: page on ")
			_, said, _ = strings.Cut(said, "\n")
		}
		if said != "" || strings.Contains(r.stderr, `"level":"INFO"`) {
			t.Errorf("with %s it says\n%s", page, r.stderr)
		}
	}
}

// A run that would do nothing is refused, with the reason, and nothing is written.
func TestNothingToDo(t *testing.T) {
	model, done, none := tiny(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "new")
	succeed(t, flags(model, done, "--num-rollout", "3")...)
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := digest(done)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no cycles", exitUsage, flags(model, none, "--num-rollout", "0"), "--num-rollout is 0"},
		{"no epochs", exitUsage, flags(model, none, "--num-epoch", "0"), "--num-epoch is 0: no cycle is planned"},
		{"epochs and cycles", exitFailed, flags(model, none, "--num-epoch", "1"), "--num-epoch is 1 and --num-rollout 10, want one of them"},
		{"epochs of problems without end", exitFailed, []string{"train", "--run-dir", none, "--num-epoch", "1"}, "--num-epoch is 1 without --prompt-data"},
		{"no prompts", exitFailed, flags(model, none, "--prompt-data", empty), "empty.jsonl"},
		{"done", exitFailed, flags(model, done, "--num-rollout", "3", "--resume"), "the run has done 3 of 3 cycles: there is nothing to resume; raise --num-rollout to go on"},
		{"more than done", exitFailed, flags(model, done, "--num-rollout", "2", "--resume"), "the run has done 3 cycles and is to end after 2: there is nothing to resume; raise --num-rollout above 3 to go on"},
		{"loaded", exitFailed, flags(model, none, "--num-rollout", "3", "--load", done), "step-000003 is of cycle 3 and --num-rollout is 3: no cycle is planned; raise --num-rollout to go on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refuse(t, tt.code, tt.args, tt.want)
			if there(none) {
				t.Errorf("%s was made", none)
				os.RemoveAll(none)
			}
		})
	}
	if after, err := digest(done); after != before || err != nil {
		t.Errorf("the finished run was changed, %v", err)
	}
}

// --num-epoch counts whole rollouts of an epoch, and what it comes to is what a resumed run goes by.
func TestEpochs(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	args := flags(model, dir, "--num-epoch", "2")
	for i, a := range args {
		if a == "--num-rollout" {
			args = append(args[:i:i], args[i+2:]...)
			break
		}
	}
	if n := succeed(t, args...).closing(t).Cycles; n != 4 {
		t.Errorf("two epochs of five prompts, two a cycle, are %d cycles, want 4", n)
	}
	refuse(t, exitFailed, []string{"train", "--run-dir", dir, "--resume"}, "the run has done 4 of 4 cycles")
}
