package rollout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout/sample"
	"furlong/tensor"
	"furlong/weightsync"
)

// small has every kind of layer under both routers, windows that close often, and more entries than the indexer keeps.
func small() dsv4.Config {
	return dsv4.Config{
		Vocab: 40, Hidden: 16, Heads: 2, HeadDim: 8, RopeDim: 4, QRank: 8, OGroups: 2, ORank: 4, Window: 6, RateC4: 2, RateC128: 4,
		IndexHeads: 2, IndexDim: 8, IndexTopK: 3, Experts: 4, TopK: 2, ExpertDim: 8, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
		Streams: 2, SinkhornIter: 5, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 256, BetaFast: 32, BetaSlow: 1}, MaxPositions: 4096, InitRange: 0.3,
		Layers: []dsv4.Layer{
			{Attention: dsv4.W, Router: dsv4.Hash},
			{Attention: dsv4.C4, Router: dsv4.Hash},
			{Attention: dsv4.C128, Router: dsv4.Learned},
			{Attention: dsv4.C4, Router: dsv4.Learned},
			{Attention: dsv4.W, Router: dsv4.Learned},
		},
	}
}

// policy returns a model whose every weight is random and matters.
func policy(format dtype.Type, seed uint64) *dsv4.Model {
	m := dsv4.New(small(), format)
	m.Init(seed)
	r := rand.New(rand.NewPCG(seed, 9))
	for _, p := range m.Params() {
		if p.Value.Type == dtype.F32 && len(p.Value.Shape) == 1 || strings.HasSuffix(p.Name, "position_bias") {
			for i := range p.Value.F32() {
				p.Value.F32()[i] += float32(r.NormFloat64() * 0.3)
			}
		}
	}
	return m
}

// snapshot is a model as weights under a version. edit, if set, may change what is sent.
type snapshot struct {
	version rl.Version
	m       *dsv4.Model
	edit    func([]rl.Tensor) []rl.Tensor
}

func (w snapshot) Version() rl.Version { return w.version }

// weights returns what is sent: a tensor a bucket.
func (w snapshot) weights() rl.Weights {
	flat := weightsync.Flatten(w.m.Params())
	if w.edit == nil {
		return weightsync.Of(w.version, flat, weightsync.OneTensor)
	}
	var ts []rl.Tensor
	for _, t := range flat {
		ts = append(ts, rl.Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape, Data: t.Mem})
	}
	return weightsync.Plain(w.version, w.edit(ts))
}

func (w snapshot) Manifest(ctx context.Context) ([]byte, error) { return w.weights().Manifest(ctx) }

func (w snapshot) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return w.weights().Buckets(ctx)
}

// A rig is an engine at work.
type rig struct {
	t testing.TB
	*Engine
	stop func()
}

// begin runs an engine without weights.
func begin(t testing.TB, cfg Config, format dtype.Type, k kernels.Backend) *rig {
	t.Helper()
	return beginOn(t, cfg, dsv4.New(small(), format), k)
}

// beginOn runs an engine over a model that becomes its own.
func beginOn(t testing.TB, cfg Config, m *dsv4.Model, k kernels.Backend) *rig {
	t.Helper()
	e, err := New(cfg, m, k)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	r := &rig{t: t, Engine: e}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want that it was cancelled", err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

// serve runs an engine on version 1 of a policy.
func serve(t testing.TB, cfg Config, m *dsv4.Model, k kernels.Backend) *rig {
	t.Helper()
	r := begin(t, cfg, m.Head().Value.Type, k)
	r.update(snapshot{version: 1, m: m})
	return r
}

func (r *rig) update(w rl.Weights) {
	r.t.Helper()
	if err := r.Update(context.Background(), w); err != nil {
		r.t.Fatal(err)
	}
}

// all generates reqs and returns their samples by request.
func (r *rig) all(reqs []rl.Request) map[int64]*rl.Sample {
	r.t.Helper()
	out := map[int64]*rl.Sample{}
	for s, err := range r.Generate(context.Background(), reqs) {
		if err != nil {
			r.t.Fatal(err)
		}
		out[s.Request] = s
	}
	if len(out) != len(reqs) {
		r.t.Fatalf("%d samples for %d requests", len(out), len(reqs))
	}
	return out
}

// idle fails unless no sample is in flight and no page is lost.
func (r *rig) idle() {
	r.t.Helper()
	if err := r.Flush(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	s := r.Stats()
	if s.Running != 0 || s.Queued != 0 || s.Recent.Free != s.Recent.Total || s.Lasting.Free != s.Lasting.Total {
		r.t.Fatalf("not idle: %+v", s)
	}
}

// oracle scores samples as the trainer does: one whole sequence in place.
type oracle struct {
	k   kernels.Backend
	m   map[rl.Version]*dsv4.Model
	fp8 bool // attention reads what an FP8 cache keeps
}

func newOracle(versions map[rl.Version]*dsv4.Model) oracle {
	o := oracle{k: ref.New[float32](), m: versions}
	for _, m := range versions {
		model.Prepare(ops.NewCtx(o.k, &tensor.Arena{}, dtype.F32), m)
	}
	return o
}

// score returns the logits of a sample's response under one version, a row a token, and the logprobs of its tokens.
func (o oracle) score(s *rl.Sample, v rl.Version) (logits, logProbs []float32) {
	c := ops.NewCtx(o.k, &tensor.Arena{}, dtype.F32)
	m, tokens, n := o.m[v], s.Tokens(), len(s.Prompt.Tokens)
	in := &ops.Tokens{ID: tokens[:len(tokens)-1]}
	for i := range in.ID {
		in.Seq, in.Pos = append(in.Seq, 0), append(in.Pos, int32(i))
	}
	stores := make([]kv.InPlace, len(m.Layers()))
	for i, specs := range m.Layers() {
		if o.fp8 {
			stores[i].Keep = kv.FP8(o.k, specs)
		}
	}
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	h := m.Final(c, x.Slice(n-1, len(in.ID)))
	scale := make([]float32, len(s.Response))
	for i := range scale {
		scale[i] = s.Sampling.InvTemperature()
	}
	lp, _ := ops.LogProb(c, h, m.Head(), s.Response, scale)
	return ops.Linear(c, h, m.Head()).F32(), lp.F32()
}

// check compares a sample with the oracle, bit for bit, token by token under the version that chose it: each logprob, and the
// token that its logits and its number in the response lead to.
func (o oracle) check(s *rl.Sample) error {
	if len(s.LogProbs) != len(s.Response) {
		return fmt.Errorf("request %d has %d logprobs for %d tokens", s.Request, len(s.LogProbs), len(s.Response))
	}
	i := 0
	for _, span := range s.Versions {
		logits, want := o.score(s, span.Version)
		for range span.Tokens {
			if math.Float32bits(s.LogProbs[i]) != math.Float32bits(want[i]) {
				return fmt.Errorf("request %d, response token %d of version %v: logprob is %v, the trainer's is %v", s.Request, i, span.Version, s.LogProbs[i], want[i])
			}
			if err := o.redraw(s, i, logits[i*small().Vocab:][:small().Vocab]); err != nil {
				return fmt.Errorf("request %d, response token %d of version %v: %w", s.Request, i, span.Version, err)
			}
			i++
		}
	}
	if i != len(s.Response) {
		return fmt.Errorf("request %d: versions of %d tokens, want %d", s.Request, i, len(s.Response))
	}
	return nil
}

func (o oracle) redraw(s *rl.Sample, i int, logits []float32) error {
	token, trunc, err := new(sample.Drawer).Draw(logits, s.Sampling, i)
	if err != nil {
		return err
	}
	if token != s.Response[i] {
		return fmt.Errorf("it is %d, want %d", s.Response[i], token)
	}
	if sample.Truncates(s.Sampling) != (s.TruncLogProbs != nil) || s.TruncLogProbs != nil && s.TruncLogProbs[i] != trunc {
		return fmt.Errorf("truncated logprobs are %v, want %v at %d", s.TruncLogProbs, trunc, i)
	}
	return nil
}

// prompts returns n prompts that share beginnings of various lengths, a few of them equal.
func prompts(r *rand.Rand, n, longest int) []*rl.Prompt {
	base := make([]int32, longest)
	for i := range base {
		base[i] = int32(r.IntN(small().Vocab))
	}
	out := make([]*rl.Prompt, n)
	for i := range out {
		tokens := append([]int32(nil), base[:1+r.IntN(longest)]...)
		for j := r.IntN(2 * longest); j < len(tokens); j++ {
			tokens[j] = int32(r.IntN(small().Vocab))
		}
		out[i] = &rl.Prompt{ID: fmt.Sprint("p", i), Tokens: tokens}
	}
	return out
}

// requests asks for up to four samples of each prompt, under settings of all kinds.
func requests(r *rand.Rand, ps []*rl.Prompt, longest int) []rl.Request {
	var out []rl.Request
	for _, p := range ps {
		for i := range 1 + r.IntN(4) {
			s := rl.DefaultSampling()
			s.Temperature = []float64{1, 0.7, 1.3, 0}[r.IntN(4)]
			s.MaxTokens = 1 + r.IntN(longest)
			s.Seed = r.Uint64()
			s.StopIDs = []int32{int32(r.IntN(small().Vocab))}
			switch r.IntN(6) {
			case 0:
				s.TopK = 5
			case 1:
				s.TopP = 0.8
			case 2:
				s.MinP = 0.05
			}
			out = append(out, rl.Request{ID: int64(len(out) + 1), Prompt: p, Index: i, Sampling: s})
		}
	}
	return out
}

// same reports the first difference between two samples in what must not depend on company or settings.
func same(a, b *rl.Sample) error {
	if fmt.Sprint(a.Response) != fmt.Sprint(b.Response) || a.Stop != b.Stop {
		return fmt.Errorf("request %d answers %v (%v) and %v (%v)", a.Request, a.Response, a.Stop, b.Response, b.Stop)
	}
	for i := range a.LogProbs {
		if math.Float32bits(a.LogProbs[i]) != math.Float32bits(b.LogProbs[i]) {
			return fmt.Errorf("request %d, token %d: logprobs are %v and %v", a.Request, i, a.LogProbs[i], b.LogProbs[i])
		}
	}
	if len(a.TruncLogProbs) != len(b.TruncLogProbs) {
		return fmt.Errorf("request %d has %d and %d truncated logprobs", a.Request, len(a.TruncLogProbs), len(b.TruncLogProbs))
	}
	for i := range a.TruncLogProbs {
		if a.TruncLogProbs[i] != b.TruncLogProbs[i] {
			return fmt.Errorf("request %d, token %d: truncated logprobs are %v and %v", a.Request, i, a.TruncLogProbs[i], b.TruncLogProbs[i])
		}
	}
	return nil
}
