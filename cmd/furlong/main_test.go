package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"furlong": main, "furlong-struck": struck})
}

// TestScript runs the program: testdata/script holds a file for each thing it promises at its door. Scripts find a copy of the small model in
// the folder tiny, its data in $DATA, and the reference vectors in $VECTORS.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, Setup: prepare, Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "train": trains, "fresh": fresh, "spoil": spoils, "latin1": latin1, "remember": remembers, "unchanged": remains,
		},
	})
}

// prepare puts the small model and its data beside a script.
func prepare(e *testscript.Env) error {
	data, err := filepath.Abs("testdata/tiny")
	if err != nil {
		return err
	}
	vectors, err := filepath.Abs("../../oracle/testdata/vectors")
	if err != nil {
		return err
	}
	e.Setenv("DATA", data)
	e.Setenv("VECTORS", vectors)
	return writeTiny(filepath.Join(e.WorkDir, "tiny"))
}

// condition knows [root]: whoever may write everywhere.
func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// exits is "exits CODE ARG...": the program, which must exit with CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: exits CODE ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("furlong", args[1:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("furlong %s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// trains is "train CODE ARG...": a run of two cycles of the small model in the directory run, with further flags.
func trains(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: train CODE ARG...")
	}
	data := ts.Getenv("DATA")
	all := []string{
		args[0], "train", "--recipe", "none", "--hf-checkpoint", "tiny", "--run-dir", "run", "--quiet",
		"--prompt-data", filepath.Join(data, "prompts.jsonl"), "--input-key", "question", "--label-key", "answer", "--rm-type", "math",
		"--num-rollout", "2", "--rollout-batch-size", "2", "--n-samples-per-prompt", "2", "--rollout-max-response-len", "12", "--context-length", "64", "--lr", "1e-3",
	}
	exits(ts, false, append(all, args[1:]...))
}

// fresh is "fresh DIR": another copy of the small model.
func fresh(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fresh DIR")
	}
	ts.Check(writeTiny(ts.MkAbs(args[0])))
}

// spoils is "spoil HOW DIR [TENSOR]": see spoil.
func spoils(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: spoil HOW DIR [TENSOR]")
	}
	ts.Check(spoil(args[0], ts.MkAbs(args[1]), strings.Join(args[2:], "")))
}

// latin1 is "latin1 FILE": writes the file anew in an old encoding, which is no UTF-8.
func latin1(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: latin1 FILE")
	}
	var out []byte
	for _, r := range ts.ReadFile(args[0]) {
		out = append(out, byte(r))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out, 0o644))
}

// remembers is "remember PATH": notes names and bytes of all files below, for unchanged.
func remembers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: remember PATH")
	}
	sum, err := digest(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Setenv("REMEMBERED_"+args[0], sum)
}

// remains is "[!] unchanged PATH": the files below are those that remember saw.
func remains(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: unchanged PATH")
	}
	sum, err := digest(ts.MkAbs(args[0]))
	ts.Check(err)
	if same := sum == ts.Getenv("REMEMBERED_"+args[0]); same == neg {
		ts.Fatalf("unchanged %s: %v, want %v", args[0], same, !neg)
	}
}

// digest returns a hash of the names and bytes of all files below path.
func digest(path string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		fmt.Fprintf(h, "%s %d\n%s", p, len(b), b)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}
