package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
)

// A blow says when a run is killed: so long after a sign in its directory, or after its start.
type blow struct {
	sign  string // "" for the start
	cycle int    // of the sign
	after time.Duration
}

func (b blow) String() string {
	if b.sign == "" {
		return fmt.Sprintf("%v after the start", b.after)
	}
	return fmt.Sprintf("%v after %s %d", b.after, b.sign, b.cycle)
}

// signs are what a run shows of where it is: a file that is there, or a line.
var signs = map[string]func(dir string, cycle int) bool{
	"checkpoint begun":   func(dir string, c int) bool { return there(tmpOf(dir, c)) },
	"loop written":       func(dir string, c int) bool { return there(tmpOf(dir, c), "loop.json") },
	"model written":      func(dir string, c int) bool { return there(tmpOf(dir, c), "trainer", "model", "config.json") },
	"optimizer written":  func(dir string, c int) bool { return there(tmpOf(dir, c), "trainer", "optimizer.safetensors") },
	"checkpoint named":   func(dir string, c int) bool { return there(orchestrator.Checkpoint(checkpoints(dir), c)) },
	"cycle told":         func(dir string, c int) bool { return hasLine(dir, rundir.RowsFile, `"kind":"cycle"`, c) },
	"saved, pushing":     func(dir string, c int) bool { return hasLine(dir, rundir.SpansFile(1), `"name":"save"`, c) },
	"drawn, training":    func(dir string, c int) bool { return hasLine(dir, rundir.SpansFile(1), `"name":"await"`, c) },
	"pushed, evaluating": func(dir string, c int) bool { return hasLine(dir, rundir.SpansFile(1), `"name":"push"`, c) },
}

func there(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}

func tmpOf(dir string, c int) string {
	return filepath.Join(checkpoints(dir), fmt.Sprintf("tmp-step-%06d", c))
}

// hasLine reports whether a file of lines has one of a cycle that says something.
func hasLine(dir, file, says string, cycle int) bool {
	raw, err := os.ReadFile(filepath.Join(dir, file))
	for line := range bytes.Lines(raw) {
		if err == nil && bytes.Contains(line, []byte(says)) && bytes.Contains(line, fmt.Appendf(nil, `"cycle":%d,`, cycle)) {
			return true
		}
	}
	return false
}

// draw draws a blow for a run of ten cycles that takes some time, and which checkpoints it has. Every third blow is by the clock alone.
func draw(r *rand.Rand, long time.Duration, every int) blow {
	if r.IntN(3) == 0 {
		return blow{after: time.Duration(r.Int64N(int64(long)))}
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range signs {
			if !yield(n) {
				return
			}
		}
	})
	b := blow{sign: names[r.IntN(len(names))], after: time.Duration(r.Int64N(int64(6 * time.Millisecond)))}
	b.cycle = 1 + r.IntN(10)
	if strings.Contains(b.sign, "written") || strings.Contains(b.sign, "checkpoint") || strings.Contains(b.sign, "saved") {
		b.cycle = min(10, every*(1+r.IntN(10/every)))
	}
	return b
}

// strike runs a run and kills it. It reports whether the run was still alive then.
func (b blow) strike(t *testing.T, dir string, args []string) bool {
	t.Helper()
	c := exec.Command("furlong", args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	for b.sign != "" && !signs[b.sign](dir, b.cycle) {
		select {
		case <-ended:
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
	select {
	case <-ended:
	case <-time.After(b.after):
	}
	c.Process.Kill()
	<-ended
	if code := c.ProcessState.ExitCode(); code != -1 {
		if code != exitOK {
			t.Fatalf("%v: the run ends by itself with %d:\n%s", b, code, errs.String())
		}
		return false
	}
	return true
}

// A campaign is what blows did to runs of one kind.
type campaign struct {
	model string
	more  []string // flags
	long  time.Duration
	want  finished
	same  func(t *testing.T, got, want finished)

	kills         int // of runs that were alive
	partial, kept int // samples that were partial in checkpoints gone on from, and those of them that trained later
}

// newCampaign runs the unbroken run.
func newCampaign(t *testing.T, model string, more ...string) *campaign {
	t.Helper()
	began := time.Now()
	want := trainTiny(t, model, more...)
	return &campaign{model: model, more: more, long: time.Since(began), want: want, same: sameRun}
}

// point strikes a run at a drawn point, once more while it resumes if the dice say so, and lets it come to its end.
func (c *campaign) point(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x6b696c6c))
	every := 1 + r.IntN(3)
	more := append(slices.Clone(c.more), "--save-interval", fmt.Sprint(every))
	if r.IntN(2) == 0 {
		more = append(more, "--async-save")
	}
	dir := c.killed(t, r, every, more)
	if r.IntN(2) == 0 {
		c.hit(t, draw(r, c.long, every), dir, more)
	}
	if finishedRun(dir) { // before the second blow
		return
	}
	partial := partials(t, dir)
	c.same(t, finished{dir, succeed(t, c.args(dir, more)...)}, c.want)
	c.partial += len(partial)
	c.kept += goOn(t, dir, partial)
	distinctVersions(t, dir)
}

// killed returns the directory of a run that a blow has killed. Blows that come too late do not count.
func (c *campaign) killed(t *testing.T, r *rand.Rand, every int, more []string) string {
	t.Helper()
	for range 20 {
		if dir := filepath.Join(t.TempDir(), "run"); c.hit(t, draw(r, c.long, every), dir, more) {
			return dir
		}
	}
	t.Fatal("twenty blows came too late")
	return ""
}

// hit strikes a run and looks at what it left.
func (c *campaign) hit(t *testing.T, b blow, dir string, more []string) bool {
	t.Helper()
	alive := b.strike(t, dir, c.args(dir, more))
	if alive {
		c.kills++
	}
	t.Logf("%v: %v: killed %t, newest checkpoint %d", more, b, alive, wholeCheckpoints(t, dir))
	return alive
}

// args are the flags that a run in dir goes on with. One that died before it had written its settings is begun anew, as it says itself.
func (c *campaign) args(dir string, more []string) []string {
	if !there(dir, flagsFile) {
		os.RemoveAll(dir)
		return flags(c.model, dir, more...)
	}
	return flags(c.model, dir, append(slices.Clone(more), "--resume")...)
}

func finishedRun(dir string) bool {
	s, err := rundir.ReadStatus(dir)
	return err == nil && s.State == rundir.Finished
}

// wholeCheckpoints makes sure that what has the name of a checkpoint is one, byte for byte, and returns the newest.
func wholeCheckpoints(t *testing.T, dir string) (newest int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(checkpoints(dir), "step-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		s, err := orchestrator.ReadSaved(path)
		if err != nil || len(s.Damage) > 0 {
			t.Errorf("after the kill %s is %+v, %v", path, s, err)
			continue
		}
		newest = max(newest, s.Cycle)
	}
	return newest
}

// distinctVersions makes sure that no version was published twice, in whatever start of the run.
func distinctVersions(t *testing.T, dir string) {
	t.Helper()
	type line struct {
		Msg, Version string
	}
	log, _, err := disk.ReadLines(filepath.Join(dir, rundir.LogFile), func(b []byte) (l line, err error) {
		err = json.Unmarshal(b, &l)
		return l, err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range log {
		if l.Msg != "weights updated" {
			continue
		}
		if seen[l.Version] {
			t.Errorf("version %s was published twice", l.Version)
		}
		seen[l.Version] = true
	}
	if len(seen) == 0 {
		t.Errorf("%s: no version was published", dir)
	}
}

// filtered are the flags of runs that draw twice what they need, drop groups that teach nothing, and keep what is left over.
var filtered = []string{"--over-sampling-batch-size", "4", "--dynamic-sampling-filter-path", "check_reward_nonzero_std"}

// campaigns are the kinds of runs that a kill must not change, and how many points of each are tried: in every test, and in the slow ones.
var campaigns = []struct {
	name       string
	more       []string
	some, slow int
	same       func(t *testing.T, got, want finished)
}{
	{"sync", []string{"--loop", "sync"}, 2, 50, sameRun},
	{"one-step-off", []string{"--loop", "one-step-off"}, 2, 50, sameRun},
	{"sync, filtered", append([]string{"--loop", "sync"}, filtered...), 1, 20, sameRun},
	{"one-step-off, filtered", append([]string{"--loop", "one-step-off"}, filtered...), 1, 20, sameRun},
	{"fully-async", []string{"--loop", "fully-async"}, 2, 50, nothingLost},
	{"fully-async, bounded", []string{"--loop", "fully-async", "--max-weight-staleness", "1", "--async-unused-samples-handler", "retry"}, 0, 20, nothingLost},
}

// Runs that are killed at drawn points, written beside or not, with whatever distance of checkpoints, are the run that was not; without an end of drawing they
// are another, in which nothing is lost. The slow tests draw more points.
func TestKilledAnywhere(t *testing.T) {
	model := tiny(t)
	for i, k := range campaigns {
		if k.some == 0 {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			unlessShort(t, "sync")
			c := newCampaign(t, model, k.more...)
			c.same = k.same
			for n := range k.some {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					unlessShort(t, "0")
					c.point(t, uint64(10*i+n))
				})
			}
		})
	}
}
