package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"furlong/metrics/disk"
)

// Saving says how checkpoints reach the disk.
type Saving struct {
	Keep     int    `flag:"save-keep" help:"newest checkpoints that are kept"`
	Retain   int    `flag:"save-retain-interval" help:"also keep every checkpoint whose cycle is a multiple of this; 0 for none"`
	Async    bool   `flag:"async-save" help:"write checkpoints while the run goes on, from a copy of the state in memory; the last one, and one that was asked for, are waited for"`
	Sentinel string `flag:"save-trigger-sentinel" help:"a file whose being there asks for a checkpoint: it is looked for after each cycle, and removed once the checkpoint is written"`
}

// validate reports everything that is wrong with s, where a run saves every so many cycles.
func (s Saving) validate(every int) error {
	var errs []error
	if s.Keep < 1 {
		errs = append(errs, fmt.Errorf("--save-keep is %d, want at least 1", s.Keep))
	}
	switch {
	case s.Retain < 0:
		errs = append(errs, fmt.Errorf("--save-retain-interval is %d, want 0 or more", s.Retain))
	case s.Retain > 0 && (every == 0 || s.Retain%every != 0):
		errs = append(errs, fmt.Errorf("--save-retain-interval is %d, want a multiple of --save-interval (%d): only what is saved can be kept", s.Retain, every))
	}
	return errors.Join(errs...)
}

// asked reports whether somebody asks for a checkpoint. A place that cannot be looked at is taken for one where nothing is.
func (s Saving) asked() bool {
	if s.Sentinel == "" {
		return false
	}
	_, err := os.Lstat(s.Sentinel)
	return err == nil
}

// A Writer writes the trainer's state into a directory that has nothing in it. It may be called from another goroutine than the loop's.
type Writer func(ctx context.Context, dir string) error

// A writing is a checkpoint on its way to the disk.
type writing struct {
	cycle  int
	loop   []byte // the loop's part
	train  Writer
	done   chan struct{}
	err    error
	t0, t1 time.Time
}

// save writes checkpoint step-N of the last trained cycle, once the one before is written. Written beside the run it is where nobody waits for it: neither
// the end of the run nor whoever asked for it.
func (l *Loop) save(ctx context.Context) error {
	if err := l.settle(); err != nil {
		return err
	}
	asked := l.Config.asked()
	w, err := l.begun(ctx)
	if err != nil {
		return err
	}
	if l.Config.Async && !asked && l.trained < l.Config.End() && ctx.Err() == nil {
		w.train = l.Copy()
		l.writing = w
		l.wg.Go(func() { l.write(context.WithoutCancel(ctx), w) })
		return nil
	}
	if l.write(ctx, w); w.err != nil {
		return w.err
	}
	l.saved = w.cycle
	if asked {
		return os.Remove(l.Config.Sentinel)
	}
	return nil
}

// begun takes down what the loop adds to a checkpoint as it is now.
func (l *Loop) begun(context.Context) (*writing, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	return &writing{cycle: l.trained, loop: raw, train: l.Train.Save, done: make(chan struct{}), t0: l.Clock()}, err
}

// write writes a checkpoint to its end: under another name, checked by a manifest, renamed when it is whole. What was saved before stays until then.
func (l *Loop) write(ctx context.Context, w *writing) {
	defer close(w.done)
	final := Checkpoint(l.Dir, w.cycle)
	tmp := filepath.Join(l.Dir, tmpPrefix+filepath.Base(final))
	if err := l.fillIn(ctx, tmp, w); err != nil {
		w.err = errors.Join(err, os.RemoveAll(tmp))
		return
	}
	w.err = errors.Join(publishDir(tmp, final), prune(l.Dir, l.Config.Saving))
	w.t1 = l.Clock()
}

// fillIn writes the files of a checkpoint into tmp.
func (l *Loop) fillIn(ctx context.Context, tmp string, w *writing) error {
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(filepath.Join(tmp, trainDir), 0o755)); err != nil {
		return err
	}
	if err := disk.ReplaceBytes(filepath.Join(tmp, loopFile), w.loop); err != nil {
		return err
	}
	if err := w.train(ctx, filepath.Join(tmp, trainDir)); err != nil {
		return err
	}
	if err := writeManifest(tmp); err != nil || l.Written == nil {
		return err
	}
	return l.Written(ctx, w.cycle, tmp)
}

// settle waits until no checkpoint is being written, and returns what went wrong with it.
func (l *Loop) settle() error {
	w := l.writing
	if w == nil {
		return nil
	}
	<-w.done
	l.writing = nil
	if w.err != nil {
		return fmt.Errorf("writing checkpoint %s beside the run: %w", Checkpoint(l.Dir, w.cycle), w.err)
	}
	l.saved = w.cycle
	return l.Watch.Span(max(w.cycle, 1), "save", "write", w.t0, w.t1, l.version)
}

// Rest returns the seconds of each kind of step since the last report, by the names that a report would have: after Run, what no cycle tells.
func (l *Loop) Rest() map[string]float64 {
	out := map[string]float64{}
	for name, v := range l.times {
		out["perf/"+name+"_time"] = v
	}
	return out
}

// settled is settle for when a checkpoint need not be waited for.
func (l *Loop) settled() error {
	if l.writing == nil {
		return nil
	}
	select {
	case <-l.writing.done:
		return l.settle()
	default:
		return nil
	}
}
