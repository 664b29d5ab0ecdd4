package train

import (
	"context"

	"furlong/ops"
	"furlong/rl"
	"furlong/train/loss"
)

// A ledger holds the sums of a step. Samples are entered in their order in the step, whoever computed them and when, so that sums are the same bits.
type ledger struct {
	e       *Engine
	samples []*rl.Sample // that are not entered yet
	whole   map[*rl.Sample]loss.Tokens
	heard   map[*rl.Sample]*heard
	sums    loss.Sums
}

// heard is what the forward pass of a silent sample gave.
type heard struct{ lp, ent []float32 }

// newLedger returns the ledger of a step, with what the whole step says of each of its samples.
func (e *Engine) newLedger(ctx context.Context, samples []*rl.Sample) (*ledger, error) {
	mean, err := e.meanWeight(ctx, samples)
	if err != nil {
		return nil, err
	}
	ld := &ledger{e: e, samples: samples, whole: map[*rl.Sample]loss.Tokens{}, heard: map[*rl.Sample]*heard{}}
	spared := e.spared(samples)
	for i, w := range e.weights(samples) {
		t := loss.Tokens{Weight: w, Mean: mean, Advantages: e.ofTokens(samples[i])}
		if spared != nil {
			t.Spared = spared[i]
		}
		ld.whole[samples[i]] = t
	}
	return ld, nil
}

// audible parts samples into those that pull at weights and those that can't: in a group whose answers are all right or all wrong no sample has an
// advantage, and where the loss has no other term its gradient is nought, whatever the policy says of it. Going backward with it costs more than going forward
// and adds zeros.
func (e *Engine) audible(samples []*rl.Sample) (loud, silent []*rl.Sample) {
	for _, s := range samples {
		if e.cfg.Loss.Silent(s.Advantage, e.ofTokens(s)) {
			silent = append(silent, s)
		} else {
			loud = append(loud, s)
		}
	}
	return loud, silent
}

// listen runs samples forward only, and keeps what the ledger needs of them.
func (e *Engine) listen(ctx context.Context, silent []*rl.Sample, ld *ledger) error {
	for _, s := range silent {
		ld.heard[s] = &heard{}
	}
	return e.lanes.run(ctx, "step", silent, e.cfg.MaxTokens, func(l *lane, _ *ops.Turn, p pass) {
		c := l.ctx()
		e.watchChoices(c, l, p)
		lp, ent := e.forward(c, e.actor, p)
		p.each(func(s *rl.Sample, lo, hi int) { *ld.heard[s] = heard{clone(lp.F32()[lo:hi]), clone(ent.F32()[lo:hi])} })
	})
}

// enter adds a sample, after the silent ones that come before it, and sets the gradients of its logprobs and entropies.
func (ld *ledger) enter(s *rl.Sample, lp, ent, dlp, dent []float32) {
	for ld.samples[0] != s {
		ld.enterHeard()
	}
	ld.samples = ld.samples[1:]
	t := ld.whole[s]
	if s.TrainLogProbs == nil {
		s.TrainLogProbs, s.Entropy = clone(lp), clone(ent)
	}
	t.New, t.Entropy = unmasked(s, lp), unmasked(s, ent)
	ld.e.lose(s, t, dlp, dent, &ld.sums)
}

// enterHeard adds the next sample, a silent one. Its gradients are nought, or else its loss is no number and the step is not taken.
func (ld *ledger) enterHeard() {
	s := ld.samples[0]
	h := ld.heard[s]
	nought := make([]float32, 2*len(h.lp))
	ld.enter(s, h.lp, h.ent, nought[:len(h.lp)], nought[len(h.lp):])
}

// close adds the silent samples at the end of the step. After an error others may be missing, and so are what comes after them.
func (ld *ledger) close() {
	for len(ld.samples) > 0 && ld.heard[ld.samples[0]] != nil {
		ld.enterHeard()
	}
}
