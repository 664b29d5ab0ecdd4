package paritytest

import (
	"math"
	"math/rand/v2"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/quant"
	"furlong/tensor"
)

// Shapes returns two configurations that have every kind of layer, in other orders and sizes. The first is that of the reference vectors in
// all but its limit of experts' inputs; the second has more than 256 experts, and three streams.
func Shapes() []dsv4.Config {
	layers := func(ls ...dsv4.Layer) []dsv4.Layer { return ls }
	return []dsv4.Config{{
		Vocab: 97, Hidden: 64, Heads: 4, HeadDim: 32, RopeDim: 8, QRank: 32, OGroups: 2, ORank: 16, Window: 8, RateC4: 4, RateC128: 16,
		Layers:     layers(dsv4.Layer{Attention: w, Router: hash}, dsv4.Layer{Attention: c4, Router: hash}, dsv4.Layer{Attention: c128, Router: hash}, dsv4.Layer{Attention: c4, Router: learned}, dsv4.Layer{Attention: c128, Router: learned}, dsv4.Layer{Attention: w, Router: learned}),
		IndexHeads: 8, IndexDim: 16, IndexTopK: 4, Experts: 8, TopK: 2, ExpertDim: 32, RoutedFactor: 1.5, Limit: 1.2, LimitShared: 1.2,
		Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 1000,
		Yarn: dsv4.Yarn{Factor: 4, Original: 64, BetaFast: 4, BetaSlow: 0.5}, MaxPositions: 256, InitRange: 0.02, EOS: 1,
	}, {
		Vocab: 131, Hidden: 48, Heads: 6, HeadDim: 16, RopeDim: 12, QRank: 24, OGroups: 3, ORank: 16, Window: 5, RateC4: 3, RateC128: 7,
		Layers:     layers(dsv4.Layer{Attention: c128, Router: hash}, dsv4.Layer{Attention: w, Router: hash}, dsv4.Layer{Attention: c4, Router: learned}, dsv4.Layer{Attention: c4, Router: learned}, dsv4.Layer{Attention: c128, Router: learned}, dsv4.Layer{Attention: w, Router: learned}, dsv4.Layer{Attention: c4, Router: hash}),
		IndexHeads: 3, IndexDim: 20, IndexTopK: 3, Experts: 264, TopK: 3, ExpertDim: 16, RoutedFactor: 2.5, Limit: 0.9, LimitShared: 0.7,
		Streams: 3, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 5000, CompressRopeTheta: 40000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 128, BetaFast: 8, BetaSlow: 1}, MaxPositions: 1024, InitRange: 0.02, EOS: 1,
	}}
}

// New returns an engine of a model with random weights, prepared for k, such that every part of it matters: scores differ, clamps are reached, gates
// and biases tell. Some tokens name an expert twice in tables. With a recipe other than the zero one, weights are stored by it.
func New(c dsv4.Config, seed uint64, k kernels.Backend, recipe quant.Recipe) *Engine {
	return newEngine(c, seed, k, recipe, dtype.F32)
}

// NewBF16 is [New] with matrices whose values are BF16, and are held so where the recipe does not quantise them.
func NewBF16(c dsv4.Config, seed uint64, k kernels.Backend, recipe quant.Recipe) *Engine {
	return newEngine(c, seed, k, recipe, dtype.BF16)
}

func newEngine(c dsv4.Config, seed uint64, k kernels.Backend, recipe quant.Recipe, format dtype.Type) *Engine {
	m := dsv4.New(c, dtype.F32)
	for i, p := range m.Params() {
		fill(c, p, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	m = stored(m, recipe, format)
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, dtype.F32), m)
	return &Engine{Model: m, K: k}
}

// stored returns a model with m's weights as a format and a recipe store them.
func stored(m *dsv4.Model, recipe quant.Recipe, format dtype.Type) *dsv4.Model {
	plain, out := dsv4.New(m.Config(), format), dsv4.New(m.Config(), format)
	if err := recipe.Apply(out.Params()); err != nil {
		panic(err)
	}
	for i, p := range plain.Params() {
		from, to := m.Params()[i].Value, out.Params()[i]
		if p.Value.Type == dtype.BF16 {
			for j, v := range from.F32() {
				p.Value.BF16()[j] = dtype.ToBF16(v)
			}
			from = p.Value
		}
		if to.Value.Quantised() {
			quant.Pack(to.Value, from)
		} else {
			to.Value = from
		}
	}
	return out
}

// fill sets a parameter. Matrices keep the size of what they are multiplied with; blocks of 16 by 16 differ in size, so that their scales do when
// they are quantised.
func fill(c dsv4.Config, p *tensor.Param, r *rand.Rand) {
	if p.Value.Type == dtype.I32 {
		fillTable(c, p.Value, r)
		return
	}
	mean, wide := 0.0, 1.0
	switch {
	case strings.HasSuffix(p.Name, "norm.weight"):
		mean, wide = 1, 0.2
	case strings.HasSuffix(p.Name, "_hc.scale"), strings.HasSuffix(p.Name, "hc_scale"):
		mean, wide = 0.7, 0.1
	case strings.HasSuffix(p.Name, "e_score_correction_bias"):
		wide = 0.3
	case strings.HasSuffix(p.Name, "embed_tokens.weight"), len(p.Value.Shape) == 1, strings.HasSuffix(p.Name, "position_bias"):
	case strings.HasSuffix(p.Name, "lm_head.weight"):
		wide = 2 / math.Sqrt(float64(p.Value.Dim()))
	default:
		wide = 1.2 / math.Sqrt(float64(p.Value.Dim()))
	}
	n, by := p.Value.Dim(), map[[2]int]float64{}
	for i := range p.Value.F32() {
		block := [2]int{i / n / 16, i % n / 16}
		if _, ok := by[block]; !ok {
			by[block] = math.Exp(0.5 * r.NormFloat64())
		}
		if len(p.Value.Shape) == 1 {
			by[block] = 1
		}
		p.Value.F32()[i] = float32(mean + wide*by[block]*r.NormFloat64())
	}
}

// fillTable gives every token its experts; every fifth token names one twice.
func fillTable(c dsv4.Config, t *tensor.Tensor, r *rand.Rand) {
	for id := range t.Shape[0] {
		row := t.I32()[id*c.TopK:][:c.TopK]
		for j, e := range r.Perm(c.Experts)[:c.TopK] {
			row[j] = int32(e)
		}
		if id%5 == 0 {
			row[1] = row[0]
		}
	}
}

// IDs returns n random tokens.
func IDs(c dsv4.Config, n int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 7))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.IntN(c.Vocab))
	}
	return ids
}

// Tied is [New] with scores that are equal: experts by twos, and all compressed entries.
func Tied(c dsv4.Config, seed uint64, k kernels.Backend) *Engine {
	e := New(c, seed, k, quant.Recipe{})
	for _, p := range e.Model.Params() {
		v := p.Value
		switch {
		case strings.HasSuffix(p.Name, "mlp.gate.weight"), strings.HasSuffix(p.Name, "e_score_correction_bias"):
			n := v.Len() / v.Shape[0]
			for i := 1; i < v.Shape[0]; i += 2 {
				copy(v.F32()[i*n:][:n], v.F32()[(i-1)*n:])
			}
		case strings.HasSuffix(p.Name, "scorer.weights_proj.weight"):
			v.Zero()
		}
	}
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, dtype.F32), e.Model)
	return e
}

// Near is [Tied] but that of two experts with equal scores the second has a bias that is larger by less than BF16 can tell.
func Near(c dsv4.Config, seed uint64, k kernels.Backend) *Engine {
	e := Tied(c, seed, k)
	for _, p := range e.Model.Params() {
		if strings.HasSuffix(p.Name, "e_score_correction_bias") {
			for i, v := range p.Value.F32() {
				v = bf16(v)
				if i%2 == 1 {
					v += max(v, -v) / 1024
				}
				p.Value.F32()[i] = v
			}
		}
	}
	return e
}
