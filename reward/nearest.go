package reward

import "strings"

// nearest returns the name that takes the fewest edits to reach from s, the first of equals. Case does not count.
func nearest(s string, names []string) string {
	best, fewest := "", -1
	for _, name := range names {
		if d := edits(strings.ToLower(s), strings.ToLower(name)); fewest < 0 || d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// edits returns the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
