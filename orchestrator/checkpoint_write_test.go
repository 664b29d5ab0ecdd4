package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"furlong/rl"
)

// beside has a loop write checkpoints beside the run. The writer calls before, if there is one, with the trainer's state long copied.
func beside(l *Loop, s *sum, before func(cycle int) error) *Loop {
	l.Config.Async = true
	l.Copy = func() Writer {
		copied, cycle := *s, l.trained
		return func(ctx context.Context, dir string) error {
			if before != nil {
				if err := before(cycle); err != nil {
					return err
				}
			}
			return copied.Save(ctx, dir)
		}
	}
	return l
}

// A run whose checkpoints are written beside it and that is killed after any step, or interrupted there, resumes as the unbroken run.
func TestResumeFromWhatIsWrittenBeside(t *testing.T) {
	d := &diary{}
	straight, want := newLoop(t.TempDir(), "one-step-off", 0, d)
	if err := runLoop(t, t.Context(), straight); err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 4 // every third kill is an interrupt still
	}
	for kill := 1; kill <= d.steps; kill += step {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		broken := &diary{killAt: kill}
		if kill%3 == 0 {
			broken.cancel = cancel
		}
		l, s := newLoop(dir, "one-step-off", 0, broken)
		first := runLoop(t, ctx, beside(l, s, nil))
		cancel()
		rest := &diary{}
		l, got := newLoop(dir, "one-step-off", 1, rest)
		if err := runLoop(t, t.Context(), beside(l, got, nil)); err != nil || got.weights != want.weights {
			t.Errorf("step %d: after %v: %v, weights %x, want %x", kill, first, err, got.weights, want.weights)
		}
		checkCycles(t, append(broken.reports, rest.reports...), d.reports)
	}
}

// A telltale notes steps and what writers do, in their order.
type telltale struct {
	diary
	log   []string
	phase func(a Action)
}

func (w *telltale) Phase(a Action) {
	w.log = append(w.log, a.String())
	if w.phase != nil {
		w.phase(a)
	}
}

// The run goes on while a checkpoint is written; the next save waits for it; the last is there before the last push.
func TestSavesBesideTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &telltale{diary: diary{killAt: -1}}
		l, s := newLoop(t.TempDir(), "sync", 0, nil)
		l.Watch = w
		free := map[int]chan struct{}{2: make(chan struct{}), 4: make(chan struct{})}
		beside(l, s, func(cycle int) error { <-free[cycle]; return nil })
		w.phase = func(a Action) {
			switch a {
			case Action{Save, 4}: // which would wait for ever if the first were not written by then
				close(free[2])
			case Action{Await, 6}:
				close(free[4])
			case Action{Push, 6}:
				if at, err := Newest(l.Dir); at != 6 || err != nil {
					t.Errorf("before the last push the newest checkpoint is %d, %v, want 6", at, err)
				}
			case Action{Train, 3}:
				if at, err := Newest(l.Dir); at != 0 || err != nil {
					t.Errorf("while the first is being written the newest checkpoint is %d, %v, want none", at, err)
				}
			}
		}
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// An error of a write beside the run ends it at the next step and names the checkpoint; the one before stays.
func TestErrorsOfWritesBesideTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		w := &telltale{diary: diary{killAt: -1}}
		l, s := newLoop(t.TempDir(), "sync", 0, nil)
		l.Watch = w
		beside(l, s, func(cycle int) error {
			if cycle == 4 {
				return full
			}
			return nil
		})
		w.phase = func(a Action) {
			synctest.Wait() // until the write has ended
		}
		err := l.Run(t.Context())
		want := "cycle 4: push: writing checkpoint " + Checkpoint(l.Dir, 4) + " beside the run: " + full.Error()
		if err == nil || err.Error() != want {
			t.Errorf("run ends with %v, want %s", err, want)
		}
		if at, err := Newest(l.Dir); at != 2 || err != nil {
			t.Errorf("newest checkpoint is %d, %v, want 2", at, err)
		}
		if left, _ := filepath.Glob(filepath.Join(l.Dir, "tmp-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// An error that the last steps meet is the run's, too, and so is one that an interrupt meets.
func TestErrorsAtTheEnd(t *testing.T) {
	full := errors.New("no space left on device")
	for _, gently := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &telltale{diary: diary{killAt: -1}}
		l, s := newLoop(t.TempDir(), "sync", 0, nil)
		l.Watch = w
		begun := make(chan struct{})
		beside(l, s, func(int) error { <-begun; return full })
		w.phase = func(a Action) {
			if a == (Action{Push, 2}) {
				if gently {
					cancel()
				}
				close(begun)
			}
		}
		if err := l.Run(ctx); !errors.Is(err, full) || errors.Is(err, context.Canceled) != gently {
			t.Errorf("interrupted %t: run ends with %v, want %v among it", gently, err, full)
		}
	}
}

// A file asks for a checkpoint after the cycle, whatever is planned, and is gone when it is there.
func TestAskedForCheckpoints(t *testing.T) {
	for _, tt := range []struct {
		loop       string
		every      int // cycles between pushes
		touch      Action
		want       string // of the steps after it
		checkpoint int
	}{
		{"sync", 1, Action{Train, 3}, "train 3, publish 3, save 3, push 3", 3},
		{"one-step-off", 1, Action{Train, 3}, "train 3, publish 3, sync 4, save 3, push 3", 3},
		{"one-step-off", 2, Action{Train, 3}, "train 3, publish 3, await 4", 4}, // between pushes there is none to be had
		{"sync", 1, Action{Await, 4}, "await 4, train 4, publish 4, save 4, push 4", 4},
	} {
		w := &telltale{diary: diary{killAt: -1}}
		l, s := newLoop(t.TempDir(), tt.loop, 0, nil)
		beside(l, s, nil)
		l.Watch, l.Config.PushEvery, l.Config.SaveEvery, l.Config.Keep = w, tt.every, 4, 9
		l.Config.Sentinel = filepath.Join(t.TempDir(), "save-now")
		w.phase = func(a Action) {
			if a == tt.touch {
				if err := os.WriteFile(l.Config.Sentinel, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if a == (Action{Push, tt.checkpoint}) {
				_, err := os.Stat(l.Config.Sentinel)
				if at, _ := Newest(l.Dir); at != tt.checkpoint || !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%v: newest checkpoint is %d, file that asks: %v, want %d and none", tt.touch, at, err, tt.checkpoint)
				}
			}
		}
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		at := slices.Index(w.log, tt.touch.String())
		if got := strings.Join(w.log[at:], ", "); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s, asked at %v: steps are %s, want %s", tt.loop, tt.touch, got, tt.want)
		}
	}
}

// A run that goes on from another's checkpoint ends as that one did, and none of its versions is one of the other's, whenever it starts.
func TestGoesOnFromAnotherRun(t *testing.T) {
	d := &diary{}
	first, want := newLoop(t.TempDir(), "one-step-off", 3, d)
	first.Config.Keep = 9
	if err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[rl.Version]bool{}
	for _, u := range d.updates {
		seen[u.Version] = true
	}
	dir := t.TempDir()
	for start, kill := range []int{9, 5, 0} { // before its first checkpoint; soon after; never
		d := &diary{killAt: kill}
		l, got := newLoop(dir, "one-step-off", start, d)
		l.From = Checkpoint(first.Dir, 2)
		err := runLoop(t, t.Context(), l)
		if kill > 0 != errors.Is(err, errKilled) {
			t.Fatalf("start %d ends with %v", start, err)
		}
		for _, u := range d.updates {
			if seen[u.Version] || u.Version.Epoch() != 4+start {
				t.Errorf("start %d: version %v, want one of epoch %d that was not published before", start, u.Version, 4+start)
			}
			seen[u.Version] = true
		}
		if kill == 0 && got.weights != want.weights {
			t.Errorf("weights are %x, want %x", got.weights, want.weights)
		}
	}
}

func TestStartsThatVersionsCannotCount(t *testing.T) {
	for epoch, want := range map[int]string{255: "", 256: "started 257 times"} {
		l, _ := newLoop(t.TempDir(), "sync", epoch, &diary{})
		if _, err := l.Load(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("start %d: %v, want %q", epoch, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	run := t.TempDir()
	dir := filepath.Join(run, "checkpoints")
	l, _ := newLoop(dir, "sync", 0, &diary{})
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path  string
		cycle int
		want  string // the cycle's directory, or what the error says
	}{
		{run, 0, "step-000006"},
		{dir, 0, "step-000006"},
		{dir, 4, "step-000004"},
		{Checkpoint(dir, 4), 0, "step-000004"},
		{Checkpoint(dir, 4), 4, "step-000004"},
		{Checkpoint(dir, 4), 6, "is of cycle 4, want 6"},
		{run, 2, "no checkpoint of cycle 2, but of [4 6]"},
		{t.TempDir(), 0, "holds no checkpoint"},
	} {
		got, err := Find(tt.path, tt.cycle)
		if said := fmt.Sprint(filepath.Base(got), err); !strings.Contains(said, tt.want) {
			t.Errorf("Find(%s, %d) = %s, %v, want %s", tt.path, tt.cycle, got, err, tt.want)
		}
	}
}

func TestSavingValidate(t *testing.T) {
	for _, tt := range []struct {
		keep, retain, every int
		want                string
	}{
		{1, 0, 10, ""},
		{2, 20, 10, ""},
		{2, 10, 10, ""},
		{0, 0, 10, "--save-keep is 0, want at least 1"},
		{1, -1, 10, "--save-retain-interval is -1, want 0 or more"},
		{1, 15, 10, "--save-retain-interval is 15, want a multiple of --save-interval (10)"},
		{1, 15, 0, "--save-retain-interval is 15, want a multiple of --save-interval (0)"},
	} {
		err := Saving{Keep: tt.keep, Retain: tt.retain}.validate(tt.every)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("keep %d, retain %d, every %d: %v, want %q", tt.keep, tt.retain, tt.every, err, tt.want)
		}
	}
}

// What a kill leaves of a checkpoint being removed, or written, has no checkpoint's name and goes with the next save.
func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tmp-step-000002", "tmp-old-step-000001"} {
		if err := os.MkdirAll(filepath.Join(dir, name, trainDir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := Newest(dir); at != 0 || err != nil {
		t.Errorf("newest checkpoint is %d, %v, want none", at, err)
	}
	l, _ := newLoop(dir, "sync", 0, &diary{})
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "step-000004" || entries[1].Name() != "step-000006" {
		t.Errorf("directory holds %v, %v, want the two newest checkpoints", entries, err)
	}
}

// A kill between the two renames by which a checkpoint replaces one of the same cycle costs neither: the old one gets its name back.
func TestMend(t *testing.T) {
	dir := t.TempDir()
	l, _ := newLoop(dir, "sync", 0, &diary{})
	l.Config.Keep = 1
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := Checkpoint(dir, 6)
	if err := os.Rename(whole, filepath.Join(dir, replacedPrefix+"step-000006")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to mend
		if err := Mend(dir); err != nil {
			t.Fatal(err)
		}
		if s, err := ReadSaved(whole); err != nil || s.Cycle != 6 || len(s.Damage) > 0 {
			t.Errorf("the checkpoint is %+v, %v, want that of cycle 6", s, err)
		}
	}
	// Once the new one has its name, the old one goes.
	if err := os.CopyFS(filepath.Join(dir, replacedPrefix+"step-000006"), os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Mend(dir), prune(dir, Saving{Keep: 1})); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v, %v, want one checkpoint", entries, err)
	}
}
