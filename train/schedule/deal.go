package schedule

import (
	"cmp"
	"slices"
)

// inTurn deals micro-batches to ranks one after the other.
func inTurn(all []MicroBatch, ranks int) [][]MicroBatch {
	out := make([][]MicroBatch, ranks)
	for i, m := range all {
		out[i%ranks] = append(out[i%ranks], m)
	}
	return out
}

// A hand is a part of the micro-batches dealt to all ranks, the same number to each, the fullest rank first. Who is who does not matter yet.
type hand []share

// A share is what one rank has of a hand.
type share struct {
	all    []MicroBatch
	tokens int
}

// spread returns by how much the first rank's tokens exceed the last one's.
func (h hand) spread() int { return h[0].tokens - h[len(h)-1].tokens }

// balance deals micro-batches, the fullest first, by largest differencing: each next one to each rank makes a hand; the two hands with the largest spreads
// become one in which those who have most in the one have least in the other, until there is one.
func balance(all []MicroBatch, ranks int) [][]MicroBatch {
	var hands []hand
	for len(all) > 0 {
		h := make(hand, ranks)
		for r := range h {
			h[r] = share{all[r : r+1 : r+1], all[r].Tokens}
		}
		hands, all = append(hands, h), all[ranks:]
	}
	for len(hands) > 1 {
		a := take(&hands)
		b := take(&hands)
		hands = append(hands, merge(a, b))
	}
	out := make([][]MicroBatch, ranks)
	for r, s := range hands[0] {
		out[r] = s.all
	}
	return out
}

// take removes the first of the hands with the largest spread.
func take(hands *[]hand) hand {
	at := 0
	for i, h := range *hands {
		if h.spread() > (*hands)[at].spread() {
			at = i
		}
	}
	h := (*hands)[at]
	*hands = slices.Delete(*hands, at, at+1)
	return h
}

// merge gives the ranks of b to those of a, the fullest to the emptiest.
func merge(a, b hand) hand {
	out := make(hand, len(a))
	for r := range out {
		x, y := a[r], b[len(b)-1-r]
		out[r] = share{slices.Concat(x.all, y.all), x.tokens + y.tokens}
	}
	slices.SortStableFunc(out, func(x, y share) int { return cmp.Compare(y.tokens, x.tokens) })
	return out
}
