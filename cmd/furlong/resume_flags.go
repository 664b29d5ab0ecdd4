package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"furlong/config"
	"furlong/data"
	rundir "furlong/metrics/run"
	"furlong/orchestrator"
)

// saveFlags say what a run goes on from, how long it lasts by its data, and what it leaves besides its checkpoints.
type saveFlags struct {
	Load   string `flag:"load" help:"go on from this checkpoint of another run: a checkpoint, a folder of them or the run's directory. An empty folder begins anew; that of --run-dir is --resume"`
	Step   int    `flag:"ckpt-step" help:"with --load, the cycle whose checkpoint is meant; 0 for the newest"`
	Start  int    `flag:"start-rollout-id" help:"number of the first rollout, from 0, if it is to be made sure of; -1 for not"`
	Epochs int    `flag:"num-epoch" help:"cycles of the run, in epochs of --prompt-data, in place of --num-rollout; -1 for not"`
	Bare   bool   `flag:"no-save-optim" help:"leave the optimizer out of checkpoints: a run cannot go on from these"`
	HF     string `flag:"save-hf" help:"with each checkpoint, also write the weights in the Hugging Face layout into this directory; {cycle} in its name is the cycle, {rollout_id} counts from 0. A file .complete in it says that it is whole"`
}

// defaultSave asks for nothing.
func defaultSave() saveFlags { return saveFlags{Start: -1, Epochs: -1} }

// Validate reports what is wrong with f, in the words of the flags.
func (f saveFlags) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.Step < 0 {
		bad("--ckpt-step is %d, want a cycle, or 0 for the newest checkpoint", f.Step)
	}
	if f.Step > 0 && f.Load == "" {
		bad("--ckpt-step is %d without --load; a run resumes from its newest checkpoint, and what it did since an older one would be lost: --load RUN --ckpt-step %[1]d --run-dir ANOTHER goes on from that one beside it", f.Step)
	}
	if f.Start < -1 {
		bad("--start-rollout-id is %d, want 0 or more, or -1 for what follows from the checkpoint", f.Start)
	}
	if f.Epochs < -1 {
		bad("--num-epoch is %d, want at least 1, or -1 for --num-rollout", f.Epochs)
	}
	if f.Epochs == 0 {
		bad("--num-epoch is 0: no cycle is planned; furlong eval evaluates a policy without training it")
	}
	if f.HF != "" && !strings.Contains(f.HF, "{cycle}") && !strings.Contains(f.HF, "{rollout_id}") {
		bad("--save-hf is %s, want {cycle} or {rollout_id} in it: each checkpoint has a directory of its own", config.Quote(f.HF))
	}
	return errors.Join(errs...)
}

// takesUp makes --load of the run's own directory what it means: --resume where there is a run, and nothing where there is none yet.
func (f *runFlags) takesUp() {
	if f.Save.Load == "" || f.Dir == "" || !sameFolder(f.Save.Load, f.Dir) {
		return
	}
	f.Resume, f.Save.Load = f.Resume || rundir.Holds(f.Dir), ""
}

func sameFolder(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// source returns the checkpoint that --load means; "" where nothing is to be loaded, or there is nothing yet.
func (f saveFlags) source() (string, error) {
	if f.Load == "" {
		if f.Step > 0 {
			return "", fmt.Errorf("--ckpt-step is %d, and --load is the run's own directory: a run resumes from its newest checkpoint; --run-dir ANOTHER goes on from this one beside it", f.Step)
		}
		return "", nil
	}
	entries, err := os.ReadDir(f.Load)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		if f.Step > 0 {
			return "", fmt.Errorf("--load %s holds nothing, want the checkpoint of cycle %d (--ckpt-step)", f.Load, f.Step)
		}
		return "", nil
	}
	dir, err := orchestrator.Find(f.Load, f.Step)
	if err != nil {
		return "", fmt.Errorf("--load: %w", err)
	}
	return dir, nil
}

// starts makes sure that the run's first rollout has the number that was asked for.
func (f saveFlags) starts(after int) error {
	if f.Start == -1 || f.Start == after {
		return nil
	}
	return fmt.Errorf("--start-rollout-id is %d, and the run's state is that before rollout %d, which counts from 0: prompts and schedules cannot be moved apart from the weights; --ckpt-step names another checkpoint", f.Start, after)
}

// lasts turns --num-epoch into cycles.
func (f *trainFlags) lasts(set *config.Set, all *data.Set) error {
	if f.run.Save.Epochs < 0 {
		return nil
	}
	if v := set.Values()["num-rollout"]; strings.HasPrefix(v.Origin, "flag") {
		return fmt.Errorf("--num-epoch is %d and --num-rollout %d, want one of them", f.run.Save.Epochs, f.loop.Cycles)
	}
	if all == nil {
		return fmt.Errorf("--num-epoch is %d without --prompt-data: the recipe's problems have no end; --num-rollout says how many cycles there are", f.run.Save.Epochs)
	}
	each, err := all.RolloutsPerEpoch(f.loop.Batch)
	if err != nil {
		return fmt.Errorf("--num-epoch: %w", err)
	}
	f.loop.Cycles, f.run.Save.Epochs = f.run.Save.Epochs*each, -1
	return nil
}
