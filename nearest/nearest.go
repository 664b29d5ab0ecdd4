package nearest

import "strings"

// Within returns the name that is the fewest edits from the one typed, and at most so many, or "". Case does not count.
func Within(edits int, typed string, names []string) string {
	best, least := "", edits+1
	for _, n := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// Name returns the name most like the one typed, or "" when none is like it. Few edits come first, then a name
// that holds what was typed: batch-size finds micro-batch-size. Case does not count.
func Name(typed string, names []string) string {
	best := Within(max(1, (len(typed)+1)/3), typed, names)
	if best != "" || len(typed) < 4 {
		return best
	}
	for _, n := range names {
		if strings.Contains(n, typed) && (best == "" || len(n) < len(best)) {
			best = n
		}
	}
	return best
}

// distance counts the edits between two names: a letter more, less or other, or two neighbours swapped.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
