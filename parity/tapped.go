package parity

import (
	"slices"

	"furlong/parity/taps"
)

// learn takes choices that scores do not tell from taps.
func (s *Scores) learn(set *taps.Set) {
	if set == nil {
		return
	}
	if s.Experts == nil {
		s.Experts = choices(set, "router_indices")
	}
	if s.Index == nil {
		s.Index = choices(set, "index_topk")
	}
}

// choices returns what taps of a name hold, by layer.
func choices(set *taps.Set, name string) (out []Choice) {
	for _, t := range set.Taps() {
		if t.Name == name && t.Rows() > 0 {
			out = append(out, Choice{Layer: t.Layer, First: t.First, Width: t.Width(), IDs: slices.Clone(t.Choice)})
		}
	}
	return out
}
