package parity

import (
	"math"
	"slices"
)

// top1 counts how often both sides hold the same token for the likeliest; nil where one does not tell.
func top1(a, b []Scores) *Share {
	var s Share
	for i := range a {
		if a[i].Top == nil || b[i].Top == nil {
			continue
		}
		for t := range a[i].Top {
			s.Of++
			s.Equal += count(a[i].Top[t] == b[i].Top[t])
		}
	}
	if s.Of == 0 {
		return nil
	}
	return &s
}

// agreement compares the choices of both sides, layer by layer, where both tell them.
func agreement(a, b []Scores, of func(Scores) []Choice) []Agreement {
	sums := map[int]*Agreement{}
	for i := range a {
		for _, ca := range of(a[i]) {
			for _, cb := range of(b[i]) {
				if ca.Layer == cb.Layer {
					sumOf(sums, ca.Layer).add(ca, cb)
				}
			}
		}
	}
	var out []Agreement
	for _, s := range sums {
		if s.Tokens > 0 {
			s.Overlap /= Figure(s.Tokens)
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(x, y Agreement) int { return x.Layer - y.Layer })
	return out
}

func sumOf(sums map[int]*Agreement, layer int) *Agreement {
	if sums[layer] == nil {
		sums[layer] = &Agreement{Layer: layer}
	}
	return sums[layer]
}

// add takes the tokens in that both sides tell of. Overlap is a sum until all are in.
func (g *Agreement) add(a, b Choice) {
	for pos := a.First; pos < a.First+a.Rows(); pos++ {
		y := b.row(pos)
		if y == nil {
			continue
		}
		both, inA, inB := overlap(a.row(pos), y)
		g.Tokens++
		g.Equal += count(both == inA && both == inB)
		if inA > 0 {
			g.Overlap += Figure(float64(both) / float64(inA))
		} else {
			g.Overlap += Figure(count(inB == 0))
		}
	}
}

// overlap counts the members of two sets of choices, and those that are in both. Negative ones are no members.
func overlap(a, b []int32) (both, inA, inB int) {
	set := map[int32]bool{}
	for _, v := range a {
		if v >= 0 {
			set[v] = true
		}
	}
	seen := map[int32]bool{}
	for _, v := range b {
		if v >= 0 && !seen[v] {
			seen[v] = true
			both += count(set[v])
		}
	}
	return both, len(set), len(seen)
}

// share returns equal over of, NaN of nothing.
func share(equal, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(equal) / float64(of)
}
