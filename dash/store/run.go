package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/verdict"
)

// lookEvery is how often files are looked at, however often one asks.
const lookEvery = 250 * time.Millisecond

// Options are what a reader of runs is told.
type Options struct {
	Now   func() time.Time
	Self  run.Holder // who reads: says which locks can be seen
	Cache string     // folder for indexes of runs that can't be written; empty for none

	Baselines []api.Baseline // lines of reference, the same for all runs
}

// A Run reads one run directory. It may be asked from several goroutines at once.
type Run struct {
	id   string
	dir  string
	root *os.Root
	o    Options

	mu      sync.Mutex // guards what follows
	looked  time.Time
	table   *table
	alarms  alarmFile
	life    run.Life
	odd     []api.Problem // of files that could not be read
	rowsErr error         // why there are no rows
	twice   twice
	held    map[string]held
	marks   markCache
	tallies tallies
	heads   headCache

	index sampleIndex  // has a lock of its own, since a search may take long
	limit atomic.Int64 // bytes of columns

	indexOdd atomic.Pointer[[]api.Problem] // what of the index could not be read, once it was looked at
}

// Open returns a reader of the run in dir, which may be empty yet. id is its name in addresses.
func Open(dir, id string, o Options) (*Run, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{id: id, dir: dir, root: root, o: o, table: newTable(root), held: map[string]held{}}
	r.alarms.follow(root)
	r.index.run = r
	r.limit.Store(hotBytes)
	return r, nil
}

// Close closes what is open.
func (r *Run) Close() error {
	r.index.mu.Lock()
	defer r.index.mu.Unlock()
	return errors.Join(r.index.close(), r.root.Close())
}

// Dir returns the directory.
func (r *Run) Dir() string { return r.dir }

// ID returns the run's name in addresses.
func (r *Run) ID() string { return r.id }

// look reads what was written since the last look, if that was long enough ago. The caller holds the lock.
func (r *Run) look() error {
	now := r.o.Now()
	if !r.looked.IsZero() && now.Sub(r.looked) < lookEvery && !now.Before(r.looked) {
		return nil
	}
	if _, err := os.Stat(r.dir); err != nil {
		return asked(Missing, "%s is not there any more", r.dir)
	}
	r.table.limit = int(r.limit.Load())
	r.odd, r.rowsErr = nil, nil
	if err := r.table.refresh(); err != nil {
		r.cannot(run.RowsFile, err)
		r.rowsErr = r.broken(run.RowsFile, err)
	}
	if err := r.alarms.refresh(); err != nil {
		r.cannot(run.AlarmsFile, err)
	}
	r.readLife(now)
	r.looked = now
	return nil
}

// Again has the next question look at the files, however short ago the last one did.
func (r *Run) Again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = time.Time{}
}

// broken says that a file could not be read.
func (r *Run) broken(file string, err error) error {
	if _, ok := errors.AsType[*Asked](err); ok {
		return err
	}
	return asked(Broken, "%s can't be read: %s", file, r.plain(file, err)).in(file).hint("the other pages of the run are as they were")
}

// cannot notes a file that could not be read; the others are shown.
func (r *Run) cannot(file string, err error) {
	r.odd = append(r.odd, api.Problem{File: file, Error: r.plain(file, err), N: 1})
}

// lookRows is look for answers that are nothing without rows. The caller holds the lock.
func (r *Run) lookRows() error {
	if err := r.look(); err != nil {
		return err
	}
	if len(r.table.lines) == 0 {
		return r.rowsErr
	}
	return nil
}

// plain is what err says of a file of the run, without its place on this machine.
func (r *Run) plain(file string, err error) string {
	text := plainError(err)
	text = strings.TrimPrefix(text, filepath.Join(r.dir, file)+": ")
	text = strings.ReplaceAll(text, r.dir+string(filepath.Separator), "")
	return strings.TrimPrefix(text, file+": ")
}

// plainError drops the path of the run from the message of the system, since the file is named beside it.
func plainError(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Sprintf("%s: %v", p.Op, p.Err)
	}
	return err.Error()
}

// readLife asks whether the run is alive.
func (r *Run) readLife(now time.Time) {
	outside := false
	for _, name := range []string{run.StatusFile, run.LockFile} {
		if err := r.inside(name); err != nil {
			r.cannot(name, err)
			outside = true
		}
	}
	if outside {
		r.life = run.Life{State: run.None}
		return
	}
	usual := time.Duration(r.usual() * float64(time.Second))
	life, err := run.ReadLife(r.dir, r.o.Self, now, max(usual, 0))
	if err != nil {
		r.cannot(run.StatusFile, err)
	}
	r.life = life
}

// usual returns the seconds of the usual cycle, 0 if none is known.
func (r *Run) usual() float64 {
	p := r.points(stepTime)
	if u := verdict.Usual(verdict.Run{Points: map[string]verdict.Points{stepTime: p}}); u > 0 {
		return u
	}
	return 0
}

// inside reports a file that lies outside of the run's directory by way of a link. One that is not there is inside.
func (r *Run) inside(name string) error {
	if _, err := r.root.Stat(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// path returns where a file of the run is, for readers that open by path, after it was found to be inside.
func (r *Run) path(name string) (string, error) {
	if err := r.inside(name); err != nil {
		return "", r.broken(name, err)
	}
	return filepath.Join(r.dir, name), nil
}

// points returns a series over the rows that count.
func (r *Run) points(key string) verdict.Points {
	var out verdict.Points
	if r.table.warm([]string{key}) != nil {
		return out
	}
	c := r.table.column(key)
	if c == nil {
		return out
	}
	for _, p := range r.table.points {
		for _, at := range []int32{p.row, p.evals} {
			if v := c.at(at); !isAbsent(v) {
				out.X, out.Y = append(out.X, float64(p.cycle)), append(out.Y, v)
			}
		}
	}
	return out
}

// at is the id of the newest lines that were read.
func (r *Run) at() string {
	return Place{r.table.follow.Offset(), r.alarms.file.Offset()}.String()
}

// Rows answers which rows to draw.
func (r *Run) Rows(a Ask) (*api.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.lookRows(); err != nil {
		return nil, err
	}
	out, err := r.table.rows(a, r.life.Status.Planned)
	if err != nil {
		return nil, r.broken(run.RowsFile, err)
	}
	out.At = r.at()
	return out, nil
}

// An alarmFile follows alarms.jsonl.
type alarmFile struct {
	root *os.Root
	file *disk.Follower
	all  []run.Alarm
	bad  problems
}

func (a *alarmFile) follow(root *os.Root) {
	*a = alarmFile{root: root, file: disk.FollowIn(root, run.AlarmsFile, 0), bad: newProblems(run.AlarmsFile)}
}

func (a *alarmFile) refresh() error {
	restarted, err := a.file.Poll(a.add)
	if restarted {
		a.follow(a.root)
		_, err = a.file.Poll(a.add)
	}
	return err
}

func (a *alarmFile) add(offset int64, line []byte) error {
	alarm, err := run.ParseAlarm(line)
	if err == nil && alarm.Kind != run.Raised && alarm.Kind != run.Cleared {
		err = fmt.Errorf("alarm has kind %.40q, want %s or %s", alarm.Kind, run.Raised, run.Cleared)
	}
	if err != nil {
		a.bad.add(offset, err)
		return nil
	}
	a.all = append(a.all, alarm)
	return nil
}

// twice remembers which rows were written twice, and whether they are equal.
type twice struct {
	resets int
	done   int
	all    []metrics.Repeat
}

// repeats compares the rows that were written more than once since the last call.
func (r *Run) repeats() []metrics.Repeat {
	t, w := r.table, &r.twice
	if w.resets != t.resets {
		*w = twice{resets: t.resets}
	}
	for ; w.done < len(t.again); w.done++ {
		p := t.again[w.done]
		old, now := t.lines[p.old], t.lines[p.now]
		rep := metrics.Repeat{Kind: metrics.Cycle, Cycle: int(old.cycle), Attempts: []int{int(old.attempt), int(now.attempt)}}
		if old.eval {
			rep.Kind = metrics.Eval
		}
		rep.Differ = t.differ(p)
		w.all = append(w.all, rep)
	}
	return w.all
}

// differ returns the names of what is not equal in two rows.
func (t *table) differ(p repeat) []string {
	var rows [2]metrics.Row
	for i, at := range []int32{p.old, p.now} {
		raw, err := t.text(at)
		if err != nil {
			return nil
		}
		if rows[i], err = metrics.ParseRow(raw); err != nil {
			return nil // it was a row when it was read first
		}
	}
	return metrics.Differ(rows[0], rows[1])
}
