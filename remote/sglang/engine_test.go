package sglang

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	api "furlong/api/sglang"
	"furlong/rl"
	"furlong/rl/rltest"
)

// The suite of all engines, but for logprobs after truncation, which the dialect has no place for.
func TestContract(t *testing.T) {
	for name, servers := range map[string]int{"one server": 1, "three servers": 3} {
		t.Run(name, func(t *testing.T) {
			rltest.RunRollout(t, func(t *testing.T) rltest.Rig {
				if strings.HasSuffix(t.Name(), "truncated_sampling_reports_both_logprobs") {
					t.Skip("the dialect has no place for logprobs after truncation")
				}
				var fakes []*fake
				for range servers {
					fakes = append(fakes, newFake(t, dice))
				}
				return rltest.Rig{Engine: attach(t, nil, fakes...), Prompts: prompts(), Weights: tensors, Long: 4000}
			})
		})
	}
}

// What is sent says everything, and seeds keep all of their bits.
func TestWhatIsAsked(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 1)
	r := batch(1, 4)[0]
	r.Sampling.Seed, r.Sampling.StopIDs, r.Sampling.Bias = math.MaxUint64-5, []int32{99}, []rl.Bias{{Token: 3, Add: -2.5}}
	r.Space = "x"
	if _, err := gather(t, e, []rl.Request{r}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(f.asked[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"sampling_seed":-6,`, `"stop_token_ids":[99]`, `"ignore_eos":false`, `"top_k":-1`, `"top_p":1`, `"temperature":1`, `"no_stop_trim":true`, `"max_new_tokens":4`,
		`"logit_bias":{"3":-2.5}`, `"extra_key":"x"`, `"return_logprob":true`, `"input_ids":[0,5]`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("sent %s, want %s in it", raw, want)
		}
	}
}

// A server dies with samples in hand: the other one draws the same ones, and each comes once.
func TestADeadServersSamplesGoToOthers(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		a, b := newFake(t, dice), newFake(t, dice)
		e := attach(t, nil, a, b)
		update(t, e, 1)
		want, err := gather(t, e, batch(40, 20))
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		a.first(func(_ http.ResponseWriter, req *http.Request) bool {
			if req.URL.Path != "/generate" {
				return false
			}
			_, _ = io.Copy(io.Discard, req.Body)
			once.Do(a.kill)
			<-req.Context().Done()
			return true
		})
		got, err := gather(t, e, batch(40, 20))
		if err != nil || len(got) != 40 {
			t.Fatalf("%d samples, %v, want 40", len(got), err)
		}
		for id, s := range got {
			if !slices.Equal(s.Response, want[id].Response) {
				t.Errorf("sample %d is %v, want %v", id, s.Response, want[id].Response)
			}
		}
		if s := e.Stats(); s.Lost != 1 || s.Again < 1 || s.Samples != 80 {
			t.Errorf("counts are %+v", s)
		}
		seen := map[string]bool{}
		for _, rid := range append(a.rids, b.rids...) {
			if seen[rid] {
				t.Errorf("two requests were called %s", rid)
			}
			seen[rid] = true
		}
	})
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, want %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// once answers the first request for a path by itself, and leaves the others to the server.
func once(path string, h http.HandlerFunc) (func(http.ResponseWriter, *http.Request) bool, *atomic.Int64) {
	n := &atomic.Int64{}
	return func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != path || n.Add(1) > 1 {
			return false
		}
		_, _ = io.Copy(io.Discard, req.Body)
		h(rw, req)
		return true
	}, n
}

// What a server gets wrong is drawn anew; what a request gets wrong is not.
func TestFailures(t *testing.T) {
	answer := func(edit func(*api.Answer)) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			a := answerTo("?", &rl.Sample{Prompt: prompts()[0], Response: []int32{1}, LogProbs: []float32{-1}, Versions: []rl.Span{{Version: 1, Tokens: 1}}, Sampling: rl.Sampling{MaxTokens: 1}})
			edit(&a)
			json.NewEncoder(rw).Encode(a)
		}
	}
	fails := func(status int, v any) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status); json.NewEncoder(rw).Encode(v) }
	}
	for _, tt := range []struct {
		name  string
		h     http.HandlerFunc
		again bool
		want  string
	}{
		{"400", fails(400, api.Failed("too long")), false, "too long"},
		{"401", fails(401, map[string]string{"error": "Unauthorized"}), false, "Unauthorized"},
		{"500", fails(500, api.NewProblem(500, "broke")), true, ""},
		{"502", fails(502, "bad gateway"), true, ""},
		{"503", fails(503, api.NewProblem(503, "queue is full")), true, ""},
		{"another's answer", answer(func(*api.Answer) {}), true, ""},
		{"NaN", answer(func(a *api.Answer) { a.Meta.Finish = &api.Finish{Type: "stop", Matched: new(nanHappened)} }), true, ""},
		{"no JSON", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "<html>") }, true, ""},
		{"breaks off", func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, `{"text":`)
			rw.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, true, ""},
		{"connection breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, dice)
			e := attach(t, nil, f)
			update(t, e, 1)
			do, n := once("/generate", tt.h)
			f.first(do)
			got, err := gather(t, e, batch(1, 3))
			if tt.again && (err != nil || len(got) != 1 || n.Load() != 2) {
				t.Errorf("%d samples after %d requests, %v, want one after 2", len(got), n.Load(), err)
			}
			if !tt.again && (err == nil || !strings.Contains(err.Error(), tt.want) || n.Load() != 1) {
				t.Errorf("%d requests, %v, want one with %q", n.Load(), err, tt.want)
			}
		})
	}
}

// No sample is drawn for ever.
func TestFailuresEnd(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, func(c *Config) { c.Retries = 2 }, f)
	update(t, e, 1)
	var n atomic.Int64
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/generate" {
			n.Add(1)
			rw.WriteHeader(500)
		}
		return req.URL.Path == "/generate"
	})
	if _, err := gather(t, e, batch(1, 3)); err == nil || !strings.Contains(err.Error(), "failed 3 times (--rollout-retries)") || n.Load() != 3 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

// A server that calls its weights by their first name, and goes on to when it is given others: nothing it says is used before the next update.
func TestARestartedServerIsNotUsed(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	e := attach(t, nil, a, b)
	update(t, e, 1)
	a.first(func(rw http.ResponseWriter, req *http.Request) bool {
		switch req.URL.Path {
		case "/generate":
			var g api.Generate
			body, _ := io.ReadAll(req.Body)
			_ = api.Decode(body, &g)
			x := answerTo(g.RID.At(0), &rl.Sample{Prompt: &rl.Prompt{Tokens: g.InputIDs.At(0)}, Response: []int32{1, 1, 1}, LogProbs: []float32{-1, -1, -1}, Sampling: rl.Sampling{MaxTokens: 3}})
			x.Meta.WeightVersion = "default"
			json.NewEncoder(rw).Encode(x)
			return true
		case "/model_info":
			json.NewEncoder(rw).Encode(api.ModelInfo{WeightVersion: "default"})
			return true
		}
		return false
	})
	for range 2 {
		if got, err := gather(t, e, batch(12, 3)); err != nil || len(got) != 12 {
			t.Fatalf("%d samples, %v", len(got), err)
		}
	}
	if s := e.Stats(); s.Stale != 1 || s.Lost != 1 || s.Back != 0 {
		t.Errorf("counts are %+v, want one lost for good", s)
	}
	a.first(nil)
	update(t, e, 2)
	if s := e.Stats(); s.Back != 1 {
		t.Errorf("counts are %+v, want it back after the update", s)
	}
}

// An update that one server refuses is served by the other alone.
func TestUpdatesThatOneServerRefuses(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	e := attach(t, nil, a, b)
	update(t, e, 1)
	do, _ := once("/update_weights_from_stream", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(400)
		io.WriteString(rw, `{"success":false,"message":"a: no room"}`)
	})
	a.first(do)
	update(t, e, 2)
	served := len(a.rids)
	got, err := gather(t, e, batch(10, 3))
	if err != nil || len(a.rids) != served {
		t.Errorf("%v; the server that refused got %d requests, want none", err, len(a.rids)-served)
	}
	for _, s := range got {
		if s.Versions[0].Version != 2 {
			t.Errorf("versions are %v, want 2", s.Versions)
		}
	}
	if a.open {
		t.Error("the session that failed was left open")
	}
	if got := a.calls[len(a.calls)-1]; got != "/continue_generation" {
		t.Errorf("the server that refused heard %s last, want that it goes on", got)
	}
	update(t, e, 3)
	if s := e.Stats(); s.Back != 1 || s.Updates != 3 || s.Refused != 0 {
		t.Errorf("counts are %+v", s)
	}
	// Refused by both, the old version goes on.
	no := func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/end_weight_update" {
			io.WriteString(rw, `{"success":false,"message":"canary is not finite"}`)
			return true
		}
		return false
	}
	a.first(no)
	b.first(no)
	ctx := t.Context()
	_ = e.Pause(ctx)
	if err := e.Update(ctx, tensors(4)); err == nil || !strings.Contains(err.Error(), "canary is not finite") || e.Version() != 3 {
		t.Errorf("update: %v, version %v", err, e.Version())
	}
	_ = e.Resume(ctx)
	if got, err := gather(t, e, batch(4, 3)); err != nil || got[0].Versions[0].Version != 3 {
		t.Errorf("%v, %v, want samples of version 3", got, err)
	}
}

// A session that somebody left open does not keep weights out.
func TestSessionsThatWereLeftOpen(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	f.mu.Lock()
	f.open = true
	f.mu.Unlock()
	update(t, e, 1)
	if f.open || f.label != "1" {
		t.Errorf("session open %v, label %s", f.open, f.label)
	}
}

// Work goes where there is least of it, and a prompt where it is already.
func TestWorkIsShared(t *testing.T) {
	e := &Engine{cfg: Default(), servers: []*server{newServer(Found{URL: "a"}), newServer(Found{URL: "b"})}, changed: make(chan struct{})}
	long := &rl.Prompt{Tokens: make([]int32, 100)}
	var got []string
	for _, tokens := range []int{50, 300, 60, 10} {
		r := rl.Request{Prompt: long, Sampling: rl.Sampling{MaxTokens: tokens}}
		s, err := e.take(t.Context(), r, newFlight())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(s.url, s.tokens))
	}
	// a: 150. b would have 100 for the prompt, a has 150. Then a has 150 against 400, and 310 against 400.
	if want := "[a150 b400 a310 a420]"; fmt.Sprint(got) != want {
		t.Errorf("requests went to %v, want %s", got, want)
	}
}

// A server that stands still with work in hand is left, and others do the work.
func TestASilentServer(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	e := attach(t, nil, a, b)
	e.look = time.Millisecond
	update(t, e, 1)
	still := make(chan struct{})
	defer close(still)
	a.first(func(rw http.ResponseWriter, req *http.Request) bool {
		_, _ = io.Copy(io.Discard, req.Body)
		switch req.URL.Path {
		case "/generate":
			select {
			case <-still:
			case <-req.Context().Done():
			}
		case "/health_generate":
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		return req.URL.Path == "/generate" || req.URL.Path == "/health_generate"
	})
	if got, err := gather(t, e, batch(20, 3)); err != nil || len(got) != 20 {
		t.Errorf("%d samples, %v", len(got), err)
	}
	if s := e.Stats(); s.Lost != 1 || s.Aborts == 0 {
		t.Errorf("counts are %+v", s)
	}
}

// How pauses and caches are treated, by mode.
func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		"retract":  "/pause_generation /flush_cache /begin_weight_update /update_weights_from_stream /end_weight_update /model_info /continue_generation",
		"in_place": "/pause_generation /begin_weight_update /update_weights_from_stream /end_weight_update /model_info /continue_generation",
	} {
		f := newFake(t, dice)
		e := attach(t, nil, f)
		e.opt.Mode = mode
		f.mu.Lock()
		f.calls = nil
		f.mu.Unlock()
		update(t, e, 1)
		if got := strings.Join(f.calls, " "); got != want {
			t.Errorf("%s: the server heard %s, want %s", mode, got, want)
		}
	}
}

// Where a cache can't be emptied, requests of the new version see nothing of it.
func TestCachesThatStayFull(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	e.flushes = 0
	full := func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/flush_cache" {
			rw.WriteHeader(http.StatusBadRequest)
		}
		return req.URL.Path == "/flush_cache"
	}
	for i, tt := range []struct {
		before func(http.ResponseWriter, *http.Request) bool
		want   string
	}{{full, "@1"}, {full, "@2"}, {nil, ""}} {
		f.first(tt.before)
		update(t, e, i+1)
		if _, err := gather(t, e, batch(1, 1)); err != nil {
			t.Fatal(err)
		}
		if got := f.asked[i].ExtraKey.At(0); got != tt.want {
			t.Errorf("update %d: requests have the extra_key %q, want %q", i+1, got, tt.want)
		}
	}
	if got := e.Stats().Flushes; got != 2 {
		t.Errorf("%d caches were not flushed, want 2", got)
	}
}

// Keys stand in files, since settings are written down.
func TestKeys(t *testing.T) {
	f := newFake(t, dice)
	var seen sync.Map
	f.first(func(_ http.ResponseWriter, req *http.Request) bool {
		seen.Store(req.URL.Path, req.Header.Get("Authorization"))
		return false
	})
	file := func(name, text string) string {
		p := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := attach(t, func(c *Config) { c.KeyFile, c.AdminKeyFile = file("k", "user\n"), file("a", "boss") }, f)
	update(t, e, 1)
	if _, err := gather(t, e, batch(1, 1)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/generate": "Bearer user", "/model_info": "Bearer user", "/pause_generation": "Bearer boss", "/end_weight_update": "Bearer boss"} {
		if got, _ := seen.Load(path); got != want {
			t.Errorf("%s was shown %v, want %s", path, got, want)
		}
	}
	for _, text := range []string{"", "a\nb"} {
		c := Default()
		c.URLs, c.KeyFile = []string{f.URL}, file("bad", text)
		if _, err := Attach(t.Context(), c, Options{}); err == nil || !strings.Contains(err.Error(), "--rollout-api-key-file") {
			t.Errorf("key %q: %v", text, err)
		}
	}
}

func TestWhatNoServerCanBeAsked(t *testing.T) {
	e := attach(t, nil, newFake(t, dice))
	if _, err := gather(t, e, batch(1, 1)); err == nil || !strings.Contains(err.Error(), "no weights") {
		t.Errorf("without weights: %v", err)
	}
	update(t, e, 1)
	for want, edit := range map[string]func(*rl.Request){
		"watched":     func(r *rl.Request) { r.Watch = func(*rl.Sample) bool { return false } },
		"constraint":  func(r *rl.Request) { r.Constraint = free{} },
		"no prompt":   func(r *rl.Request) { r.Prompt = &rl.Prompt{} },
		"at least 1":  func(r *rl.Request) { r.Sampling.MaxTokens = 0 },
		"entries":     func(r *rl.Request) { r.Report.Entries = true },
		"its experts": func(r *rl.Request) { r.Report.Experts = true },
		"all but":     func(r *rl.Request) { r.Report.Tail = 2 },
	} {
		r := batch(1, 1)[0]
		edit(&r)
		if _, err := gather(t, e, []rl.Request{r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := e.Update(t.Context(), tensors(2)); err == nil {
		t.Error("a running engine was updated")
	}
}

// free allows everything.
type free struct{}

func (free) Allow([]bool) {}
func (free) Accept(int32) {}
func (free) Done() bool   { return false }

func TestAttachRefuses(t *testing.T) {
	f := newFake(t, dice)
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/update_weights_from_stream" {
			http.NotFound(rw, req)
		}
		return req.URL.Path == "/update_weights_from_stream"
	})
	for want, c := range map[string]Config{
		"give --update-weight-dir":               {URLs: []string{f.URL}, Transport: auto},
		"--update-weight-transport is stream":    {URLs: []string{f.URL}, Transport: stream},
		"--rollout-url names no server":          {Transport: auto},
		"want http://host:port":                  {URLs: []string{"host:1"}, Transport: auto},
		"names http://a:1 twice":                 {URLs: []string{"http://a:1,http://a:1/"}, Transport: auto},
		"want --update-weight-dir with it":       {URLs: []string{f.URL}, Transport: disk},
		"not ready after 10ms":                   {URLs: []string{"http://127.0.0.1:1"}, Transport: auto, Wait: 10 * time.Millisecond},
		"--rollout-bucket-bytes is -1":           {URLs: []string{f.URL}, Transport: auto, Bucket: -1},
		"--rollout-concurrency is -1":            {URLs: []string{f.URL}, Transport: auto, Concurrency: -1},
		"--rollout-retries is -1, want 0 or mor": {URLs: []string{f.URL}, Transport: auto, Retries: -1},
	} {
		d := Default()
		d.URLs, d.Transport = c.URLs, c.Transport
		d.Wait, d.Bucket, d.Concurrency, d.Retries = or(c.Wait, d.Wait), or(c.Bucket, d.Bucket), or(c.Concurrency, d.Concurrency), or(c.Retries, d.Retries)
		if _, err := Attach(t.Context(), d, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func or[T comparable](a, b T) T {
	var zero T
	if a == zero {
		return b
	}
	return a
}

// While nobody is there the batch waits; it goes on when somebody is back.
func TestAServerThatComesBack(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 1)
	var sick atomic.Bool
	sick.Store(true)
	var probes atomic.Int64
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/health_generate" {
			if probes.Add(1) == 3 {
				sick.Store(false)
			}
		}
		if sick.Load() && (req.URL.Path == "/generate" || req.URL.Path == "/health_generate") {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	if got, err := gather(t, e, batch(5, 3)); err != nil || len(got) != 5 {
		t.Errorf("%d samples, %v", len(got), err)
	}
	if s := e.Stats(); s.Lost < 1 || s.Back != s.Lost { // what was sent before it was back may fail after
		t.Errorf("counts are %+v", s)
	}
}

// When the only server is gone at an update, the update waits for it, and it serves again.
func TestAnUpdateWaitsForTheOnlyServer(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 1)
	var times atomic.Int32
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/pause_generation" && times.Add(1) == 1 {
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	update(t, e, 2)
	if got, err := gather(t, e, batch(1, 3)); err != nil || got[0].Versions[0].Version != 2 || e.Stats().Lost != 1 || e.Stats().Back != 1 {
		t.Errorf("%v, %v, counts %+v, want samples of version 2 of a server that was lost and is back", got, err, e.Stats())
	}
}

func TestNobodyComesBack(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 1)
	e.cfg.Wait = 300 * time.Millisecond // from here on: until then it may be slow
	f.kill()
	if _, err := gather(t, e, batch(2, 3)); err == nil || !strings.Contains(err.Error(), "no rollout server can be used") {
		t.Errorf("generate: %v", err)
	}
	if err := e.Pause(t.Context()); err == nil || errors.Is(err, rl.ErrPaused) || !strings.Contains(err.Error(), "(--rollout-wait 300ms): "+e.servers[0].url) {
		t.Errorf("pause: %v, want an error that names who was lost: nobody obeys", err)
	}
}
