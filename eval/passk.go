package eval

import "fmt"

// PassAtK estimates the chance that at least one of k samples is right, given that c of n were.
func PassAtK(n, c, k int) (float64, error) {
	switch {
	case c < 0 || c > n:
		return 0, fmt.Errorf("pass@%d: %d of %d samples are right, want 0 to %d", k, c, n, n)
	case k < 1 || k > n:
		return 0, fmt.Errorf("pass@%d: k is %d, want 1 to %d, the samples of the problem", k, k, n)
	case n-c < k:
		return 1, nil
	}
	c, k = min(c, k), max(c, k) // each may be the other: C(n-c,k)/C(n,k) is C(n-k,c)/C(n,c). The smaller one has fewer factors
	none := 1.0
	for i := n - c + 1; i <= n; i++ {
		none *= 1 - float64(k)/float64(i)
	}
	return 1 - none, nil
}
