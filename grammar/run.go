package grammar

import "math"

// A run is a way that reads a letter at a time without a fork: so many bytes of these groups can be read, whichever they are, and the hole is not
// reached on the way. Strings are runs: the whole of a vocabulary's words is allowed in them at once.
type run struct {
	groups uint64
	length int32
}

// groupOf are 64 groups of bytes: so sets of bytes are small. Letters, digits and the bytes of other characters are one each, as are bytes without
// a sign; signs, of which grammars speak, stand alone.
var groupOf = func() (groups [256]uint8) {
	next := uint8(4)
	for b := range groups {
		switch c := byte(b); {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			groups[b] = 0
		case c >= '0' && c <= '9':
			groups[b] = 1
		case c >= 0x80:
			groups[b] = 2
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			groups[b] = 3
		default:
			groups[b] = next
			next++
		}
	}
	return groups
}()

// runOf returns the run from a set. It looks ahead twice as far as the longest token goes, and remembers what it found for the nearer half: there
// a run is no shorter than it looks, as far as tokens go.
func (r *reader) runOf(s *set) run {
	if s.run != nil {
		return *s.run
	}
	half := int(r.v.height[0] + 1)
	way := r.way(s, 2*half)
	var found run
	if last := way[len(way)-1]; last.run != nil {
		found = *last.run
	}
	for i := len(way) - 2; i >= 0; i-- {
		if found = r.longer(way[i], way[i+1], found); i < half || way[i] == way[i+1] {
			r.remember(way[i], 16)
			way[i].run = &run{found.groups, found.length}
		}
	}
	return found
}

// way lists the sets that letters lead to, at most so many; the last one is where nothing leads on, where the run is known, or where letters
// stay: that one is there twice.
func (r *reader) way(s *set, most int) []*set {
	way := []*set{s}
	for len(way) < most && !s.open && s.run == nil && len(s.pairs) > 0 && r.effort <= maxEffort {
		to := r.step(s, r.g.class['a'])
		if way = append(way, to); to == s {
			break
		}
		s = to
	}
	return way
}

// longer returns the run of a set that a letter leads to another, whose run is known.
func (r *reader) longer(s, to *set, next run) run {
	if s.open || to.open || len(to.pairs) == 0 {
		return run{}
	}
	groups := ^uint64(0)
	for b := range 256 {
		if r.step(s, r.g.class[b]) != to {
			groups &^= 1 << groupOf[b]
		}
	}
	switch {
	case s == to:
		return run{groups, math.MaxInt32}
	case groups&next.groups&1 == 1 && next.length > 0: // letters at least
		return run{groups & next.groups, min(next.length, math.MaxInt32-1) + 1}
	}
	return run{groups, 1}
}
