package orchestrator

import (
	"fmt"
	"math"

	"furlong/rl"
)

// gapByAge writes the mean gap of the tokens of each age: how many versions before the one that serves chose them. Tokens that did not train, or whose logprobs are
// not finite, have no gap.
func gapByAge(stats rl.Stats, all []*rl.Sample, served rl.Version) {
	sum, n := map[int]float64{}, map[int]float64{}
	for _, s := range all {
		if len(s.TrainLogProbs) != len(s.LogProbs) {
			continue
		}
		at := 0
		for _, span := range s.Versions {
			age := served.Count() - span.Version.Count()
			for end := at + span.Tokens; at < end; at++ {
				if d := math.Abs(float64(s.TrainLogProbs[at]) - float64(s.LogProbs[at])); d-d == 0 && trains(s, at) {
					sum[age] += d
					n[age]++
				}
			}
		}
	}
	for age, tokens := range n {
		stats[fmt.Sprintf("train/logp_diff/by_age/%d", age)] = sum[age] / tokens
	}
}
