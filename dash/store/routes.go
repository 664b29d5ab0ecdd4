package store

import (
	"slices"

	"furlong/dash/api"
	"furlong/metrics/samples"
)

// routes lists the experts behind the logprobs of response tokens from one to another, nil where the sample has none at all.
func routes(s *samples.Stored, from, to int) *api.Routes {
	c := s.Chosen
	if c == nil {
		return nil
	}
	out := &api.Routes{Layers: c.Layers, Choices: c.Choices, Experts: c.Experts, Tokens: []api.Route{}}
	for i := from; i < to; i++ {
		r := api.Route{Pos: i, Rollout: chosen(c, samples.ByRollout, source(s, i)), Train: chosen(c, samples.ByTrainer, source(s, i))}
		if r.Rollout == nil && r.Train == nil {
			continue
		}
		if r.Same = slices.Equal(r.Rollout, r.Train); r.Same {
			r.Train = nil
		}
		out.Tokens = append(out.Tokens, r)
	}
	return out
}

// source returns the token that a response token's logprob comes from, counted from the prompt's first.
func source(s *samples.Stored, i int) int { return len(s.Prompt.Tokens) + i - 1 }

// chosen returns a token's experts, layer by layer, nil where they are not kept.
func chosen(c *samples.Chosen, side samples.Side, token int) (all []int) {
	for layer := range c.Layers {
		var ok bool
		if all, ok = c.At(all, side, token, layer); !ok {
			return nil
		}
	}
	return all
}
