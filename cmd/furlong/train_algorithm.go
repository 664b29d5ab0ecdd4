package main

import (
	"errors"
	"fmt"

	"furlong/kernels"
	"furlong/model"
	"furlong/orchestrator"
	"furlong/train"
)

// batchFlags say how the samples of a cycle are cut into optimizer steps.
type batchFlags struct {
	Global int `flag:"global-batch-size" help:"samples of an optimizer step: --rollout-batch-size times --n-samples-per-prompt over --num-steps-per-rollout; 0 does not check"`
	Steps  int `flag:"num-steps-per-rollout" help:"optimizer steps of a cycle: its samples are cut into so many parts, in order; advantages and old logprobs are of all of them, before the first step"`
}

// teacherFlags say who teaches.
type teacherFlags struct {
	Load string `flag:"opd-teacher-load" help:"teacher of --use-opd, in the Hugging Face layout; it must share the actor's tokens"`
	Type string `flag:"opd-type" choices:"megatron" help:"where the teacher runs: megatron is in the trainer, which is the only place there is"`
}

// checkAlgorithm reports what steps, critic and teacher say that does not go together.
func (t *together) checkAlgorithm() error {
	f, b := t.f, t.f.batch
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	n := f.loop.Batch * f.loop.PerPrompt
	switch {
	case b.Steps < 1:
		bad("--num-steps-per-rollout is %d, want at least 1", b.Steps)
	case n%b.Steps != 0:
		bad("--num-steps-per-rollout is %d, want a divisor of --rollout-batch-size %d times --n-samples-per-prompt %d: %d", b.Steps, f.loop.Batch, f.loop.PerPrompt, n)
	case b.Global != 0 && b.Global*b.Steps != n:
		bad("--global-batch-size is %d, want --rollout-batch-size %d times --n-samples-per-prompt %d over --num-steps-per-rollout %d: %d",
			b.Global, f.loop.Batch, f.loop.PerPrompt, b.Steps, n/b.Steps)
	}
	l := f.train.Loss
	if l.Est.Distill && f.teacher.Load == "" {
		bad("--use-opd needs --opd-teacher-load: who teaches?")
	}
	if only := f.train.Critic.Only; only > 0 && only >= f.loop.Cycles {
		bad("--num-critic-only-steps is %d of --num-rollout %d cycles, want fewer: the actor would never be trained", only, f.loop.Cycles)
	}
	if l.HasCritic() && f.loop.Loop != orchestrator.Synchronous && l.Method() == "none" && !l.UseRollout {
		bad("--advantage-estimator ppo with --loop %s trains on samples of older weights, want --use-tis, another --is-correction, or --use-rollout-logprobs", f.loop.Loop)
	}
	return errors.Join(errs...)
}

// idleAlgorithm adds what steps, reference and teacher leave without effect.
func (t *together) idleAlgorithm(m idle) {
	l := t.f.train.Loss
	if !l.Est.Distill {
		m.add("--use-opd is not given", "opd-teacher-load", "opd-type")
	}
	if t.f.batch.Steps == 1 && l.UseOPSM && !l.UseRollout {
		m.add("a cycle takes one optimizer step, in which no token has become less likely; it masks something with --num-steps-per-rollout above 1 or --use-rollout-logprobs", "use-opsm", "opsm-delta")
	}
}

// Unheeded returns what does nothing where a cycle takes one step, and is in published command lines all the same.
func (t *together) Unheeded() map[string]string {
	m := idle{}
	if t.f.train.Loss.NeedsReference() == "" {
		m.add("there is no reference policy without --use-kl-loss or --kl-coef; the weights to begin with are those of --hf-checkpoint", "ref-load")
	}
	t.unheededGather(m)
	if t.f.batch.Steps != 1 {
		return m
	}
	if !t.f.train.Loss.UseRollout {
		m.add("a cycle takes one optimizer step, in which the ratio is 1", "eps-clip", "eps-clip-high", "eps-clip-c")
	}
	m.add("a cycle takes one optimizer step, in which no value has moved", "value-clip")
	m.add("a cycle takes one optimizer step, by the weights that score its samples: both passes choose alike", "use-routing-replay")
	return m
}

// newActor returns the trainer, with the models beside the actor that its algorithm asks for.
func (j *job) newActor(k kernels.Backend) (*train.Engine, error) {
	tc, steps := j.f.train, j.f.batch.Steps
	tc.Optim = j.f.debug.optim(tc.Optim)
	tc.Steps, tc.Planned, tc.MaxLength = steps, j.f.loop.Cycles*steps, j.f.sample.MaxTokens
	tc.Tell = j.keepsExperts()
	for _, w := range tc.Loss.Warnings(steps > 1 || tc.Loss.UseRollout) {
		j.log.Warn("setting", "what", w)
	}
	ref, err := j.beside("reference", tc.Loss.NeedsReference() != "", j.f.run.Ref)
	if err != nil {
		return nil, err
	}
	teacher, err := j.beside("teacher", tc.Loss.Est.Distill, j.f.teacher.Load)
	if err != nil {
		return nil, err
	}
	critic, err := j.beside("critic", tc.Loss.HasCritic(), "")
	if err != nil {
		return nil, err
	}
	e, err := train.New(tc, j.policy.Model, ref, k, j.policy.files)
	if err != nil {
		return nil, err
	}
	e.Accompany(train.Others{Teacher: teacher, Critic: critic})
	return e, nil
}

// beside returns a model beside the actor, nil if none is wanted: that of a checkpoint, or else of the policy that the run starts from.
func (j *job) beside(what string, wanted bool, checkpoint string) (model.Model, error) {
	if !wanted {
		return nil, nil
	}
	m := j.f.model
	if checkpoint != "" {
		m.Checkpoint = checkpoint
	}
	p, err := loadPolicy(m, j.log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := errors.Join(knowsTokens(p.Model, j.policy.Model), p.holds(j.f.rollout.Context)); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return p.Model, nil
}

// knowsTokens reports a model that other tokens mean something to than to the actor. Ids alone can't tell; their number can.
func knowsTokens(m, actor model.Model) error {
	if m.Vocab() != actor.Vocab() {
		return fmt.Errorf("it knows %d tokens, want the actor's %d", m.Vocab(), actor.Vocab())
	}
	return nil
}
