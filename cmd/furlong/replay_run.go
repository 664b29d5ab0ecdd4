package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"furlong/kernels"
	"furlong/metrics/rollouts"
	"furlong/orchestrator"
	"furlong/rl"
)

// run replays the cycle and prints what came of it.
func (r *replaying) run(ctx context.Context) (err error) {
	if r.f.debug.RolloutOnly {
		return errors.New("the run had no trainer (--debug-rollout-only): there is nothing to train again")
	}
	if r.had, err = readHistory(r.Run); err != nil {
		return err
	}
	if r.Cycle == 0 {
		r.Cycle = r.had.last()
	}
	if _, ok := r.had.rows[r.Cycle]; !ok {
		return fmt.Errorf("cycle %d is not in %s: its cycles are 1 to %d", r.Cycle, r.Run, r.had.last())
	}
	from, err := r.checkpointBefore()
	if err != nil {
		return err
	}
	if r.policy, err = loadPolicy(r.f.model, r.log); err != nil {
		return err
	}
	k, closeK := backend(r.f.model.Backend, r.f.model.Threads)
	defer closeK()
	r.report = replayReport{Run: r.Run, Cycle: r.Cycle, From: from, Changed: r.changed, Drawn: r.Generate}
	if err := r.again(ctx, k, from); err != nil {
		return err
	}
	if err := r.print(); err != nil {
		return err
	}
	return r.report.verdict()
}

// again goes through the cycles after a checkpoint.
func (r *replaying) again(ctx context.Context, k kernels.Backend, from string) (err error) {
	if r.f.debug.Load != "" { // what the run itself wrote is its own
		if err := r.identify(ctx); err != nil {
			return err
		}
	}
	if r.actor, err = r.newActor(k); err != nil {
		return err
	}
	if err := r.actor.PublishAs(formatOf(r.f.rollout)); err != nil {
		return err
	}
	if r.Generate {
		return r.draw(ctx, k, from)
	}
	after := 0
	if from != "" {
		if after, err = r.load(ctx, from); err != nil {
			return err
		}
	}
	for c := after + 1; c <= r.Cycle; c++ {
		if err := r.train(ctx, c); err != nil {
			return fmt.Errorf("cycle %d: %w", c, err)
		}
	}
	return nil
}

// checkpointBefore returns the newest checkpoint that is older than the cycle, "" where the run's start is meant: its own, or else the one that it went on from.
func (r *replaying) checkpointBefore() (string, error) {
	for c := r.Cycle - 1; c > 0; c-- {
		dir := orchestrator.Checkpoint(checkpoints(r.Run), c)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return r.f.run.Save.source()
}

// load brings the trainer to where a checkpoint was taken, and returns its cycle.
func (r *replaying) load(ctx context.Context, dir string) (int, error) {
	saved, err := orchestrator.ReadSaved(dir)
	if err != nil {
		return 0, err
	}
	if len(saved.Damage) > 0 {
		return 0, fmt.Errorf("checkpoint %s is damaged: %s; without it, the replay begins at the one before", dir, strings.Join(saved.Damage, "; "))
	}
	return saved.Cycle, r.actor.Load(ctx, filepath.Join(dir, "trainer"))
}

// train trains a cycle on its recorded rollouts.
func (r *replaying) train(ctx context.Context, cycle int) error {
	path := r.rolloutsOf(cycle)
	had, err := rollouts.Read(path)
	if err != nil {
		return fmt.Errorf("recorded rollouts: %w; --generate draws them again", err)
	}
	if err := r.trainable(had); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	stats, err := r.actor.Step(ctx, &rl.Batch{Samples: had.Samples, Cycle: cycle})
	if err != nil {
		return err
	}
	state, err := stateOf(ctx, r.actor.Publish(rl.NewVersion(0, cycle)))
	if err != nil {
		return err
	}
	return r.hold(replayedCycle{cycle: cycle, rollouts: path, stats: stats, state: state, samples: had.Samples})
}

// trainable reports rollouts that this trainer can't take.
func (r *replaying) trainable(had *rollouts.Rollouts) error {
	limits, report := r.limits(), r.f.report()
	if err := limits.Own(had); err != nil {
		return err
	}
	for _, s := range had.Samples {
		err := limits.Check(s)
		switch {
		case err != nil:
		case report.Experts && s.Experts == nil && len(s.Response) > 0:
			err = errors.New("has no experts, which the run replays: --load-debug-rollout-data names files of --save-debug-rollout-data, or --generate draws again")
		case report.Entries && s.Entries == nil && len(s.Response) > 0:
			err = errors.New("has no entries, which the run replays: --load-debug-rollout-data names files of --save-debug-rollout-data, or --generate draws again")
		}
		if err != nil {
			return fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
	}
	return nil
}
