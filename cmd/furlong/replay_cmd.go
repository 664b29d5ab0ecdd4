package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"furlong/config"
	"furlong/metrics"
	"furlong/metrics/rollouts"
	rundir "furlong/metrics/run"
)

const replayPurpose = `Trains a cycle of a run again and says what differs: from the checkpoint before it, on the rollouts that were recorded, with the run's settings. Cycles in between are trained
again too. Losses, gradient norms, every other figure of the trainer, its logprob of each token and the weights are held against the recorded ones, to the bit; the exit code is 1 if one differs.

Settings of furlong train may be changed: then what differs is their effect, and no failure. --generate draws the samples again too, and holds them against the recorded ones.`

// replayFlags say which cycle of which run is replayed.
type replayFlags struct {
	Run      string `arg:"RUN" help:"directory of the run"`
	Cycle    int    `flag:"cycle" help:"the cycle; 0 for the last one that was trained"`
	Generate bool   `flag:"generate" help:"draw the samples again by the weights of then, in place of the recorded ones"`
}

// Validate reports what is wrong with f, in the words of the flags.
func (f replayFlags) Validate() error {
	if f.Cycle < 0 {
		return fmt.Errorf("--cycle is %d, want 0 or more", f.Cycle)
	}
	return nil
}

// A replaying is a cycle that is trained again.
type replaying struct {
	replayFlags
	*job
	changed []string // settings that are not the run's
	had     history
	report  replayReport
}

func runReplay(ctx context.Context, e *env) int {
	r := &replaying{job: &job{env: e}}
	set := r.flags()
	err := set.Parse(e.args)
	if had := filepath.Join(r.Run, flagsFile); r.Run != "" && !errors.Is(err, config.ErrHelp) {
		if _, bad := os.Stat(had); bad != nil {
			return e.fail(fmt.Errorf("%s is no directory of a run, or one that died before its first cycle: %w", r.Run, bad))
		}
		before := r.flags()
		if err := before.Parse([]string{r.Run, "--config", had}); err != nil {
			return e.fail(fmt.Errorf("settings of the run: %w", err))
		}
		set = r.flags()
		err = errors.Join(set.Parse(append([]string{"--config", had}, e.args...)), r.checkTyped(set))
		r.changed = changedSettings(before, set)
	}
	if code, ok := e.parsed(set, err); !ok {
		return code
	}
	r.set = set
	return e.fail(r.run(ctx))
}

// flags returns the flags of the command, anew.
func (r *replaying) flags() *config.Set {
	r.replayFlags, r.f = replayFlags{}, newTrainFlags()
	set := r.f.set("replay", replayPurpose).Add("Replay", &r.replayFlags)
	set.Example("furlong replay runs/a --cycle 7", "does training cycle 7 again give the same?")
	set.Example("furlong replay runs/a --cycle 7 --generate", "and drawing its samples?")
	set.Example("furlong replay runs/a --cycle 7 --eps-clip-high 0.4", "what another setting would have made of it")
	return set
}

// aside are settings that change nothing about a replay.
var aside = []string{"cycle", "generate", "json", "run-dir", "run-id", "resume", "config"}

// changedSettings names what differs between two sets of values.
func changedSettings(before, after *config.Set) (names []string) {
	a, b := before.Values(), after.Values()
	for name, v := range b {
		if had, err := json.Marshal(a[name].Value); err == nil && !slices.Contains(aside, name) {
			if has, err := json.Marshal(v.Value); err == nil && string(had) != string(has) {
				names = append(names, fmt.Sprintf("--%s %s, in the run %s", name, has, had))
			}
		}
	}
	slices.Sort(names)
	return names
}

// A history is what a run recorded of its cycles.
type history struct {
	rows   map[int]metrics.Row
	states map[int]string // of the weights that were published after a cycle
}

// readHistory reads it.
func readHistory(dir string) (h history, err error) {
	rows, _, err := metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	if err != nil {
		return h, err
	}
	h.rows = map[int]metrics.Row{}
	rows, _ = metrics.Merge(rows)
	for _, row := range rows {
		if row.Kind == metrics.Cycle {
			h.rows[row.Cycle] = row
		}
	}
	h.states, err = readStates(filepath.Join(dir, rundir.LogFile))
	return h, err
}

// readStates reads from a log which weights were published after each cycle. Lines that are none are left out, as is a log that is not there.
func readStates(path string) (map[int]string, error) {
	states := map[int]string{}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		if !strings.Contains(line, `"weights updated"`) {
			continue
		}
		l, err := rundir.ParseLog([]byte(line))
		if err != nil || l.Message != "weights updated" {
			continue
		}
		cycle, _ := l.Attrs["cycle"].(float64)
		if state, ok := l.Attrs["state"].(string); ok {
			states[int(cycle)] = state
		}
	}
	return states, nil
}

// last returns the last cycle of h.
func (h history) last() (n int) {
	for c := range h.rows {
		n = max(n, c)
	}
	return n
}

// rolloutsOf returns where the rollouts of a cycle are recorded: where the settings say, or where the run wrote them down in full, or its bodies.
func (r *replaying) rolloutsOf(cycle int) string {
	if r.f.debug.Load != "" {
		return rollouts.Path(r.f.debug.Load).Of(cycle)
	}
	if before, _ := r.f.debug.paths(); before != "" {
		if _, err := os.Stat(before.Of(cycle)); err == nil {
			return before.Of(cycle)
		}
	}
	return rollouts.Path(filepath.Join(r.Run, "samples", "c{cycle:06}.fls")).Of(cycle)
}
