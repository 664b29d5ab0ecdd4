package main

import (
	"context"
	"errors"

	"furlong/eval"
	"furlong/kernels"
	"furlong/quant"
	remotereward "furlong/remote/reward"
	"furlong/reward"
	"furlong/rl"
	"furlong/rollout"
	"furlong/train"
)

// eval evaluates the policy that the flags name, on each set in turn.
func (e *env) eval(ctx context.Context, f *trainFlags, ks []int) (*evaluated, error) {
	p, err := loadPolicyFor(f.model, formatOf(f.rollout), e.log)
	if err != nil {
		return nil, err
	}
	if err := p.holds(f.rollout.Context); err != nil {
		return nil, err
	}
	j := &job{env: e, f: f, policy: p}
	if j.grades, err = grader(f.reward); err != nil {
		return nil, err
	}
	if j.evals, err = j.newEvaluation(ctx); err != nil {
		return nil, err
	}
	if j.evals == nil {
		return nil, errors.New("there is nothing to evaluate on: --eval-problems is 0 and there is no --eval-prompt-data")
	}
	k, closeK := backend(f.model.Backend, f.model.Threads)
	defer closeK()
	return j.evalOnce(ctx, k, ks)
}

// evalOnce serves the policy's weights and evaluates them.
func (j *job) evalOnce(ctx context.Context, k kernels.Backend, ks []int) (*evaluated, error) {
	defer j.leave()
	var err error
	if j.roll, err = j.newEvalEngine(ctx, k); err != nil {
		return nil, err
	}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- j.generate(inner) }()
	defer func() { stop(); <-done }()
	if err := serveOnce(ctx, j.roll, j.policy, formatOf(j.f.rollout)); err != nil {
		return nil, err
	}
	line := j.follow("eval", "samples", int64(j.evals.total()), j.f.talk)
	defer line.Finish()
	var results []*eval.Result
	before := 0
	for _, h := range j.evals.sets {
		res, err := h.run(ctx, j.roll, j.policy.tok.Decode, func(done, _ int) { line.Set(int64(before+done), h.name) })
		if err != nil {
			return nil, err
		}
		if len(ks) > 0 {
			if err := res.For(ks); err != nil {
				return nil, err
			}
		}
		results, before = append(results, res), before+len(h.prompts)*h.samples
	}
	out := &evaluated{Report: eval.NewReport(results), Format: j.f.rollout.Format, KV: j.f.rollout.KV}
	if a, ok := j.roll.(rl.Attester); ok {
		told := a.Attestation()
		out.State, out.Effective = told.State, told.Effective
	}
	return out, nil
}

// newEvalEngine makes the engine that generates.
func (j *job) newEvalEngine(ctx context.Context, k kernels.Backend) (rl.RolloutEngine, error) {
	if j.f.isRemote() {
		return j.newRollout(ctx, k)
	}
	var err error
	j.local, err = rollout.New(j.f.rollout, j.policy.twin(j.f.model), k)
	return j.local, err
}

// serveOnce gives the engine the policy's weights in its format, as version 1.
func serveOnce(ctx context.Context, engine rl.RolloutEngine, p *policy, r quant.Recipe) error {
	replica, err := quant.NewReplica(p.Params(), r, p.Head().Value.Type)
	if err != nil {
		return err
	}
	if err := engine.Pause(ctx); err != nil {
		return err
	}
	if err := engine.Update(ctx, train.Weights(rl.NewVersion(0, 1), replica.Refresh())); err != nil {
		return err
	}
	return engine.Resume(ctx)
}

// recipeGrader judges the problems that the recipe makes.
const recipeGrader = "arithmetic"

// grader returns the pool of graders that the flags ask for. Without a data file it is the recipe's.
func grader(c reward.Config) (*reward.Pool, error) {
	if c.Type == "" {
		c.Type = recipeGrader
	}
	outside, err := remotereward.New(c.Outside)
	if err != nil {
		return nil, err
	}
	r, err := reward.NewWith(c, outside)
	if err != nil {
		return nil, err
	}
	return reward.NewPool(r, c), nil
}
