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

// looks is how many samples and pairs of samples are looked at for a plan: plans of very many samples end too, if not as even. Steps as they are taken need a
// thousandth of it.
const looks = 1 << 25

// An evening moves samples from the fullest rank to emptier ones, within the budget, while that makes their sums more alike, down to a hundredth. Halves of a
// parted micro-batch among whole ones leave sums far apart that no way to deal brings together.
type evening struct {
	lengths []int
	budget  int
	left    int // of looks
}

func (e *evening) do(ranks [][]MicroBatch) {
	for p := (Plan{ranks}); p.Imbalance() > 1.01 && e.left > 0 && e.step(ranks); {
	}
	for _, all := range ranks {
		fullestFirst(all)
	}
}

// step makes one swap between the fullest rank and the emptiest that has one to offer, and reports whether there is one.
func (e *evening) step(ranks [][]MicroBatch) bool {
	order := slices.Clone(ranks)
	slices.SortStableFunc(order, func(a, b []MicroBatch) int { return tokens(a) - tokens(b) })
	fullest := order[len(order)-1]
	for _, other := range order[:len(order)-1] {
		if s, ok := e.goodSwap(fullest, other); ok {
			s.do(e.lengths)
			return true
		}
		if e.left < 0 {
			return false
		}
	}
	return false
}

// goodSwap returns the first swap that halves what two ranks are apart, or moves an average sample; else the best that brings them closer, and whether there is one.
func (e *evening) goodSwap(full, other []MicroBatch) (best swap, ok bool) {
	gap := tokens(full) - tokens(other)
	apart, enough := gap, gap-2*min(gap/4, average(full))
	for f := range full {
		for o := range other {
			for s := range e.swaps(&full[f], &other[o]) {
				if left := max(gap-2*s.moves, 2*s.moves-gap); left < apart {
					best, apart, ok = s, left, true
				}
				if ok && apart <= enough {
					return best, ok
				}
			}
			if e.left < 0 {
				return best, ok
			}
		}
	}
	return best, ok
}

// average returns the mean length of samples.
func average(all []MicroBatch) int {
	n := 0
	for _, m := range all {
		n += len(m.Samples)
	}
	return tokens(all) / n
}

// swaps calls yield with what can be swapped between two micro-batches, samples without another in return first. None becomes empty, and none of several samples
// goes over the budget.
func (e *evening) swaps(from, to *MicroBatch) iter.Seq[swap] {
	room := e.budget - to.Tokens
	return func(yield func(swap) bool) {
		e.left -= len(from.Samples)
		for _, i := range from.Samples {
			if n := e.lengths[i]; len(from.Samples) > 1 && n <= room && !yield(swap{from, to, i, -1, n}) {
				return
			}
		}
		for _, i := range from.Samples {
			e.left -= len(to.Samples)
			for _, k := range to.Samples {
				d := e.lengths[i] - e.lengths[k]
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
