package gather

import (
	"errors"
	"fmt"
	"slices"

	"furlong/rl"
)

// A State is all that a gatherer has in hand, at rest.
type State struct {
	Prompts []byte    `json:"prompts"` // the source's place
	Begun   []*Group  `json:"begun,omitempty"`
	Ready   []*Group  `json:"ready,omitempty"`
	Batches []Pending `json:"batches,omitempty"` // of the next cycles
	Account Account   `json:"account"`           // without what waits
}

// Pending is a batch that waits to be trained on.
type Pending struct {
	Cycle   int        `json:"cycle"`
	Version rl.Version `json:"version"`
	Groups  []*Group   `json:"groups"`
	Stats   rl.Stats   `json:"stats"`
}

// Whole returns the account with what waits.
func (s *State) Whole() Account {
	a := s.Account.Clone()
	lists := [][]*Group{s.Begun, s.Ready}
	for _, p := range s.Batches {
		lists = append(lists, p.Groups)
	}
	for _, x := range slices.Concat(lists...) {
		if x != nil {
			a.wait(x)
		}
	}
	return a
}

// book says that the groups of a batch have trained.
func (s *State) book(b *Batch, stepped bool) {
	for i, x := range b.Groups {
		s.Account.replace(x, b.drawn[i])
		s.Account.train(x, stepped)
	}
}

// State returns what is in hand after a cycle. The batch of the next one goes along if it is there; of one that is being made, and of those after it, the state before
// they were begun is returned: the run begins them again at the same place, under the same weights. Where samples are drawn without end, Park comes first.
func (g *Gatherer) State(cycle int) (*State, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var pending []Pending
	for c := cycle + 1; g.batches[c] != nil; c++ {
		b := g.batches[c]
		if !b.ready() || c > cycle+1 && b.before != nil {
			s := *b.before
			s.Batches = pending
			return &s, nil
		}
		pending = append(pending, Pending{b.Cycle, b.Version, b.Groups, b.Stats})
	}
	if n := len(g.stock.flying); n > 0 {
		return nil, fmt.Errorf("%d groups are in flight, want them at rest", n)
	}
	s, err := g.state()
	if err == nil {
		s.Batches = pending
	}
	return s, err
}

// state returns what there is besides batches. The lock is held.
func (g *Gatherer) state() (*State, error) {
	at, err := g.parts.Prompts.State()
	if err != nil {
		return nil, err
	}
	return &State{Prompts: at, Begun: slices.Clone(g.stock.begun), Ready: slices.Clone(g.stock.ready), Account: g.stock.account.Clone()}, nil
}

// Restore brings a gatherer that has handed out nothing to a state.
func (g *Gatherer) Restore(s *State) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.parts.Prompts.Restore(s.Prompts); err != nil {
		return err
	}
	g.stock = newStock(g.run)
	g.stock.account = s.Account.Clone()
	if err := errors.Join(g.adopt(s.Begun, false), g.adopt(s.Ready, true)); err != nil {
		return err
	}
	g.stock.begun, g.stock.ready = slices.Clone(s.Begun), slices.Clone(s.Ready)
	g.batches = map[int]*Batch{}
	for _, p := range s.Batches {
		if err := g.adopt(p.Groups, true); err != nil {
			return err
		}
		b := &Batch{Cycle: p.Cycle, Version: p.Version, Groups: p.Groups, Stats: p.Stats, full: true, done: make(chan struct{})}
		close(b.done)
		b.measure()
		g.batches[p.Cycle] = b
	}
	return g.account().Check()
}

// adopt mends what JSON does not hold: text that is no UTF-8, and that samples of a group have one prompt. What cannot be is refused.
func (g *Gatherer) adopt(list []*Group, finished bool) error {
	for _, x := range list {
		switch {
		case x == nil || x.Prompt == nil:
			return errors.New("a group of the checkpoint has no prompt")
		case len(x.Samples) != g.run.PerPrompt:
			return fmt.Errorf("prompt %s of the checkpoint has %d samples, want --n-samples-per-prompt (%d)", x.Prompt.ID, len(x.Samples), g.run.PerPrompt)
		case finished && x.open() > 0:
			return fmt.Errorf("prompt %s of the checkpoint is finished with %d samples that are not", x.Prompt.ID, x.open())
		}
		for j, s := range x.Samples {
			if s == nil {
				continue
			}
			s.Prompt, s.Text = x.Prompt, g.parts.Decode(s.Response)
			if err := s.Check(); err != nil {
				return fmt.Errorf("prompt %s, sample %d of the checkpoint: %w", x.Prompt.ID, j, err)
			}
		}
	}
	return nil
}
