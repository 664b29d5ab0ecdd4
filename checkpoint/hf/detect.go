package hf

import (
	"fmt"
	"strings"
)

// markers are leaves of a layer that only one scheme has, and every layer of it has.
var markers = map[string]Scheme{
	"attn.wq_a.weight":          Hybrid, // or Ref, by the layer's prefix
	"self_attn.q_a_proj.weight": Memory,
	"self_attn.wq_a.weight":     Wire,
}

// DetectScheme returns the scheme that the names of a checkpoint are in.
func DetectScheme(names []string) (Scheme, error) {
	var found Scheme
	var first string
	for _, name := range names {
		s := mark(name)
		switch {
		case s == 0:
		case found == 0:
			found, first = s, name
		case s != found:
			return 0, fmt.Errorf("names are in two schemes: %q is %v, %q is %v", first, found, name, s)
		}
	}
	if found == 0 {
		return 0, fmt.Errorf("none of %d names tells the scheme, want one like embed.weight or model.layers.0.self_attn.q_a_proj.weight", len(names))
	}
	return found, nil
}

// mark returns the only scheme that has a name, or 0.
func mark(name string) Scheme {
	if name == "embed.weight" {
		return Ref
	}
	_, leaf, ok := splitLayer(name)
	if !ok {
		return 0
	}
	s := markers[leaf]
	if s == Hybrid && !strings.HasPrefix(name, "model.") {
		return Ref
	}
	return s
}
