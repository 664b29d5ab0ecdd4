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

	"furlong/metrics"
	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
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

// A place is where a run is, as far as its files tell.
type place struct {
	last   string // step of the loop that ended last
	cycle  int    // and its cycle
	told   bool   // the cycle's row is written
	saving bool   // a checkpoint is half written
	evals  bool   // an evaluation follows on the push of this cycle
}

// where reads the place of the run in dir.
func where(t *testing.T, dir string) place {
	t.Helper()
	spans, _, err := disk.ReadLines(filepath.Join(dir, rundir.SpansFile(1)), rundir.ParseSpan)
	if err != nil {
		t.Fatal(err)
	}
	var w place
	if len(spans) > 0 {
		s := spans[len(spans)-1]
		w.last, w.cycle, w.evals = s.Name, s.Cycle, s.Cycle%2 == 0
	}
	all, _, err := metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		w.told = w.told || r.Kind == metrics.Cycle && r.Cycle == w.cycle
	}
	half, err := filepath.Glob(filepath.Join(dir, "checkpoints", "tmp-*"))
	if err != nil {
		t.Fatal(err)
	}
	w.saving = len(half) > 0
	return w
}

// places are the phases that a process is killed in, by loop.
var places = []struct {
	loop, name string
	here       func(place) bool
}{
	{"sync", "rollout", func(w place) bool { return w.last == "eval" || w.last == "push" && !w.evals }},
	{"sync", "train", func(w place) bool { return w.last == "await" }},
	{"sync", "publish", func(w place) bool { return w.last == "train" && !w.told }},
	{"sync", "save", func(w place) bool { return w.saving }},
	{"sync", "push", func(w place) bool { return w.last == "save" }},
	{"sync", "eval", func(w place) bool { return w.last == "push" && w.evals }},
	{"sync", "end", func(w place) bool { return w.cycle == 10 && (w.last == "save" || w.last == "push") }},
	{"one-step-off", "rollout", func(w place) bool { return w.last == "train" && w.told && !w.saving && w.cycle < 10 }},
	{"one-step-off", "train", func(w place) bool { return w.last == "await" && w.cycle < 10 }},
	{"one-step-off", "save", func(w place) bool { return w.saving }},
	{"one-step-off", "push", func(w place) bool { return w.last == "save" }},
	{"one-step-off", "eval", func(w place) bool { return w.last == "push" && w.evals }},
	{"one-step-off", "end", func(w place) bool { return w.cycle == 10 && (w.last == "save" || w.last == "push") }},
}

// A run that is killed in its middle, whatever it does just then, and resumed, is the run that was not.
func TestKilledRunsResume(t *testing.T) {
	model := tiny(t)
	want := map[string]finished{}
	for _, loop := range []string{"sync", "one-step-off"} {
		want[loop] = trainTiny(t, model, "--loop", loop)
	}
	for _, tt := range places {
		t.Run(tt.loop+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			dir := killIn(t, model, tt.loop, tt.here)
			r := succeed(t, flags(model, dir, "--loop", tt.loop, "--resume")...)
			if !strings.Contains(r.stderr, "run taken over from a process that died") {
				t.Errorf("the takeover is not told:\n%s", r.stderr)
			}
			sameRun(t, finished{dir, r}, want[tt.loop])
		})
	}
}

// A run that is killed again and again, also while it resumes, still is the run that was not.
func TestKilledAgain(t *testing.T) {
	model := tiny(t)
	for _, loop := range []string{"sync", "one-step-off"} {
		t.Run(loop, func(t *testing.T) {
			t.Parallel()
			want := trainTiny(t, model, "--loop", loop)
			dir := killIn(t, model, loop, func(w place) bool { return w.last == "train" })
			for _, cycle := range []int{0, 6, 9} { // 0: before it has loaded anything
				p := start(t, dir, flags(model, dir, "--loop", loop, "--resume"))
				for !p.ended() && where(t, dir).cycle < cycle {
					time.Sleep(time.Millisecond)
				}
				p.signal(syscall.SIGKILL)
				p.end(t)
			}
			sameRun(t, finished{dir, succeed(t, flags(model, dir, "--loop", loop, "--resume")...)}, want)
		})
	}
}

// An interrupt ends a run at the next step with a checkpoint, and the resumed run is the one that was not interrupted.
func TestInterruptedRunsResume(t *testing.T) {
	model := tiny(t)
	for _, loop := range []string{"sync", "one-step-off"} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(loop+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				want := trainTiny(t, model, "--loop", loop)
				dir := filepath.Join(t.TempDir(), "run")
				p := start(t, dir, flags(model, dir, "--loop", loop, "--save-interval", "0"))
				for !p.ended() && where(t, dir).cycle < 5 {
					time.Sleep(time.Millisecond)
				}
				p.signal(s)
				r := p.end(t)
				if r.code != exitInterrupted || !strings.HasSuffix(r.stderr, "furlong train: interrupted\n") {
					t.Fatalf("exits with %d, want %d:\n%s", r.code, exitInterrupted, r.stderr)
				}
				status, err := rundir.ReadStatus(dir)
				if err != nil || status.State != rundir.Stopped {
					t.Errorf("status is %+v, %v, want %s", status, err, rundir.Stopped)
				}
				saved, err := orchestrator.Newest(filepath.Join(dir, "checkpoints"))
				if err != nil || saved < 4 {
					t.Errorf("newest checkpoint is of cycle %d, %v, want 4 or later", saved, err)
				}
				sameRun(t, finished{dir, succeed(t, flags(model, dir, "--loop", loop, "--resume")...)}, want)
			})
		}
	}
}

// A second interrupt does not wait for what the first one waits for, here a long batch.
func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	p := start(t, dir, flags(model, dir, "--loop", "one-step-off", "--rollout-batch-size", "1", "--n-samples-per-prompt", "4",
		"--rollout-max-response-len", "4000", "--context-length", "4096", "--rollout-temperature", "1000"))
	for !p.ended() && where(t, dir).last != "eval" {
		time.Sleep(time.Millisecond)
	}
	p.signal(syscall.SIGINT)
	time.Sleep(100 * time.Millisecond)
	if p.ended() {
		t.Fatalf("the first interrupt did not wait for the batch:\n%s", p.errs.String())
	}
	p.signal(syscall.SIGINT)
	if r := p.end(t); r.code != exitInterrupted || !strings.HasSuffix(r.stderr, "furlong: interrupted twice, leaving at once\n") {
		t.Errorf("exits with %d, want %d:\n%s", r.code, exitInterrupted, r.stderr)
	}
}

// A run has one writer. The second one is refused and told who the first is; a run that is merely frozen is not dead.
func TestSecondWriter(t *testing.T) {
	model, dir := tiny(t), filepath.Join(t.TempDir(), "run")
	p := start(t, dir, flags(model, dir))
	for !p.ended() && where(t, dir).cycle < 1 {
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

// killIn starts runs until one could be killed at a place after its fourth cycle, and returns its directory.
func killIn(t *testing.T, model, loop string, here func(place) bool) string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		dir := filepath.Join(t.TempDir(), "run")
		p := start(t, dir, flags(model, dir, "--loop", loop))
		at := func() bool { w := where(t, dir); return w.cycle > 4 && here(w) }
		p.walk(t, func() bool { return where(t, dir).cycle > 3 }, at)
		p.signal(syscall.SIGKILL)
		if r := p.end(t); r.code == -1 && at() {
			return dir
		}
	}
	t.Fatal("no run could be killed there within two minutes")
	return ""
}

// walk lets the process run until near, and then for a moment at a time until at, or its end. At a place it stands still.
func (p *process) walk(t *testing.T, near, at func() bool) {
	t.Helper()
	for !p.ended() && !near() {
		time.Sleep(time.Millisecond)
	}
	for !p.ended() {
		p.freeze(t)
		if at() {
			return
		}
		p.signal(syscall.SIGCONT)
		time.Sleep(100 * time.Microsecond)
	}
}
