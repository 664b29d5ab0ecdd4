package wandb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// python returns an interpreter that has the client, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	name := os.Getenv("FURLONG_TEST_PYTHON")
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name += "/bin/python3"
	}
	if name == "" {
		name = "python3"
	}
	if out, err := exec.Command(name, "-c", "import wandb").CombinedOutput(); err != nil {
		t.Skipf("%s: %v %.200s\nwant Python 3 with wandb (pip), at FURLONG_TEST_PYTHON or on the path", name, err, bytes.TrimSpace(out))
	}
	return name
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// Rows written before the start, while the process follows and just before the end go out once each, over two starts; lines that are none do not.
func TestRowsGoOutOnce(t *testing.T) {
	o := Default()
	o.Python = python(t)
	dir := t.TempDir()
	rows := filepath.Join(dir, "metrics.jsonl")
	write(t, rows, `{"kind":"cycle","cycle":1,"train/loss":0.5,"eval/x-pass@1":"NaN"}`+"\n"+"not json\n[1]\n")
	follow := func(more string) {
		t.Helper()
		tr, err := Start(t.Context(), o, dir, "a run", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		write(t, rows, more)
		if err := tr.Close(time.Minute); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(tr.Where, dir) {
			t.Errorf("the client writes to %q, want a place in %q", tr.Where, dir)
		}
	}
	follow(`{"kind":"cycle","cycle":2,"train/loss":0.25}` + "\n" + `{"kind":"cycle","cyc`)
	follow(`le":3,"train/loss":0.125}` + "\n")
	out, err := exec.Command(o.Python, "testdata/read.py", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]float64
	for line := range bytes.Lines(out) {
		var row map[string]any
		if err := json.Unmarshal(bytes.ReplaceAll(line, []byte("NaN"), []byte("null")), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cycle, _ := row["cycle"].(float64)
		loss, _ := row["train/loss"].(float64)
		got = append(got, [2]float64{cycle, loss})
	}
	if want := "[[1 0.5] [2 0.25] [3 0.125]]"; fmt.Sprint(got) != want {
		t.Errorf("the client has %v, want %v", got, want)
	}
}

func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartFails(t *testing.T) {
	for _, tt := range []struct{ python, says string }{
		{"/nowhere/python", "pip install wandb"},
		{fake(t, `echo '{"error":"has no module wandb"}'`), "has no module wandb"},
		{fake(t, `echo what`), `said "what"`},
		{fake(t, ``), `said ""`},
	} {
		o := Default()
		o.Python = tt.python
		if _, err := Start(t.Context(), o, t.TempDir(), "x", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error with %q", tt.python, err, tt.says)
		}
	}
}

// A process that does not end is killed, and one that never gets ready ends with the context.
func TestPatience(t *testing.T) {
	o := Default()
	o.Python = fake(t, `echo '{"where":"here"}'; exec sleep 600`)
	tr, err := Start(t.Context(), o, t.TempDir(), "x", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Close(time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("close: %v, want that it was killed", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Python = fake(t, `exec sleep 600`)
	if _, err := Start(ctx, o, t.TempDir(), "x", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a process that says nothing was taken for ready")
	}
}
