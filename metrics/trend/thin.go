package trend

import (
	"math"
	"slices"
)

// Thin returns which rows a picture of so many pixels from one x to another needs: of each column of pixels the first row, the last, the lowest and the highest. x
// ascends. Up to four rows a pixel are kept as they are, and so is the row before and after the range, for lines that leave it. Of values that are not finite the first of
// a run of them is kept, so that a gap stays a gap.
func Thin(x, y []float64, from, to float64, pixels int) []int {
	first, _ := slices.BinarySearch(x, from)
	last, _ := slices.BinarySearchFunc(x, to, func(v, to float64) int {
		if v <= to {
			return -1
		}
		return 1
	})
	first, last = max(first-1, 0), min(last+1, len(x))
	if last-first <= 4*pixels || to <= from {
		return span(first, last)
	}
	var keep []int
	for at := first; at < last; {
		end := at + 1
		for end < last && column(x[end], from, to, pixels) == column(x[at], from, to, pixels) {
			end++
		}
		keep = append(keep, extremes(y, at, end)...)
		at = end
	}
	return keep
}

func span(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// column returns in which column of pixels x lies.
func column(x, from, to float64, pixels int) int {
	return int(math.Floor((x - from) / (to - from) * float64(pixels)))
}

// extremes returns the rows from at to end that draw the column: its first and last, its lowest and highest, and the first that has no height.
func extremes(y []float64, at, end int) []int {
	keep := []int{at, end - 1}
	low, high, gap := -1, -1, -1
	for i := at; i < end; i++ {
		switch {
		case !Finite(y[i]):
			if gap < 0 {
				gap = i
			}
		case low < 0:
			low, high = i, i
		default:
			if y[i] < y[low] {
				low = i
			}
			if y[i] > y[high] {
				high = i
			}
		}
	}
	for _, i := range []int{low, high, gap} {
		if i >= 0 {
			keep = append(keep, i)
		}
	}
	slices.Sort(keep)
	return slices.Compact(keep)
}
