package tapstest

import (
	"math/rand/v2"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity/taps"
	"furlong/quant"
	"furlong/tensor"
)

// Small is four layers with every kind of attention and both routers, small enough for many passes.
func Small() dsv4.Config {
	return dsv4.Config{
		Vocab: 23, Hidden: 16, Layers: []dsv4.Layer{
			{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned}, {Attention: dsv4.C128, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned},
		},
		Heads: 4, HeadDim: 8, RopeDim: 4, QRank: 12, OGroups: 2, ORank: 6, Window: 3, RateC4: 2, RateC128: 6, IndexHeads: 4, IndexDim: 8, IndexTopK: 3,
		Experts: 5, TopK: 2, ExpertDim: 10, RoutedFactor: 1.5, Limit: 1.5, LimitShared: 1, Streams: 3, SinkhornIter: 6, HyperEps: 1e-6, NormEps: 1e-6,
		RopeTheta: 100, CompressRopeTheta: 1000, Yarn: dsv4.Yarn{Factor: 4, Original: 8, BetaFast: 32, BetaSlow: 1}, MaxPositions: 1024, InitRange: 0.3, BOS: 0, EOS: 1,
	}
}

// Larger is Small with rows ten times as wide, whose sums round as those of real models do.
func Larger() dsv4.Config {
	c := Small()
	c.Vocab, c.Hidden, c.Heads, c.HeadDim, c.RopeDim, c.QRank = 131, 160, 8, 32, 8, 64
	c.OGroups, c.ORank, c.Window, c.RateC4, c.RateC128, c.IndexHeads, c.IndexDim, c.IndexTopK = 2, 32, 16, 4, 16, 8, 16, 6
	c.Experts, c.TopK, c.ExpertDim, c.Streams, c.SinkhornIter, c.InitRange = 16, 3, 96, 4, 20, 0.1
	return c
}

// Model returns a model whose every weight is random, so that nothing is a zero or a one by luck. It holds the same numbers in every format that can.
func Model(cfg dsv4.Config, format dtype.Type, seed uint64) *dsv4.Model {
	m, wide := dsv4.New(cfg, format), dsv4.New(cfg, dtype.F32)
	wide.Init(seed)
	for i, p := range wide.Params() {
		r := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		for _, end := range []string{"norm.weight", "scale", "base", "sinks", "position_bias", "correction_bias"} {
			if strings.HasSuffix(p.Name, end) {
				disturb(p.Value.F32(), r)
			}
		}
		convert(m.Params()[i].Value, p.Value)
	}
	return m
}

// disturb adds noise to what a fresh model has as zeros and ones.
func disturb(x []float32, r *rand.Rand) {
	for i := range x {
		x[i] += float32(0.4 * r.NormFloat64())
	}
}

// convert sets y to x, rounded to y's format.
func convert(y, x *tensor.Tensor) {
	switch {
	case y.Type == x.Type:
		copy(y.Mem, x.Mem)
	case y.Type == dtype.F64:
		for i, v := range x.F32() {
			y.F64()[i] = float64(v)
		}
	default:
		for i, v := range x.F32() {
			y.BF16()[i] = dtype.ToBF16(v)
		}
	}
}

// Quantised returns Model with weights stored by a recipe.
func Quantised(cfg dsv4.Config, recipe string, seed uint64) *dsv4.Model {
	m, plain := dsv4.New(cfg, dtype.F32), Model(cfg, dtype.F32, seed)
	r, err := quant.ParseRecipe(recipe)
	if err != nil {
		panic(err)
	}
	if err := r.Apply(m.Params()); err != nil {
		panic(err)
	}
	for i, p := range m.Params() {
		if x := plain.Params()[i].Value; p.Value.Quantised() {
			quant.Pack(p.Value, x)
		} else {
			copy(p.Value.Mem, x.Mem)
		}
	}
	return m
}

// Tokens returns n random tokens.
func Tokens(seed uint64, cfg dsv4.Config, n int) []int32 {
	r := rand.New(rand.NewPCG(seed, 77))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.IntN(cfg.Vocab))
	}
	return ids
}

// Judge returns a judge whose weights are prepared.
func Judge(k kernels.Backend, m *dsv4.Model) taps.Judge {
	j := taps.Judge{Model: m, Backend: k, Type: dtype.F32, Mem: &tensor.Arena{}}
	if _, wide := k.(*ref.Backend[float64]); wide {
		j.Type = dtype.F64
	}
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, j.Type), m)
	return j
}
