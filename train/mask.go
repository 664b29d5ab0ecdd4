package train

import "furlong/rl"

// A sample's mask says which tokens of its response train. The others are run and scored as all are, since what follows reads them; but all that the loss, its
// weights, estimators and figures are given of a sample is the list of the tokens that train, so whatever counts, sums or discounts knows of no others.

// trains reports whether a token of the response trains.
func trains(s *rl.Sample, i int) bool { return s.LossMask == nil || s.LossMask[i] }

// lengthOf returns how many tokens of the response train.
func lengthOf(s *rl.Sample) (n int) {
	if s.LossMask == nil {
		return len(s.Response)
	}
	for _, m := range s.LossMask {
		n += one(m)
	}
	return n
}

// unmasked returns what x has of the tokens that train: x itself where all do.
func unmasked(s *rl.Sample, x []float32) []float32 {
	if s.LossMask == nil || x == nil {
		return x
	}
	out := make([]float32, 0, len(x))
	for i, v := range x {
		if s.LossMask[i] {
			out = append(out, v)
		}
	}
	return out
}

// spreadTo sets what to has of the tokens that train; of the others it stays. Where all train, from may be to.
func spreadTo(s *rl.Sample, to, from []float32) {
	if s.LossMask == nil {
		copy(to, from)
		return
	}
	n := 0
	for i, m := range s.LossMask {
		if m {
			to[i] = from[n]
			n++
		}
	}
}
