package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"furlong/metrics/disk"
)

// A Holder is the process that writes a run, as run.lock names it.
type Holder struct {
	PID     int     `json:"pid"`
	Host    string  `json:"host"`
	Boot    string  `json:"boot"` // names one start of one kernel
	Started float64 `json:"started"`
	Attempt int     `json:"attempt"`
	Ended   float64 `json:"ended"` // 0 while it runs, and for ever if it died
}

// Self returns what the system says of this process.
func Self() (Holder, error) {
	host, err := os.Hostname()
	if err != nil {
		return Holder{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // not every system names its boots; the host must do then
		return Holder{}, err
	}
	return Holder{PID: os.Getpid(), Host: host, Boot: strings.TrimSpace(string(boot))}, nil
}

// near reports whether h and other run under one kernel, or did: the lock of one is then seen by the other.
func (h Holder) near(other Holder) bool {
	return h.Boot != "" && h.Boot == other.Boot || h.Host == other.Host
}

// String names the process for a message.
func (h Holder) String() string {
	if h.PID == 0 {
		return "a process that did not say who it is"
	}
	since := time.UnixMicro(int64(h.Started * 1e6)).UTC().Format(time.RFC3339)
	return fmt.Sprintf("process %d on host %s (attempt %d, since %s)", h.PID, h.Host, h.Attempt, since)
}

// A HeldError says that a run has a writer already, or may have one.
type HeldError struct {
	Path   string
	Holder Holder
	// Far says that the holder is on another host, so that its lock cannot be seen from here: it may be dead.
	Far bool
}

// Error names file and holder, and what to do.
func (e *HeldError) Error() string {
	if e.Far {
		return fmt.Sprintf("%s: written by %s, which cannot be asked from here; delete the file if that process is dead", e.Path, e.Holder)
	}
	return fmt.Sprintf("%s: held by %s; stop it, or choose another run directory", e.Path, e.Holder)
}

// A lock is a held run.lock.
type lock struct{ f *os.File }

// takeLock takes the lock at path for self. It returns who had it before, if that process did not end properly.
func takeLock(path string, self Holder) (l *lock, dead *Holder, last Holder, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, last, err
	}
	give := func(err error) (*lock, *Holder, Holder, error) { return nil, nil, last, errors.Join(err, f.Close()) }
	free, err := tryLock(f)
	if err != nil {
		return give(fmt.Errorf("%s: %w", path, err))
	}
	last, some := readHolder(path)
	if !free {
		return give(&HeldError{Path: path, Holder: last})
	}
	if some && last.Ended == 0 {
		if last.PID != 0 && !last.near(self) {
			return give(&HeldError{Path: path, Holder: last, Far: true})
		}
		dead = &last
	}
	return &lock{f}, dead, last, nil
}

// readHolder reads a lock file. some reports whether anything stands in it; what cannot be read is a holder without a name.
func readHolder(path string) (h Holder, some bool) {
	b, err := disk.ReadFile(path)
	if err != nil || len(b) == 0 {
		return Holder{}, false
	}
	if json.Unmarshal(b, &h) != nil {
		return Holder{}, true
	}
	return h, true
}

// write puts h into the file. It is written in place, since the lock belongs to this file and not to its name.
func (l *lock) write(h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := l.f.WriteAt(b, 0); err != nil {
		return err
	}
	return l.f.Truncate(int64(len(b)))
}

// release gives the lock up.
func (l *lock) release() error { return l.f.Close() }
