package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/samples"
	"furlong/metrics/tensorboard"
	"furlong/rl"
)

// BeatInterval is how often [Dir.Run] writes status.json.
const BeatInterval = 5 * time.Second

// Options are what a run is told besides its directory.
type Options struct {
	Now     func() time.Time
	Log     *slog.Logger             // lines about the directory itself: a lock taken over, a file mended
	Self    Holder                   // who writes; Self() fills it
	Planned int                      // the last cycle of the plan
	Text    func(token int32) []byte // what a token stands for; WriteSamples needs it
	Keep    samples.Keep             // which bodies of samples stay
	Experts samples.KeepExperts      // of which tokens their experts stay
	Seen    func(metrics.Row)        // is told each row once it is written; nil for nobody
}

// A Dir is the directory of a run, open for writing. Its Write methods may be called from several goroutines at once.
type Dir struct {
	path   string
	o      Options
	lock   *lock
	holder Holder
	alarms *disk.Appender
	log    *disk.Appender

	beating sync.Mutex // orders the writes of status.json
	state   sync.Mutex // guards status; held for moments only, so that a slow disk cannot stop the heart
	status  Status
	soon    chan struct{} // asks for a heartbeat before its time

	mu      sync.Mutex // guards what follows
	rows    *disk.Appender
	last    map[metrics.Kind]int // cycle of the last row
	board   *tensorboard.Writer
	spans   *disk.Appender // of the file named by spansAt
	spansAt string

	sampling sync.Mutex      // orders the writes of samples
	samples  *samples.Writer // nil without the text of tokens
}

// Create makes the directory of a new run. One that holds a run already is refused.
func Create(path string, o Options) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return open(path, o, func(found bool) error {
		if found {
			return fmt.Errorf("%s holds a run already; resume it, or choose another directory", path)
		}
		return nil
	})
}

// Resume opens the directory of a run that ended or died, as its next attempt. Torn last lines are cut off, and temporaries removed, each with a line.
func Resume(path string, o Options) (*Dir, error) {
	if !Holds(path) {
		return nil, fmt.Errorf("%s holds no run to resume", path)
	}
	return open(path, o, func(bool) error { return nil })
}

// Holds reports whether a run was begun in a directory.
func Holds(path string) bool {
	for _, name := range []string{LockFile, StatusFile, RowsFile, ConfigFile} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// open takes the lock before it looks at anything else. check is told whether there is a run.
func open(path string, o Options, check func(found bool) error) (*Dir, error) {
	l, dead, last, err := takeLock(filepath.Join(path, LockFile), o.Self)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, o: o, lock: l, last: map[metrics.Kind]int{}, soon: make(chan struct{}, 1)}
	if err = check(Holds(path)); err == nil {
		err = d.start(dead, last)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Dir) start(dead *Holder, last Holder) error {
	attempt, err := d.nextAttempt(last)
	if err != nil {
		return err
	}
	if dead != nil {
		d.o.Log.Warn("run taken over from a process that died", "run", d.path, "holder", dead.String(), "attempt", attempt)
	}
	now := metrics.Unix(d.o.Now())
	d.holder = d.o.Self
	d.holder.Started, d.holder.Attempt, d.holder.Ended = now, attempt, 0
	if err := d.lock.write(d.holder); err != nil {
		return err
	}
	h := d.holder
	d.status = Status{State: Running, PID: h.PID, Host: h.Host, Boot: h.Boot, Started: now, Attempt: attempt, Planned: d.o.Planned, Phase: "start", PhaseSince: now}
	if err := d.openFiles(); err != nil {
		return err
	}
	return d.Beat()
}

// nextAttempt returns one more than the highest attempt that lock, status and rows know of: any of them may be lost.
func (d *Dir) nextAttempt(last Holder) (int, error) {
	highest := last.Attempt
	status, err := ReadStatus(d.path)
	if err != nil {
		d.o.Log.Warn("status cannot be read", "error", err)
	}
	highest = max(highest, status.Attempt)
	rows, bad, err := metrics.ReadRows(filepath.Join(d.path, RowsFile))
	if err != nil {
		return 0, err
	}
	for _, b := range bad {
		d.o.Log.Warn("row cannot be read", "error", b)
	}
	for _, r := range rows {
		highest = max(highest, r.Attempt)
	}
	return highest + 1, nil
}

func (d *Dir) openFiles() (err error) {
	if err := d.sweep(); err != nil {
		return err
	}
	if d.rows, err = d.openLines(RowsFile); err != nil {
		return err
	}
	if d.alarms, err = d.openLines(AlarmsFile); err != nil {
		return err
	}
	if d.log, err = d.openLines(LogFile); err != nil {
		return err
	}
	d.board, err = tensorboard.Create(filepath.Join(d.path, TensorBoard), d.holder.Host, d.holder.Started, d.holder.Attempt)
	if err != nil || d.o.Text == nil {
		return err
	}
	d.samples, err = samples.Open(filepath.Join(d.path, SamplesDir), samples.Options{Attempt: d.holder.Attempt, Text: d.o.Text, Log: d.o.Log, Experts: d.o.Experts})
	return err
}

// sweep removes what a killed writer left half-written.
func (d *Dir) sweep() error {
	dirs := []string{".", SamplesDir, SamplesDir + "/index", expertsDir}
	evals, err := os.ReadDir(filepath.Join(d.path, evalDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range evals {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(evalDir, e.Name()))
		}
	}
	for _, dir := range dirs {
		swept, err := disk.Sweep(filepath.Join(d.path, dir))
		for _, name := range swept {
			d.o.Log.Warn("half-written file removed", "file", filepath.Join(d.path, dir, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openLines opens a file of lines below the directory.
func (d *Dir) openLines(name string) (*disk.Appender, error) {
	path := filepath.Join(d.path, name)
	a, torn, err := disk.OpenLines(path)
	if torn > 0 {
		d.o.Log.Warn("torn last line cut off", "file", path, "bytes", torn)
	}
	return a, err
}

// Attempt returns the number of this start of the run, from 1. Versions published by it have the epoch Attempt-1.
func (d *Dir) Attempt() int { return d.holder.Attempt }

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Progress notes where the run is, for the next heartbeat: the cycle, its phase, and what it waits for, if anything.
func (d *Dir) Progress(cycle int, phase, waitingFor string) {
	d.state.Lock()
	defer d.state.Unlock()
	if cycle != d.status.Cycle || phase != d.status.Phase {
		d.status.PhaseSince = metrics.Unix(d.o.Now())
	}
	d.status.Cycle, d.status.Phase, d.status.WaitingFor = cycle, phase, waitingFor
}

// Serves notes the version that the rollout engine serves from now on. The heart beats once more for it: whoever waits for a cycle has stale words for long else.
func (d *Dir) Serves(v rl.Version) {
	d.state.Lock()
	d.status.Serving = v
	d.state.Unlock()
	select {
	case d.soon <- struct{}{}:
	default: // it is asked for already
	}
}

// Beat writes status.json.
func (d *Dir) Beat() error {
	d.beating.Lock()
	defer d.beating.Unlock()
	d.state.Lock()
	d.status.Beat = metrics.Unix(d.o.Now())
	b, err := line(d.status)
	d.state.Unlock()
	if err != nil {
		return err
	}
	return disk.ReplaceBytes(filepath.Join(d.path, StatusFile), b)
}

// lastWords writes the status over the one that is there, where no other file can be made: a full disk is what many runs end with, and they should say so. The file
// has its block already.
func (d *Dir) lastWords() error {
	d.state.Lock()
	defer d.state.Unlock()
	s := d.status
	s.Exit = strings.ToValidUTF8(s.Exit[:min(len(s.Exit), 1000)], "") // the whole stays within a block
	b, err := line(s)
	if err != nil {
		return err
	}
	return overwrite(filepath.Join(d.path, StatusFile), b)
}

// Run writes a heartbeat every [BeatInterval], and when a version begins to serve, until ctx ends. A heartbeat that cannot be written is a line in the log, not the end of the run.
func (d *Dir) Run(ctx context.Context) {
	t := time.NewTicker(BeatInterval)
	defer t.Stop()
	lost := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-d.soon:
		}
		switch err := d.Beat(); {
		case err == nil && lost > 0:
			d.o.Log.Info("heartbeat again", "lost", lost)
			lost = 0
		case err != nil && lost == 0:
			d.o.Log.Error("heartbeat lost", "error", err)
			fallthrough
		case err != nil:
			lost++
		}
	}
}

// End writes how the run ended, closes all files and gives the lock up. state is Finished, Stopped or Failed; exit says why in words. Nothing
// may be written afterwards.
func (d *Dir) End(state State, exit string) error {
	if state != Finished && state != Stopped && state != Failed {
		return fmt.Errorf("run ends %q, want %s, %s or %s", state, Finished, Stopped, Failed)
	}
	d.state.Lock()
	d.status.State, d.status.Exit, d.status.WaitingFor = state, exit, ""
	d.state.Unlock()
	err := d.Beat()
	if err != nil && d.lastWords() == nil {
		err = nil // the end is written
	}
	d.holder.Ended = metrics.Unix(d.o.Now())
	return errors.Join(err, d.lock.write(d.holder), d.close())
}

// close closes what is open, the lock last.
func (d *Dir) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sampling.Lock()
	defer d.sampling.Unlock()
	var errs []error
	for _, a := range []*disk.Appender{d.rows, d.alarms, d.log, d.spans} {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	if d.board != nil {
		errs = append(errs, d.board.Close())
	}
	if d.samples != nil {
		errs = append(errs, d.samples.Close())
	}
	return errors.Join(append(errs, d.lock.release())...)
}
