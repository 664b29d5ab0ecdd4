package trend

import "math"

// Window returns over how many rows [Average] goes in a run of so many planned cycles.
func Window(planned int) int { return min(max(planned/20, 5), 101) }

// Average returns for each value the mean of the last w finite ones up to it, as far as there are so many. It is NaN before the (w+1)/2-th of them,
// and where the value itself is not finite.
func Average(y []float64, w int) []float64 {
	out := make([]float64, len(y))
	var last []float64 // finite values up to here, w at most
	for i, v := range y {
		out[i] = math.NaN()
		if !Finite(v) {
			continue
		}
		if last = append(last, v); len(last) > w {
			last = last[1:]
		}
		if len(last) >= (w+1)/2 {
			out[i] = Mean(last)
		}
	}
	return out
}

// Mean returns the mean of y, NaN if there is none.
func Mean(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	return sum / float64(len(y))
}

// Thirds returns the means of the first and of the last third of the finite values, of one value at least; NaN without any.
func Thirds(y []float64) (first, last float64) {
	var kept []float64
	for _, v := range y {
		if Finite(v) {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return math.NaN(), math.NaN()
	}
	third := max(1, len(kept)/3)
	return Mean(kept[:third]), Mean(kept[len(kept)-third:])
}

// Finite reports whether v is a number with a place on an axis.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
