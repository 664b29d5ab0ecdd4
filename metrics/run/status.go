package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/rl"
)

// A State is how a run is, in one word.
type State string

// The states. A run writes the first four; the others are what a reader finds.
const (
	Running  State = "running"
	Finished State = "finished" // did what was planned
	Stopped  State = "stopped"  // was asked to end
	Failed   State = "failed"   // ended with an error, and said so
	Crashed  State = "crashed"  // ended without a word
	Silent   State = "silent"   // no sign of life, and no way to ask
	None     State = "none"     // nothing there
)

// A Status is the content of status.json.
type Status struct {
	State      State   `json:"state"`
	PID        int     `json:"pid"`
	Host       string  `json:"host"`
	Boot       string  `json:"boot"`
	Started    float64 `json:"started"`
	Beat       float64 `json:"beat"` // when this was written
	Attempt    int     `json:"attempt"`
	Cycle      int     `json:"cycle"`   // the one that is running, or the last
	Planned    int     `json:"planned"` // the last cycle of the plan
	Phase      string  `json:"phase"`
	PhaseSince float64 `json:"phase_since"`
	WaitingFor string  `json:"waiting_for"` // empty when it waits for nothing
	Exit       string  `json:"exit"`        // why it ended

	Serving rl.Version `json:"serving,omitempty"` // version that the rollout engine serves; 0 before this start has pushed one
}

// overwrite puts a line into the place of a file's content, with blanks up to its length.
func overwrite(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		blanks := max(0, int(info.Size())-len(line))
		line = append(bytes.TrimSuffix(line, []byte("\n")), strings.Repeat(" ", blanks)+"\n"...)
		_, err = f.WriteAt(line, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// ReadStatus reads status.json. A missing file is the zero Status.
func ReadStatus(dir string) (Status, error) {
	var s Status
	path := filepath.Join(dir, StatusFile)
	b, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return Status{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// A Life is what a reader can say of a run.
type Life struct {
	State  State
	Status Status // as far as it could be read
	Holder Holder // of the lock, now or last
	Age    time.Duration
}

// ReadLife says whether the run in dir is alive, in this order: a held lock is life; a written end is an end; a free lock on this host without a
// written end is a crash; where the lock tells nothing, a heartbeat older than a minute and three cycles is silence. self is the reader, now its clock, and cycle
// the usual length of a cycle, 0 if unknown. Age is that of the last heartbeat.
func ReadLife(dir string, self Holder, now time.Time, cycle time.Duration) (Life, error) {
	status, err := ReadStatus(dir)
	l := Life{State: None, Status: status}
	path := filepath.Join(dir, LockFile)
	holder, some := readHolder(path)
	l.Holder = holder
	if !some && status == (Status{}) {
		return l, err
	}
	l.Age = time.Duration((metrics.Unix(now) - max(status.Beat, holder.Started)) * float64(time.Second))
	l.State = l.judge(path, self, cycle)
	return l, err
}

func (l Life) judge(path string, self Holder, cycle time.Duration) State {
	held, known := askLock(path)
	switch {
	case held:
		return Running
	case l.Status.State == Finished || l.Status.State == Stopped || l.Status.State == Failed:
		return l.Status.State
	case known && l.writer().near(self):
		return Crashed
	case l.Age > max(time.Minute, 3*cycle):
		return Silent
	}
	return Running
}

// writer returns who wrote the run last, from the lock or, where that is lost, from the status.
func (l Life) writer() Holder {
	if l.Holder.PID != 0 {
		return l.Holder
	}
	return Holder{PID: l.Status.PID, Host: l.Status.Host, Boot: l.Status.Boot}
}

// askLock reports whether the lock at path is held, and whether that can be known.
func askLock(path string) (held, known bool) {
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true
	}
	if err != nil {
		return false, false
	}
	defer f.Close()
	held, err = locked(f)
	return held && err == nil, err == nil
}
