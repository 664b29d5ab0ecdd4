package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/quant"
	"furlong/tensor"
)

// verified is what lies between the logits of two checkpoints, over tokens that are always the same.
type verified struct {
	Tokens     int     `json:"tokens"`
	Logits     int     `json:"logits"`
	Differ     int     `json:"differ"`       // logits that are not the same number
	Max        float64 `json:"max"`          // largest difference of logits
	MeanLogP   float64 `json:"mean_logprob"` // mean difference of the logprobs of the tokens
	SameChoice int     `json:"same_choice"`  // places where both give one token the most
}

func (v *verified) String() string {
	if v.Differ == 0 {
		return fmt.Sprintf("%d logits of %d tokens are the same numbers", v.Logits, v.Tokens)
	}
	return fmt.Sprintf("%d of %d logits of %d tokens differ, by at most %.3g; logprobs by %.3g in the mean; %d likeliest tokens are the same",
		v.Differ, v.Logits, v.Tokens, v.Max, v.MeanLogP, v.SameChoice)
}

// check holds logits against what the conversion says it lost.
func (v *verified) check(loss quant.Loss) error {
	if v != nil && loss.Exact() && v.Differ > 0 {
		return fmt.Errorf("%d logits differ, by up to %v, though the conversion is said to be exact", v.Differ, v.Max)
	}
	return nil
}

// verifyTokens are enough for a window and for compressed entries of a model that tests use.
const verifyTokens = 64

// verify loads both checkpoints, one after the other, as the float32 numbers that they mean, and compares their logits.
func verify(ctx context.Context, cfg dsv4.Config, o convertOptions) (*verified, error) {
	k, closeBackend := backend("cpu", o.Threads)
	defer closeBackend()
	ids := make([]int32, min(verifyTokens, cfg.MaxPositions))
	for i := range ids {
		ids[i] = int32((i*i*7 + i*3 + 1) % cfg.Vocab)
	}
	var logits [2][]float32
	for i, dir := range []string{o.From, o.To} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := dsv4.New(cfg, dtype.F32)
		if _, err := hf.Load(dir, m.Params(), hf.LoadOptions{Layers: len(cfg.Layers), Experts: cfg.Experts}); err != nil {
			return nil, err
		}
		logits[i] = logitsOf(k, m, ids)
		if err := finite(logits[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return compareLogits(logits[0], logits[1], ids, cfg.Vocab), nil
}

// logitsOf returns the logits [T, V] of one sequence.
func logitsOf(k kernels.Backend, m *dsv4.Model, ids []int32) []float32 {
	c := ops.NewCtx(k, &tensor.Arena{}, dtype.F32)
	model.Prepare(c, m)
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	stores := make([]kv.InPlace, len(m.Layers()))
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	return slices.Clone(ops.Linear(c, m.Final(c, x), m.Head()).F32())
}

// finite refuses logits that nothing can be said of.
func finite(logits []float32) error {
	for i, x := range logits {
		if d := float64(x); math.IsNaN(d) || math.IsInf(d, 0) {
			return fmt.Errorf("logit %d is %v, want a finite number: has a weight a NaN or an infinity?", i, x)
		}
	}
	return nil
}

// compareLogits compares logits [T, V] over ids, which are finite.
func compareLogits(a, b []float32, ids []int32, vocab int) *verified {
	v := &verified{Tokens: len(ids), Logits: len(a)}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		d := math.Abs(float64(a[i]) - float64(b[i]))
		v.Differ, v.Max = v.Differ+1, max(v.Max, d)
	}
	for t := range ids {
		x, y := a[t*vocab:][:vocab], b[t*vocab:][:vocab]
		if slices.Index(x, slices.Max(x)) == slices.Index(y, slices.Max(y)) {
			v.SameChoice++
		}
		if t+1 < len(ids) {
			v.MeanLogP += math.Abs(logprob(x, ids[t+1])-logprob(y, ids[t+1])) / float64(len(ids)-1)
		}
	}
	return v
}

// logprob returns the logprob of a token in nats.
func logprob(logits []float32, id int32) float64 {
	most, sum := float64(slices.Max(logits)), 0.
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	return float64(logits[id]) - most - math.Log(sum)
}
