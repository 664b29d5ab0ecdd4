package dsv4

import "math"

// Frequencies returns the rotation frequencies of W layers, and those of everything in C4 and C128 layers.
func (c Config) Frequencies() (main, compress []float32) {
	return frequencies(c.RopeTheta, c.RopeDim, Yarn{}), frequencies(c.CompressRopeTheta, c.RopeDim, c.Yarn)
}

// frequencies returns theta^(-2p/dim) for each pair p, stretched by y. Every step is rounded to float32, in this order: that is
// how the stored frequencies of released models come out bit for bit.
func frequencies(theta float64, dim int, y Yarn) []float32 {
	f := make([]float32, dim/2)
	for p := range f {
		e := float32(2*p) / float32(dim)
		f[p] = 1 / float32(math.Pow(float64(float32(theta)), float64(e)))
	}
	if y.Factor > 1 && y.Original > 0 {
		stretch(f, theta, dim, y)
	}
	return f
}

// stretch divides slow frequencies by y.Factor, keeps fast ones, and blends between: a pair turns fast or slow by how often it goes
// round within the original length (YaRN, arXiv:2309.00071, section 3.2). Its scaling of cosines and sines is not used by this model.
func stretch(f []float32, theta float64, dim int, y Yarn) {
	edge := func(rounds float64) float64 {
		return float64(dim) * math.Log(float64(y.Original)/(rounds*2*math.Pi)) / (2 * math.Log(theta))
	}
	lo := max(math.Floor(edge(y.BetaFast)), 0)
	hi := min(math.Ceil(edge(y.BetaSlow)), float64(dim-1))
	if lo == hi {
		hi += 0.001
	}
	for p, v := range f {
		r := min(max((float32(p)-float32(lo))/(float32(hi)-float32(lo)), 0), 1)
		f[p] = float32(float32(v/float32(y.Factor))*r) + float32(v*(1-r))
	}
}
