package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// mostSums is the widest range of sums whose chances are counted one by one; beyond it signs are drawn.
const mostSums = 1 << 16

// permutation returns how likely a difference of pass@k at least as large, either way, is when each problem's two sides could as well be
// swapped, and how that was found out: for k = 1 and equal numbers of samples by counting every way to swap, else by drawing ways.
func permutation(a, b []Problem, k int, seed uint64) (p float64, test string, err error) {
	if steps, n, ok := wholeSteps(a, b); k == 1 && ok {
		return countSigns(steps), fmt.Sprintf("exact permutation test over problems, shares of %d", n), nil
	}
	diffs := make([]float64, len(a))
	for i := range a {
		x, err := a[i].passAt(k)
		if err != nil {
			return 0, "", err
		}
		y, err := b[i].passAt(k)
		if err != nil {
			return 0, "", err
		}
		diffs[i] = y - x
	}
	return drawSigns(diffs, seed), fmt.Sprintf("permutation test over problems, %d draws", resamples), nil
}

// wholeSteps returns the differences in right answers, if all problems have n judged samples on both sides and there are not too many.
func wholeSteps(a, b []Problem) (steps []int, n int, ok bool) {
	n, sum := a[0].N, 0
	for i := range a {
		if a[i].N != n || b[i].N != n {
			return nil, 0, false
		}
		d := b[i].C - a[i].C
		steps, sum = append(steps, d), sum+max(d, -d)
	}
	return steps, n, sum < mostSums
}

// countSigns returns the share of all ways to give signs to steps whose sum is at least as far from 0 as theirs. The chances of all sums are
// kept, from -sum|steps| on.
func countSigns(steps []int) float64 {
	most, seen := 0, 0
	for _, d := range steps {
		most, seen = most+max(d, -d), seen+d
	}
	chance := make([]float64, 2*most+1)
	chance[most] = 1
	for _, d := range steps {
		if d == 0 {
			continue
		}
		next := make([]float64, len(chance))
		for i, c := range chance {
			if c > 0 {
				next[i+d] += c / 2
				next[i-d] += c / 2
			}
		}
		chance = next
	}
	p := 0.0
	for i, c := range chance {
		if d := i - most; max(d, -d) >= max(seen, -seen) {
			p += c
		}
	}
	return min(1, p)
}

// drawSigns estimates the same by drawing signs. What was seen counts as one draw, so that no chance is 0.
func drawSigns(diffs []float64, seed uint64) float64 {
	const use = 0x7369676e73 // "signs"
	r := rand.NewPCG(seed, use)
	seen, scale := 0.0, 0.0
	for _, d := range diffs {
		seen += d
		scale += math.Abs(d)
	}
	far := math.Abs(seen) - 1e-12*scale // sums of the same numbers in other orders of sign round apart
	hits := 1
	for range resamples {
		sum := 0.0
		bits := uint64(0)
		for i, d := range diffs {
			if i%64 == 0 {
				bits = r.Uint64()
			}
			if bits&1 == 1 {
				d = -d
			}
			bits >>= 1
			sum += d
		}
		hits += b2i(math.Abs(sum) >= far)
	}
	return float64(hits) / (resamples + 1)
}

// signTest returns how likely at least as uneven a count of better and worse is, were both as likely.
func signTest(better, worse int) float64 {
	n, p := better+worse, 0.0
	for i := range min(better, worse) + 1 {
		p += binomial(n, i, 0.5)
	}
	return min(1, 2*p)
}
