package taps

import (
	"math/rand/v2"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

// small is five layers with every kind of attention and both routers.
var small = dsv4.Config{
	Vocab: 23, Hidden: 16, Layers: []dsv4.Layer{{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned}, {Attention: dsv4.C128, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned}},
	Heads: 4, HeadDim: 8, RopeDim: 4, QRank: 12, OGroups: 2, ORank: 6, Window: 3, RateC4: 2, RateC128: 6, IndexHeads: 4, IndexDim: 8, IndexTopK: 3,
	Experts: 5, TopK: 2, ExpertDim: 10, RoutedFactor: 1.5, Limit: 1.5, LimitShared: 1, Streams: 3, SinkhornIter: 6, HyperEps: 1e-6, NormEps: 1e-6,
	RopeTheta: 100, CompressRopeTheta: 1000, Yarn: dsv4.Yarn{Factor: 4, Original: 8, BetaFast: 32, BetaSlow: 1}, MaxPositions: 64, InitRange: 0.3, BOS: 0, EOS: 1,
}

// randomModel returns a model whose every weight is random, so that nothing is a zero or a one by luck.
func randomModel(cfg dsv4.Config, format dtype.Type, seed uint64) *dsv4.Model {
	m := dsv4.New(cfg, format)
	m.Init(seed)
	for i, p := range m.Params() {
		r := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		for _, end := range []string{"norm.weight", "scale", "base", "sinks", "position_bias", "correction_bias"} {
			if strings.HasSuffix(p.Name, end) {
				disturb(p.Value, r)
			}
		}
	}
	return m
}

// disturb adds noise to what a fresh model has as zeros and ones.
func disturb(t *tensor.Tensor, r *rand.Rand) {
	if t.Type == dtype.F64 {
		for i := range t.F64() {
			t.F64()[i] += 0.4 * r.NormFloat64()
		}
		return
	}
	for i := range t.F32() {
		t.F32()[i] += float32(0.4 * r.NormFloat64())
	}
}

func randomTokens(seed uint64, vocab, n int) []int32 {
	r := rand.New(rand.NewPCG(seed, 77))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.IntN(vocab))
	}
	return ids
}

func judge(k kernels.Backend, m model.Model) Judge {
	j := Judge{Model: m, Backend: k, Type: dtype.F32}
	if m.Head().Value.Type == dtype.F64 {
		j.Type = dtype.F64
	}
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, j.Type), m)
	return j
}

// record returns the taps of one pass over all tokens, with logits and logprobs.
func record(t *testing.T, j Judge, ids []int32) *Set {
	t.Helper()
	rec, s, in := NewRecorder(j.Model), NewSet(ids), sequence(ids)
	c := ops.NewCtx(j.Backend, &tensor.Arena{}, j.Type)
	c.Watch = rec.Watch
	rec.Begin(in, s)
	f := &forced{j: j}
	x := model.Forward(c, j.Model, in, func(i int) kv.Store {
		if j.Store != nil {
			return j.Store(i, f.store(i))
		}
		return f.store(i)
	}, false)
	h := j.Model.Final(c, x)
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	c.Watch = nil
	logits := ops.Linear(c, h, j.Model.Head())
	next, one := append(ids[1:len(ids):len(ids)], 0), make([]float32, len(ids))
	for i := range one {
		one[i] = 1
	}
	lp, _ := ops.LogProb(c, h, j.Model.Head(), next, one)
	add(t, s, &Tap{Layer: -1, Name: Logits, Shape: []int{logits.Dim()}, Values: floats(logits, 0, logits.Len())})
	if err := s.AddLogProbs(1, floats(lp, 0, len(ids)-1)); err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Set, tap *Tap) {
	t.Helper()
	if err := s.Add(tap); err != nil {
		t.Fatal(err)
	}
}
