package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// drawsAgain keeps the draws of [Range] apart from those of intervals under the same seed.
const drawsAgain = 0x6465636f64696e67 // "decoding"

// enough returns the problems of which k samples or more were judged, in the order of their ids.
func enough(problems []Problem, k int) []Problem {
	return sorted(slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.N < k }))
}

// passScore returns pass@k over the problems that have enough samples.
func passScore(problems []Problem, k int, seed uint64) (Score, error) {
	of := enough(problems, k)
	if len(of) == 0 {
		return Score{K: k}, nil
	}
	v, err := PassAt(of, k, seed)
	if err != nil {
		return Score{K: k}, err
	}
	return Score{k, v, noise(of, passLotteries(of, k), v.Value, decodings, rand.NewPCG(seed, drawsAgain)), len(of)}, nil
}

// majScore returns maj@k over the problems that have enough samples.
func majScore(problems []Problem, k int, seed uint64) (Score, error) {
	of := enough(problems, k)
	if len(of) == 0 {
		return Score{K: k}, nil
	}
	r := rand.NewPCG(seed, drawsAgain)
	values, all, err := majLotteries(of, k, r)
	if err != nil {
		return Score{K: k}, err
	}
	v := bootstrap(values, seed)
	return Score{k, v, noise(of, all, v.Value, decodings, r), len(of)}, nil
}

// Figures returns the figures under the names that metrics have behind the name of the set: pass@1, pass@1_lo, pass@1_decode_lo, maj@8 and so on.
func (r *Result) Figures() map[string]float64 {
	out := map[string]float64{}
	put := func(kind string, s Score) {
		at := fmt.Sprintf("%s@%d", kind, s.K)
		out[at], out[at+"_lo"], out[at+"_hi"] = s.Value, s.Low, s.High
		if s.Decode != nil {
			out[at+"_decode_lo"], out[at+"_decode_hi"] = s.Decode.Low, s.Decode.High
		}
	}
	for _, s := range r.Scores {
		put("pass", s)
	}
	for _, s := range r.Majority {
		put("maj", s)
	}
	if r.Mean != nil {
		put("mean", *r.Mean)
	}
	return out
}
