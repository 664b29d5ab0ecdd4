package eval

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// resamples is how often problems are drawn again for an interval.
const resamples = 10_000

// An Interval is an estimate and the range that holds 95 % of what other problems of the same kind would have given.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// String prints the estimate and its range as shares.
func (i Interval) String() string { return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Value, i.Low, i.High) }

// PassAt returns the mean pass@k over problems, of which each needs k judged samples. The order of problems and the seeds
// of other calls do not matter.
func PassAt(problems []Problem, k int, seed uint64) (Interval, error) {
	problems, err := checked(problems)
	if err != nil {
		return Interval{}, err
	}
	values := make([]float64, len(problems))
	for i, p := range problems {
		if values[i], err = p.passAt(k); err != nil {
			return Interval{}, err
		}
	}
	return bootstrap(values, seed), nil
}

// Difference returns pass@k of after minus that of before, over the same problems, in pairs.
func Difference(before, after []Problem, k int, seed uint64) (Interval, error) {
	a, err := checked(before)
	if err != nil {
		return Interval{}, fmt.Errorf("before: %w", err)
	}
	b, err := checked(after)
	if err != nil {
		return Interval{}, fmt.Errorf("after: %w", err)
	}
	if err := sameProblems(a, b); err != nil {
		return Interval{}, err
	}
	values := make([]float64, len(a))
	for i := range a {
		x, err := a[i].passAt(k)
		if err != nil {
			return Interval{}, fmt.Errorf("before: %w", err)
		}
		y, err := b[i].passAt(k)
		if err != nil {
			return Interval{}, fmt.Errorf("after: %w", err)
		}
		values[i] = y - x
	}
	return bootstrap(values, seed), nil
}

// sameProblems reports the first id, in order, that only one side has.
func sameProblems(before, after []Problem) error {
	for i := range max(len(before), len(after)) {
		switch {
		case i == len(before) || i < len(after) && after[i].ID < before[i].ID:
			return fmt.Errorf("problem %s: is only in the evaluation after, want the same problems", after[i].ID)
		case i == len(after) || before[i].ID < after[i].ID:
			return fmt.Errorf("problem %s: is only in the evaluation before, want the same problems", before[i].ID)
		}
	}
	return nil
}

// bootstrap returns the mean of values and the range of the means of resamples. The values are added in their order.
func bootstrap(values []float64, seed uint64) Interval { return resampled(values, seed, resamples) }

// resampled is bootstrap with so many resamples.
func resampled(values []float64, seed uint64, times int) Interval {
	const use = 0x626f6f7473747261 // "bootstra": keeps these draws apart from others under the same seed
	r := rand.NewPCG(seed, use)
	n := uint64(len(values))
	means := make([]float64, times)
	for i := range means {
		sum := 0.0
		for range values {
			pick, _ := bits.Mul64(r.Uint64(), n)
			sum += values[pick]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	low, high := tails(means)
	return Interval{Value: sum / float64(n), Low: low, High: high}
}

// tails returns between what 95 % of the sorted resamples lie.
func tails(sorted []float64) (low, high float64) {
	tail := len(sorted) * 25 / 1000
	return sorted[tail], sorted[len(sorted)-1-tail]
}
