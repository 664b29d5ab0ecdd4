package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"furlong/config"
	"furlong/eval"
	"furlong/metrics/disk"
	"furlong/quant"
	remotereward "furlong/remote/reward"
	"furlong/reward"
	"furlong/rl"
	"furlong/rollout"
	"furlong/train"
)

func runEval(ctx context.Context, e *env) int {
	f := newTrainFlags()
	var out struct {
		JSON bool   `flag:"json" help:"print the result as one JSON object in the last line"`
		File string `flag:"output" help:"also write the result, problem by problem, to this file"`
	}
	set := config.New("eval", "Evaluates a checkpoint on held-out problems: unbiased pass@k with intervals, truncation, what could not be judged.").Layered("tiny-arithmetic")
	set.Add("Output", &out, &f.talk).Add("Model", &f.model).Add("Evaluation", &f.eval).Add("Sampling", &f.sample)
	set.Add("Rollout engine", &f.rollout).Add("Data", &f.data).Add("Reward", &f.reward).Add("Checks", &graded{f}, &evaluates{f})
	set.Example("furlong eval", "the model inside the binary, on the recipe's held-out problems")
	set.Example("furlong eval --hf-checkpoint runs/a/checkpoints/step-000100/trainer/model", "a checkpoint of a run")
	if code, ok := e.parse(set); !ok {
		return code
	}
	res, err := e.eval(ctx, f)
	if err != nil {
		return e.fail(err)
	}
	return e.fail(errors.Join(e.printResult(res, out.JSON), writeResult(out.File, res)))
}

// An evaluated is what eval found, and of which weights: as the engine attested them.
type evaluated struct {
	*eval.Result
	State     rl.Digest `json:"state"`
	Effective rl.Digest `json:"effective"`
	Format    string    `json:"rollout_format"`
	KV        string    `json:"rollout_kv_format"`
}

// writeResult writes the whole result to a file, if one is named.
func writeResult(path string, res *evaluated) error {
	if path == "" {
		return nil
	}
	return disk.Replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(res) })
}

// eval evaluates the policy that the flags name.
func (e *env) eval(ctx context.Context, f *trainFlags) (*evaluated, error) {
	p, err := loadPolicyFor(f.model, formatOf(f.rollout), e.log)
	if err != nil {
		return nil, err
	}
	if err := p.holds(f.rollout.Context); err != nil {
		return nil, err
	}
	prompts, err := f.eval.prompts(f.data, p.tok, f.rollout.Context, e.log)
	if err != nil {
		return nil, err
	}
	pool, err := grader(f.reward)
	if err != nil {
		return nil, err
	}
	if err := e.gradable(ctx, pool, f.eval.name(f.data), prompts); err != nil {
		return nil, err
	}
	k, closeK := backend(f.model.Backend, f.model.Threads)
	defer closeK()
	engine, err := rollout.New(f.rollout, p.twin(f.model), k)
	if err != nil {
		return nil, err
	}
	inner, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- engine.Run(inner) }()
	defer func() { stop(); <-done }()
	if err := serveOnce(ctx, engine, p, formatOf(f.rollout)); err != nil {
		return nil, err
	}
	line := e.follow("eval", "samples", int64(len(prompts)*f.eval.Samples), f.talk)
	defer line.Finish()
	res, err := eval.Run(ctx, engine, prompts, f.eval.Samples, f.eval.sampling(f.sample, p.tok), pool, p.tok.Decode, func(done, _ int) { line.Set(int64(done), "") })
	a := engine.Attestation()
	return &evaluated{res, a.State, a.Effective, f.rollout.Format, f.rollout.KV}, err
}

// serveOnce gives the engine the policy's weights in its format, as version 1.
func serveOnce(ctx context.Context, engine *rollout.Engine, p *policy, r quant.Recipe) error {
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

// grader returns the pool of graders that the flags ask for. Without a data file it is the recipe's.
func grader(c reward.Config) (*reward.Pool, error) {
	if c.Type == "" {
		c.Type = "arithmetic"
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

func (e *env) printResult(r *evaluated, asJSON bool) error {
	for _, s := range r.Scores {
		fmt.Fprintf(e.stdout, "pass@%-3d %.4f [%.4f, %.4f] over %d problems\n", s.K, s.Value, s.Low, s.High, s.Problems)
	}
	fmt.Fprintf(e.stdout, "truncated %.4f, mean length %.1f tokens, invalid %d\n", *r.Truncated, *r.MeanTokens, r.Invalid)
	if asJSON {
		return json.NewEncoder(e.stdout).Encode(r)
	}
	return nil
}
