package trend

import (
	"math"
	"slices"
)

// Thin returns which rows a picture of so many pixels from one x to another needs: of each column of pixels the first row, the last, the lowest and the highest, so that the line
// through them passes through the same pixels as the line through all. x ascends. Up to four rows a pixel are kept as they are, and so is the row before and after the range, for
// lines that leave it. Values that are not finite break the line: the first of a run of them is kept, so that a gap stays a gap, and the numbers on either side count for themselves.
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

// runsMax is how many runs of numbers within one column of pixels are drawn each for itself. Where there are more, the column is drawn from its lowest to its highest.
const runsMax = 16

// extremes returns the rows from at to end that draw the column: the first and last, the lowest and highest of each run of numbers in it, and the first of each run of rows
// that have no height.
func extremes(y []float64, at, end int) []int {
	var keep []int
	runs := 0
	for i := at; i < end; {
		next := i + 1
		for next < end && Finite(y[next]) == Finite(y[i]) {
			next++
		}
		if !Finite(y[i]) {
			keep = append(keep, i)
		} else {
			low, high := lowHigh(y, i, next)
			keep = append(keep, i, low, high, next-1)
			runs++
		}
		i = next
	}
	if runs > runsMax {
		keep = whole(y, at, end)
	}
	slices.Sort(keep)
	return slices.Compact(keep)
}

// whole is extremes without regard to runs.
func whole(y []float64, at, end int) []int {
	low, high := lowHigh(y, at, end)
	gap := at + slices.IndexFunc(y[at:end], func(v float64) bool { return !Finite(v) })
	return []int{at, low, high, gap, end - 1}
}

// lowHigh returns the rows with the lowest and the highest number, of which there must be one.
func lowHigh(y []float64, at, end int) (low, high int) {
	low = at + slices.IndexFunc(y[at:end], Finite)
	high = low
	for i := low; i < end; i++ {
		if Finite(y[i]) && y[i] < y[low] {
			low = i
		}
		if Finite(y[i]) && y[i] > y[high] {
			high = i
		}
	}
	return low, high
}
