package schedule

import (
	"iter"
	"slices"
)

// A swap takes sample i out of a micro-batch of a fuller rank and puts it into one of an emptier rank, for sample k; k is -1 for none.
type swap struct {
	from, to *MicroBatch
	i, k     int
	moves    int // tokens, from the fuller to the emptier rank
}

// even moves samples from the fullest rank to emptier ones, within the budget, while that makes their sums more alike, down to a hundredth. Halves of a parted
// micro-batch among whole ones leave sums far apart that no way to deal brings together.
func even(ranks [][]MicroBatch, lengths []int, budget int) {
	for p := (Plan{ranks}); p.Imbalance() > 1.01 && evened(ranks, lengths, budget); {
	}
	for _, all := range ranks {
		fullestFirst(all)
	}
}

// evened makes one swap between the fullest rank and the emptiest that has one to offer.
func evened(ranks [][]MicroBatch, lengths []int, budget int) bool {
	order := slices.Clone(ranks)
	slices.SortStableFunc(order, func(a, b []MicroBatch) int { return tokens(a) - tokens(b) })
	fullest := order[len(order)-1]
	for _, other := range order[:len(order)-1] {
		if s, ok := goodSwap(fullest, other, lengths, budget); ok {
			s.do(lengths)
			return true
		}
	}
	return false
}

// goodSwap returns the first swap that halves what two ranks are apart, else the best that brings them closer, and whether there is one.
func goodSwap(full, other []MicroBatch, lengths []int, budget int) (best swap, ok bool) {
	gap := tokens(full) - tokens(other)
	apart := gap
	for f := range full {
		for o := range other {
			for s := range swaps(&full[f], &other[o], lengths, budget) {
				if left := max(gap-2*s.moves, 2*s.moves-gap); left < apart {
					best, apart, ok = s, left, true
				}
				if apart <= gap/2 {
					return best, ok
				}
			}
		}
	}
	return best, ok
}

// swaps calls yield with what can be swapped between two micro-batches. None becomes empty, and none of several samples goes over the budget.
func swaps(from, to *MicroBatch, lengths []int, budget int) iter.Seq[swap] {
	room := budget - to.Tokens
	return func(yield func(swap) bool) {
		for _, i := range from.Samples {
			n := lengths[i]
			if len(from.Samples) > 1 && n <= room && !yield(swap{from, to, i, -1, n}) {
				return
			}
			for _, k := range to.Samples {
				d := n - lengths[k]
				if d > 0 && (len(to.Samples) == 1 || d <= room) && !yield(swap{from, to, i, k, d}) {
					return
				}
			}
		}
	}
}

func (s swap) do(lengths []int) {
	s.from.remove(s.i, lengths[s.i])
	s.to.add(s.i, lengths[s.i])
	if s.k >= 0 {
		s.to.remove(s.k, lengths[s.k])
		s.from.add(s.k, lengths[s.k])
	}
}

func (m *MicroBatch) remove(i, n int) {
	at, _ := slices.BinarySearch(m.Samples, i)
	m.Samples = slices.Delete(m.Samples, at, at+1)
	m.Tokens -= n
}
