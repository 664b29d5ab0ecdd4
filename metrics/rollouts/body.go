package rollouts

import (
	"errors"
	"fmt"

	"furlong/metrics/samples"
	"furlong/rl"
)

// readBody reads the body of a cycle, without what the trainer found.
func readBody(path string) (*Rollouts, error) {
	b, err := samples.OpenBody(path)
	if err != nil {
		return nil, err
	}
	r, err := ofBody(b)
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func ofBody(b *samples.Body) (*Rollouts, error) {
	if b.Eval != "" {
		return nil, fmt.Errorf("holds the answers of evaluation %s, want the samples of a cycle", b.Eval)
	}
	r := &Rollouts{Cycle: int(b.Cycle)}
	var last *rl.Prompt
	for i := range b.Rows {
		s, err := b.Sample(i)
		if err != nil {
			return nil, err
		}
		if s.Dropped {
			continue // it was not in the batch
		}
		if last == nil || last.Group != s.Prompt.Group {
			last = s.Prompt
		}
		own := *s.Sample.Sample
		own.Prompt, own.LossMask = last, s.Mask
		if err := flatten(&own, 0).check(); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		r.Samples = append(r.Samples, Untrained(&own))
	}
	return r, distinct(r.Samples)
}

// Untrained returns a copy of a sample as it was before the trainer saw it.
func Untrained(s *rl.Sample) *rl.Sample {
	own := *s
	own.TrainLogProbs, own.RefLogProbs, own.Entropy, own.TrainExperts, own.Advantage = nil, nil, nil, nil, 0
	return &own
}
