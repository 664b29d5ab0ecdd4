package intake

import (
	"fmt"
	"slices"

	"furlong/checkpoint/hf"
)

// A Found is a tensor that a name means: a run of a parameter's elements, or the scales beside them.
type Found struct {
	Param string
	Piece hf.Piece
	Scale bool
}

// Locate returns what a name means in any scheme.
func (m *Model) Locate(name string) (Found, error) {
	t, ok := find(name)
	i, known := m.byName[t.Param]
	if !ok || !known {
		return Found{}, fmt.Errorf("tensor %.200q: the model has no place for it", name)
	}
	p := m.specs[i]
	_, _, piece, err := p.at(t.Place)
	switch {
	case err != nil:
		return Found{}, fmt.Errorf("tensor %.200q: %w", name, err)
	case t.scale && !p.Value.Quantised():
		return Found{}, fmt.Errorf("tensor %.200q: %s is held as %v, without scales", name, p.Name, p.Value.Type)
	}
	return Found{p.Name, piece, t.scale}, nil
}

// Names returns what a parameter's tensors are called in a scheme.
func (m *Model) Names(s hf.Scheme, param string) []string {
	i, ok := m.byName[param]
	if !ok {
		return nil
	}
	pieces, _ := hf.Pieces(s, param, m.specs[i].Value.Shape) // Describe has looked
	out := make([]string, len(pieces))
	for k, p := range pieces {
		out[k] = p.Name
	}
	return out
}

// Whole reports whether something came of every parameter, so that nothing has to be taken from what is held.
func (s *Session) Whole() bool { return !slices.Contains(s.held, nil) }

// Empty reports whether no tensor was announced yet, not even one that has no place.
func (s *Session) Empty() bool {
	return s.spoilt == nil && s.report.Unknown+s.report.Aside == 0 && !slices.ContainsFunc(s.held, func(h *held) bool { return h != nil })
}
