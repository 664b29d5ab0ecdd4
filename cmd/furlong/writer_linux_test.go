package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process is the program at work on a run.
type process struct {
	*exec.Cmd
	dir          string
	stdout, errs bytes.Buffer
	done         chan struct{} // closed when it has ended
}

// start starts the program with the flags of a run in dir.
func start(t *testing.T, dir string, args []string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("furlong", args...), dir: dir, done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.stdout, &p.errs
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.Wait(); close(p.done) }()
	t.Cleanup(func() { p.signal(syscall.SIGKILL); <-p.done })
	return p
}

func (p *process) signal(s syscall.Signal) { p.Process.Signal(s) }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end waits for the end of the process, a minute at most.
func (p *process) end(t *testing.T) result {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		t.Fatalf("still there after a minute:\n%s", p.errs.String())
	}
	return result{p.ProcessState.ExitCode(), p.stdout.String(), p.errs.String()}
}

// freeze stops the process and waits until it stands still or has ended.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGSTOP)
	for !p.ended() {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Process.Pid), "stat"))
		if err != nil {
			continue // it has just ended
		}
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); f[0] == "T" || f[0] == "Z" {
			return
		}
	}
}

// A run has one writer. The second one is refused and told who the first is; a run that is merely frozen is not dead.
func TestSecondWriter(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	p := start(t, dir, flags(model, dir))
	for !p.ended() && !ended(t, dir, "train 1") {
		time.Sleep(time.Millisecond)
	}
	p.freeze(t)
	before, err := digest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{flags(model, dir), flags(model, dir, "--resume")} {
		refuse(t, exitFailed, args, "run.lock: held by process "+strconv.Itoa(p.Process.Pid)+" on host ", "stop it, or choose another run directory")
	}
	if after, err := digest(dir); after != before || err != nil {
		t.Errorf("refused writers changed the run: %v", err)
	}
	p.signal(syscall.SIGCONT)
	if r := p.end(t); r.code != exitOK {
		t.Errorf("the first writer exits with %d:\n%s", r.code, r.stderr)
	}
}
