package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"furlong/eval"
	rundir "furlong/metrics/run"
	"furlong/rl"
	"furlong/summary"
)

// An evaluation is a held-out set and how it is decoded, the same all through a run.
type evaluation struct {
	name     string
	prompts  []*rl.Prompt
	samples  int
	sampling rl.Sampling
}

// newEvaluation returns what the run is evaluated on, nil for nothing.
func (j *job) newEvaluation(ctx context.Context) (*evaluation, error) {
	f := j.f.eval
	name := f.name(j.f.data)
	if name == "" {
		j.log.Warn("nothing is evaluated: give --eval-prompt-data")
		return nil, nil
	}
	if err := rundir.CheckEvalName(name); err != nil {
		return nil, fmt.Errorf("--eval-prompt-data: %w", err)
	}
	prompts, err := f.prompts(j.f.data, j.policy.tok, j.f.rollout.Context, j.log)
	if err != nil {
		return nil, err
	}
	if err := j.gradable(ctx, j.grades, name, prompts); err != nil {
		return nil, err
	}
	return &evaluation{name, prompts, f.Samples, f.sampling(j.f.sample, j.policy.tok)}, nil
}

// evaluate draws and grades, and writes what it found.
func (j *job) evaluate(ctx context.Context, cycle, lag int) error {
	seen := &watched{RolloutEngine: j.roll}
	res, err := eval.Run(ctx, seen, j.evals.prompts, j.evals.samples, j.evals.sampling, j.grades, j.policy.tok.Decode, nil)
	if err != nil {
		return err
	}
	if res.Invalid > 0 {
		j.log.Warn("evaluation samples could not be graded", "invalid", res.Invalid, "first", res.FirstInvalid)
	}
	e := rundir.Evaluation{Name: j.evals.name, Cycle: cycle, Version: j.roll.Version(), Settings: j.evals.settings()}
	for _, group := range byPrompt(j.evals.prompts, seen.samples) {
		e.Problems = append(e.Problems, rundir.NewProblem(group))
	}
	values := series(j.evals.name, cycle, res)
	values["eval/lag_steps"] = float64(lag)
	return j.book.Evaluated(e, j.actor.Steps(), values, seen.samples)
}

// evaluated reports whether an earlier start of the run has written the evaluation of a cycle.
func (j *job) evaluated(cycle int) bool {
	e, bad, err := rundir.ReadEval(j.evals.file(j.dir.Path(), cycle))
	return err == nil && len(bad) == 0 && len(e.Problems) == len(j.evals.prompts)
}

func (v *evaluation) file(dir string, cycle int) string {
	return filepath.Join(dir, rundir.EvalFile(v.name, cycle))
}

// settings are recorded with each result.
func (v *evaluation) settings() map[string]any {
	s := v.sampling
	return map[string]any{
		"problems": len(v.prompts), "samples": v.samples, "temperature": s.Temperature, "top_p": s.TopP, "top_k": s.TopK, "min_p": s.MinP,
		"max_tokens": s.MaxTokens, "seed": s.Seed,
	}
}

// series returns a result under its metric names.
func series(name string, cycle int, r *eval.Result) map[string]float64 {
	pre := "eval/" + name
	out := map[string]float64{
		"eval/step": float64(cycle), pre + "-truncated_ratio": *r.Truncated, pre + "-problems": float64(len(r.Problems)),
		pre + "/response_len/mean": *r.MeanTokens, pre + "-invalid_ratio": float64(r.Invalid) / float64(len(r.Problems)*r.Samples),
	}
	for _, s := range r.Scores {
		at := fmt.Sprintf("%s-pass@%d", pre, s.K)
		out[at], out[at+"_lo"], out[at+"_hi"] = s.Value, s.Low, s.High
		if s.K == 1 {
			out[pre] = s.Value
		}
	}
	if r.PassAt1Whole != nil {
		out[pre+"-pass@1_not_truncated"] = *r.PassAt1Whole
	}
	return out
}

// summary compares the evaluation before the first cycle with that after the last.
func (v *evaluation) summary(dir string, last int) (*summary.Eval, error) {
	before, err := v.read(dir, 0)
	if err != nil {
		return nil, err
	}
	after, err := v.read(dir, last)
	if err != nil || after == nil {
		return nil, err
	}
	s := &summary.Eval{Name: v.name, Before: v.figures(before), After: v.figures(after), Diff: map[string]any{}}
	for _, k := range v.ks() {
		if before == nil {
			continue
		}
		b, a := paired(enough(before, k), enough(after, k))
		if len(a) == 0 {
			continue
		}
		d, err := eval.Difference(b, a, k, v.sampling.Seed)
		if err != nil {
			return nil, err
		}
		at := fmt.Sprintf("pass@%d", k)
		s.Diff[at], s.Diff[at+"_ci95"] = d.Value, [2]float64{d.Low, d.High}
	}
	return s, nil
}

// read returns the problems of an evaluation, nil if it was not made.
func (v *evaluation) read(dir string, cycle int) ([]eval.Problem, error) {
	e, bad, err := rundir.ReadEval(v.file(dir, cycle))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(bad) > 0 {
		return nil, fmt.Errorf("%s: %w", v.file(dir, cycle), errors.Join(err, first(bad)))
	}
	var out []eval.Problem
	for _, p := range e.Problems {
		invalid := 0
		for _, a := range p.Samples {
			if a.Verdict == rl.Invalid.String() {
				invalid++
			}
		}
		out = append(out, eval.Problem{ID: p.ID, N: p.N - invalid, C: p.C, Truncated: p.Truncated, Invalid: invalid})
	}
	return out, nil
}

// enough returns the problems of which k samples or more were judged; pass@k is theirs.
func enough(all []eval.Problem, k int) []eval.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p eval.Problem) bool { return p.N < k })
}

// paired returns the problems that are in both evaluations.
func paired(a, b []eval.Problem) (inA, inB []eval.Problem) {
	missing := func(all []eval.Problem) func(eval.Problem) bool {
		return func(p eval.Problem) bool {
			return !slices.ContainsFunc(all, func(q eval.Problem) bool { return q.ID == p.ID })
		}
	}
	return slices.DeleteFunc(slices.Clone(a), missing(b)), slices.DeleteFunc(slices.Clone(b), missing(a))
}

func first[E error](all []E) error {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// figures returns pass@1, pass@8 and the like, with intervals, and the share of truncated responses.
func (v *evaluation) figures(problems []eval.Problem) map[string]float64 {
	if problems == nil {
		return nil
	}
	out := map[string]float64{}
	cut := 0
	for _, p := range problems {
		cut += p.Truncated
	}
	out["truncated_ratio"] = float64(cut) / float64(len(problems)*v.samples)
	for _, k := range v.ks() {
		if s, err := eval.PassAt(enough(problems, k), k, v.sampling.Seed); err == nil {
			at := fmt.Sprintf("pass@%d", k)
			out[at], out[at+"_lo"], out[at+"_hi"] = s.Value, s.Low, s.High
		}
	}
	return out
}

// ks returns 1, 2, 4, ... up to the number of samples.
func (v *evaluation) ks() []int {
	var ks []int
	for k := 1; k <= v.samples; k *= 2 {
		ks = append(ks, k)
	}
	return ks
}

// A watched engine remembers what it generated.
type watched struct {
	rl.RolloutEngine
	samples []*rl.Sample
}

func (w *watched) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for s, err := range w.RolloutEngine.Generate(ctx, reqs) {
			if err == nil {
				w.samples = append(w.samples, s)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// byPrompt returns each prompt's samples, in the order of the prompts.
func byPrompt(prompts []*rl.Prompt, samples []*rl.Sample) [][]*rl.Sample {
	groups := map[string][]*rl.Sample{}
	for _, s := range samples {
		groups[s.Prompt.ID] = append(groups[s.Prompt.ID], s)
	}
	var out [][]*rl.Sample
	for _, p := range prompts {
		out = append(out, groups[p.ID])
	}
	return out
}
