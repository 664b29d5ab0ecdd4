package train

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
)

// small has every kind of layer and both routers, and windows so short that a dozen tokens fill all of them.
var small = dsv4.Config{
	Vocab: 24, Hidden: 24, Heads: 2, HeadDim: 16, RopeDim: 8, QRank: 12, OGroups: 2, ORank: 8, Window: 4,
	Layers: []dsv4.Layer{
		{Attention: dsv4.W, Router: dsv4.Hash},
		{Attention: dsv4.C4, Router: dsv4.Hash},
		{Attention: dsv4.C128, Router: dsv4.Learned},
		{Attention: dsv4.C4, Router: dsv4.Learned},
	},
	RateC4: 4, RateC128: 8, IndexHeads: 2, IndexDim: 16, IndexTopK: 2,
	Experts: 4, TopK: 2, ExpertDim: 12, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 2, SinkhornIter: 3, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
	MaxPositions: 256, InitRange: 0.3, BOS: 0, EOS: 1,
}

// actor returns a small model of random weights. Biases and sinks, which begin at 0, get values too.
func actor(format dtype.Type, seed uint64) *dsv4.Model {
	m := dsv4.New(small, format)
	m.Init(seed)
	r := rand.New(rand.NewPCG(seed, 99))
	for _, p := range m.Params() {
		if p.Value.Type == dtype.F32 && len(p.Value.Shape) < 3 {
			for i, v := range p.Value.F32() {
				p.Value.F32()[i] = v + float32(0.1*r.NormFloat64())
			}
		}
	}
	return m
}

func files() Files {
	return Files{ConfigJSON: small.JSON(), Layers: len(small.Layers), Experts: small.Experts}
}

// settings are Default's with a rate that moves weights of every format.
func settings() Config {
	c := Default()
	c.Optim.LR = 1e-2
	return c
}

func engine(t testing.TB, c Config, m *dsv4.Model, k kernels.Backend) *Engine {
	t.Helper()
	e, err := New(c, m, nil, k, files())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refEngine is an engine over the plain reference backend and new weights.
func refEngine(t testing.TB, c Config, format dtype.Type) *Engine {
	return engine(t, c, actor(format, 1), ref.New[float32]())
}

// cpuEngine is an engine over the fast backend and new weights.
func cpuEngine(t testing.TB, c Config, format dtype.Type) *Engine {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true}) // tests share the machine
	t.Cleanup(k.Close)
	return engine(t, c, actor(format, 1), k)
}

// long skips a test of nothing but numbers where there is little time: under the race detector it takes minutes.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: much arithmetic, nothing at once that other tests do not do")
	}
}

// batch returns groups of samples of random lengths, judged at random, as a rollout engine with numbers of its own would return
// them. Equal seeds make equal batches that share nothing.
func batch(seed uint64, groups, n int) *rl.Batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &rl.Batch{}
	for g := range groups {
		p := &rl.Prompt{ID: fmt.Sprintf("p%d", g), Group: int64(g), Tokens: tokens(r, 1+r.IntN(12))}
		for i := range n {
			s := &rl.Sample{Prompt: p, Index: i, Sampling: rl.DefaultSampling(), Response: tokens(r, 1+r.IntN(20)), Verdict: rl.Wrong}
			s.Sampling.Temperature = []float64{1, 0.6, 1.3}[i%3]
			if i%2 == g%2 {
				s.Verdict, s.Reward = rl.Right, 1
			}
			for range s.Response {
				s.LogProbs = append(s.LogProbs, float32(-3-r.Float64()))
			}
			b.Samples = append(b.Samples, s)
		}
	}
	return b
}

func tokens(r *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(small.Vocab))
	}
	return out
}

// mustStep takes a step that is not skipped.
func mustStep(t testing.TB, e *Engine, b *rl.Batch) rl.Stats {
	t.Helper()
	stats, err := e.Step(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if stats["train/skipped_steps"] != 0 {
		t.Fatalf("step was skipped: %v", stats)
	}
	return stats
}

// state returns everything that a step may change: weights, masters, moments, and the count of steps.
func state(e *Engine) map[string]string {
	out := map[string]string{"steps": fmt.Sprint(e.Steps())}
	for _, p := range e.Params() {
		out[p.Name] = string(p.Value.Mem)
	}
	for _, s := range e.opt.States() {
		for _, part := range parts {
			x := part.of(s)
			out[s.Param.Name+part.suffix] = string(tensor.Of(x, len(x)).Mem)
		}
	}
	return out
}

// gradients returns the gradient of every trained weight for a batch, leaving e as it was.
func gradients(t testing.TB, e *Engine, b *rl.Batch) map[string]string {
	t.Helper()
	samples, err := e.trainable(b)
	if err != nil {
		t.Fatal(err)
	}
	e.advantages(samples)
	if _, err := e.gradients(t.Context(), samples); err != nil {
		t.Fatal(err)
	}
	defer e.opt.ZeroGrad()
	out := map[string]string{}
	for _, p := range e.Params() {
		if p.Grad != nil {
			out[p.Name] = string(p.Grad.Mem)
		}
	}
	return out
}

// wantSame reports up to three entries in which got and want differ.
func wantSame(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	bad := 0
	for name := range want {
		if got[name] == want[name] {
			continue
		}
		if bad++; bad <= 3 {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	if bad > 3 {
		t.Errorf("%s: %d of %d differ", what, bad, len(want))
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d tensors, want %d", what, len(got), len(want))
	}
}

// withLoss returns settings of another loss.
func withLoss(change func(c *loss.Config)) Config {
	c := settings()
	change(&c.Loss)
	return c
}
