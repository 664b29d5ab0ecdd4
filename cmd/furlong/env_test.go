package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"furlong/config"
)

func TestInterruptible(t *testing.T) {
	signals, left := make(chan os.Signal), make(chan struct{})
	ctx, stop := interruptible(context.Background(), signals, func() { close(left) })
	if ctx.Err() != nil {
		t.Fatalf("before any signal the context says %v", ctx.Err())
	}
	signals <- syscall.SIGINT
	<-ctx.Done()
	select {
	case <-left:
		t.Fatal("the first signal left at once")
	default:
	}
	signals <- syscall.SIGINT
	<-left
	stop()
}

// One blow of timeout is two signals, and ends a command cleanly; another blow later leaves at once, and so does Ctrl-C in between.
func TestSignalsThatComeTwice(t *testing.T) {
	for _, tt := range []struct {
		after  time.Duration
		signal os.Signal
		leaves bool
	}{{0, syscall.SIGTERM, false}, {sameBlow - 1, syscall.SIGTERM, false}, {sameBlow, syscall.SIGTERM, true}, {0, syscall.SIGINT, true}} {
		synctest.Test(t, func(t *testing.T) {
			signals, left := make(chan os.Signal), false
			ctx, stop := interruptible(t.Context(), signals, func() { left = true })
			signals <- syscall.SIGTERM
			<-ctx.Done()
			time.Sleep(tt.after)
			signals <- tt.signal
			synctest.Wait()
			if stop(); left != tt.leaves {
				t.Errorf("%v, %v after the first signal: leaves is %t, want %t", tt.signal, tt.after, left, tt.leaves)
			}
		})
	}
}

func TestInterruptibleStops(t *testing.T) {
	ctx, stop := interruptible(context.Background(), nil, func() { t.Error("left") })
	stop()
	if ctx.Err() == nil {
		t.Error("stop left the context open")
	}
}

// Every command answers --help, with its purpose and exit code 0.
func TestCommandsAnswerHelp(t *testing.T) {
	for _, c := range commands() {
		var out, errs bytes.Buffer
		e := &env{args: []string{c.name, "--help"}, stdout: &out, stderr: &errs, log: newLog(&errs, false, false)}
		if code := dispatch(context.Background(), e); code != exitOK {
			t.Errorf("furlong %s --help exits with %d, want 0: %s", c.name, code, errs.String())
		}
		if !strings.Contains(out.String(), "Usage:\n  furlong "+c.name) {
			t.Errorf("furlong %s --help prints no usage:\n%s", c.name, out.String())
		}
		if c.help == "" || strings.HasSuffix(c.help, ".") {
			t.Errorf("furlong %s: one-line help is %q, want words without a full stop", c.name, c.help)
		}
	}
}

// Logs written while a progress line stands come out whole.
func TestFollow(t *testing.T) {
	var b bytes.Buffer
	e := &env{stderr: &b}
	l := e.follow("eval", "problems", 4, talk{})
	l.Set(3, "")
	e.log.Info("checkpoint written")
	l.Finish()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 || !json.Valid([]byte(lines[0])) || !strings.HasPrefix(lines[1], "eval  3/4 problems  75%") {
		t.Errorf("got\n%s\nwant a line of JSON and a line of progress", b.String())
	}
}

// With --quiet, progress and what is only worth knowing stay away from stderr, warnings and errors do not.
func TestQuiet(t *testing.T) {
	var b bytes.Buffer
	e := &env{stderr: &b}
	l := e.follow("train", "cycles", 2, talk{Quiet: true})
	l.Set(1, "")
	e.log.With("run", "r").WithGroup("g").Info("cycle")
	e.log.Warn("alarm")
	e.log.With("run", "r").Error("page failed")
	l.Finish()
	if got := b.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"msg":"alarm"`) || !strings.Contains(got, `"msg":"page failed"`) {
		t.Errorf("stderr is\n%s\nwant the warning and the error", got)
	}
}

func TestReportWarnsOnceForEachReason(t *testing.T) {
	var b bytes.Buffer
	e := &env{log: newLog(&b, false, false)}
	e.report([]config.Note{{Flag: "a", Why: "x"}, {Flag: "b", Why: "y"}, {Flag: "c", Why: "x"}, {Flag: "d", Why: "z", Held: true}})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), b.String())
	}
	var first struct{ Level, Flags, Why string }
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Level != "WARN" || first.Flags != "--a --c" || first.Why != "x" {
		t.Errorf("first line is %+v, want a warning about --a --c because of x", first)
	}
}
