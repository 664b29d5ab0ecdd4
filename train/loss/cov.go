package loss

import (
	"cmp"
	"math"
	"slices"
)

// Spared returns, for each sample of a step, which tokens lose their policy term to --clip-cov-ratio, nil where it is off. A token's covariance is (A - mean A)(old -
// mean old), over all tokens of the step: where it is large, the step makes a likely token likelier still (or an unlikely one less likely), and entropy falls. Of the tokens
// within the bounds a share is drawn, by a hash of seed and place; it depends on old and advantages alone, so the cut into micro-batches decides nothing.
func (c Config) Spared(step []Tokens, seed uint64) [][]bool {
	if c.Est.CovRatio == 0 {
		return nil
	}
	var meanA, meanLP float64
	n := 0
	for k := range step {
		for i, old := range step[k].Old {
			meanA += step[k].advantage(i)
			meanLP += float64(old)
			n++
		}
	}
	meanA, meanLP = meanA/float64(n), meanLP/float64(n)
	out := make([][]bool, len(step))
	var drawn []lot
	place := uint64(0)
	for k := range step {
		out[k] = make([]bool, len(step[k].Old))
		for i, old := range step[k].Old {
			place++
			cov := (step[k].advantage(i) - meanA) * (float64(old) - meanLP)
			if cov > c.Est.CovLow && cov < c.Est.CovHigh {
				drawn = append(drawn, lot{mix(mix(seed) + place), k, i})
			}
		}
	}
	slices.SortFunc(drawn, func(a, b lot) int { return cmp.Compare(a.hash, b.hash) })
	most := max(1, int(math.Floor(c.Est.CovRatio*float64(n))))
	for _, l := range drawn[:min(most, len(drawn))] {
		out[l.sample][l.token] = true
	}
	return out
}

// A lot is a token that may be drawn.
type lot struct {
	hash          uint64
	sample, token int
}

// mix is the finaliser of SplitMix64: neighbouring numbers come out as unrelated ones.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
