package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"furlong/config"
	rundir "furlong/metrics/run"
	"furlong/progress"
)

// env is what a command is given: its arguments and its surroundings. Results go to stdout, logs to stderr.
type env struct {
	name           string   // of the command
	args           []string // after the name
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool       // stderr is one
	color          bool       // and colour is welcome there
	width          func() int // its columns as they are now; 0 where they are not known
	log            *slog.Logger
}

// talk is what a command that takes long can be told about its output; add it to the command's Set.
type talk struct {
	Quiet bool `flag:"quiet" help:"show no progress, only warnings, errors and results"`
}

// loud passes on what is at least a warning. A run's own log has the rest.
type loud struct{ slog.Handler }

// Enabled reports whether a record is passed on.
func (h loud) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the bound.
func (h loud) WithAttrs(a []slog.Attr) slog.Handler { return loud{h.Handler.WithAttrs(a)} }

// WithGroup keeps the bound.
func (h loud) WithGroup(name string) slog.Handler { return loud{h.Handler.WithGroup(name)} }

// hush keeps from stderr what only tells of progress, if that is asked for.
func (e *env) hush(t talk) {
	if t.Quiet {
		e.log = slog.New(loud{e.log.Handler()})
	}
}

func newEnv(args []string, stdin io.Reader, stdout, stderr *os.File) *env {
	terminal := isTerminal(stderr)
	color := terminal && os.Getenv("NO_COLOR") == ""
	return &env{
		args: args, stdin: stdin, stdout: stdout, stderr: stderr,
		terminal: terminal, color: color, width: func() int { return widthOf(stderr) }, log: newLog(stderr, terminal, color),
	}
}

// follow shows the progress of a piece of work on stderr, and has logs appear above it. total is 0 when not known. Call
// the line's Finish when the work is over.
func (e *env) follow(title, unit string, total int64, t talk) *progress.Line {
	l := progress.New(e.stderr, progress.Options{
		Title: title, Unit: unit, Total: total, Live: e.terminal, Color: e.color, Quiet: t.Quiet, Width: e.width, Now: time.Now,
	})
	e.log = newLog(l, e.terminal, e.color)
	e.hush(t)
	return l
}

// newLog returns a logger for w: text for people, JSON for programs.
func newLog(w io.Writer, terminal, color bool) *slog.Logger {
	if terminal {
		return slog.New(tint.NewTextHandler(w, &tint.Options{TimeFormat: time.TimeOnly, NoColor: !color, ReplaceAttr: short}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: rundir.LogAttr}))
}

// short leaves four digits of a number: a person reads them, the run's log has all.
func short(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindFloat64 {
		return slog.String(a.Key, strconv.FormatFloat(a.Value.Float64(), 'g', 4, 64))
	}
	return a
}

// isTerminal reports whether f is a character device. So is /dev/null, where it makes no difference.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// widthOf returns how wide a terminal is, 0 where that is not known.
func widthOf(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// parse reads the command's arguments into set. When ok is false the command is over and returns code: help was
// shown, or what is wrong was listed.
func (e *env) parse(set *config.Set) (code int, ok bool) { return e.parsed(set, set.Parse(e.args)) }

// parsed is parse after [config.Set.Parse].
func (e *env) parsed(set *config.Set, err error) (code int, ok bool) {
	if errors.Is(err, config.ErrHelp) {
		return e.fail(set.PrintHelp(e.stdout)), false
	}
	for _, p := range config.Problems(err) {
		fmt.Fprintf(e.stderr, "furlong %s: %v\n", e.name, p)
	}
	if err != nil {
		fmt.Fprintf(e.stderr, "furlong help %s shows the flags\n", e.name)
		return exitUsage, false
	}
	e.hush(talk{Quiet: set.Values()["quiet"].Value == true})
	e.tell(set)
	return exitOK, true
}

// An advice stands among errors and is none: what a user can do next.
type advice string

// Error returns the advice.
func (a advice) Error() string { return string(a) }

// fail prints err, if any, and returns the exit code that goes with it. An interrupt is not a failure, but what went wrong besides is.
func (e *env) fail(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitInterrupted
	for _, p := range config.Problems(err) {
		var a advice
		switch {
		case errors.Is(p, context.Canceled):
			p = errors.New("interrupted")
		case !errors.As(p, &a):
			code = exitFailed
		}
		fmt.Fprintf(e.stderr, "furlong %s: %v\n", e.name, p)
	}
	return code
}
