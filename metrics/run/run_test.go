package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/disk/disktest"
	"furlong/metrics/samples"
	"furlong/metrics/tensorboard"
	"furlong/rl"
)

// A clock gives a second more each time it is asked.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Second)
	return c.t
}

var start = time.Unix(1764403200, 0)

var here = Holder{PID: 100, Host: "here", Boot: "boot-1"}

// options are for a writer on this host, whose lines go to log.
func options(log io.Writer) Options {
	c := &clock{t: start}
	return Options{
		Now: c.now, Log: slog.New(slog.NewTextHandler(log, nil)), Self: here, Planned: 200,
		Text: func(token int32) []byte { return []byte{byte('a' + token)} },
	}
}

func create(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := Create(path, options(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.close() })
	return d
}

func resume(t testing.TB, path string, log io.Writer) *Dir {
	t.Helper()
	d, err := Resume(path, options(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.close() })
	return d
}

// die closes the directory as a kill does: nothing is said.
func die(d *Dir) { d.close() }

func row(cycle int, reward float64) metrics.Row {
	return metrics.Row{
		Kind: metrics.Cycle, Cycle: cycle, Step: cycle, Version: rl.Version(cycle),
		Values: map[string]float64{"rollout/raw_reward": reward, "perf/step_time": reward * 3},
	}
}

func write(t testing.TB, d *Dir, r metrics.Row) {
	t.Helper()
	if err := d.WriteRow(r); err != nil {
		t.Fatal(err)
	}
}

func status(t testing.TB, path string) Status {
	t.Helper()
	s, err := ReadStatus(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCreateAndEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "a")
	d := create(t, path)
	d.Progress(3, "rollout", "2 of 256 answers")
	if err := d.Beat(); err != nil {
		t.Fatal(err)
	}
	want := Status{
		State: Running, PID: 100, Host: "here", Boot: "boot-1", Started: 1764403201, Beat: 1764403204, Attempt: 1, Cycle: 3, Planned: 200,
		Phase: "rollout", PhaseSince: 1764403203, WaitingFor: "2 of 256 answers",
	}
	if got := status(t, path); got != want {
		t.Errorf("status is %+v, want %+v", got, want)
	}
	d.Progress(3, "rollout", "")
	if err := d.End(Finished, "200 cycles"); err != nil {
		t.Fatal(err)
	}
	want.State, want.Exit, want.WaitingFor, want.Beat = Finished, "200 cycles", "", 1764403205
	if got := status(t, path); got != want {
		t.Errorf("status is %+v, want %+v", got, want)
	}
	if h, _ := readHolder(filepath.Join(path, LockFile)); h.Ended == 0 || h.Attempt != 1 {
		t.Errorf("lock says %+v, want an end", h)
	}
}

func TestEndRefusesOtherStates(t *testing.T) {
	d := create(t, t.TempDir())
	if err := d.End(Crashed, ""); err == nil || !strings.Contains(err.Error(), `run ends "crashed"`) {
		t.Errorf("End = %v", err)
	}
}

func TestCreateRefusesARun(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	var held *HeldError
	if _, err := Create(path, options(io.Discard)); !errors.As(err, &held) || held.Far || held.Holder.PID != 100 {
		t.Errorf("Create on a living run = %v, want a HeldError with process 100", err)
	}
	if _, err := Resume(path, options(io.Discard)); !errors.As(err, &held) || !strings.Contains(err.Error(), "process 100 on host here (attempt 1, since 2025-11-29T08:00:01Z)") {
		t.Errorf("Resume of a living run = %v, want its holder named", err)
	}
	if err := d.End(Stopped, "asked"); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, options(io.Discard)); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("Create on an ended run = %v", err)
	}
	if _, err := Resume(t.TempDir(), options(io.Discard)); err == nil || !strings.Contains(err.Error(), "holds no run to resume") {
		t.Errorf("Resume of nothing = %v", err)
	}
}

// TestAttemptSurvivesLostFiles resumes a run of two attempts with one or another witness gone.
func TestAttemptSurvivesLostFiles(t *testing.T) {
	for _, lost := range [][]string{nil, {LockFile}, {StatusFile}, {LockFile, StatusFile}, {StatusFile, RowsFile}, {LockFile, RowsFile}} {
		path := t.TempDir()
		d := create(t, path)
		write(t, d, row(1, .5))
		die(d)
		d = resume(t, path, io.Discard)
		write(t, d, row(1, .5))
		die(d)
		for _, name := range lost {
			os.Remove(filepath.Join(path, name))
		}
		if got := resume(t, path, io.Discard).Attempt(); got != 3 {
			t.Errorf("without %v the attempt is %d, want 3", lost, got)
		}
	}
}

func TestTakeOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		lock string // what stands in run.lock, which nobody holds
		want string // in the log; "" for nothing
		err  string
	}{
		{"died here", `{"pid":7,"host":"here","boot":"boot-1","started":1764403100,"attempt":4}`, "process 7 on host here (attempt 4", ""},
		{"died in another container", `{"pid":7,"host":"c81f","boot":"boot-1","attempt":4}`, "process 7 on host c81f", ""},
		{"machine was restarted", `{"pid":7,"host":"here","boot":"boot-0","attempt":4}`, "process 7 on host here", ""},
		{"ended", `{"pid":7,"host":"there","boot":"boot-0","attempt":4,"ended":1764403150}`, "", ""},
		{"on another host", `{"pid":7,"host":"there","boot":"boot-0","attempt":4}`, "", "run.lock: written by process 7 on host there (attempt 4, since 1970-01-01T00:00:00Z), which cannot be asked from here"},
		{"torn", `{"pid":7,"ho`, "a process that did not say who it is", ""},
	} {
		path := t.TempDir()
		os.WriteFile(filepath.Join(path, LockFile), []byte(tt.lock), 0o644)
		var log strings.Builder
		d, err := Resume(path, options(&log))
		if err != nil {
			if tt.err == "" || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if tt.err != "" {
			t.Errorf("%s: taken over, want an error", tt.name)
		}
		if got := log.String(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: log says %q, want %q in it", tt.name, got, tt.want)
		}
		die(d)
	}
}

// TestKilledProcess lets another process write a run, kills it, and takes the run over.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv("FURLONG_TEST_RUN"); dir != "" { // the other process
		self, err := Self()
		if err != nil {
			t.Fatal(err)
		}
		o := options(io.Discard)
		o.Self = self
		d, err := Create(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.WriteRow(row(1, .5)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin) // until it is killed, or the test ends
		return
	}
	path := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), "FURLONG_TEST_RUN="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(out, make([]byte, len("ready")))
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	life := func() State {
		l, err := ReadLife(path, self, start.Add(time.Hour), 0)
		if err != nil {
			t.Fatal(err)
		}
		return l.State
	}
	if got := life(); got != Running {
		t.Errorf("a living process is %s, want running, however old its heartbeat", got)
	}
	o := options(io.Discard)
	o.Self = self
	if _, err := Resume(path, o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d on host %s", cmd.Process.Pid, self.Host)) {
		t.Errorf("Resume = %v, want the living process named", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := life(); got != Crashed {
		t.Errorf("a killed process is %s, want crashed", got)
	}
	d, err := Resume(path, o)
	if err != nil || d.Attempt() != 2 {
		t.Fatalf("Resume of a killed run = %v", err)
	}
	die(d)
}

func TestReadLife(t *testing.T) {
	beat := func(state State, ago time.Duration) string {
		return fmt.Sprintf(`{"state":%q,"pid":7,"host":"here","boot":"boot-1","beat":%v}`, state, metrics.Unix(start.Add(-ago)))
	}
	mine := `{"pid":7,"host":"here","boot":"boot-1","attempt":1}`
	far := `{"pid":7,"host":"there","boot":"boot-9","attempt":1}`
	for _, tt := range []struct {
		name         string
		lock, status string
		cycle        time.Duration
		want         State
	}{
		{"nothing", "", "", 0, None},
		{"died before the first beat", mine, "", 0, Crashed},
		{"died", mine, beat(Running, time.Second), 0, Crashed},
		{"finished", mine, beat(Finished, time.Hour), 0, Finished},
		{"stopped", mine, beat(Stopped, time.Hour), 0, Stopped},
		{"failed", far, beat(Failed, time.Hour), 0, Failed},
		{"far, beats", far, beat(Running, 59*time.Second), 0, Running},
		{"far, silent", far, beat(Running, 61*time.Second), 0, Silent},
		{"far, long cycles", far, beat(Running, 100*time.Second), 41 * time.Second, Running},
		{"far, silent for three cycles", far, beat(Running, 124*time.Second), 41 * time.Second, Silent},
		{"lock file lost", "", beat(Running, time.Second), 0, Crashed},
		{"torn status", mine, `{"state":"runn`, 0, Crashed},
	} {
		path := t.TempDir()
		for name, text := range map[string]string{LockFile: tt.lock, StatusFile: tt.status} {
			if text != "" {
				os.WriteFile(filepath.Join(path, name), []byte(text), 0o644)
			}
		}
		l, err := ReadLife(path, here, start, tt.cycle)
		if l.State != tt.want || (err != nil) != strings.HasPrefix(tt.name, "torn") {
			t.Errorf("%s: %s, %v, want %s", tt.name, l.State, err, tt.want)
		}
	}
	if l, err := ReadLife(filepath.Join(t.TempDir(), "none"), here, start, 0); l.State != None || err != nil {
		t.Errorf("no directory: %s, %v", l.State, err)
	}
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		var log strings.Builder
		o := options(&log)
		o.Now = time.Now // of the bubble
		d, err := Create(path, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { d.Run(ctx); close(done) }()
		began := time.Now()
		wait := func(n int) { time.Sleep(time.Duration(n) * BeatInterval); synctest.Wait() }
		wait(3)
		if got, want := status(t, path).Beat, metrics.Unix(began.Add(15*time.Second)); got != want {
			t.Errorf("beat is %v, want %v", got, want)
		}
		d.Serves(7)
		d.Serves(8)
		synctest.Wait() // no time goes by
		if got := status(t, path).Serving; got != 8 {
			t.Errorf("status says that version %v serves, want 8", got)
		}
		// A folder in its place cannot be replaced by a file.
		os.Remove(filepath.Join(path, StatusFile))
		os.MkdirAll(filepath.Join(path, StatusFile, "x"), 0o755)
		wait(3)
		os.RemoveAll(filepath.Join(path, StatusFile))
		wait(1)
		if got := log.String(); strings.Count(got, "heartbeat lost") != 1 || !strings.Contains(got, "heartbeat again") || !strings.Contains(got, "lost=3") {
			t.Errorf("log says %q, want one loss of 3 and the return", got)
		}
		if status(t, path).State != Running {
			t.Error("no heartbeat after the disk came back")
		}
		cancel()
		<-done
		if err := d.End(Finished, ""); err != nil {
			t.Error(err)
		}
	})
}

// Where no other file can be made, as on a full disk, the end is written over the last status.
func TestEndWithoutRoom(t *testing.T) {
	for _, exit := range []string{"no space left on device", strings.Repeat("é", 5000), ""} {
		path := t.TempDir()
		d := create(t, path)
		d.Progress(1234567, "train", strings.Repeat("something long ", 20))
		if err := d.Beat(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(path, StatusFile+".tmp", "x"), 0o755); err != nil { // no file can have this name now
			t.Fatal(err)
		}
		if err := d.End(Failed, exit); err != nil {
			t.Fatal(err)
		}
		s, err := ReadStatus(path)
		if err != nil || s.State != Failed || !strings.HasPrefix(exit, s.Exit) || len(s.Exit) < min(len(exit), 900) || s.Cycle != 1234567 || s.WaitingFor != "" {
			t.Errorf("the status is %+v, %v, want a failure with %.40q", s, err, exit)
		}
	}
}

func rows(t testing.TB, path string) []metrics.Row {
	t.Helper()
	rs, bad, err := metrics.ReadRows(filepath.Join(path, RowsFile))
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	return rs
}

func TestWriteRow(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	eval := metrics.Row{Kind: metrics.Eval, Values: map[string]float64{"eval/aime-2024-pass@8": .5}}
	write(t, d, eval)
	write(t, d, row(1, .25))
	write(t, d, row(3, math.NaN()))
	eval.Cycle = 3
	write(t, d, eval)
	for _, tt := range []struct {
		row  metrics.Row
		want string
	}{
		{row(3, .5), "cycle row of cycle 3 after that of cycle 3 in attempt 1"},
		{row(2, .5), "cycle row of cycle 2 after that of cycle 3"},
		{eval, "eval row of cycle 3 after"},
		{metrics.Row{Kind: metrics.Cycle, Cycle: 4, Values: map[string]float64{"train/los": 1}}, `series "train/los" is not in the table`},
	} {
		if err := d.WriteRow(tt.row); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("WriteRow = %v, want %q", err, tt.want)
		}
	}
	if err := d.End(Finished, ""); err != nil {
		t.Fatal(err)
	}
	got := rows(t, path)
	if len(got) != 4 || got[0].Kind != metrics.Eval || got[2].Cycle != 3 || got[3].Attempt != 1 || got[3].Time <= got[0].Time {
		t.Errorf("rows are %+v", got)
	}
	sameScalars(t, path, got)
}

// sameScalars holds the event files against the rows.
func sameScalars(t *testing.T, path string, rows []metrics.Row) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(path, TensorBoard, "events.*"))
	var events []tensorboard.Event
	for _, n := range names {
		b, _ := os.ReadFile(n)
		es, good, err := tensorboard.Read(b)
		if err != nil || good != len(b) {
			t.Errorf("%s: %d of %d bytes read, %v", n, good, len(b), err)
		}
		events = append(events, slices.DeleteFunc(es, func(e tensorboard.Event) bool { return e.Values == nil })...)
	}
	if len(events) != len(rows) {
		t.Fatalf("%d events, %d rows", len(events), len(rows))
	}
	for i, r := range rows {
		e := events[i]
		for name, v := range r.Values {
			if got := e.Values[name]; got != float32(v) && v == v {
				t.Errorf("event %d: %s is %v, the row has %v", i, name, got, v)
			}
		}
		if e.Step != int64(r.Cycle) || e.Time != r.Time || len(e.Values) != len(r.Values) {
			t.Errorf("event %d is %+v, the row %+v", i, e, r)
		}
	}
}

func TestResumedRunComparesEqual(t *testing.T) {
	whole, broken := t.TempDir(), t.TempDir()
	d := create(t, whole)
	for c := 1; c <= 5; c++ {
		write(t, d, row(c, float64(c)/8))
	}
	die(d)
	d = create(t, broken)
	for c := 1; c <= 4; c++ {
		r := row(c, float64(c)/8)
		r.Values["perf/step_time"] = 99
		write(t, d, r)
	}
	die(d)
	file, _ := os.OpenFile(filepath.Join(broken, RowsFile), os.O_APPEND|os.O_WRONLY, 0)
	file.WriteString(`{"kind":"cycle","cycle":5,"st`) // killed in the middle of a row
	file.Close()
	os.WriteFile(filepath.Join(broken, StatusFile+".tmp"), []byte("{"), 0o644)
	var log strings.Builder
	d = resume(t, broken, &log)
	for c := 3; c <= 5; c++ { // from the checkpoint after cycle 2
		r := row(c, float64(c)/8)
		r.Version = rl.NewVersion(1, c)
		write(t, d, r)
	}
	die(d)
	for _, want := range []string{"run taken over", "torn last line cut off", "bytes=29", "half-written file removed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log says %q, want %q in it", log.String(), want)
		}
	}
	if err := metrics.Compare(rows(t, whole), rows(t, broken)); err != nil {
		t.Error(err)
	}
	_, repeats := metrics.Merge(rows(t, broken))
	if want := []metrics.Repeat{{Kind: metrics.Cycle, Cycle: 3, Attempts: []int{1, 2}}, {Kind: metrics.Cycle, Cycle: 4, Attempts: []int{1, 2}}}; !reflect.DeepEqual(repeats, want) {
		t.Errorf("repeats are %+v, want %+v", repeats, want)
	}
}

// TestTornAtEveryByte kills the writer of each file of lines at every byte of its last line.
func TestTornAtEveryByte(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	write(t, d, row(1, .5))
	write(t, d, row(2, .5))
	die(d)
	file := filepath.Join(path, RowsFile)
	whole, _ := os.ReadFile(file)
	first := slices.Index(whole, '\n') + 1
	for cut := first; cut < len(whole); cut++ {
		os.WriteFile(file, whole[:cut], 0o644)
		d := resume(t, path, io.Discard)
		write(t, d, row(2, .5))
		die(d)
		want := 2
		if cut == len(whole)-1 { // only the line feed was missing
			want = 3
		}
		if got := rows(t, path); len(got) != want || got[0].Attempt != 1 {
			t.Errorf("cut at %d: rows are %+v, want %d", cut, got, want)
		}
	}
}

func TestFullDisk(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	path := t.TempDir()
	d := create(t, path)
	write(t, d, row(1, .5))
	size := d.rows.Size()
	for room := size; room < size+100; room += 33 {
		var err error
		disktest.Full(t, uint64(room), func() { err = d.WriteRow(row(2, .5)) })
		if err == nil || !strings.Contains(err.Error(), RowsFile) {
			t.Errorf("room for %d bytes: WriteRow = %v, want an error that names the file", room, err)
		}
		if b, _ := os.ReadFile(filepath.Join(path, RowsFile)); int64(len(b)) != size {
			t.Errorf("room for %d bytes: the file has %d, want %d as before", room, len(b), size)
		}
	}
	write(t, d, row(2, .5))
	if err := os.Symlink("/dev/full", filepath.Join(path, StatusFile+".tmp")); err != nil {
		t.Fatal(err)
	}
	before := status(t, path)
	if err := d.Beat(); err == nil || !strings.Contains(err.Error(), StatusFile) {
		t.Errorf("Beat = %v, want an error that names the file", err)
	}
	if got := status(t, path); got != before {
		t.Errorf("status is %+v, want the last whole one", got)
	}
	if _, err := os.Lstat(filepath.Join(path, StatusFile+".tmp")); err == nil {
		t.Error("the temporary stayed")
	}
}

func TestConcurrentWriters(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	log := slog.New(d.LogHandler(slog.LevelInfo))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				d.Progress(i, "train", "")
				log.Info("hello", "g", g, "i", i)
				if err := errors.Join(d.Beat(), d.WriteSpans(Span{Cycle: i * 200, Lane: fmt.Sprint(g)}), d.WriteAlarm(Alarm{Kind: Raised, ID: "dead"})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := d.End(Finished, ""); err != nil {
		t.Fatal(err)
	}
	n := 0
	for file := range 4 {
		spans, bad, err := disk.ReadLines(filepath.Join(path, SpansFile(1000*file)), ParseSpan)
		if err != nil || len(bad) > 0 {
			t.Error(err, bad)
		}
		n += len(spans)
	}
	alarms, _, _ := disk.ReadLines(filepath.Join(path, AlarmsFile), ParseAlarm)
	lines, bad, _ := disk.ReadLines(filepath.Join(path, LogFile), ParseLog)
	if n != 80 || len(alarms) != 80 || len(lines) != 80 || len(bad) != 0 {
		t.Errorf("%d spans, %d alarms, %d log lines, %v, want 80 each", n, len(alarms), len(lines), bad)
	}
}

func TestSamplesThroughDir(t *testing.T) {
	path := t.TempDir()
	o := options(io.Discard)
	o.Keep, _ = samples.ParseKeep("last:2")
	d, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for c := 1; c <= 3; c++ {
		s := &rl.Sample{Prompt: &rl.Prompt{Group: int64(c), Set: "sums"}, Response: []int32{0, 1}, LogProbs: []float32{-1, -2}, Versions: []rl.Span{{Version: 1, Tokens: 2}}}
		if err := d.WriteSamples(samples.Batch{Cycle: c, Samples: []samples.Sample{{Sample: s}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End(Finished, ""); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(path, SamplesDir, "*.fls"))
	x, err := samples.OpenIndex(filepath.Join(path, SamplesDir, "index"))
	if err != nil || len(left) != 2 || len(slices.Collect(x.Keys())) != 3 {
		t.Errorf("%d bodies and index %v, %v, want 2 and 3 cycles", len(left), slices.Collect(x.Keys()), err)
	}
	o.Text = nil
	if d, err = Create(t.TempDir(), o); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteSamples(samples.Batch{}); err == nil {
		t.Error("samples without the text of tokens were taken")
	}
	die(d)
}

// Example is what a training loop calls.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	self, _ := Self()
	d, err := Create(filepath.Join(dir, "run"), Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Self: self, Planned: 1})
	if err != nil {
		panic(err)
	}
	d.WriteConfig(map[string]Setting{"rollout-batch-size": {Value: 32, Origin: "recipe tiny-arithmetic"}})
	d.Progress(1, "train", "")
	d.WriteRow(metrics.Row{Kind: metrics.Cycle, Cycle: 1, Step: 1, Version: 1, Values: map[string]float64{"rollout/raw_reward": 0.5}})
	d.End(Finished, "1 cycle")

	rows, _, _ := metrics.ReadRows(filepath.Join(dir, "run", RowsFile))
	life, _ := ReadLife(filepath.Join(dir, "run"), self, time.Now(), 0)
	fmt.Println(rows[0].Values, life.State, life.Status.Exit)
	// Output: map[rollout/raw_reward:0.5] finished 1 cycle
}
