package loss

import "math"

// whiten brings the advantages of all tokens to mean 0 and (unbiased) variance 1, in two passes of float64 in the order of the batch. Where all are one
// number, or there is but one token, they become 0 exactly. Not-a-number stays, and spoils the step.
func whiten(all []Advantage, batch []Graded) {
	n, sum := 0, 0.0
	low, high := math.Inf(1), math.Inf(-1)
	for i := range all {
		all[i].spell(batch[i].Tokens)
		n += len(all[i].Tokens)
		for _, v := range all[i].Tokens {
			sum += v
			low, high = min(low, v), max(high, v)
		}
	}
	mean, width := sum/float64(n), 1.0
	if low != high {
		width = math.Sqrt(variance(all, mean, n) + 1e-8)
	}
	for i := range all {
		for t, v := range all[i].Tokens {
			all[i].Tokens[t] = (v - mean) / width
			if low == high {
				all[i].Tokens[t] = 0
			}
		}
	}
}

// variance returns the unbiased variance of the advantages of n tokens.
func variance(all []Advantage, mean float64, n int) float64 {
	sum := 0.0
	for i := range all {
		for _, v := range all[i].Tokens {
			sum += (v - mean) * (v - mean)
		}
	}
	return sum / float64(n-1)
}
