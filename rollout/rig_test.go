package rollout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/rl"
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
			q := rl.Request{ID: int64(len(out) + 1), Prompt: p, Index: i, Sampling: s}
			wish(rand.New(rand.NewPCG(uint64(q.ID), s.Seed)), &q)
			out = append(out, q)
		}
	}
	return out
}

// wish adds things that can be asked for: some to most requests.
func wish(r *rand.Rand, q *rl.Request) {
	p, n, token := &q.Sampling, len(q.Prompt.Tokens), func() int32 { return int32(r.IntN(small().Vocab)) }
	for _, add := range []func(){
		func() { q.Report.Tail = r.IntN(n) },
		func() { q.Report.Top = 1 + r.IntN(4) },
		func() { q.Report.Among = []int32{token(), token()} },
		func() { q.Space = "apart" },
		func() { p.RepetitionPenalty = 0.5 + r.Float64() },
		func() { p.FrequencyPenalty, p.PresencePenalty = r.NormFloat64(), r.NormFloat64() },
		func() { p.Bias = []rl.Bias{{Token: 3, Add: 2}, {Token: 4 + token()/2, Add: float32(math.Inf(-1))}} },
		func() { p.MinTokens = r.IntN(p.MaxTokens + 1) },
		func() { q.Constraint = apart(2 + r.IntN(5)) },
		func() { q.Watch = bored },
		func() { p.MaxTokens, p.MinTokens = 0, 0 },
	} {
		if r.IntN(6) == 0 {
			add()
		}
	}
}

// apart allows every token but the multiples of a number.
type apart int

func (a apart) Allow(allowed []bool) {
	for t := range allowed {
		allowed[t] = t%int(a) > 0
	}
}
func (apart) Accept(int32) {}
func (apart) Done() bool   { return false }

// bored is a watcher to whom a response ends with its second multiple of 7.
func bored(s *rl.Sample) bool {
	n := 0
	for _, t := range s.Response {
		if t%7 == 0 {
			n++
		}
	}
	return n > 1
}

// same reports the first difference between two samples in what must not depend on company or settings.
func same(a, b *rl.Sample) error {
	if fmt.Sprint(a.Response) != fmt.Sprint(b.Response) || a.Stop != b.Stop {
		return fmt.Errorf("request %d answers %v (%v) and %v (%v)", a.Request, a.Response, a.Stop, b.Response, b.Stop)
	}
	for _, part := range []struct {
		name string
		a, b []float32
	}{
		{"logprobs", a.LogProbs, b.LogProbs},
		{"truncated logprobs", a.TruncLogProbs, b.TruncLogProbs},
		{"logprobs of the prompt", a.PromptLogProbs, b.PromptLogProbs},
		{"what is told", flat(a.Told), flat(b.Told)},
		{"what is told of the prompt", flat(a.PromptTold), flat(b.PromptTold)},
	} {
		if !slices.EqualFunc(part.a, part.b, bits) {
			return fmt.Errorf("request %d: %s are %v and %v", a.Request, part.name, part.a, part.b)
		}
	}
	if !reflect.DeepEqual(a.Experts, b.Experts) || !reflect.DeepEqual(a.Entries, b.Entries) {
		return fmt.Errorf("request %d: experts are %v and %v, entries %v and %v", a.Request, a.Experts, b.Experts, a.Entries, b.Entries)
	}
	return nil
}

func bits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// flat returns all that is told, as numbers.
func flat(all []rl.Told) (out []float32) {
	for _, t := range all {
		for _, a := range t.Top {
			out = append(out, float32(a.Token), a.LogProb)
		}
		out = append(append(out, t.Among...), -1)
	}
	return out
}

// beginning returns the beginning of a sample that ended by itself which one that was aborted should be.
func beginning(whole, part *rl.Sample) *rl.Sample {
	b, n := *whole, len(part.Response)
	b.Stop, b.Response, b.LogProbs = rl.StopAbort, b.Response[:n], b.LogProbs[:n]
	if b.TruncLogProbs != nil {
		b.TruncLogProbs = b.TruncLogProbs[:n]
	}
	if b.Told != nil {
		b.Told = b.Told[:n]
	}
	p := len(part.PromptLogProbs)
	if b.PromptLogProbs = b.PromptLogProbs[:p]; b.PromptTold != nil {
		b.PromptTold = b.PromptTold[:p]
	}
	b.Experts = b.Experts.Head(part.Experts.Len())
	return &b
}
