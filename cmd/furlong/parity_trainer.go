package main

import (
	"cmp"
	"context"
	"fmt"

	"furlong/kernels"
	"furlong/parity"
	"furlong/parity/taps"
	"furlong/rl"
	"furlong/train"
)

// A trainerSide is the training engine as a side. It scores as it does before a step: packed micro-batches of whole sequences.
type trainerSide struct {
	job    *parityJob
	spec   sideSpec
	about  parity.About
	policy *policy
	model  *tappedModel
	k      kernels.Backend
	engine *train.Engine
	stop   func()
}

// openTrainer loads a model into an engine. Nothing is trained, so nothing has gradients.
func (p *parityJob) openTrainer(ctx context.Context, s sideSpec) (*trainerSide, error) {
	pol, _, err := p.openBuilt(s.built)
	if err != nil {
		return nil, err
	}
	t := &trainerSide{job: p, spec: s, policy: pol, about: p.aboutBuilt(s, pol), model: &tappedModel{Model: pol.Model}}
	for _, w := range pol.Params() {
		w.Frozen = true
	}
	c := train.Default()
	c.Format, c.KV, c.Recompute = s.built.format, s.built.kv, s.built.recompute
	c.MaxTokens = cmp.Or(s.built.tokens, c.MaxTokens)
	c.Optim.Decay = "constant"
	k, stop := backend(s.built.model.Backend, s.built.model.Threads)
	t.k, t.stop = k, stop
	if t.engine, err = train.New(c, t.model, nil, k, pol.files); err != nil {
		stop()
		return nil, err
	}
	if t.about.State, err = stateOf(ctx, t.engine.Publish(rl.NewVersion(0, 1))); err != nil {
		stop()
		return nil, err
	}
	t.about.Name = "trainer"
	t.about.Facts = append(t.about.Facts, parity.Fact{Name: "tokens of a micro-batch", Value: fmt.Sprint(c.MaxTokens)})
	return t, nil
}

// About says what the engine is.
func (t *trainerSide) About(context.Context) (parity.About, error) { return t.about, nil }

// Close ends the engine's backend.
func (t *trainerSide) Close() error { t.stop(); return nil }

// scoredAtOnce is how many sequences a call of the engine gets, so that there is progress to show.
const scoredAtOnce = 64

// Score scores responses at temperature 1.
func (t *trainerSide) Score(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	var out []parity.Scores
	for lo := 0; lo < len(seqs); lo += scoredAtOnce {
		var samples []*rl.Sample
		for _, s := range seqs[lo:min(lo+scoredAtOnce, len(seqs))] {
			samples = append(samples, &rl.Sample{Prompt: asPrompt(s, s.Prompt), Sampling: rl.DefaultSampling(), Response: s.Response})
		}
		if err := t.engine.Score(ctx, samples); err != nil {
			return nil, err
		}
		for _, s := range samples {
			out = append(out, parity.Scores{LogProbs: s.TrainLogProbs})
		}
		done(len(out))
	}
	return out, nil
}

// Taps records what the engine computes of a sequence while it scores it.
func (t *trainerSide) Taps(ctx context.Context, s parity.Sequence) (*taps.Set, error) {
	return t.model.hear(s, t.about.Name, func() ([]float32, error) { return logProbsOf(ctx, t, s) })
}

// Twin returns the engine with another side's formats.
func (t *trainerSide) Twin(ctx context.Context, other parity.About) (parity.Side, error) {
	s := t.spec
	var err error
	if s.built, err = s.built.like(other); err != nil {
		return nil, err
	}
	return t.job.openTrainer(ctx, s)
}
