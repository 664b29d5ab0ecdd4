package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"furlong/kernels"
	"furlong/metrics/rollouts"
	"furlong/orchestrator"
	"furlong/orchestrator/gather"
	"furlong/orchestrator/recorded"
	"furlong/quant"
	"furlong/rl"
	"furlong/train"
	"furlong/train/optim"
)

// debugFlags say which parts of the loop others stand in for, and what is written down besides.
type debugFlags struct {
	RolloutOnly bool    `flag:"debug-rollout-only" help:"no trainer: draw, grade and write down, always by the weights the run starts from"`
	TrainOnly   bool    `flag:"debug-train-only" help:"no rollout engine: train on the rollouts of --load-debug-rollout-data, with the rewards that they have"`
	Load        string  `flag:"load-debug-rollout-data" help:"recorded rollouts, {cycle} in the path for the cycle, {cycle:06} with six digits, {rollout_id} for its number from 0: files that --save-debug-rollout-data wrote, or a run's samples/c{cycle:06}.fls; stands for --debug-train-only too"`
	Share       float64 `flag:"load-debug-rollout-data-subsample" help:"share of the recorded groups of each cycle that is trained on, from the first on"`
	Save        string  `flag:"save-debug-rollout-data" help:"write what each cycle trains on into a file, {cycle} or {rollout_id} in its path"`
	SaveTrain   string  `flag:"save-debug-train-data" help:"write it again as the trainer left it, with its logprobs and advantages"`
	Details     string  `flag:"dump-details" help:"a folder for both: rollout_data/ and train_data/"`
	Inject      string  `flag:"ci-inject-rollout-data-path" help:"train on these recorded rollouts in the place of those that are drawn, which must have the same prompts and nearly the same tokens; {cycle} or {rollout_id} in the path"`
	InjectFrom  int     `flag:"ci-inject-rollout-data-start-rollout-id" help:"first rollout, from 0, whose samples are injected; -1 for none"`
	InjectMatch float64 `flag:"ci-inject-rollout-data-min-match-ratio" help:"least mean share of drawn tokens that are the recorded ones: with less the run ends, since the engine that draws has other weights"`
	NoOptimizer bool    `flag:"debug-disable-optimizer" help:"learning rate 0: losses and gradients are computed, weights stay"`
}

func defaultDebug() debugFlags { return debugFlags{Share: 1, InjectFrom: -1, InjectMatch: 0.9} }

// trainOnly reports whether recorded rollouts stand in for the rollout engine.
func (f debugFlags) trainOnly() bool { return f.TrainOnly || f.Load != "" }

// paths returns where batches are written before and after training; empty for nowhere.
func (f debugFlags) paths() (before, after rollouts.Path) {
	before, after = rollouts.Path(f.Save), rollouts.Path(f.SaveTrain)
	in := func(folder string) rollouts.Path {
		return rollouts.Path(filepath.Join(f.Details, folder, "{rollout_id}.safetensors"))
	}
	if f.Details != "" && before == "" {
		before = in("rollout_data")
	}
	if f.Details != "" && after == "" {
		after = in("train_data")
	}
	return before, after
}

// Validate reports what is wrong with f, in the words of the flags.
func (f debugFlags) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.RolloutOnly && f.trainOnly() {
		bad("--debug-rollout-only and --debug-train-only: nothing is left of the loop, want one of them")
	}
	if f.TrainOnly && f.Load == "" {
		bad("--debug-train-only needs --load-debug-rollout-data: train on what?")
	}
	if !(f.Share > 0 && f.Share <= 1) {
		bad("--load-debug-rollout-data-subsample is %v, want more than 0, up to 1", f.Share)
	}
	errs = append(errs, f.checkInjection())
	if f.Details != "" {
		if err := rollouts.Path(f.Details).Check(); err != nil || rollouts.Path(f.Details).Names() {
			bad("--dump-details is %q, want a folder, without braces", f.Details)
		}
	}
	for flag, path := range map[string]string{"load-debug-rollout-data": f.Load, "save-debug-rollout-data": f.Save, "save-debug-train-data": f.SaveTrain} {
		if err := rollouts.Path(path).Check(); err != nil {
			bad("--%s: %w", flag, err)
		}
		if flag != "load-debug-rollout-data" && path != "" && !rollouts.Path(path).Names() {
			bad("--%s is %q, want {cycle} or {rollout_id} in it: each cycle has a file", flag, path)
		}
	}
	return errors.Join(errs...)
}

// checkInjection reports what is wrong with what is to be injected.
func (f debugFlags) checkInjection() error {
	if f.Inject == "" {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if path := rollouts.Path(f.Inject); path.Check() != nil || !path.Names() {
		bad("--ci-inject-rollout-data-path is %q, want a path with {cycle} or {rollout_id} in it: each cycle has a file", f.Inject)
	}
	if f.InjectFrom < 0 {
		bad("--ci-inject-rollout-data-start-rollout-id is %d, want 0 or more with --ci-inject-rollout-data-path: from which rollout on?", f.InjectFrom)
	}
	if !(f.InjectMatch >= 0 && f.InjectMatch <= 1) {
		bad("--ci-inject-rollout-data-min-match-ratio is %v, want 0 to 1", f.InjectMatch)
	}
	if f.trainOnly() || f.RolloutOnly {
		bad("--ci-inject-rollout-data-path holds what is drawn against what trains, want it without --debug-rollout-only, --debug-train-only and --load-debug-rollout-data, which leave out one of them")
	}
	return errors.Join(errs...)
}

// idleDebug adds what changes nothing where an engine is not there. What else of a run's command speaks of that engine may stay: sayDebug says so.
func (t *together) idleDebug(m idle) {
	d := t.f.debug
	if d.Load == "" {
		m.add("there is no --load-debug-rollout-data", "load-debug-rollout-data-subsample")
	}
	if d.Inject == "" {
		m.add("there is no --ci-inject-rollout-data-path", "ci-inject-rollout-data-start-rollout-id", "ci-inject-rollout-data-min-match-ratio")
	}
	if d.Inject != "" && d.InjectFrom >= t.f.loop.Cycles {
		m.add(fmt.Sprintf("--ci-inject-rollout-data-start-rollout-id is %d, and --num-rollout %d ends before", d.InjectFrom, t.f.loop.Cycles), "ci-inject-rollout-data-path")
	}
	if d.Save != "" && d.SaveTrain != "" {
		m.add("--save-debug-rollout-data and --save-debug-train-data take its place", "dump-details")
	}
	if d.RolloutOnly {
		m.add("--debug-rollout-only leaves the trainer out", "debug-disable-optimizer", "debug-skip-weight-update", "save-debug-train-data")
	}
}

// sayDebug says in the log what is left out, and what that was asked for falls away with it.
func (j *job) sayDebug() {
	d, f := j.f.debug, j.f
	away := map[string]bool{}
	switch {
	case d.RolloutOnly:
		j.log.Warn("debugging", "left_out", "the trainer: weights stay those that the run starts from")
		away = map[string]bool{"--save-hf": f.run.Save.HF != "", "--no-save-optim": f.run.Save.Bare, "--check-weight-update-equal": f.rollout.CheckUpdates}
	case d.trainOnly():
		j.log.Warn("debugging", "left_out", "the rollout engine: samples are those of "+d.Load)
		away = map[string]bool{"evaluations": f.eval.name(f.data) != "", "--rollout-url": f.isRemote(), "--prompt-data": f.data.File != "", "--check-weight-update-equal": f.rollout.CheckUpdates}
	}
	for _, what := range slices.Sorted(maps.Keys(away)) {
		if away[what] {
			j.log.Warn("debugging", "without_effect", what)
		}
	}
	if d.NoOptimizer {
		j.log.Warn("debugging", "left_out", "the optimizer: its learning rate is 0")
	}
	if f.loop.NoPush {
		j.log.Warn("debugging", "left_out", "pushes: the rollout engine serves the weights that this start begins with")
	}
}

// loop returns the settings of the loop as these flags leave them.
func (f debugFlags) loop(c orchestrator.Config) orchestrator.Config {
	if f.RolloutOnly {
		c.NoPush = true // weights never change
	}
	if f.trainOnly() {
		c.Batch = recorded.Kept(c.Batch, f.Share)
		c.Settings = gather.Default() // what was drawn too much, filtered or masked was so before it was recorded
	}
	return c
}

// optim returns the settings of the optimizer as these flags leave them.
func (f debugFlags) optim(c optim.Config) optim.Config {
	if f.NoOptimizer {
		c.LR, c.MinLR = 0, 0
	}
	return c
}

// newTrainer makes what trains: the engine, one that holds still, or either with a pen.
func (j *job) newTrainer(ctx context.Context, k kernels.Backend) (err error) {
	if err := j.identify(ctx); err != nil {
		return err
	}
	if j.f.debug.RolloutOnly {
		j.trainer, err = j.still()
	} else if j.actor, err = j.newActor(k); err == nil {
		j.trainer, err = j.actor, j.actor.PublishAs(formatOf(j.f.rollout))
	}
	if before, after := j.f.debug.paths(); before != "" || after != "" {
		if j.actor == nil {
			after = "" // nothing is added
		}
		j.trainer = &recorded.Recorder{TrainEngine: j.trainer, Before: before, After: after, Model: j.drawnBy(), Origin: j.origin}
	}
	if err == nil && j.f.debug.Inject != "" {
		err = j.injecting()
	}
	return err
}

// injecting has the trainer train on recorded samples from some cycle on.
func (j *job) injecting() error {
	in := &recorded.Injector{
		TrainEngine: j.trainer, Path: rollouts.Path(j.f.debug.Inject), From: j.f.debug.InjectFrom + 1, MinMatch: j.f.debug.InjectMatch, Limits: j.limits(), Fits: j.replayable,
	}
	in.Told = func(cycle int, path string, m recorded.Match) error {
		j.log.Info("injected", "cycle", cycle, "rollouts", path, "match", m.Mean, "least_match", m.Least, "at_least", in.MinMatch)
		return nil
	}
	j.trainer = in
	if err := in.Probe(j.f.loop.End()); err != nil {
		return fmt.Errorf("--ci-inject-rollout-data-path: %w", err)
	}
	j.log.Warn("debugging", "injected", j.f.debug.Inject, "from_cycle", in.From)
	return nil
}

// replayable reports a sample that lacks choices which the run replays.
func (j *job) replayable(s *rl.Sample) error {
	report := j.f.report()
	switch {
	case len(s.Response) == 0:
	case report.Experts && s.Experts == nil:
		return errors.New("has no experts, which the run replays")
	case report.Entries && s.Entries == nil:
		return errors.New("has no entries, which the run replays")
	}
	return nil
}

// identify takes the digests of the policy as it was loaded, which bind recordings to it, if any are written or read.
func (j *job) identify(ctx context.Context) error {
	d := j.f.debug
	if before, after := d.paths(); before == "" && after == "" && d.Load == "" && d.Inject == "" {
		return nil
	}
	raw, err := json.Marshal(j.policy.Config())
	if err != nil {
		return err
	}
	weights, err := stateOf(ctx, train.Weights(rl.NewVersion(0, 1), j.policy.Params()))
	if err != nil {
		return err
	}
	shape := sha256.Sum256(raw)
	j.origin = rollouts.Origin{Shape: hex.EncodeToString(shape[:8]), Weights: weights}
	return nil
}

// drawnBy says what draws samples.
func (j *job) drawnBy() string {
	model := j.f.model.Checkpoint
	if model == "" {
		model = "the model inside the binary"
	}
	switch {
	case j.f.debug.trainOnly():
		return "recorded: " + j.f.debug.Load
	case j.f.isRemote():
		return fmt.Sprintf("%s, served by %v", model, j.f.servers.Servers())
	}
	return fmt.Sprintf("%s, weights in %s, attention state in %s, %s", model, j.f.rollout.Format, j.f.rollout.KV, buildName())
}

// still returns a trainer that publishes the policy as it was loaded.
func (j *job) still() (rl.TrainEngine, error) {
	replica, err := quant.NewReplica(j.policy.Params(), formatOf(j.f.rollout), j.policy.Head().Value.Type)
	if err != nil {
		return nil, err
	}
	return recorded.Still{Weights: func(v rl.Version) rl.Weights { return train.Weights(v, replica.Refresh()) }}, nil
}

// newGenerator makes what samples come from: prompts and an engine, or recordings for both.
func (j *job) newGenerator(ctx context.Context, k kernels.Backend) (err error) {
	if j.f.debug.trainOnly() {
		return j.newReplay()
	}
	j.roll, err = j.newRollout(ctx, k)
	return err
}

func (j *job) newReplay() error {
	c := j.f.debug.loop(j.f.loop)
	r, err := recorded.Open(recorded.Config{
		Path: rollouts.Path(j.f.debug.Load), Share: j.f.debug.Share, Cycles: c.End(), Groups: c.Batch, PerPrompt: c.PerPrompt, Limits: j.limits(),
	})
	if err != nil {
		return fmt.Errorf("--load-debug-rollout-data: %w", err)
	}
	j.roll, j.source = r, r
	return nil
}

// limits returns what recorded samples must keep within.
func (j *job) limits() recorded.Limits {
	return recorded.Limits{Vocab: j.policy.Vocab(), Context: j.f.rollout.Context, Origin: j.origin}
}

// gradeRest judges the samples that have no verdict: recorded ones keep theirs.
func (j *job) gradeRest(ctx context.Context, all []*rl.Sample) error {
	var rest []*rl.Sample
	for _, s := range all {
		if s.Verdict == rl.Ungraded {
			rest = append(rest, s)
		}
	}
	return j.grade(ctx, rest)
}

// steps returns how many optimizer steps were taken.
func (j *job) steps() int {
	if j.actor == nil {
		return 0
	}
	return j.actor.Steps()
}
