package loss

import (
	"math"
	"slices"
)

// Advantages returns what the estimator makes of the rewards of one prompt's judged samples: for most their difference to the mean, over their
// (unbiased) standard deviation + 1e-6 where the estimator divides and c does not say otherwise. A group whose rewards are all the same, or with one sample, has
// advantages 0, exactly: the rounding of the mean must not become a direction. Where nothing is compared within groups they are the rewards.
func (c Config) Advantages(rewards []float64) []float64 {
	a := make([]float64, len(rewards))
	if c.NoNormalize || !c.grouped() {
		copy(a, rewards)
		return a
	}
	if len(rewards) == 0 || slices.Min(rewards) == slices.Max(rewards) {
		return a
	}
	mean := 0.0
	for _, r := range rewards {
		mean += r
	}
	mean /= float64(len(rewards))
	ss := 0.0
	for i, r := range rewards {
		a[i] = r - mean
		ss += a[i] * a[i]
	}
	if c.Estimator == RLOO {
		leaveOneOut(a)
		return a
	}
	if c.NoStd || !c.divided() {
		return a
	}
	std := math.Sqrt(ss/float64(len(rewards)-1)) + 1e-6
	for i := range a {
		a[i] /= std
	}
	return a
}

// leaveOneOut turns distances from the mean of all into distances from the mean of the others: r - (sum-r)/(n-1) is n/(n-1) times r - mean.
func leaveOneOut(a []float64) {
	n := float64(len(a))
	for i := range a {
		a[i] *= n / (n - 1)
	}
}

// Weights returns what each token of sample i counts in the loss, for samples of the given lengths. Empty samples count nothing; maxLen
// is the longest response allowed, for seq-mean-token-sum-norm.
func (c Config) Weights(lengths []int, maxLen int) []float64 {
	samples, tokens := 0, 0
	for _, n := range lengths {
		if n > 0 {
			samples++
			tokens += n
		}
	}
	w := make([]float64, len(lengths))
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		switch c.agg() {
		case TokenMean:
			w[i] = 1 / float64(tokens)
		case SeqSum:
			w[i] = 1 / float64(samples)
		case SeqSumNorm:
			w[i] = 1 / (float64(samples) * float64(maxLen))
		default:
			w[i] = 1 / (float64(samples) * float64(n))
		}
	}
	return w
}
