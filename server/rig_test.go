package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/api/sglang"
	"furlong/door"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tokenizer"
	"furlong/weightsync"
)

// small has every kind of layer, and the vocabulary of the byte tokenizer.
func small() dsv4.Config {
	return dsv4.Config{
		Vocab: 272, Hidden: 16, Heads: 2, HeadDim: 8, RopeDim: 4, QRank: 8, OGroups: 2, ORank: 4, Window: 6, RateC4: 2, RateC128: 4,
		IndexHeads: 2, IndexDim: 8, IndexTopK: 3, Experts: 4, TopK: 2, ExpertDim: 8, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
		Streams: 2, SinkhornIter: 5, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 256, BetaFast: 32, BetaSlow: 1}, MaxPositions: 4096, InitRange: 0.3,
		Layers: []dsv4.Layer{
			{Attention: dsv4.W, Router: dsv4.Hash},
			{Attention: dsv4.C4, Router: dsv4.Learned},
			{Attention: dsv4.C128, Router: dsv4.Learned},
		},
	}
}

// policy returns a model whose every weight is random and matters.
func policy(seed uint64) *dsv4.Model {
	m := dsv4.New(small(), dtype.F32)
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

func weights(v rl.Version, m *dsv4.Model) rl.Weights {
	return weightsync.Of(v, weightsync.Flatten(m.Params()), weightsync.OneTensor)
}

// engineConfig is that of tests: a short context and little memory.
func engineConfig() rollout.Config {
	c := rollout.Default()
	c.MaxRunning, c.Context, c.PrefillTokens, c.PageTokens, c.TotalTokens = 8, 256, 64, 4, 1024
	return c
}

// newEngine runs an engine on version 1 until the test ends.
func newEngine(t testing.TB, cfg rollout.Config) *rollout.Engine {
	t.Helper()
	e, err := rollout.New(cfg, dsv4.New(small(), dtype.F32), ref.New[float32]())
	if err != nil {
		t.Fatal(err)
	}
	background(t, e.Run)
	if err := e.Update(t.Context(), weights(1, policy(1))); err != nil {
		t.Fatal(err)
	}
	return e
}

// background runs f until the test ends.
func background(t testing.TB, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want that it was cancelled", err)
		}
	})
}

// A site is a server at work, and a client.
type site struct {
	testing.TB
	*Server
	engine *rollout.Engine
	url    string
	client *http.Client
	log    *syncBuffer
}

// serve runs a server over a real engine. edit may change what it is told.
func serve(t testing.TB, cfg rollout.Config, edit func(*Config, *Parts)) *site {
	t.Helper()
	e := newEngine(t, cfg)
	u := serveOn(t, e, cfg.Context, edit)
	u.engine = e
	u.eventually("proof", func() bool { return u.health.proved.Load() })
	return u
}

func serveOn(t testing.TB, e Engine, context int, edit func(*Config, *Parts)) *site {
	t.Helper()
	c := Default()
	log := &syncBuffer{}
	parts := Parts{
		Tokenizer: tokenizer.Bytes{}, StopIDs: []int32{tokenizer.Bytes{}.EOS()},
		Model: Model{Path: "/models/tiny", Name: "tiny", Type: "deepseek_v4", Vocab: small().Vocab, Context: context, LoadFormat: "auto"},
		Log:   slog.New(slog.NewTextHandler(log, nil)),
	}
	if edit != nil {
		edit(&c, &parts)
	}
	s, err := New(c, e, parts)
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	h := httptest.NewUnstartedServer(s.Handler())
	h.Config = door.HTTP(s.Handler(), parts.Log)
	h.Start()
	t.Cleanup(h.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("server's log:\n%s", log.String())
		}
	})
	return &site{TB: t, Server: s, url: h.URL, client: h.Client(), log: log}
}

// A syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// call asks and returns status and body.
func (u *site) call(method, path, body string, header ...string) (int, []byte) {
	u.Helper()
	req, err := http.NewRequestWithContext(u.Context(), method, u.url+path, strings.NewReader(body))
	if err != nil {
		u.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := u.client.Do(req)
	if err != nil {
		u.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		u.Fatal(err)
	}
	return resp.StatusCode, raw
}

func (u *site) post(path, body string) (int, []byte) { u.Helper(); return u.call("POST", path, body) }

// ok fails unless the answer has status 200, and reads it into to.
func (u *site) ok(path, body string, to any) {
	u.Helper()
	code, raw := u.post(path, body)
	if code != http.StatusOK {
		u.Fatalf("POST %s %s: %d %s", path, body, code, raw)
	}
	if to != nil {
		if err := json.Unmarshal(raw, to); err != nil {
			u.Fatalf("POST %s %s: %s: %v", path, body, raw, err)
		}
	}
}

// one generates one sample.
func (u *site) one(body string) (a sglang.Answer) { u.Helper(); u.ok("/generate", body, &a); return a }

// many generates several.
func (u *site) many(body string) (a []sglang.Answer) {
	u.Helper()
	u.ok("/generate", body, &a)
	return a
}

// refused fails unless the answer has a status and says something.
func (u *site) refused(path, body string, want int, says string) []byte {
	u.Helper()
	code, raw := u.post(path, body)
	if code != want || !strings.Contains(string(raw), says) {
		u.Errorf("POST %s %.200s: %d %s, want %d with %q", path, body, code, raw, want, says)
	}
	return raw
}

// frames streams and returns every frame and whether the stream ended well.
func (u *site) stream(body string) (out []sglang.Answer, raw []string) {
	u.Helper()
	req, _ := http.NewRequestWithContext(u.Context(), "POST", u.url+"/generate", strings.NewReader(body))
	resp, err := u.client.Do(req)
	if err != nil {
		u.Fatal(err)
	}
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(ct, "text/event-stream") {
		u.Fatalf("%d %s", resp.StatusCode, ct)
	}
	f := sglang.NewFrames(resp.Body, 1<<20)
	for {
		value, err := f.Next()
		if errors.Is(err, io.EOF) {
			return out, raw
		}
		if err != nil {
			u.Fatal(err)
		}
		var a sglang.Answer
		if err := json.Unmarshal(value, &a); err != nil {
			u.Fatal(err)
		}
		out, raw = append(out, a), append(raw, string(value))
	}
}

// eventually waits until f holds.
func (u *site) eventually(what string, f func() bool) {
	u.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			u.Fatalf("%s: not within a minute; engine: %+v", what, u.Server.engine.Stats())
		}
	}
}

// settled fails unless there are as many goroutines as before, soon.
func settled(t testing.TB, before int) {
	t.Helper()
	n := 0
	for range 10_000 {
		if n = runtime.NumGoroutine(); n <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines, want the %d from before\n%s", n, before, buf[:runtime.Stack(buf, true)])
}
