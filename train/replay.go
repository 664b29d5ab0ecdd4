package train

import (
	"errors"
	"fmt"

	"furlong/model"
	"furlong/rl"
)

// Replay says which choices of tokens are not the trainer's own. Scores are: weights of experts follow from them, and gradients flow through them.
type Replay struct {
	Rollout bool `flag:"use-rollout-routing-replay,enable-r3" help:"send tokens to the experts that they went to when they were drawn, in scoring, in the step and under --recompute; the rollout engine records them"`
	Entries bool `flag:"use-rollout-indexer-replay" help:"let tokens read the compressed entries that the rollout engine's indexers chose, where they see more than they read"`
	Own     bool `flag:"use-routing-replay" help:"send tokens in a step to the experts that they went to in the trainer's scoring pass"`
}

// A choosing is what a model chooses for its tokens: an empty record of each kind, nil where it does not.
type choosing struct {
	routes  *rl.Routes
	entries *rl.Entries
	hashed  func(layer int) bool // by a table of ids
}

// choosingOf asks a model.
func choosingOf(m model.Model) (c choosing) {
	c.hashed = func(int) bool { return false }
	if x, ok := m.(interface{ Hashed(layer int) bool }); ok {
		c.hashed = x.Hashed
	}
	if x, ok := m.(interface {
		router
		Choices() int
	}); ok && x.Choices() > 0 {
		c.routes = rl.NewRoutes(len(m.Layers()), x.Choices(), x.Experts())
	}
	if x, ok := m.(interface {
		Indexed() (layers []int, rate, most int)
	}); ok {
		if layers, rate, most := x.Indexed(); len(layers) > 0 {
			c.entries = rl.NewEntries(layers, rate, most)
		}
	}
	return c
}

// able reports replays that have nothing to replay in a model.
func (c choosing) able(r Replay) error {
	var errs []error
	for _, f := range []struct {
		flag  string
		wants bool
	}{{"use-rollout-routing-replay", r.Rollout}, {"use-routing-replay", r.Own}} {
		if f.wants && c.routes == nil {
			errs = append(errs, fmt.Errorf("--%s: the model has no experts: there is nothing to replay", f.flag))
		}
	}
	if r.Entries && c.entries == nil {
		errs = append(errs, errors.New("--use-rollout-indexer-replay: no layer of the model has an indexer: there is nothing to replay"))
	}
	return errors.Join(errs...)
}

// recorded reports the first sample that lacks choices which are to be replayed, or has another model's.
func (e *Engine) recorded(samples []*rl.Sample) error {
	for _, s := range samples {
		if err := e.complains(s); err != nil {
			return fmt.Errorf("prompt %s, sample %d: %w", s.Prompt.ID, s.Index, err)
		}
	}
	return nil
}

func (e *Engine) complains(s *rl.Sample) error {
	replay := e.cfg.Replay
	for _, f := range []struct {
		what, flag string
		wanted     bool
		tokens     int
	}{
		{"experts", "use-rollout-routing-replay", replay.Rollout, s.Experts.Len()},
		{"entries", "use-rollout-indexer-replay", replay.Entries, s.Entries.Len()},
		{"experts of the scoring pass", "use-routing-replay", replay.own() && s.TrainLogProbs != nil, s.TrainExperts.Len()},
	} {
		if n := run(s); f.wanted && f.tokens != n || f.tokens > n {
			return fmt.Errorf("%s of %d tokens are recorded, want %d for --%s", f.what, f.tokens, n, f.flag)
		}
	}
	for _, r := range []*rl.Routes{s.Experts, s.TrainExperts} {
		if r == nil {
			continue
		}
		if e.chooses.routes == nil {
			return errors.New("it has experts, and the actor has none")
		}
		if err := r.Check(e.chooses.routes.Layers, e.chooses.routes.Choices, e.chooses.routes.Experts); err != nil {
			return err
		}
	}
	if s.Entries == nil {
		return nil
	}
	if e.chooses.entries == nil {
		return errors.New("it has entries, and the actor has no indexer")
	}
	return s.Entries.Fits(e.chooses.entries.Layers, e.chooses.entries.Rate, e.chooses.entries.Most)
}

// own reports whether the trainer's own choices are replayed. Those of rollout come first.
func (r Replay) own() bool { return r.Own && !r.Rollout }
