package dashgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/rl"
)

// state writes status and lock as the state asked for leaves them.
func (m *maker) state() error {
	h := run.Holder{PID: 4711, Host: "dashgen", Boot: "00000000-0000-0000-0000-000000000000", Started: start, Attempt: m.attempt, Ended: m.clock}
	s := run.Status{State: run.State(m.o.State), PID: h.PID, Host: h.Host, Boot: h.Boot, Started: start, Beat: m.clock, Attempt: m.attempt, Cycle: m.o.Cycles, Planned: m.o.Cycles, Phase: "train", PhaseSince: m.clock, Serving: rl.NewVersion(m.attempt-1, m.o.Cycles+1)}
	switch s.State {
	case run.Finished:
		s.Exit = "all cycles are done"
	case run.Stopped:
		s.Exit = "interrupted"
	case run.Failed:
		s.Exit = "engine: no memory is left"
	case run.Silent:
		s.State, h.Ended = run.Running, 0
	case run.Running, run.Crashed:
		self, err := run.Self()
		if err != nil {
			return err
		}
		s.Host, s.Boot, h.Host, h.Boot, h.Ended = self.Host, self.Boot, self.Host, self.Boot, 0
		if s.State == run.Running {
			s.Beat = metrics.Unix(time.Now())
		}
		s.State, s.WaitingFor, s.Planned = run.Running, "3 of 256 answers", m.o.Cycles+20
	default:
		return fmt.Errorf("state is %q, want running, finished, stopped, failed, crashed or silent", m.o.State)
	}
	return errors.Join(put(filepath.Join(m.dir, run.StatusFile), s), put(filepath.Join(m.dir, run.LockFile), h))
}

func put(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// ofdSetLock is F_OFD_SETLK of fcntl(2).
const ofdSetLock = 37

// Hold holds the lock of a run, as its writer does, until release is called.
func Hold(dir string) (release func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, run.LockFile), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.FcntlFlock(f.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	return f.Close, nil
}

// Append adds rows behind the last of a made run, as one that goes on does. The first has the cycle given.
func Append(dir string, cycle, n, keys int) error {
	f, err := os.OpenFile(filepath.Join(dir, run.RowsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	m := &maker{o: Default(), rows: newLines(f), attempt: 2, step: cycle}
	for i := range n {
		values := map[string]float64{"rollout/raw_reward": 0.5 + 0.01*float64(i%7), "train/logp_diff/mean": 0.09, "train/logp_diff/p99": 0.4, "perf/step_time": 0.05}
		for _, name := range furtherNames(keys) {
			values[name] = float64(cycle + i)
		}
		if err := m.row(cycle+i, 2, metrics.Unix(time.Now()), values); err != nil {
			return errors.Join(err, m.rows.Close())
		}
	}
	return m.rows.Close()
}
