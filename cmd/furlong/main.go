// Command furlong trains DeepSeek-V4-style models by reinforcement learning, and proves that the policy that samples
// is the policy that learns.
//
// This package is wiring: a table of subcommands ([commands]), exit codes, signals and logs. What a command does is in
// the packages it calls; each command has a file of its own, and a line in commands.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells report it: after one signal or two
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings passed in.
func run(args []string, stdin io.Reader, stdout, stderr *os.File) int {
	return attend(newEnv(args, stdin, stdout, stderr), dispatch)
}

// attend does what is asked for, and has signals end it.
func attend(e *env, do func(context.Context, *env) int) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, stop := interruptible(context.Background(), signals, func() {
		io.WriteString(e.stderr, "furlong: interrupted twice, leaving at once\n")
		os.Exit(exitInterrupted)
	})
	defer stop()
	return do(ctx, e)
}

// sameBlow is how close two SIGTERM are one: timeout and its like send it to the process and to its group, so it comes twice.
const sameBlow = time.Second

// interruptible returns a context that the first signal cancels, so that the command can end cleanly. The second
// signal calls leave, which does not return in the program. stop ends the watching.
func interruptible(ctx context.Context, signals <-chan os.Signal, leave func()) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if first, at, ok := await(signals, quit); ok {
			cancel()
			second, again, ok := await(signals, quit)
			for ok && first == syscall.SIGTERM && second == syscall.SIGTERM && again.Sub(at) < sameBlow {
				second, again, ok = await(signals, quit)
			}
			if ok {
				leave()
			}
		}
	}()
	return ctx, func() { close(quit); <-done; cancel() }
}

// await returns the next signal and when it came, or that there is none to wait for any more.
func await(signals <-chan os.Signal, quit <-chan struct{}) (os.Signal, time.Time, bool) {
	select {
	case s := <-signals:
		return s, time.Now(), true
	case <-quit:
		return nil, time.Time{}, false
	}
}
