package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"furlong/eval"
	"furlong/journal"
	rundir "furlong/metrics/run"
	"furlong/reward"
	"furlong/rl"
	"furlong/summary"
	"furlong/verdict"
)

// An evaluation is the held-out sets of a run, in the order in which they were named, the same all through it.
type evaluation struct{ sets []*heldOut }

// A heldOut is a set and how it is decoded and judged.
type heldOut struct {
	name, file string
	prompts    []*rl.Prompt
	samples    int
	sampling   rl.Sampling
	grader     string
	grades     *reward.Pool
}

// newEvaluation returns what the run is evaluated on, nil for nothing.
func (j *job) newEvaluation(ctx context.Context) (*evaluation, error) {
	sets, err := j.f.evalSets()
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		j.log.Warn("nothing is evaluated: give --eval-prompt-data")
		return nil, nil
	}
	v := &evaluation{}
	for _, s := range sets {
		h, err := j.openHeldOut(ctx, s)
		if err != nil {
			return nil, err
		}
		v.sets = append(v.sets, h)
	}
	return v, nil
}

// total returns how many samples an evaluation takes.
func (v *evaluation) total() (n int) {
	for _, h := range v.sets {
		n += len(h.prompts) * h.samples
	}
	return n
}

// run draws and grades the samples of a set.
func (h *heldOut) run(ctx context.Context, engine rl.RolloutEngine, decode func([]int32) string, progress func(done, total int)) (*eval.Result, error) {
	res, err := eval.Run(ctx, engine, h.prompts, h.samples, h.sampling, h.grades, decode, progress)
	if err != nil {
		return nil, fmt.Errorf("evaluation %s: %w", h.name, err)
	}
	res.Set, res.Data, res.Grader = h.name, h.file, h.grader
	return res, nil
}

// evaluate draws and grades every set with the engine that generates, and then writes what it found.
func (j *job) evaluate(ctx context.Context, cycle, lag int) error {
	return j.evaluateOn(ctx, j.roll, cycle, lag, j.steps())
}

// examine has the servers of --eval-url take up the weights after a cycle, and returns what evaluates them there.
func (j *job) examine(ctx context.Context, cycle int, w rl.Weights) (func(context.Context) error, error) {
	e := j.apart.Rollout()
	if err := e.Pause(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(e.Update(ctx, w), e.Resume(ctx)); err != nil {
		return nil, fmt.Errorf("--eval-url: %w", err)
	}
	steps := j.steps()
	return func(ctx context.Context) error { return j.evaluateOn(ctx, e, cycle, 0, steps) }, nil
}

// evaluateOn draws and grades every set, and then writes what it found: one row for all of them. It may run beside the loop.
func (j *job) evaluateOn(ctx context.Context, engine rl.RolloutEngine, cycle, lag, steps int) error {
	began := time.Now()
	values := map[string]float64{"eval/step": float64(cycle), "eval/lag_steps": float64(lag)}
	var all []journal.Evaluation
	for _, h := range j.evals.sets {
		seen := &watched{RolloutEngine: engine, experts: j.local != nil && engine == j.roll && j.told().Experts}
		res, err := h.run(ctx, seen, j.policy.tok.Decode, nil)
		if err != nil {
			return err
		}
		if res.Invalid > 0 {
			j.log.Warn("evaluation samples could not be graded", "set", h.name, "invalid", res.Invalid, "first", res.FirstInvalid)
		}
		e := rundir.Evaluation{Name: h.name, Cycle: cycle, Version: engine.Version(), Settings: h.settings(res)}
		for _, group := range byPrompt(h.prompts, seen.samples) {
			e.Problems = append(e.Problems, rundir.NewProblem(group))
		}
		maps.Copy(values, series(h.name, res))
		all = append(all, journal.Evaluation{Evaluation: e, Drawn: seen.samples})
	}
	values["eval/duration_seconds"] = time.Since(began).Seconds()
	return j.book.Evaluated(all, steps, values)
}

// evaluated reports whether an earlier start of the run has written the evaluation of a cycle, of every set.
func (j *job) evaluated(cycle int) bool {
	for _, h := range j.evals.sets {
		e, bad, err := rundir.ReadEval(h.written(j.dir.Path(), cycle))
		if err != nil || len(bad) > 0 || len(e.Problems) != len(h.prompts) {
			return false
		}
	}
	return true
}

// written returns where a set's evaluation after a cycle is.
func (h *heldOut) written(dir string, cycle int) string {
	return filepath.Join(dir, rundir.EvalFile(h.name, cycle))
}

// settings are recorded with each result.
func (h *heldOut) settings(r *eval.Result) map[string]any {
	s := h.sampling
	return map[string]any{
		"problems": len(h.prompts), "samples": h.samples, "temperature": s.Temperature, "top_p": s.TopP, "top_k": s.TopK, "min_p": s.MinP,
		"max_tokens": s.MaxTokens, "min_tokens": s.MinTokens, "stop_ids": s.StopIDs, "seed": s.Seed, "grader": h.grader, "data": h.file, "prompts": r.Prompts,
	}
}

// series returns a result under its metric names.
func series(name string, r *eval.Result) map[string]float64 {
	pre := "eval/" + name
	invalid := float64(r.Invalid) / float64(len(r.Problems)*r.Samples)
	out := map[string]float64{
		pre + "-truncated_ratio": *r.Truncated, pre + "/truncated_ratio": *r.Truncated, pre + "-problems": float64(len(r.Problems)), pre + "-samples": float64(r.Samples),
		pre + "-invalid_ratio": invalid, pre + "-none_reward_ratio": invalid, pre + "-solved": float64(r.Solved),
		pre + "/response_len/mean": r.Lengths.Mean, pre + "/response_len/median": r.Lengths.Median,
		pre + "/response_len/min": float64(r.Lengths.Min), pre + "/response_len/max": float64(r.Lengths.Max),
	}
	for at, v := range r.Figures() {
		out[pre+"-"+at] = v
	}
	if r.MeanReward != nil {
		out[pre] = *r.MeanReward
	}
	if r.PassAt1Whole != nil {
		out[pre+"-pass@1_not_truncated"] = *r.PassAt1Whole
	}
	return out
}

// summary compares the evaluation before the first cycle with that after the last; the first set leads, the others follow.
func (v *evaluation) summary(dir string, last int) (*summary.Eval, error) {
	var lead *summary.Eval
	for _, h := range v.sets {
		s, err := h.summary(dir, last)
		if err != nil {
			return nil, err
		}
		switch {
		case s == nil:
		case lead == nil:
			lead = s
		default:
			lead.More = append(lead.More, s)
		}
	}
	return lead, nil
}

// summary is that of one set.
func (h *heldOut) summary(dir string, last int) (*summary.Eval, error) {
	before, err := h.read(dir, 0)
	if err != nil {
		return nil, err
	}
	after, err := h.read(dir, last)
	if err != nil || after == nil {
		return nil, err
	}
	s := &summary.Eval{Name: h.name, Before: h.figures(before), After: h.figures(after), Diff: map[string]any{}}
	for _, k := range eval.Powers(h.samples) {
		if before == nil {
			continue
		}
		d, ok, err := verdict.Paired(*before, *after, k)
		if err != nil {
			return nil, err
		}
		if ok {
			at := fmt.Sprintf("pass@%d", k)
			s.Diff[at], s.Diff[at+"_ci95"] = d.Value, [2]float64{d.Lo, d.Hi}
		}
	}
	return s, nil
}

// read returns an evaluation, nil if it was not made.
func (h *heldOut) read(dir string, cycle int) (*rundir.Evaluation, error) {
	e, bad, err := rundir.ReadEval(h.written(dir, cycle))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(bad) > 0 {
		return nil, fmt.Errorf("%s: %w", h.written(dir, cycle), errors.Join(err, first(bad)))
	}
	return &e, nil
}

// enough returns the problems of which k samples or more were judged; pass@k is theirs.
func enough(all []eval.Problem, k int) []eval.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p eval.Problem) bool { return p.N < k })
}

func first[E error](all []E) error {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// figures returns pass@1, pass@8 and the like, with intervals, and the share of truncated responses.
func (h *heldOut) figures(e *rundir.Evaluation) map[string]float64 {
	if e == nil {
		return nil
	}
	problems := verdict.Problems(*e)
	out := map[string]float64{}
	cut := 0
	for _, p := range problems {
		cut += p.Truncated
	}
	out["truncated_ratio"] = float64(cut) / float64(len(problems)*h.samples)
	for _, k := range eval.Powers(h.samples) {
		if s, err := eval.PassAt(enough(problems, k), k, h.sampling.Seed); err == nil {
			at := fmt.Sprintf("pass@%d", k)
			out[at], out[at+"_lo"], out[at+"_hi"] = s.Value, s.Low, s.High
		}
	}
	return out
}

// A watched engine remembers what it generated.
type watched struct {
	rl.RolloutEngine
	experts bool // ask for those that tokens went to
	samples []*rl.Sample
}

func (w *watched) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	reqs = slices.Clone(reqs)
	for i := range reqs {
		reqs[i].Report.Experts = reqs[i].Report.Experts || w.experts
	}
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
