package train

import (
	"context"
	"fmt"
	"math"

	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/train/loss"
)

// known is what is known of a sample before the first step of its cycle, besides what the sample says itself: of the tokens that train.
type known struct {
	loss.Advantage
	teacher []float32 // logprobs by the teacher
	values  []float32 // by the critic
}

// Others are the models beside the actor that an algorithm asks for. Each may be nil, and none may be the actor.
type Others struct {
	Teacher model.Model // of on-policy distillation: frozen
	Critic  model.Model // of ppo: trained, with a head of its own in place of the model's
}

// Accompany gives the engine other models, with their weights loaded, before its first step.
func (e *Engine) Accompany(o Others) {
	e.teacher = o.Teacher
	if o.Teacher != nil {
		model.Prepare(e.whole().ctx(), o.Teacher)
	}
	if o.Critic != nil {
		e.critic = newCritic(e.cfg, o.Critic, e.whole())
	}
}

// accompanied reports a model that the loss asks for and the engine does not have.
func (e *Engine) accompanied() error {
	switch {
	case e.cfg.Loss.HasCritic() && e.critic == nil:
		return fmt.Errorf("--advantage-estimator %s: no critic", e.cfg.Loss.Estimator)
	case e.cfg.Loss.Est.Distill && e.teacher == nil:
		return fmt.Errorf("--use-opd: no teacher: give --opd-teacher-load")
	}
	return nil
}

// prepareCycle scores what advantages and the steps of a cycle need, before the first of them, and fills in advantages.
func (e *Engine) prepareCycle(ctx context.Context, samples []*rl.Sample) error {
	if err := e.accompanied(); err != nil {
		return err
	}
	if e.ref != nil {
		if err := e.scoreReference(ctx, unreferenced(samples)); err != nil {
			return err
		}
	}
	if e.cfg.Steps > 1 || e.cfg.Loss.NeedsOld() || e.cfg.Critic.Only > 0 {
		if err := e.scoreActor(ctx, unscored(samples)); err != nil {
			return err
		}
	}
	e.known = map[*rl.Sample]*known{}
	for _, s := range samples {
		e.known[s] = &known{}
	}
	if err := e.scoreTeacher(ctx, samples); err != nil {
		return err
	}
	if err := e.scoreCritic(ctx, samples); err != nil {
		return err
	}
	e.advantages(samples)
	return nil
}

// unscored returns the samples that the actor has not scored.
func unscored(samples []*rl.Sample) (missing []*rl.Sample) {
	for _, s := range samples {
		if s.TrainLogProbs == nil {
			missing = append(missing, s)
		}
	}
	return missing
}

// scoreTeacher asks the teacher, if there is one. It makes its own choices.
func (e *Engine) scoreTeacher(ctx context.Context, samples []*rl.Sample) error {
	if !e.cfg.Loss.Est.Distill {
		return nil
	}
	begin := func(*ops.Ctx, pass) {}
	return e.score(ctx, e.teacher, samples, begin, func(s *rl.Sample, lp, _ []float32) { e.known[s].teacher = clone(unmasked(s, lp)) })
}

// advantages fills each sample's Advantage, and what is known of its tokens', from rewards and all that the estimator reads besides.
func (e *Engine) advantages(samples []*rl.Sample) {
	if e.supervised() {
		return
	}
	batch := make([]loss.Graded, len(samples))
	for i, s := range samples {
		batch[i] = loss.Graded{Group: s.Prompt.Group, Reward: s.Reward, Tokens: lengthOf(s), Old: unmasked(s, s.TrainLogProbs), Ref: unmasked(s, s.RefLogProbs)}
		if k := e.known[s]; k != nil {
			batch[i].Teacher, batch[i].Values = k.teacher, k.values
		}
	}
	for i, a := range e.cfg.Loss.Estimate(batch) {
		samples[i].Advantage = a.Mean
		if k := e.known[samples[i]]; k != nil {
			k.Advantage = a
		}
	}
}

// ofTokens returns the advantages of a sample's tokens, nil where they all have the sample's.
func (e *Engine) ofTokens(s *rl.Sample) []float64 {
	if k := e.known[s]; k != nil {
		return k.Tokens
	}
	return nil
}

// spared returns which tokens of a step's samples have no policy term, nil where all have.
func (e *Engine) spared(samples []*rl.Sample) [][]bool {
	if e.cfg.Loss.Est.CovRatio == 0 {
		return nil
	}
	step := make([]loss.Tokens, len(samples))
	for i, s := range samples {
		step[i] = loss.Tokens{Old: unmasked(s, s.TrainLogProbs), Advantage: s.Advantage, Advantages: e.ofTokens(s)}
	}
	return e.cfg.Loss.Spared(step, uint64(e.opt.Steps()))
}

// reportEstimate writes what the estimator made of a cycle, where it reads more than rewards: means over all tokens alike.
func (e *Engine) reportEstimate(stats rl.Stats, samples []*rl.Sample) {
	if e.supervised() {
		return
	}
	est, n := e.cfg.Loss.Est, 0.0
	sum, odd := map[string]float64{}, 0
	for _, s := range samples {
		k, length, old, ref := e.known[s], lengthOf(s), unmasked(s, s.TrainLogProbs), unmasked(s, s.RefLogProbs)
		n += float64(length)
		for t := range length {
			if k.Tokens != nil {
				sum["rollout/advantages"] += k.Tokens[t]
			}
			if k.Returns != nil {
				sum["rollout/values"] += float64(k.values[t])
				sum["rollout/returns"] += k.Returns[t]
			}
			if est.Distill {
				sum["rollout/teacher_log_probs"] += float64(k.teacher[t])
				sum["train/opd_kl"] += float64(old[t]) - float64(k.teacher[t])
				odd += one(!isNumber(k.teacher[t]))
			}
			if est.RewardKL != 0 {
				sum["rollout/ref_log_probs"] += float64(ref[t])
			}
		}
	}
	for name, v := range sum {
		stats[name] = v / n
	}
	if est.Distill {
		stats["train/nonfinite_tokens/teacher"] = float64(odd)
	}
	if e.critic != nil {
		stats["train/explained_variance"] = e.explained(samples)
	}
}

// explained returns the share of the returns' variance that the critic's values foretold: 1 is all of it, 0 no more than the mean does. It is 0 where
// returns do not vary.
func (e *Engine) explained(samples []*rl.Sample) float64 {
	var returns, left variance
	for _, s := range samples {
		k := e.known[s]
		for t, r := range k.Returns {
			returns.add(r)
			left.add(r - float64(k.values[t]))
		}
	}
	if returns.of() == 0 {
		return 0
	}
	return 1 - left.of()/returns.of()
}

// A variance in the making, by the recurrence that loses no digits.
type variance struct{ n, mean, square float64 }

func (v *variance) add(x float64) {
	v.n++
	d := x - v.mean
	v.mean += d / v.n
	v.square += d * (x - v.mean)
}

func (v *variance) of() float64 { return v.square / math.Max(v.n, 1) }
