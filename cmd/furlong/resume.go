package main

import (
	"fmt"
	"path/filepath"

	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
)

// A departure is where a run starts from, found out before anything is changed.
type departure struct {
	dir    string              // the checkpoint; "" for none
	own    bool                // it is the run's, not another's
	saved  *orchestrator.Saved // nil without a checkpoint
	steps  string              // of the optimizer, taken
	before rundir.Status       // of the start before; the zero Status for none
	rows   []metrics.Row       // that earlier starts wrote
}

// after returns the last cycle that is done, 0 for none.
func (d departure) after() int {
	if d.saved == nil {
		return 0
	}
	return d.saved.Cycle
}

// told returns the last cycle that earlier starts wrote down, 0 for none.
func (d departure) told() (last int) {
	for _, r := range d.rows {
		if r.Kind == metrics.Cycle {
			last = max(last, r.Cycle)
		}
	}
	return last
}

// depart finds out where the run starts from, and refuses one that would do nothing.
func (j *job) depart() (err error) {
	d := &j.from
	if j.f.run.Resume {
		if err := d.resume(j.f.run.Dir); err != nil {
			return err
		}
	}
	if d.own = d.dir != ""; !d.own {
		if d.dir, err = j.f.run.Save.source(); err != nil {
			return err
		}
	}
	if err := d.read(); err != nil {
		return err
	}
	if err := j.f.run.Save.starts(d.after()); err != nil {
		return err
	}
	return d.left(j.f.loop.End())
}

// resume reads what earlier starts of a run left.
func (d *departure) resume(dir string) error {
	at, err := orchestrator.Newest(checkpoints(dir))
	if err != nil {
		return err
	}
	if at > 0 {
		d.dir = orchestrator.Checkpoint(checkpoints(dir), at)
	}
	if d.before, err = rundir.ReadStatus(dir); err != nil {
		return err
	}
	d.rows, _, err = metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	return err
}

// mend puts right what a kill left of the run's checkpoints, now that nobody else writes them, and looks again.
func (d *departure) mend(dir string) error {
	if err := orchestrator.Mend(checkpoints(dir)); err != nil {
		return err
	}
	at, err := orchestrator.Newest(checkpoints(dir))
	if err != nil || at == 0 || at <= d.after() && d.own {
		return err
	}
	d.dir, d.own = orchestrator.Checkpoint(checkpoints(dir), at), true
	return d.read()
}

// read reads what the checkpoint says of its place in the run. That its files are whole shows when they are loaded.
func (d *departure) read() (err error) {
	if d.dir == "" {
		return nil
	}
	switch d.saved, err = orchestrator.ReadLoop(d.dir); {
	case err != nil && d.own:
		return fmt.Errorf("%w; remove it to go on from the one before", err)
	case err != nil:
		return err
	}
	var c contents
	if err := c.readOptimizer(filepath.Join(d.dir, "trainer")); err == nil {
		d.steps = c.Optimizer.Steps // without it, loading says more
	}
	return nil
}

// left refuses a run that has done what it is asked for, and leaves it as it is. One that died after its last checkpoint may still have to be evaluated.
func (d *departure) left(cycles int) error {
	at := d.after()
	switch {
	case at == 0 || at < cycles:
		return nil
	case !d.own:
		return fmt.Errorf("checkpoint %s is of cycle %d and --num-rollout is %d: no cycle is planned; raise --num-rollout to go on", d.dir, at, cycles)
	case at > cycles:
		return fmt.Errorf("the run has done %d cycles and is to end after %d: there is nothing to resume; raise --num-rollout above %d to go on", at, cycles, at)
	case d.before.State == rundir.Finished:
		return fmt.Errorf("the run has done %d of %d cycles: there is nothing to resume; raise --num-rollout to go on", at, cycles)
	}
	return nil
}
