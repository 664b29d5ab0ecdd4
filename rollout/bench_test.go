package rollout

import (
	"context"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/rl"
)

// tiny is the recipe's model: 2.2 M parameters.
func tiny() dsv4.Config {
	c := small()
	c.Vocab, c.Hidden, c.Heads, c.HeadDim, c.RopeDim, c.QRank, c.OGroups, c.ORank = 512, 128, 4, 80, 16, 64, 2, 32
	c.Window, c.RateC4, c.RateC128, c.IndexHeads, c.IndexDim, c.IndexTopK = 16, 4, 16, 8, 32, 16
	c.Experts, c.TopK, c.ExpertDim, c.Streams, c.SinkhornIter, c.InitRange = 8, 2, 64, 4, 20, 0.02
	c.Layers = []dsv4.Layer{{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4}, {Attention: dsv4.C128}, {Attention: dsv4.C4}, {Attention: dsv4.C128}}
	return c
}

// BenchmarkDecode draws 64 samples at a time, of 8 prompts, 128 tokens each.
func BenchmarkDecode(b *testing.B) {
	k := cpu.New(0)
	defer k.Close()
	benchmarkDecode(b, k, rl.Report{})
}

// BenchmarkRecording is BenchmarkDecode whose samples tell their choices. Off it is BenchmarkDecode.
func BenchmarkRecording(b *testing.B) {
	k := cpu.New(0)
	defer k.Close()
	for name, told := range map[string]rl.Report{"off": {}, "experts": {Experts: true}, "all": {Experts: true, Entries: true}} {
		b.Run(name, func(b *testing.B) { benchmarkDecode(b, k, told) })
	}
}

// BenchmarkHost is BenchmarkDecode without the arithmetic: what a pass costs the engine itself.
func BenchmarkHost(b *testing.B) { benchmarkDecode(b, dry{}, rl.Report{}) }

func benchmarkDecode(b *testing.B, k kernels.Backend, told rl.Report) {
	m := dsv4.New(tiny(), dtype.F32)
	m.Init(1)
	cfg := Default()
	cfg.Experts, cfg.Entries = told.Experts, told.Entries
	e, err := New(cfg, dsv4.New(tiny(), dtype.F32), k)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	if err := e.Update(ctx, snapshot{version: 1, m: m}); err != nil {
		b.Fatal(err)
	}
	var reqs []rl.Request
	for i := range 64 {
		prompt := make([]int32, 32)
		for j := range prompt {
			prompt[j] = int32((i/8*37 + j*j) % 512)
		}
		q := ask(int64(i), prompt, 128)
		q.Report = told
		reqs = append(reqs, q)
	}
	b.ReportAllocs()
	before := e.Stats()
	for b.Loop() {
		for _, err := range e.Generate(ctx, reqs) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	after := e.Stats()
	tokens, passes := float64(after.DecodeTokens-before.DecodeTokens), float64(after.Passes-before.Passes)
	b.ReportMetric(tokens/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/passes, "us/pass")
	b.ReportMetric(tokens/passes, "tokens/pass")
}
