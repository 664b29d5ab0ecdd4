package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"furlong/checkpoint/hf"
	"furlong/data/arithmetic"
	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rl"
	"furlong/rollout"
	"furlong/starter"
	"furlong/tokenizer"
	"furlong/train"
)

// What split draws: so many problems, so many answers each.
const (
	problems = 64
	answers  = 8
	seed     = 1
)

// split scores the same tokens in several formats and prints where a difference comes from.
func split(ctx context.Context, w io.Writer) error {
	k := cpu.New(0)
	defer k.Close()
	for _, format := range []string{"fp8", "fp8+fp4"} {
		samples, err := generate(ctx, k, format)
		if err != nil {
			return err
		}
		scored := [][]float64{logProbs(samples, func(s *rl.Sample) []float32 { return s.LogProbs })}
		for _, actor := range []string{format, format + "-weights", "bf16"} {
			lp, err := score(ctx, k, actor, samples)
			if err != nil {
				return err
			}
			scored = append(scored, lp)
		}
		fmt.Fprintf(w, "%s rollout, %d tokens: mean, p99 and max |difference of logprobs| in nats\n", format, len(scored[0]))
		for _, row := range []struct {
			what string
			a, b int
		}{
			{"rollout engine - trainer of the same format", 0, 1},
			{"activations: " + format + " - " + format + "-weights", 1, 2},
			{"weights: " + format + "-weights - bf16", 2, 3},
			{"both: " + format + " - bf16", 1, 3},
		} {
			mean, p99, most := differ(scored[row.a], scored[row.b])
			fmt.Fprintf(w, "  %-48s %.3g  %.3g  %.3g\n", row.what, mean, p99, most)
		}
	}
	return nil
}

// policy returns the model inside the binary.
func policy() (*dsv4.Model, train.Files, error) {
	cfg, err := dsv4.ReadConfig(starter.Config)
	if err != nil {
		return nil, train.Files{}, err
	}
	weights, err := starter.Weights()
	if err != nil {
		return nil, train.Files{}, err
	}
	m := dsv4.New(cfg, dtype.BF16)
	_, err = hf.LoadFrom(weights, m.Params(), hf.LoadOptions{Layers: len(cfg.Layers), Experts: cfg.Experts})
	return m, train.Files{ConfigJSON: starter.Config, Layers: len(cfg.Layers), Experts: cfg.Experts}, err
}

// generate returns answers to held-out problems by an engine in a format.
func generate(ctx context.Context, k *cpu.Backend, format string) ([]*rl.Sample, error) {
	m, _, err := policy()
	if err != nil {
		return nil, err
	}
	recipe, err := quant.ParseRecipe(format)
	if err != nil {
		return nil, err
	}
	weights, err := quant.NewReplica(m.Params(), recipe, dtype.BF16)
	if err != nil {
		return nil, err
	}
	cfg := rollout.Default()
	cfg.Format, cfg.Context = format, 128
	e, err := rollout.New(cfg, dsv4.New(m.Config(), dtype.BF16), k)
	if err != nil {
		return nil, err
	}
	inner, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(inner) }()
	defer func() { stop(); <-ended }()
	if err := e.Update(ctx, train.Weights(rl.NewVersion(0, 1), weights.Refresh())); err != nil {
		return nil, err
	}
	return collect(ctx, e)
}

// collect draws the answers.
func collect(ctx context.Context, e *rollout.Engine) ([]*rl.Sample, error) {
	tok := tokenizer.Bytes{}
	prompts, err := arithmetic.HeldOut(tok, seed, problems)
	if err != nil {
		return nil, err
	}
	var reqs []rl.Request
	for _, p := range prompts {
		for i := range answers {
			s := rl.DefaultSampling()
			s.MaxTokens, s.StopIDs, s.Seed = 64, []int32{tok.EOS()}, uint64(len(reqs))
			reqs = append(reqs, rl.Request{ID: int64(len(reqs)), Prompt: p, Index: i, Sampling: s})
		}
	}
	out := make([]*rl.Sample, len(reqs))
	for s, err := range e.Generate(ctx, reqs) {
		if err != nil {
			return nil, err
		}
		out[s.Request] = s
	}
	return out, nil
}

// score returns a trainer's logprobs of the samples' tokens.
func score(ctx context.Context, k *cpu.Backend, format string, samples []*rl.Sample) ([]float64, error) {
	m, files, err := policy()
	if err != nil {
		return nil, err
	}
	cfg := train.Default()
	cfg.Format = format
	e, err := train.New(cfg, m, nil, k, files)
	if err != nil {
		return nil, err
	}
	if err := e.Score(ctx, samples); err != nil {
		return nil, err
	}
	return logProbs(samples, func(s *rl.Sample) []float32 { return s.TrainLogProbs }), nil
}

func logProbs(samples []*rl.Sample, of func(*rl.Sample) []float32) (out []float64) {
	for _, s := range samples {
		for _, lp := range of(s) {
			out = append(out, float64(lp))
		}
	}
	return out
}

// differ returns mean, 99th percentile and maximum of |a-b|.
func differ(a, b []float64) (mean, p99, most float64) {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Abs(a[i] - b[i])
		mean += d[i] / float64(len(a))
	}
	slices.Sort(d)
	return mean, d[len(d)*99/100], d[len(d)-1]
}
