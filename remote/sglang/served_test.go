package sglang_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/intake"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/remote/sglang"
	"furlong/rl"
	"furlong/rl/rltest"
	"furlong/rollout"
	"furlong/server"
	"furlong/tensor"
	"furlong/weightsync"
)

// small has every kind of layer, and experts wide enough for FP4.
func small() dsv4.Config {
	return dsv4.Config{
		Vocab: 40, Hidden: 32, Heads: 2, HeadDim: 16, RopeDim: 4, QRank: 8, OGroups: 2, ORank: 4, Window: 6, RateC4: 2, RateC128: 4,
		IndexHeads: 2, IndexDim: 8, IndexTopK: 3, Experts: 4, TopK: 2, ExpertDim: 32, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
		Streams: 2, SinkhornIter: 5, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 256, BetaFast: 32, BetaSlow: 1}, MaxPositions: 4096, InitRange: 0.3,
		Layers: []dsv4.Layer{
			{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned}, {Attention: dsv4.C128, Router: dsv4.Learned},
		},
	}
}

// A site is a model's format, its engines and the folder that they read.
type site struct {
	t      *testing.T
	format string
	m      *dsv4.Model // the policy
	dir    string
}

// engine runs an engine of the model inside of this process.
func (s site) engine(context int) *rollout.Engine {
	cfg := rollout.Default()
	cfg.MaxRunning, cfg.Context, cfg.PrefillTokens, cfg.PageTokens, cfg.Format = 8, context, 64, 4, s.format
	e, err := rollout.New(cfg, dsv4.New(small(), dtype.BF16), ref.New[float32]())
	if err != nil {
		s.t.Fatal(err)
	}
	background(s.t, e.Run)
	return e
}

// serve puts a server before an engine of its own and returns its address.
func (s site) serve(context int) string {
	t := s.t
	e := s.engine(context)
	if err := e.Update(t.Context(), s.weights(1)); err != nil {
		t.Fatal(err)
	}
	model, err := intake.Describe(s.packed(), len(small().Layers), small().Experts)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Default(), e, server.Parts{
		Model:   server.Model{Path: "m", Name: "m", Vocab: small().Vocab, Context: context, Launch: map[string]any{"rollout_format": s.format, "kv_cache_dtype": "auto"}},
		Weights: &server.Weights{Model: model, Roots: []string{s.dir}}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, srv.Run)
	h := httptest.NewServer(srv.Handler())
	t.Cleanup(h.Close)
	return h.URL
}

// packed returns the policy in the site's format.
func (s site) packed() []*tensor.Param {
	r, err := quant.ParseRecipe(s.format)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := quant.NewReplica(s.m.Params(), r, dtype.BF16)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Refresh()
}

func (s site) weights(v rl.Version) rl.Weights {
	return weightsync.Of(v, weightsync.Flatten(s.packed()), weightsync.OneTensor)
}

// attach returns an engine over n servers.
func (s site) attach(n, context int, transport string) rl.RolloutEngine {
	c := sglang.Default()
	for range n {
		c.URLs = append(c.URLs, s.serve(context))
	}
	c.Transport, c.Bucket = transport, 2000
	if transport == "disk" {
		c.Dir = s.dir
	}
	e, err := sglang.Attach(s.t.Context(), c, sglang.Options{
		ConfigJSON: []byte("{}"), Experts: small().Experts, Context: context, Formats: sglang.Formats{Weights: s.format, State: "auto"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(e.Close)
	return e.Rollout()
}

func newSite(t *testing.T, format string) site {
	m := dsv4.New(small(), dtype.BF16)
	m.Init(2)
	return site{t, format, m, t.TempDir()}
}

func background(t *testing.T, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

func prompts() []*rl.Prompt {
	return []*rl.Prompt{{ID: "a", Tokens: []int32{1, 2, 3}}, {ID: "b", Tokens: []int32{1, 2, 3, 4, 5, 6, 7, 8}}, {ID: "c", Tokens: []int32{9}}}
}

// The suite of all engines over servers of ours. Logprobs after truncation have no place in the dialect.
func TestContractOverServers(t *testing.T) {
	for name, transport := range map[string]string{"stream": "auto", "disk": "disk"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && transport == "disk" {
				t.Skip("takes a while")
			}
			rltest.RunRollout(t, func(t *testing.T) rltest.Rig {
				if strings.HasSuffix(t.Name(), "truncated_sampling_reports_both_logprobs") {
					t.Skip("the dialect has no place for logprobs after truncation")
				}
				long := 300
				if testing.Short() { // kernels are slow enough under the race detector
					long = 60
				}
				s := newSite(t, "bf16")
				return rltest.Rig{Engine: s.attach(1, 400, transport), Prompts: prompts(), Weights: s.weights, Long: long}
			})
		})
	}
}

// So does the suite of what was begun and of aborts.
func TestBegunOverServers(t *testing.T) {
	rltest.RunBegun(t, func(t *testing.T) rltest.Rig {
		long := 300
		if testing.Short() {
			long = 60
		}
		s := newSite(t, "bf16")
		return rltest.Rig{Engine: s.attach(1, 400, "auto"), Prompts: prompts(), Weights: s.weights, Long: long}
	})
}

// What comes over HTTP is what comes in process: tokens, the bits of logprobs, versions, and all that can be told. So it is in every format, and what is attested is
// what was published.
func TestSameBits(t *testing.T) {
	for _, format := range []string{"bf16", "fp8", "fp8+fp4"} {
		for _, transport := range []string{"auto", "disk"} {
			t.Run(format+" "+transport, func(t *testing.T) {
				if testing.Short() && format+transport != "fp8auto" {
					t.Skip("takes a while")
				}
				sameBits(t, newSite(t, format), transport)
			})
		}
	}
}

func sameBits(t *testing.T, s site, transport string) {
	inside, outside := s.engine(120), s.attach(2, 120, transport)
	ctx := t.Context()
	for _, e := range []rl.RolloutEngine{inside, outside} {
		if err := errors.Join(e.Pause(ctx), e.Update(ctx, s.weights(3)), e.Resume(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := inside.Attestation(), outside.(rl.Attester).Attestation()
	if a.Version != b.Version || a.State != b.State || a.Effective != b.Effective || !slices.Equal(a.Canary, b.Canary) {
		t.Errorf("outside attests %+v, want %+v", b, a)
	}
	want, got := draw(t, inside), draw(t, outside)
	for id, w := range want {
		if got[id] != w {
			t.Errorf("request %d:\n%.2000s, want\n%.2000s", id, got[id], w)
		}
	}
}

// draw returns samples of many kinds of requests, in words.
func draw(t *testing.T, e rl.RolloutEngine) map[int64]string {
	t.Helper()
	var reqs []rl.Request
	for i := range 24 {
		p := rl.DefaultSampling()
		p.MaxTokens, p.Seed, p.Temperature = 5+i, rl.MixSeed(7, uint64(i)), []float64{1, 0.7, 0}[i%3]
		r := rl.Request{ID: int64(i), Prompt: prompts()[i%3], Index: i, Sampling: p}
		switch i % 4 {
		case 1:
			r.Sampling.StopIDs, r.Sampling.MinTokens = []int32{3, 4, 5, 6, 7, 8, 9}, 2
		case 2:
			r.Sampling.FrequencyPenalty, r.Sampling.PresencePenalty, r.Sampling.RepetitionPenalty = 0.5, 0.25, 1.25
			r.Sampling.Bias = []rl.Bias{{Token: 1, Add: -1.5}, {Token: 7, Add: 0.75}}
		case 3:
			r.Report.Tail, r.Report.Top, r.Report.Among = len(r.Prompt.Tokens)-1, 3, []int32{5, 2}
		}
		reqs = append(reqs, r)
	}
	out := map[int64]string{}
	for s, err := range e.Generate(t.Context(), reqs) {
		if err != nil {
			t.Fatal(err)
		}
		s.Prompt, s.CachedTokens = nil, 0 // what was cached depends on who came first
		out[s.Request] = fmt.Sprintf("%+v", *s)
	}
	if len(out) != len(reqs) {
		t.Fatalf("%d samples, want %d", len(out), len(reqs))
	}
	return out
}

// Of the checkpoints in the folder the last two versions stay.
func TestFolders(t *testing.T) {
	s := newSite(t, "bf16")
	e := s.attach(1, 120, "disk")
	ctx := t.Context()
	for v := range rl.Version(4) {
		if err := errors.Join(e.Pause(ctx), e.Update(ctx, s.weights(v+1)), e.Resume(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(all) != 2 || !strings.Contains(all[0], "weight_v0000000003-") || !strings.Contains(all[1], "weight_v0000000004-") {
		t.Errorf("the folder has %v, %v", all, err)
	}
}

// A server in another format is refused before anything is sent.
func TestOtherFormatsAreRefused(t *testing.T) {
	s := newSite(t, "fp8")
	c := sglang.Default()
	c.URLs = []string{s.serve(64)}
	for want, opt := range map[string]sglang.Options{
		"it holds weights as fp8, and --rollout-format is bf16":    {Formats: sglang.Formats{Weights: "bf16"}},
		"as auto, and --rollout-kv-format is fp8_e4m3":             {Formats: sglang.Formats{State: "fp8_e4m3"}},
		"its context has 64 tokens, want at least --context-lengt": {Context: 65},
		"start it with --enable-return-routed-experts":             {Routes: rl.NewRoutes(3, 2, 4)},
	} {
		opt.Log = slog.New(slog.DiscardHandler)
		if _, err := sglang.Attach(t.Context(), c, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The addresses of servers may stand in one word or in several.
func ExampleConfig_Servers() {
	c := sglang.Config{URLs: []string{"http://a:30000,http://b:30000/", "http://c:30000"}}
	fmt.Println(strings.Join(c.Servers(), " "))
	// Output: http://a:30000 http://b:30000 http://c:30000
}
