package weightsync

import "slices"

// A span is the bytes from lo up to hi.
type span struct{ lo, hi int }

// spans are disjoint, in order, and never touch: which bytes of a tensor have come.
type spans []span

// bytes returns how many there are.
func (s spans) bytes() int {
	n := 0
	for _, x := range s {
		n += x.hi - x.lo
	}
	return n
}

// near returns which spans x overlaps or touches: i up to j.
func (s spans) near(x span) (i, j int) {
	i, _ = slices.BinarySearchFunc(s, x.lo, func(y span, lo int) int { return y.hi - lo })
	for j = i; j < len(s) && s[j].lo <= x.hi; j++ {
	}
	return i, j
}

// add returns s with x.
func (s spans) add(x span) spans {
	i, j := s.near(x)
	if i < j {
		x = span{min(x.lo, s[i].lo), max(x.hi, s[j-1].hi)}
	}
	return slices.Replace(s, i, j, x)
}

// remove returns s without x.
func (s spans) remove(x span) spans {
	i, j := s.near(x)
	var rest []span
	for _, y := range s[i:j] {
		for _, part := range []span{{y.lo, min(y.hi, x.lo)}, {max(y.lo, x.hi), y.hi}} {
			if part.lo < part.hi {
				rest = append(rest, part)
			}
		}
	}
	return slices.Replace(s, i, j, rest...)
}

// cut returns the parts of x that s has, and those it has not.
func (s spans) cut(x span) (have, not []span) {
	i, j := s.near(x)
	at := x.lo
	for _, y := range s[i:j] {
		lo, hi := max(y.lo, x.lo), min(y.hi, x.hi)
		if lo >= hi {
			continue
		}
		if at < lo {
			not = append(not, span{at, lo})
		}
		have, at = append(have, span{lo, hi}), hi
	}
	if at < x.hi {
		not = append(not, span{at, x.hi})
	}
	return have, not
}
