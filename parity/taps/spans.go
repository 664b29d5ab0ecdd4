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
		p := source(layer, name, len(f.rates))
		if found[p] || !f.missing[p] {
			continue
		}
		found[p] = true
		f.reach(p.layer, boundaries[byName[p.name]], found)
	}
}

// Inputs returns the titles of the boundaries that one of a layer reads, in a model of so many layers.
func (b Boundary) Inputs(layer, layers int) (titles []string) {
	for _, name := range b.Reads {
		titles = append(titles, source(layer, name, layers).String())
	}
	return titles
}

// source returns where the values are seen that a boundary of a layer reads under a name.
func source(layer int, name string, layers int) place {
	switch {
	case name != entering:
		return place{layer, name}
	case layer < 0:
		return place{layers - 1, "streams"}
	case layer == 0:
		return place{-1, Embed}
	}
	return place{layer - 1, "streams"}
}
