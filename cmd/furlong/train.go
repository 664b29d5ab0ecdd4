package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"furlong/config"
	"furlong/data"
	"furlong/journal"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/rollouts"
	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/remote/sglang"
	"furlong/reward"
	"furlong/rl"
	"furlong/rollout"
	"furlong/summary"
	"furlong/train"
)

const trainPurpose = `The main job: reinforcement learning. It draws samples from the policy, judges them, takes an optimizer step, and gives the new weights to the engine that draws, cycle after cycle. Without flags it runs the recipe tiny-arithmetic on this machine's processor, from the model inside the binary. Ctrl-C ends it with a checkpoint; a second one ends it at once.`

func runTrain(ctx context.Context, e *env) int {
	f := newTrainFlags()
	set := f.set("train", trainPurpose)
	set.Example("furlong train", "a two-million-parameter DeepSeek-V4 learns to carry, in minutes")
	set.Example("furlong train --run-dir runs/a --num-rollout 20", "a shorter run, in a directory of its own")
	set.Example("furlong train --run-dir runs/a --resume", "goes on where that run stopped, or was killed")
	set.Example("furlong train --prompt-data gsm8k.jsonl --input-key prompt --label-key label --rm-type math", "another data set")
	err := set.Parse(e.args)
	f.run.takesUp()
	if had := f.run.settings(set); had != "" {
		f = newTrainFlags()
		set = f.set("train", trainPurpose)
		err = set.Parse(append([]string{"--config", had}, e.args...))
		f.run.takesUp()
	}
	if code, ok := e.parsed(set, err); !ok {
		return code
	}
	if f.line.Dry {
		return e.fail(e.dryRun(f, set))
	}
	if err := f.begins(set); err != nil {
		return e.fail(err)
	}
	return e.fail(e.train(ctx, f, set))
}

// flagsFile holds the settings of a run as flags, so that a resumed one starts from them.
const flagsFile = "settings.flags"

// settings returns the file of settings that a resumed run had, on top of which its command line is to be read: by itself it may make no sense. A file of
// settings named on the command line takes its place.
func (f runFlags) settings(set *config.Set) string {
	had := filepath.Join(f.Dir, flagsFile)
	if _, err := os.Stat(had); !f.Resume || f.Dir == "" || err != nil || set.Values()["config"].Value != "" {
		return ""
	}
	return had
}

// settled refuses to resume a run that died before it had written its settings: with those of the command line alone it would be another run.
func (f runFlags) settled(set *config.Set) error {
	if !f.Resume || !rundir.Holds(f.Dir) || set.Values()["config"].Value != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(f.Dir, flagsFile)); err != nil {
		return fmt.Errorf("%s has no %s, so its settings are not known: name them with --config or, if it died before its first cycle, remove it and begin anew", f.Dir, flagsFile)
	}
	return nil
}

// A job is a run that is under way.
type job struct {
	*env
	f       *trainFlags
	set     *config.Set
	policy  *policy
	dir     *rundir.Dir
	roll    rl.RolloutEngine
	local   *rollout.Engine // roll, if it is inside
	remote  *sglang.Engine  // roll, if it is not
	apart   *sglang.Engine  // evaluates beside the run, if anybody does
	origin  rollouts.Origin // of the policy as it was loaded, where recordings are bound to it
	actor   *train.Engine   // nil where nothing is trained
	trainer rl.TrainEngine  // what the loop trains: the actor, perhaps with others around it
	loop    *orchestrator.Loop
	book    *journal.Journal
	source  rl.PromptSource
	data    *data.Set // that source reads; nil where it reads none
	grades  *reward.Pool
	evals   *evaluation // nil when nothing is evaluated
	line    *progressLine
	from    departure
	trackers
	began bool // the loop has run: what it saved can be gone on from
}

// train carries a run out, from its directory to its closing table.
func (e *env) train(ctx context.Context, f *trainFlags, set *config.Set) (err error) {
	p, err := loadPolicy(f.model, e.log)
	if err != nil {
		return err
	}
	if err := errors.Join(checkClaims(set, p.Config()), p.holds(f.rollout.Context)); err != nil {
		return err
	}
	k, closeK := backend(f.model.Backend, f.model.Threads)
	defer closeK()
	j := &job{env: e, f: f, set: set, policy: p}
	defer j.leave()
	if err := j.assemble(ctx, k); err != nil {
		return err
	}
	if err := errors.Join(f.run.settled(set), j.depart()); err != nil {
		return err
	}
	defer j.untrack(ctx)
	if err := j.scraped(); err != nil {
		return err
	}
	if err := j.open(); err != nil {
		return err
	}
	j.followed(ctx)
	defer j.showPage(ctx)()
	j.wire()
	return j.end(ctx, j.carryOut(ctx))
}

// checkpoints returns where a run keeps them.
func checkpoints(runDir string) string { return filepath.Join(runDir, "checkpoints") }

// open takes the run's directory.
func (j *job) open() error {
	self, err := rundir.Self()
	if err != nil {
		return err
	}
	keep, err := samples.ParseKeep(j.f.run.Keep)
	if err != nil {
		return err
	}
	experts, err := samples.ParseKeepExperts(j.f.run.Routes)
	if err != nil {
		return err
	}
	o := rundir.Options{
		Now: time.Now, Log: j.log, Self: self, Planned: j.f.loop.Cycles, Keep: keep, Experts: experts, Seen: j.seen,
		Text: func(id int32) []byte { return []byte(j.policy.tok.Decode([]int32{id})) },
	}
	open := rundir.Create
	if j.f.run.Resume {
		open = rundir.Resume
	}
	if j.dir, err = open(j.runDir(), o); err != nil {
		return err
	}
	j.logToRun()
	return nil
}

// keepSettings writes what the run is told, once it is certain that it goes on.
func (j *job) keepSettings() error {
	changed, err := j.dir.WriteConfig(settings(j.set))
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		said := make([]string, len(changed))
		for i, c := range changed {
			said[i] = c.String()
		}
		j.log.Warn("settings differ from those the run had before", "settings", strings.Join(said, "; "))
	}
	return disk.Replace(filepath.Join(j.dir.Path(), flagsFile), j.set.PrintFlags)
}

// logToRun has what is logged from now on written to the run as well.
func (j *job) logToRun() {
	j.log = slog.New(slog.NewMultiHandler(j.log.Handler(), j.dir.LogHandler(slog.LevelInfo)))
}

func (j *job) runDir() string {
	if j.f.run.Dir != "" {
		return j.f.run.Dir
	}
	id := j.f.run.ID
	if id == "" {
		id = time.Now().UTC().Format("060102-150405")
	}
	return filepath.Join("runs", id)
}

// settings returns every setting and where it came from, and what the build is.
func settings(set *config.Set) map[string]rundir.Setting {
	all := map[string]rundir.Setting{}
	for name, v := range set.Values() {
		all[name] = rundir.Setting{Value: v.Value, Origin: v.Origin}
	}
	delete(all, "resume") // these say how the process began, not what the run is; where a value came from stands beside it
	delete(all, "config")
	all["build"] = rundir.Setting{Value: readBuild().String(), Origin: "build"}
	return all
}

// end writes how the run ended, and adds to its error what can be done next.
func (j *job) end(ctx context.Context, err error) error {
	ended := j.writeEnd(ctx, err)
	j.tellRun()
	if err == nil || !j.began {
		return errors.Join(err, ended)
	}
	return errors.Join(err, ended, j.next())
}

// next says where a run that did not finish can go on.
func (j *job) next() error {
	dir := j.dir.Path()
	again := "furlong train --run-dir " + config.Quote(dir) + " --resume"
	at, err := orchestrator.Newest(checkpoints(dir))
	switch {
	case err != nil:
		return err
	case at == 0:
		return advice("there is no checkpoint yet; " + again + " begins with the first cycle")
	}
	return advice(fmt.Sprintf("checkpoint %s is there; %s goes on from it", orchestrator.Checkpoint(checkpoints(dir), at), again))
}

func (j *job) writeEnd(ctx context.Context, err error) error {
	state, why := rundir.Finished, "all cycles are done"
	switch {
	case ctx.Err() != nil:
		state, why = rundir.Stopped, "interrupted"
	case err != nil:
		state, why = rundir.Failed, err.Error()
	}
	return j.dir.End(state, why)
}

// carryOut runs the loop beside the rollout engine and the heartbeat, and prints the closing table.
func (j *job) carryOut(ctx context.Context) error {
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- j.generate(beside) }()
	beat := make(chan struct{})
	go func() { j.dir.Run(beside); close(beat) }()
	err := j.resumeAndRun(ctx)
	j.line.Finish()
	stop()
	<-done
	<-beat
	if err != nil {
		return err
	}
	return j.close()
}

// resumeAndRun goes on from the newest checkpoint, if there is one, and runs the plan.
func (j *job) resumeAndRun(ctx context.Context) error {
	if err := errors.Join(j.from.mend(j.dir.Path()), j.announce(j.line)); err != nil {
		return err
	}
	if j.from.dir != "" || j.f.run.Resume {
		at, err := j.loop.Load(ctx)
		if err != nil {
			return err
		}
		if err := j.book.Recall(at); err != nil {
			return err
		}
		j.log.Info("resumed", "cycle", at, "of", j.f.loop.Cycles)
	}
	if err := j.keepSettings(); err != nil {
		return err
	}
	if err := j.rehearse(ctx); err != nil {
		return err
	}
	j.began = true
	return j.loop.Run(ctx)
}

// rehearse proves that updates reach everything, if that was asked for. Its version is the last of an epoch, which no run comes to.
func (j *job) rehearse(ctx context.Context) error {
	if !j.f.rollout.CheckUpdates || j.actor == nil || j.local == nil {
		return nil
	}
	v := rl.NewVersion(j.dir.Attempt()-1, 0xffffff)
	sums, err := j.local.Rehearse(ctx, func() rl.Weights { return j.actor.Publish(v) })
	if err != nil {
		return fmt.Errorf("--check-weight-update-equal: %w", err)
	}
	j.log.Info("updates rehearsed: noise, an update, the same bits", "tensors", len(sums), "state", sums.State().String(), "effective", sums.Effective().String())
	return nil
}

// close sums the run up.
func (j *job) close() error {
	rows, bad, err := metrics.ReadRows(filepath.Join(j.dir.Path(), rundir.RowsFile))
	if err != nil {
		return err
	}
	for _, b := range bad {
		j.log.Warn("a row of metrics can't be read", "what", b.Error())
	}
	s := summary.Of(rows)
	s.AddRest(j.loop.Rest())
	s.Digest, s.Dir = train.Digest(j.policy.Params()), j.dir.Path()
	if j.evals != nil {
		if s.Eval, err = j.evals.summary(j.dir.Path(), j.f.loop.End()); err != nil {
			return err
		}
	}
	if err := s.Print(j.stdout); err != nil {
		return err
	}
	words := j.words()
	if err := printSentences(j.stdout, words); err != nil {
		return err
	}
	if j.f.run.JSON {
		return json.NewEncoder(j.stdout).Encode(closing{s, words})
	}
	return nil
}

// tell shows where the run is.
func (j *job) tell(cycle int, phase string, stats rl.Stats) {
	if stats != nil {
		j.line.done(cycle, stats)
		return
	}
	j.line.at(cycle, phase)
}
