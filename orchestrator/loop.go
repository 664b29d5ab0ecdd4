package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"furlong/orchestrator/gather"
	"furlong/rl"
)

// Config is what the loop can be told. The zero value is not usable; start from Default.
type Config struct {
	Plan
	Batch      int    `flag:"rollout-batch-size" help:"prompts of a cycle"`
	PerPrompt  int    `flag:"n-samples-per-prompt" help:"samples of a prompt: its group"`
	Seed       uint64 `flag:"rollout-seed" help:"seed of all draws of the run"`
	MaxSkipped int    `flag:"max-skipped-steps" help:"optimizer steps skipped in a row (loss or gradient not finite) after which the run stops"`
	MaxRefused int    `flag:"max-refused-updates" help:"updates of weights refused in a row by the rollout engine after which the run stops"`
	Saving
	gather.Settings

	Sampling rl.Sampling
	Report   rl.Report // what samples tell besides their tokens
}

// Default returns a synchronous loop of 32 prompts by 8 samples.
func Default() Config {
	return Config{Plan: DefaultPlan(), Batch: 32, PerPrompt: 8, Seed: 42, MaxSkipped: 3, MaxRefused: 1, Saving: Saving{Keep: 2}, Settings: gather.Default(), Sampling: rl.DefaultSampling()}
}

// gathering returns what the gatherer of the run is told.
func (c Config) gathering() gather.Run {
	r := gather.Run{
		Settings: c.Settings, Batch: c.Batch, PerPrompt: c.PerPrompt, Seed: c.Seed, Async: c.Loop == FullyAsync, Sampling: c.Sampling, Report: c.Report,
	}
	if c.Loop == OneStepOff {
		r.Lag = 1
	}
	return r
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	errs := []error{c.Plan.Validate(), c.Saving.validate(c.SaveEvery)}
	for _, f := range []struct {
		flag string
		v    int
	}{{"rollout-batch-size", c.Batch}, {"n-samples-per-prompt", c.PerPrompt}, {"max-skipped-steps", c.MaxSkipped}, {"max-refused-updates", c.MaxRefused}} {
		if f.v < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least 1", f.flag, f.v))
		}
	}
	return errors.Join(append(errs, c.gathering().Validate())...)
}

// A Loop carries out a plan. All fields but the state at the end are set by whoever makes it.
type Loop struct {
	Config  Config
	Rollout rl.RolloutEngine
	Train   rl.TrainEngine
	Prompts rl.PromptSource
	Grade   func(context.Context, []*rl.Sample) error
	Decode  func([]int32) string
	// Eval evaluates what is served, which trails the trainer by lag cycles; nil: nothing is evaluated.
	Eval func(ctx context.Context, cycle, lag int) error
	// Examine has engines of their own take up the weights after a cycle, and returns what evaluates them, which runs beside the loop; needed for Config.Apart.
	Examine func(ctx context.Context, cycle int, w rl.Weights) (evaluate func(context.Context) error, err error)
	// Evaluated reports whether an earlier start of the run has evaluated a cycle; nil: none has.
	Evaluated func(cycle int) bool
	// Rescore has the rollout engine look itself over, and compute samples again away from all that it keeps; nil where it can't.
	Rescore func(context.Context, []*rl.Sample) (*rl.Rescored, error)
	Watch   Watcher
	// Copy copies the trainer's state and returns what writes the copy, which it does before Copy is called again; needed for Config.Async.
	Copy func() Writer
	// Written is told of a checkpoint whose files are whole but which has not got its name yet: what belongs to it is made now; nil: nothing does. It may be
	// called from another goroutine than the loop's.
	Written func(ctx context.Context, cycle int, dir string) error
	Clock   func() time.Time
	After   func(time.Duration) <-chan time.Time // time.After; nil: what is tried again is tried at once
	Advise  func(string)                         // is told what an operator may want to act on; nil: nobody is
	Watches bool                                 // the rollout engine honours rl.Request.Watch
	Dir     string                               // of the checkpoints
	From    string                               // a checkpoint of another run, from which this one goes on while it has none of its own; "" for none
	Epoch   int                                  // how often the run was started before

	wg      sync.WaitGroup
	gather  *gather.Gatherer
	trained int               // the last cycle trained
	pushes  int               // counts on over resumes
	pushed  int               // the cycle whose weights were pushed last
	version rl.Version        // served
	skipped int               // steps skipped in a row
	base    int               // epoch of the run's first start
	saved   int               // cycle of the newest checkpoint
	writing *writing          // the checkpoint being written beside the run; nil: none
	exam    *exam             // the evaluation that goes on beside the run; nil: none
	report  Report            // of the cycle in hand
	update  rl.Stats          // of the updates since the last report
	times   rl.Stats          // seconds by step since the last report
	work    []gather.Interval // when the trainer was at work since the last report
	told    int               // the cycle of the last report
	toldAt  time.Time
}

// A Watcher is told what happens. Its errors end the run: a run that can't be written down is not worth going on.
type Watcher interface {
	// Phase says that a step begins.
	Phase(a Action)
	// Span says that a lane (rollout, reward, train, ...) did something from t0 to t1 for a cycle.
	Span(cycle int, lane, name string, t0, t1 time.Time, v rl.Version) error
	// Updated reports an attempt to give new weights to the rollout engine, good or not.
	Updated(u *Update) error
	// Cycle reports a finished cycle.
	Cycle(r *Report) error
}

// A Report is what a finished cycle has to say.
type Report struct {
	Cycle   int
	Step    int
	Version rl.Version // served when the cycle ended
	Samples []*rl.Sample
	Stats   rl.Stats

	// Rescore asks the rollout engine about samples of this cycle, while Cycle is told of it: what serves is what the cycle ended with. nil where the
	// engine can't be asked.
	Rescore func(samples []*rl.Sample) (*rl.Rescored, error)
}

// Run carries out the plan from where the loop stands, and returns when everything it started has ended. When ctx ends, it saves a checkpoint of
// the last trained cycle, and returns ctx's error; so it does, with that error, when drawing, grading, an evaluation or an update fails.
func (l *Loop) Run(ctx context.Context) error {
	l.begin()
	gen, stop := l.generation(ctx)
	defer l.wg.Wait()
	defer l.dismiss()
	defer l.gather.Close()
	defer stop()
	for a := range l.plan().Actions() {
		l.Watch.Phase(a)
		if err := l.act(ctx, gen, a); err != nil {
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), l.saveLast(context.WithoutCancel(ctx)))
			}
			return errors.Join(fmt.Errorf("cycle %d: %v: %w", a.Cycle, a.Kind, err), l.leave(context.WithoutCancel(ctx), a.Kind, err))
		}
	}
	return l.settle()
}

// leave saves what a run leaves that fails at its engine, its prompts, or its graders: what has trained so far is whole, and may have taken hours. After an
// error of the trainer, the disk, or the watcher, nothing more is written.
func (l *Loop) leave(ctx context.Context, failed Kind, why error) error {
	var own fault
	outside := slices.Contains([]Kind{Push, Eval, Examine, Examined, Start, Open, Await, Sync}, failed)
	if outside && errors.As(why, &own) {
		return l.saveLast(ctx)
	}
	return l.settle()
}

// A fault is an error of a step itself, and not of what is written beside it.
type fault struct{ error }

// Unwrap returns the error.
func (f fault) Unwrap() error { return f.error }

func (l *Loop) begin() {
	if l.gather == nil {
		l.gather = l.newGatherer()
	}
	l.times, l.update, l.toldAt, l.pushed = rl.Stats{}, rl.Stats{}, l.Clock(), -1
}

// newGatherer returns a gatherer that has handed out nothing.
func (l *Loop) newGatherer() *gather.Gatherer {
	return gather.New(l.Config.gathering(), gather.Parts{
		Engine: l.Rollout, Prompts: l.Prompts, Grade: l.Grade, Decode: l.Decode, Clock: l.Clock, After: l.After, Advise: l.Advise, Watches: l.Watches,
	})
}

// generation returns the context of generation. In the synchronous loop an interrupt ends it, since the batch can be made again. One step ahead it
// cannot (its weights are gone once the trainer moves on), so it runs to its end; where samples are drawn without end, they are brought to rest and saved.
func (l *Loop) generation(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Config.Loop == Synchronous {
		return context.WithCancel(ctx)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// plan returns the plan from where the loop stands.
func (l *Loop) plan() Plan {
	p := l.Config.Plan
	p.ResumedAfter, p.WithEval, p.WithSave = l.trained, l.Eval != nil, l.Dir != ""
	p.Evaluated = l.Evaluated != nil && l.Evaluated(l.trained)
	p.Asked = l.Config.asked
	return p
}

// act carries out one step.
func (l *Loop) act(ctx, gen context.Context, a Action) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.settled(); err != nil {
		return err
	}
	t0 := l.Clock()
	err := l.do(ctx, gen, a)
	if err != nil {
		return fault{err}
	}
	if lane, ok := lanes[a.Kind]; ok {
		t1 := l.Clock()
		l.spent(a.Kind, t0, t1)
		err = l.Watch.Span(max(a.Cycle, 1), lane, a.Kind.String(), t0, t1, l.version)
	}
	return err
}

// lanes are the rows of the timeline that steps of the driver belong to.
var lanes = map[Kind]string{Push: "update", Eval: "eval", Await: "wait", Train: "train", Save: "save", Sync: "wait", Park: "wait", Examine: "eval"}

func (l *Loop) do(ctx, gen context.Context, a Action) error {
	switch a.Kind {
	case Push:
		return l.push(ctx)
	case Eval:
		return l.Eval(ctx, a.Cycle, l.trained-l.pushed)
	case Examine:
		return l.examine(ctx, a.Cycle)
	case Examined:
		return l.examined()
	case Start:
		return l.gather.Begin(gen, a.Cycle)
	case Open:
		l.gather.Open(gen)
		return nil
	case Park:
		return l.gather.Park(gen)
	case Await:
		return l.take(ctx, a.Cycle)
	case Sync:
		_, err := l.gather.Await(gen, a.Cycle)
		return err
	case Train:
		return l.train(ctx, a.Cycle)
	case Save:
		return l.save(ctx)
	}
	return errors.Join(l.publish(ctx), l.moving())
}

// take waits for the cycle's batch and begins the cycle's report.
func (l *Loop) take(ctx context.Context, c int) error {
	await := l.gather.Await
	if l.Config.Loop == FullyAsync {
		await = l.gather.Take
	}
	b, err := await(ctx, c)
	if err != nil {
		return err
	}
	if err := l.checkVersions(b); err != nil {
		return err
	}
	l.report = Report{Cycle: c, Samples: b.Samples(), Stats: rl.Stats{}}
	rolloutStats(l.report.Stats, b, l.version)
	maps.Copy(l.report.Stats, b.Stats)
	l.report.Stats["rollout/staleness/steps"] = float64(l.trained - l.pushed)
	if b.T1.IsZero() || l.Config.Loop == FullyAsync {
		return nil // generated before a restart, or all the while
	}
	return errors.Join(l.Watch.Span(c, "rollout", "generate", b.T0, b.T1, b.Version), l.Watch.Span(c, "reward", "grade", b.T1, b.T2, b.Version))
}

// checkVersions makes sure that no token was chosen by a policy that the run has not served, and that no token trains that is older than the bound.
func (l *Loop) checkVersions(b *gather.Batch) error {
	for _, s := range b.Samples() {
		if err := l.checkSample(s); err != nil {
			return fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
	}
	return nil
}

func (l *Loop) checkSample(s *rl.Sample) error {
	if err := s.Check(); err != nil {
		return err
	}
	n, served, bound := 0, l.version.Count(), l.Config.Bound
	for _, sp := range s.Versions {
		c := sp.Version.Count()
		if c < 1 || c > served {
			return fmt.Errorf("tokens of version %v, want 1 to %d", sp.Version, served)
		}
		for i := n; i < n+sp.Tokens; i++ {
			if bound >= 0 && served-c > bound && trains(s, i) {
				return fmt.Errorf("token %d trains, but is of version %v while %d is served, want it %d versions old at most (--max-weight-staleness)", i, sp.Version, served, bound)
			}
		}
		n += sp.Tokens
	}
	return nil
}

// train takes the cycle's optimizer steps.
func (l *Loop) train(ctx context.Context, c int) error {
	stats, err := l.Train.Step(ctx, &rl.Batch{Samples: l.report.Samples, Cycle: c})
	if err != nil {
		return err
	}
	maps.Copy(l.report.Stats, stats)
	gapByAge(l.report.Stats, l.report.Samples, l.version)
	l.report.Step = int(stats["train/step"])
	l.trained = c
	skipped := stats["train/skipped_steps"]
	stepped := skipped == 0 || stats["train/steps_taken"] > 0 // of several steps one was taken
	if stepped {
		l.skipped = 0
	} else {
		l.skipped += int(skipped)
	}
	account, err := l.gather.Trained(c, stepped)
	maps.Copy(l.report.Stats, account.Stats())
	return err
}

// moving reports too many skipped steps in a row. It is asked once the cycle has been written down: the last of them is what one wants to see.
func (l *Loop) moving() error {
	if l.skipped < l.Config.MaxSkipped {
		return nil
	}
	return fmt.Errorf("%d optimizer steps in a row were skipped (--max-skipped-steps): a loss or gradient was not finite, or there was no sample to train on; the weights are those before the first of them%s", l.skipped, l.lastSaved())
}

// lastSaved names the newest checkpoint, if there is one.
func (l *Loop) lastSaved() string {
	if l.Dir == "" || l.saved == 0 {
		return "; there is no checkpoint yet"
	}
	return "; the newest checkpoint is " + Checkpoint(l.Dir, l.saved)
}

// publish hands the cycle's report to the watcher, with the time spent on each kind of step since the last report.
func (l *Loop) publish(ctx context.Context) error {
	now := l.Clock()
	timeSplit(l.report.Stats, l.times, now.Sub(l.toldAt).Seconds())
	if err := l.overlapped(gather.Interval{From: l.toldAt, To: now}); err != nil {
		return err
	}
	maps.Copy(l.report.Stats, l.update)
	l.report.Version = l.version
	l.times, l.update, l.toldAt, l.told = rl.Stats{}, rl.Stats{}, now, l.report.Cycle
	if l.Rescore != nil {
		l.report.Rescore = func(samples []*rl.Sample) (*rl.Rescored, error) { return l.Rescore(ctx, samples) }
	}
	return l.Watch.Cycle(&l.report)
}
