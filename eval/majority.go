package eval

import "fmt"

// mostVotes is the most judged samples of a problem of which a majority is worked out: the work grows with their third power.
const mostVotes = 256

// MajAtK returns the chance that the most frequent answer among k samples is right, the k drawn without replacement from these: right
// gave the right answer, wrong[i] the i-th wrong one, silent none. A tie is shared among the answers that are level; where nobody answers
// nothing is right. It is exact but for rounding.
func MajAtK(right int, wrong []int, silent, k int) (float64, error) {
	n := right + silent
	for _, m := range wrong {
		n += m
	}
	switch {
	case n > mostVotes:
		return 0, fmt.Errorf("maj@%d: %d samples, want at most %d", k, n, mostVotes)
	case k < 1 || k > n:
		return 0, fmt.Errorf("maj@%d: k is %d, want 1 to %d, the samples of the problem", k, k, n)
	}
	choose := pascal(n)
	won := 0.0
	for w := 1; w <= min(right, k); w++ {
		for ties, ways := range rest(choose, wrong, silent, k-w, w) {
			won += choose[right][w] * ways / float64(1+ties)
		}
	}
	return won / choose[n][k], nil
}

// rest returns in how many ways size samples come from wrong and silent ones so that no wrong answer is given more than w times, by the
// number of wrong answers that are given exactly w times.
func rest(choose [][]float64, wrong []int, silent, size, w int) []float64 {
	levels := size/w + 1
	ways := make([][]float64, size+1) // [samples taken][answers level]
	for s := range ways {
		ways[s] = make([]float64, levels)
	}
	ways[0][0] = 1
	for _, m := range wrong {
		next := make([][]float64, size+1)
		for s := range next {
			next[s] = make([]float64, levels)
			for x := 0; x <= min(m, w, s); x++ {
				for t, before := range ways[s-x] {
					if x == w && t+1 < levels {
						next[s][t+1] += before * choose[m][x]
					} else if x < w {
						next[s][t] += before * choose[m][x]
					}
				}
			}
		}
		ways = next
	}
	out := make([]float64, levels)
	for x := 0; x <= min(silent, size); x++ {
		for t, before := range ways[size-x] {
			out[t] += before * choose[silent][x]
		}
	}
	return out
}

// pascal returns the binomial coefficients up to n.
func pascal(n int) [][]float64 {
	rows := make([][]float64, n+1)
	for i := range rows {
		rows[i] = make([]float64, n+1)
		rows[i][0] = 1
		for j := 1; j <= i; j++ {
			rows[i][j] = rows[i-1][j-1]
			if j < i {
				rows[i][j] += rows[i-1][j]
			}
		}
	}
	return rows
}
