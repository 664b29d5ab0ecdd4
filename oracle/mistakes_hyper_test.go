package oracle

import (
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func hyperMistakes() []mistake {
	return []mistake{
		{name: "mixer not transposed", k: untransposed{exact}, at: 17, error: 2.3},
		{name: "one Sinkhorn round", cfg: func(c *dsv4.Config) { c.SinkhornIter = 1 }, at: 17, error: 1.0},
		{name: "19 Sinkhorn rounds", cfg: func(c *dsv4.Config) { c.SinkhornIter-- }, at: 17, error: 0.00055},
		{name: "a row step last", k: rowStepLast{exact}, at: 17, error: 0.0012},
		{name: "post without its factor 2", k: singlePost{exact}, at: 17, error: 8.0},
		{name: "streams normed one by one", k: streamNorms{exact}, at: 17, error: 0.56},
		{name: "collapse into the old streams", k: keptStreams{exact}, at: 17, error: 3.5},
		// The largest error of a logit is within the limit; only the norm tells.
		{
			name: "no hc_eps", cfg: func(c *dsv4.Config) { c.HyperEps = 0 }, at: 17, error: 3.8e-05,
			shows: []string{"logits, norm"}, hides: []string{"logits"},
		},
		{name: "rms_norm_eps 1e-5", cfg: func(c *dsv4.Config) { c.NormEps = 1e-5 }, at: 17, error: 0.00028},
	}
}

// untransposed mixes streams by comb's second index instead of its first.
type untransposed struct{ *right }

func (k untransposed) Expand(y, x, o, post, comb *tensor.Tensor) {
	k.right.Expand(y, x, o, post, turnedMix(comb))
}

// turnedMix returns each token's comb with its indices swapped.
func turnedMix(comb *tensor.Tensor) *tensor.Tensor {
	s, y := comb.Dim(), comb.Clone()
	for i, v := range comb.F64() {
		y.F64()[i/(s*s)*s*s+i%s*s+i/s%s] = v
	}
	return y
}

// rowStepLast ends the Sinkhorn rounds on rows.
type rowStepLast struct{ *right }

func (k rowStepLast) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.right.HyperMap(pre, post, comb, z, x, base, scale, p)
	if comb == nil {
		return
	}
	for row := comb.F64(); len(row) > 0; row = row[comb.Dim():] {
		sum := p.Eps
		for _, v := range row[:comb.Dim()] {
			sum += v
		}
		for i := range comb.Dim() {
			row[i] /= sum
		}
	}
}

// singlePost leaves out the factor of post.
type singlePost struct{ *right }

func (k singlePost) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.right.HyperMap(pre, post, comb, z, x, base, scale, p)
	if post != nil {
		times(post, 0.5)
	}
}

// streamNorms divides each stream by its own root mean square before the map, not all by one.
type streamNorms struct{ *right }

func (k streamNorms) Linear(y, x, w *tensor.Tensor, groups int) {
	const streams, dim = 4, 64
	if w.Dim() != streams*dim {
		k.right.Linear(y, x, w, groups)
		return
	}
	normed := tensor.New(dtype.F64, x.Shape...)
	k.right.RMSNorm(normed, x, nil, dim, 1e-6)
	for at := 0; at < x.Len(); at += w.Dim() { // HyperMap divides by the root mean square of all
		row := x.F64()[at:][:w.Dim()]
		all := math.Sqrt(dot(row, row)/float64(len(row)) + 1e-6)
		for i := range row {
			normed.F64()[at+i] *= all
		}
	}
	k.right.Linear(y, normed, w, groups)
}

// keptStreams adds the output to the old streams, as a plain residual would, instead of mixing them.
type keptStreams struct{ *right }

func (k keptStreams) Expand(y, x, o, post, comb *tensor.Tensor) {
	s, unit := post.Dim(), tensor.New(dtype.F64, comb.Shape...)
	for i := range unit.F64() {
		if i/s%s == i%s {
			unit.F64()[i] = 1
		}
	}
	k.right.Expand(y, x, o, post, unit)
}

// times scales a tensor in place.
func times(x *tensor.Tensor, by float64) {
	for i := range x.F64() {
		x.F64()[i] *= by
	}
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
