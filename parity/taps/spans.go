package taps

import (
	"maps"
	"slices"
)

// spans returns the boundaries whose recorded values are missing between what was recorded last and b, in order.
func (f *forced) spans(layer int, b Boundary) []string {
	found := map[place]bool{}
	f.reach(layer, b, found)
	var names []string
	for _, p := range slices.SortedFunc(maps.Keys(found), place.compare) {
		names = append(names, p.String())
	}
	return names
}

// reach marks what b covers besides itself.
func (f *forced) reach(layer int, b Boundary, found map[place]bool) {
	for _, name := range b.Covers {
		found[place{layer, name}] = true
	}
	for _, name := range b.Reads {
		p := f.source(layer, name)
		if found[p] || !f.missing[p] {
			continue
		}
		found[p] = true
		f.reach(p.layer, boundaries[byName[p.name]], found)
	}
}

// source returns where the values are seen that a block reads under a name.
func (f *forced) source(layer int, name string) place {
	if name != entering {
		return place{layer, name}
	}
	switch {
	case layer == 0:
		return place{-1, Embed}
	case layer < 0:
		return place{len(f.rates) - 1, "streams"}
	}
	return place{layer - 1, "streams"}
}
