package schedule

import (
	"cmp"
	"slices"
)

// firstFit packs samples, the longest first, each into the first micro-batch that has room for it. One that is over the budget leaves no room.
func firstFit(lengths []int, budget int) []MicroBatch {
	var out []MicroBatch
	for _, i := range longestFirst(lengths) {
		n := lengths[i]
		at := slices.IndexFunc(out, func(m MicroBatch) bool { return n <= budget-m.Tokens })
		if at < 0 {
			at, out = len(out), append(out, MicroBatch{})
		}
		out[at].add(i, n)
	}
	return out
}

// longestFirst returns the numbers of samples, equal ones in their order.
func longestFirst(lengths []int) []int {
	out := make([]int, len(lengths))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(lengths[b], lengths[a]) })
	return out
}

// add puts sample i of n tokens in its place.
func (m *MicroBatch) add(i, n int) {
	at, _ := slices.BinarySearch(m.Samples, i)
	m.Samples = slices.Insert(m.Samples, at, i)
	m.Tokens += n
}

// divide parts micro-batches of several samples in two, the fullest first, until ranks divide their number. Where none of several samples is left, there are as
// many as samples, and empty ones make up the number.
func divide(all []MicroBatch, lengths []int, ranks int) []MicroBatch {
	for len(all)%ranks != 0 {
		at := fullest(all)
		if at < 0 {
			all = append(all, MicroBatch{})
			continue
		}
		a, b := part(all[at], lengths)
		all[at] = a
		all = append(all, b)
	}
	return all
}

// fullest returns the first of the micro-batches of several samples that have the most tokens, -1 where there is none.
func fullest(all []MicroBatch) int {
	at := -1
	for i, m := range all {
		if len(m.Samples) > 1 && (at < 0 || m.Tokens > all[at].Tokens) {
			at = i
		}
	}
	return at
}

// part halves a micro-batch: its samples, the longest first, each to the half that has fewer tokens.
func part(m MicroBatch, lengths []int) (a, b MicroBatch) {
	order := slices.Clone(m.Samples)
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(lengths[k], lengths[i]) })
	for _, i := range order {
		to := &a
		if b.Tokens < a.Tokens {
			to = &b
		}
		to.add(i, lengths[i])
	}
	return a, b
}
