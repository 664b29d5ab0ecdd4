package gather

import (
	"slices"

	"furlong/rl"
)

// age returns how many versions before the one served the oldest token of a group was chosen. A group without a token is of no age.
func age(g *Group, served rl.Version) int {
	c, ok := g.oldest()
	if !ok {
		return 0
	}
	return served.Count() - c
}

// sweep decides about groups that are too old by the time at which served serves: those that are finished, and those that are to go on.
func (s *stock) sweep(served int) {
	s.ready = s.fresh(s.ready, served, true)
	s.begun = s.fresh(s.begun, served, false)
	slices.SortStableFunc(s.begun, byNumber)
}

// fresh returns those of a list that may stay. Retried ones go among begun.
func (s *stock) fresh(list []*Group, served int, finished bool) []*Group {
	var stay []*Group
	for _, g := range list {
		a := age(g, rl.NewVersion(0, served))
		stale := s.expired(g, a, served, finished)
		if stale && finished {
			s.seen.look(a)
		}
		switch {
		case !stale:
			stay = append(stay, g)
		case s.run.Unused == Retry:
			s.seen.stale++
			again := s.reset(g)
			if finished {
				s.begun = append(s.begun, again)
			} else {
				stay = append(stay, again)
			}
		default:
			s.seen.stale++
			s.account.drop(g, Stale)
		}
	}
	return stay
}

// expired reports whether a group of an age may not train: it is older than the bound, or nothing of it would be left unmasked.
func (s *stock) expired(g *Group, age, served int, finished bool) bool {
	old := s.run.Bound >= 0 && age > s.run.Bound
	if old && s.run.Unused == Mask {
		old = finished && !someSince(g, served-s.run.Bound)
	}
	return old || s.run.MaskOld && finished && !someSince(g, served-s.run.Lag)
}

// someSince reports whether a token of a group that trains was chosen by this version or a later one.
func someSince(g *Group, version int) bool {
	for _, x := range g.Samples {
		for _, sp := range x.Versions {
			if trains(x) && sp.Tokens > 0 && sp.Version.Count() >= version {
				return true
			}
		}
	}
	return false
}

// reset returns a group as it was handed out, and books what it held.
func (s *stock) reset(g *Group) *Group {
	s.account.Tokens.drop(Stale, int64(g.tokens()))
	return &Group{Prompt: g.Prompt, Samples: make([]*rl.Sample, len(g.Samples))}
}

// veil masks the tokens of a batch that do not train: those older than the bound, and those of versions before the one that its rounds began with. Those that came masked are counted.
func (s *stock) veil(groups []*Group, served, began int) {
	for _, g := range groups {
		for _, x := range g.Samples {
			if trains(x) {
				if n := covered(x); n > 0 {
					g.mask(Context, int(n))
				}
				s.veilOne(g, x, served, began)
			}
		}
	}
}

func (s *stock) veilOne(g *Group, x *rl.Sample, served, began int) {
	at := 0
	for _, sp := range x.Versions {
		c, why := sp.Version.Count(), ""
		switch {
		case s.run.Bound >= 0 && s.run.Unused == Mask && served-c > s.run.Bound:
			why = Stale
		case s.run.MaskOld && c < began:
			why = OffPolicy
		}
		if why != "" {
			hide(g, x, at, at+sp.Tokens, why)
		}
		at += sp.Tokens
	}
}

// hide masks tokens from..to of a sample that are not masked yet.
func hide(g *Group, x *rl.Sample, from, to int, why string) {
	if x.LossMask == nil {
		x.LossMask = make([]bool, len(x.Response))
		for i := range x.LossMask {
			x.LossMask[i] = true
		}
	}
	for i := from; i < to; i++ {
		if x.LossMask[i] {
			x.LossMask[i] = false
			g.mask(why, 1)
		}
	}
}

// remask counts the masks of a group anew whose samples were replaced by others, which were masked elsewhere.
func (g *Group) remask() {
	n := 0
	for _, x := range g.Samples {
		if trains(x) {
			n += int(covered(x))
		}
	}
	have := 0
	for _, m := range g.Masked {
		have += m
	}
	if n == have {
		return
	}
	if g.Masked = nil; n > 0 {
		g.mask(Context, n)
	}
}

// mask notes that n tokens of g do not train.
func (g *Group) mask(why string, n int) {
	if g.Masked == nil {
		g.Masked = map[string]int{}
	}
	g.Masked[why] += n
}
