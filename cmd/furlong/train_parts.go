package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furlong/data"
	"furlong/data/arithmetic"
	"furlong/kernels"
	"furlong/orchestrator"
	"furlong/reward"
	"furlong/rl"
)

// assemble makes what a run consists of: two engines of one policy, prompts, graders, evaluation. Whatever is wrong with what was asked for
// shows here, before there is a directory.
func (j *job) assemble(ctx context.Context, k kernels.Backend) (err error) {
	if j.grades, err = grader(j.f.reward); err != nil {
		return err
	}
	if !j.f.debug.trainOnly() {
		if j.source, err = j.prompts(ctx); err != nil {
			return err
		}
	}
	if err := j.newTrainer(ctx, k); err != nil {
		return err
	}
	if err := j.newGenerator(ctx, k); err != nil {
		return err
	}
	if j.f.debug.trainOnly() {
		return nil
	}
	if j.evals, err = j.newEvaluation(ctx); err != nil {
		return err
	}
	return j.newApart(ctx)
}

// wire ties the parts to the run's directory.
func (j *job) wire() {
	j.line = j.newLine()
	j.logToRun() // the line has begun a log of its own
	if j.remote != nil {
		j.remote.LogTo(j.log)
	}
	if j.apart != nil {
		j.apart.LogTo(j.log)
	}
	j.sayDebug()
	j.book = j.newJournal()
	j.loop = j.newLoop()
}

// prompts returns the source of training prompts: a file's, or the recipe's generator.
func (j *job) prompts(ctx context.Context) (rl.PromptSource, error) {
	if j.f.data.File == "" {
		if err := j.f.lasts(j.set, nil); err != nil {
			return nil, err
		}
		return arithmetic.NewSource(j.policy.tok, j.f.loop.Seed), nil
	}
	set, err := j.openData(j.f.data, j.policy.tok, j.f.model.Checkpoint, j.f.talk)
	if err != nil {
		return nil, err
	}
	j.data = set
	if err := fitSet(set, j.f.rollout.Context); err != nil {
		return nil, err
	}
	if err := errors.Join(j.gradableSet(ctx, j.grades, set), j.f.lasts(j.set, set)); err != nil {
		return nil, err
	}
	return data.NewSource(set, j.f.loop.Seed, j.f.data.Shuffle), nil
}

// fit reports the first prompt that leaves no room for a response.
func fit(file string, prompts []*rl.Prompt, context int) error {
	for _, p := range prompts {
		if n := len(p.Tokens); n >= context {
			return fmt.Errorf("%s: prompt %s has %d tokens, want fewer than --context-length (%d); --rollout-max-prompt-len leaves longer ones out", file, p.ID, n, context)
		}
	}
	return nil
}

func (j *job) newLoop() *orchestrator.Loop {
	c := j.f.debug.loop(j.f.loop)
	c.Sampling, c.Report = j.f.sample.sampling(j.policy.tok), j.told()
	l := &orchestrator.Loop{
		Config: c, Rollout: j.roll, Train: j.trainer, Prompts: j.source, Grade: j.grade, Decode: j.policy.tok.Decode,
		Watch: j.book, Clock: time.Now, Dir: checkpoints(j.dir.Path()), Epoch: j.dir.Attempt() - 1,
	}
	j.gathers(l)
	if !j.from.own {
		l.From = j.from.dir
	}
	l.Copy = func() orchestrator.Writer { return j.trainer.Save }
	if j.actor != nil {
		l.Copy = func() orchestrator.Writer { return j.actor.Copy().Save }
		if j.f.run.Save.Bare {
			j.actor.LeaveOutOptimizer()
		}
	}
	if j.f.debug.trainOnly() {
		l.Grade = j.gradeRest
	}
	if j.f.run.Save.HF != "" && j.actor != nil {
		l.Written = j.export
	}
	if j.local != nil {
		l.Rescore = j.rescore
	}
	if j.evals != nil {
		l.Eval, l.Evaluated, l.Examine = j.evaluate, j.evaluated, j.examine
		l.Config.Apart = j.apart != nil
	}
	return l
}

// gradable asks the grader what it thinks of the labels. Those that it cannot grade make invalid samples: a line says how many; a set of nothing else
// is refused.
func (e *env) gradable(ctx context.Context, grades rl.Rewarder, file string, prompts []*rl.Prompt) error {
	err := reward.Check(ctx, grades, prompts)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, p := range prompts {
		if reward.Check(ctx, grades, []*rl.Prompt{p}) == nil {
			e.log.Warn("labels", "file", file, "what", err.Error())
			return nil
		}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// grade judges samples. What could not be judged is invalid and counted; the first reason is a line.
func (j *job) grade(ctx context.Context, all []*rl.Sample) error {
	counts, err := j.grades.Grade(ctx, all)
	if counts.First != nil {
		j.log.Warn("grader", "invalid", counts.Invalid, "timeout", counts.Timeout, "broken", counts.Broken, "first", counts.First.Error())
	}
	if counts.Over+counts.Raised > 0 {
		j.log.Warn("grader", "wrong_since_too_large", counts.Over, "wrong_since_the_published_one_breaks", counts.Raised)
	}
	return err
}
