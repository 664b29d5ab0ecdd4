package sglang

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	api "furlong/api/sglang"
	"furlong/checkpoint/safetensors"
	"furlong/rl"
	"furlong/rl/rltest"
	"furlong/weightsync"
)

// A fake is a server of the dialect over an engine without a model.
type fake struct {
	*httptest.Server
	engine *rltest.Fake
	ids    atomic.Int64

	mu     sync.Mutex
	label  string
	open   bool // a session
	came   []rl.Tensor
	calls  []string // paths, but for generation
	rids   []string
	flying map[string]int64 // the engine's ids by rids
	plain  bool             // it can't be told where a response began
	asked  []api.Generate
	before func(http.ResponseWriter, *http.Request) bool // has a say before the server; true: it has answered

	policy  rltest.Policy
	attests bool
	process string              // what it calls its process; "" if it does not say
	dead    bool                // nobody answers
	fate    func(*http.Request) // decides about life and death before each request
	blind   []string            // labels other than of given weights under which it was asked for samples
}

// newFake returns a server that chooses tokens by a policy.
func newFake(t *testing.T, p rltest.Policy) *fake {
	t.Helper()
	f := &fake{engine: rltest.NewFake(p), policy: p, label: "default", flying: map[string]int64{}}
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /server_info": f.about,
		"GET /model_info":  f.model, "GET /health_generate": f.ok, "GET /flush_cache": f.ok, "POST /generate": f.generate, "POST /abort_request": f.abort,
		"POST /pause_generation": f.pause, "POST /continue_generation": f.resume, "POST /begin_weight_update": f.begin,
		"POST /update_weights_from_stream": f.take, "POST /end_weight_update": f.end,
	} {
		mux.HandleFunc(pattern, h)
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		f.mu.Lock()
		fate := f.fate
		f.mu.Unlock()
		if fate != nil {
			fate(req)
		}
		f.mu.Lock()
		before, dead := f.before, f.dead
		if f.process != "" {
			rw.Header().Set(api.ProcessHeader, f.process)
		}
		if dead {
			f.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		if req.URL.Path != "/generate" {
			f.calls = append(f.calls, req.URL.Path)
		}
		f.mu.Unlock()
		if before == nil || !before(rw, req) {
			mux.ServeHTTP(rw, req)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// first sets what has a say before the server.
func (f *fake) first(h func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = h
}

// die takes the process away, and all that it had in hand. Its address stays.
func (f *fake) die() {
	f.mu.Lock()
	f.dead = true
	f.mu.Unlock()
	f.CloseClientConnections()
}

// restart puts a new process in the place of the old one, which knows nothing of it.
func (f *fake) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.engine, f.label, f.open, f.came, f.flying, f.dead = rltest.Serving(rl.NewVersion(0, 200), f.policy), "default", false, nil, map[string]int64{}, false
}

// mind returns the engine of the process that lives.
func (f *fake) mind() *rltest.Fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.engine
}

// kill ends the server as the death of its process would.
func (f *fake) kill() {
	f.Listener.Close()
	f.CloseClientConnections()
}

func (f *fake) ok(http.ResponseWriter, *http.Request) {}

func (f *fake) say(v any) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { json.NewEncoder(rw).Encode(v) }
}

func (f *fake) about(rw http.ResponseWriter, req *http.Request) {
	f.say(map[string]any{"version": "fake", "context_length": 1000, "enable_deterministic_inference": true, "response_start_len": !f.plain})(rw, req)
}

func (f *fake) abort(_ http.ResponseWriter, req *http.Request) {
	var a api.Abort
	_ = json.NewDecoder(req.Body).Decode(&a)
	f.mu.Lock()
	id, ok := f.flying[a.RID]
	f.mu.Unlock()
	if ok {
		f.mind().Abort(req.Context(), id)
	}
}

func (f *fake) model(rw http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info := api.ModelInfo{ModelPath: "m", WeightVersion: f.label}
	if f.attests {
		info.Attested = &api.Attested{State: f.digest(), Effective: rl.Digest{1}.String()}
	}
	json.NewEncoder(rw).Encode(info)
}

// digest returns that of the weights that came last.
func (f *fake) digest() string {
	if len(f.came) == 0 {
		return rl.Digest{9}.String()
	}
	raw, err := weightsync.Plain(1, f.came).Manifest(context.Background())
	if err != nil {
		panic(err)
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		panic(err)
	}
	return m.State.String()
}

func (f *fake) pause(_ http.ResponseWriter, req *http.Request)  { f.mind().Pause(req.Context()) }
func (f *fake) resume(_ http.ResponseWriter, req *http.Request) { f.mind().Resume(req.Context()) }

func (f *fake) outcome(rw http.ResponseWriter, err error) {
	o := api.Outcome{Success: err == nil}
	if err != nil {
		o.Message = err.Error()
		rw.WriteHeader(http.StatusBadRequest)
	}
	json.NewEncoder(rw).Encode(o)
}

func (f *fake) begin(rw http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.open {
		err = fmt.Errorf("a session is open")
	}
	f.open, f.came = true, nil
	f.outcome(rw, err)
}

func (f *fake) take(rw http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := safetensors.NewStream("body", req.Body)
	if err != nil {
		f.outcome(rw, err)
		return
	}
	for _, x := range s.Entries() {
		t := rl.Tensor{Name: x.Name, Type: x.Type.String(), Shape: x.Shape, Data: make([]byte, x.Bytes())}
		if err := s.Read(t.Data); err != nil {
			f.outcome(rw, err)
			return
		}
		f.came = append(f.came, t)
	}
	if rest, _ := io.Copy(io.Discard, req.Body); rest > 0 || !f.open {
		err = fmt.Errorf("%d bytes too many, session open: %v", rest, f.open)
	}
	f.outcome(rw, err)
}

func (f *fake) end(rw http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
	label := "7"
	if len(f.came) == 0 {
		f.outcome(rw, fmt.Errorf("nothing came"))
		return
	}
	label = strconv.Itoa(int(f.came[0].Data[0])) // the tests' tensors hold their version
	v := rl.NewVersion(0, int(f.came[0].Data[0]))
	err := f.engine.Update(req.Context(), weightsync.Plain(v, f.came))
	if err == nil {
		f.label = label
	}
	f.outcome(rw, err)
}

func (f *fake) generate(rw http.ResponseWriter, req *http.Request) {
	var g api.Generate
	body, _ := io.ReadAll(req.Body)
	if err := api.Decode(body, &g); err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(rw).Encode(api.Failed(err.Error()))
		return
	}
	f.mu.Lock()
	f.rids, f.asked = append(f.rids, g.RID.At(0)), append(f.asked, g)
	engine := f.engine
	if f.label == "default" {
		f.blind = append(f.blind, g.RID.At(0))
	}
	f.mu.Unlock()
	p := g.Params.At(0)
	q := rl.Sampling{Temperature: *p.Temperature, TopP: *p.TopP, TopK: max(0, *p.TopK), MaxTokens: p.MaxNewTokens.N, StopIDs: p.StopTokenIDs, Seed: uint64(*p.SamplingSeed)}
	r := rl.Request{ID: f.ids.Add(1), Prompt: &rl.Prompt{Tokens: g.InputIDs.At(0)}, Sampling: q}
	if g.ResponseStart != nil {
		all, at := r.Prompt.Tokens, *g.ResponseStart
		r.Begun = &rl.Sample{Response: all[at:], LogProbs: make([]float32, len(all)-at)}
		r.Begun.Label(engine.Version(), len(all)-at)
		r.Prompt, r.Sampling.MaxTokens = &rl.Prompt{Tokens: all[:at]}, q.MaxTokens+len(all)-at
	}
	f.mu.Lock()
	f.flying[g.RID.At(0)] = r.ID
	f.mu.Unlock()
	for s, err := range engine.Generate(req.Context(), []rl.Request{r}) {
		if err != nil {
			rw.WriteHeader(http.StatusInternalServerError)
			json.NewEncoder(rw).Encode(api.NewProblem(500, err.Error()))
			return
		}
		json.NewEncoder(rw).Encode(answerTo(g.RID.At(0), without(s, r.Begun.Len())))
	}
}

// without returns what a sample has after n tokens, as a server would that took them for the prompt's.
func without(s *rl.Sample, n int) *rl.Sample {
	if n == 0 {
		return s
	}
	a := *s
	a.Prompt = &rl.Prompt{Tokens: append(slices.Clone(s.Prompt.Tokens), s.Response[:n]...)}
	a.Response, a.LogProbs, a.Versions, a.Sampling.MaxTokens = s.Response[n:], s.LogProbs[n:], nil, s.Sampling.MaxTokens-n
	for _, v := range s.Versions {
		skip := min(n, v.Tokens)
		a.Label(v.Version, v.Tokens-skip)
		n -= skip
	}
	return &a
}

// answerTo writes a sample as the dialect has it.
func answerTo(rid string, s *rl.Sample) api.Answer {
	n := len(s.Response)
	a := api.Answer{OutputIDs: s.Response, Meta: api.Meta{ID: rid, PromptTokens: len(s.Prompt.Tokens), CompletionTokens: n, OutputLogProbs: api.Triples{}}}
	for i, id := range s.Response {
		a.Meta.OutputLogProbs = append(a.Meta.OutputLogProbs, api.Triple{Token: id, LogProb: s.LogProbs[i]})
	}
	at := 0
	for _, v := range s.Versions {
		a.Meta.WeightVersion = v.Version.String()
		a.Meta.WeightVersions = append(a.Meta.WeightVersions, api.Span{Version: v.Version.String(), Start: at, End: at + v.Tokens})
		at += v.Tokens
	}
	if a.Meta.WeightVersion == "" {
		a.Meta.WeightVersion = "1"
	}
	if s.Stop == rl.StopAbort {
		a.Meta.Finish = &api.Finish{Type: api.FinishAbort, Message: "Aborted"}
		return a
	}
	a.Meta.Finish = &api.Finish{Type: api.FinishLength, Length: s.Sampling.MaxTokens}
	if s.Stop == rl.StopToken && n < s.Sampling.MaxTokens { // on the last slot it is length
		a.Meta.Finish = &api.Finish{Type: api.FinishStop, Token: &s.Response[n-1]}
	}
	return a
}

// dice is a policy over 30 tokens that depends on what it may depend on, and takes some microseconds.
func dice(v rl.Version, r rl.Request, soFar []int32) (int32, float32) {
	x := rl.MixSeed(uint64(v), uint64(len(soFar)))
	if r.Sampling.Temperature > 0 {
		x = rl.MixSeed(x, r.Sampling.Seed)
	}
	for _, id := range r.Prompt.Tokens {
		x = rl.MixSeed(x, uint64(id))
	}
	for range 1000 {
		x = rl.MixSeed(x, 1)
	}
	x >>= 32
	return int32(x % 30), -float32(x%1000) / 500
}

// prompts returns three prompts.
func prompts() (all []*rl.Prompt) {
	for i := range int32(3) {
		all = append(all, &rl.Prompt{ID: fmt.Sprint(i), Tokens: []int32{i, 5}, Group: int64(i)})
	}
	return all
}

// tensors are two small ones that hold their version.
func tensors(v rl.Version) rl.Weights {
	one := rl.Tensor{Name: "a", Type: "F32", Shape: []int{1}, Data: []byte{byte(v), 0, 0, 0}}
	two := one
	two.Name = "b"
	return rltest.Weights{V: v, List: []rl.Tensor{one, two}}
}

// attach returns an engine over fakes that has no weights yet.
func attach(t *testing.T, edit func(*Config), fakes ...*fake) *Engine {
	t.Helper()
	c := Default()
	c.Wait = 20 * time.Second
	for _, f := range fakes {
		c.URLs = append(c.URLs, f.URL)
	}
	if edit != nil {
		edit(&c)
	}
	e, err := Attach(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// update takes an engine to a version.
func update(t *testing.T, e *Engine, n int) {
	t.Helper()
	ctx := t.Context()
	for _, err := range []error{e.Pause(ctx), e.Update(ctx, tensors(rl.NewVersion(0, n))), e.Resume(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// batch returns n requests.
func batch(n, tokens int) (reqs []rl.Request) {
	all := prompts()
	for i := range n {
		p := rl.DefaultSampling()
		p.Seed, p.MaxTokens = uint64(i)|1<<63, tokens
		reqs = append(reqs, rl.Request{ID: int64(i), Prompt: all[i%3], Index: i, Sampling: p})
	}
	return reqs
}

// gather returns the samples by their requests, and the error that ended generation. A sample twice fails the test.
func gather(t *testing.T, e *Engine, reqs []rl.Request) (map[int64]*rl.Sample, error) {
	t.Helper()
	got := map[int64]*rl.Sample{}
	for s, err := range e.Generate(t.Context(), reqs) {
		if err != nil {
			return got, err
		}
		if got[s.Request] != nil {
			t.Errorf("sample %d came twice", s.Request)
		}
		got[s.Request] = s
	}
	return got, nil
}
