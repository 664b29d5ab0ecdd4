package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"furlong/api/sglang"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tokenizer"
)

func (u *site) get(path string, to any) int {
	u.Helper()
	code, raw := u.call("GET", path, "")
	if to != nil {
		if err := json.Unmarshal(raw, to); err != nil {
			u.Fatalf("GET %s: %d %s: %v", path, code, raw, err)
		}
	}
	return code
}

func TestModelInfo(t *testing.T) {
	u := serve(t, engineConfig(), func(c *Config, _ *Parts) { c.Preferred = `{"temperature":0}` })
	var a, b map[string]any
	u.get("/model_info", &a)
	u.get("/get_model_info", &b)
	if !reflect.DeepEqual(a, b) || a["weight_version"] != "default" || a["served_model_name"] != "tiny" || a["is_generation"] != true || a["preferred_sampling_params"] != `{"temperature":0}` {
		t.Errorf("got %v and %v", a, b)
	}
	var v map[string]string
	if u.get("/get_weight_version", &v); v["weight_version"] != "default" {
		t.Errorf("got %v", v)
	}
	x, y := u.one(`{"text":"a","sampling_params":{"max_new_tokens":5}}`), u.one(`{"text":"a","sampling_params":{"max_new_tokens":5}}`)
	if !slices.Equal(x.OutputIDs, y.OutputIDs) {
		t.Errorf("preferred temperature 0: %v and %v, want the same", x.OutputIDs, y.OutputIDs)
	}
}

func TestServerInfo(t *testing.T) {
	u := serve(t, engineConfig(), func(_ *Config, p *Parts) {
		p.Model.Launch = map[string]any{"tp_size": 4, "port": 30000, "odd": json.RawMessage(`{"a":[1]}`)}
	})
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	var a map[string]any
	for _, path := range []string{"/server_info", "/get_server_info"} {
		if code := u.get(path, &a); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
	states, ok := a["internal_states"].([]any)
	if !ok || len(states) != 1 || a["tp_size"] != 4.0 || a["port"] != 30000.0 || a["dp_size"] != 1.0 || a["version"] == "" || a["max_total_num_tokens"] != 1024.0 || a["quantization"] != nil {
		t.Errorf("got %v", a)
	}
	if odd := fmt.Sprint(a["odd"]); odd != "map[a:[1]]" {
		t.Errorf("odd is %s", odd)
	}
	var info sglang.ServerInfo
	if u.get("/server_info", &info); info.TPSize != 4 || info.MaxTotalTokens != 1024 || info.WeightVersion != "default" {
		t.Errorf("a client reads %+v", info)
	}
}

func TestLoads(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	out := u.long(2, "l")
	u.eventually("2 wait", func() bool { return u.engine.Stats().Queued == 2 })
	var l sglang.Loads
	if u.get("/v1/loads?include=core", &l); len(l.Loads) != 1 || l.Loads[0].Waiting != 2 || l.Loads[0].Total != 1024 || l.Loads[0].LoadCore == nil || l.Loads[0].Memory != nil {
		t.Errorf("got %+v", l)
	}
	if u.get("/v1/loads", &l); l.Loads[0].Memory == nil || l.Loads[0].Queues.Paused != 2 {
		t.Errorf("got %+v", l.Loads[0])
	}
	if code, raw := u.call("GET", "/v1/loads?format=prometheus", ""); code != 200 || !strings.Contains(string(raw), "sglang:num_waiting_reqs{dp_rank=\"0\"} 2") {
		t.Errorf("%d %s", code, raw)
	}
	for _, path := range []string{"/v1/loads?include=core,nothing", "/v1/loads?dp_rank=1", "/v1/loads?format=x"} {
		if code := u.get(path, nil); code != 400 {
			t.Errorf("%s: %d, want 400", path, code)
		}
	}
	var old []sglang.OldLoad
	if u.get("/get_load", &old); len(old) != 1 || old[0].Requests != 2 || old[0].Waiting != 2 {
		t.Errorf("got %+v", old)
	}
	u.ok("/continue_generation", `{}`, nil)
	<-out
	<-out
}

// scraped are the names that a dashboard asks for.
var scraped = strings.Fields(`num_running_reqs num_queue_reqs gen_throughput token_usage cache_hit_rate prompt_tokens_total generation_tokens_total
	num_requests_total num_aborted_requests_total time_to_first_token_seconds inter_token_latency_seconds time_per_output_token_seconds e2e_request_latency_seconds`)

func TestMetrics(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.one(ask("abc", 5, ""))
	u.one(ask("abc", 5, `,"log_metrics":false`))
	u.get("/health_generate", nil)
	for _, path := range []string{"/metrics", "/metrics/"} {
		code, raw := u.call("GET", path, "")
		p := expfmt.NewTextParser(model.UTF8Validation)
		got, err := p.TextToMetricFamilies(strings.NewReader(string(raw)))
		if err != nil || code != 200 {
			t.Fatalf("%s: %d %v", path, code, err)
		}
		for _, name := range scraped {
			f := got["sglang:"+name]
			if f == nil {
				t.Errorf("%s lacks sglang:%s", path, name)
				continue
			}
			labels := map[string]string{}
			for _, l := range f.Metric[0].Label {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["model_name"] != "tiny" || labels["engine_type"] != "unified" || labels["dp_rank"] != "0" {
				t.Errorf("sglang:%s has labels %v", name, labels)
			}
		}
		value := func(name string) float64 { return got["sglang:"+name].Metric[0].Counter.GetValue() }
		if r, p, g := value("num_requests_total"), value("prompt_tokens_total"), value("generation_tokens_total"); r != 1 || p != 3 || g != 5 {
			t.Errorf("%v requests, %v and %v tokens, want 1, 3 and 5", r, p, g)
		}
		if n := got["sglang:inter_token_latency_seconds"].Metric[0].Histogram.GetSampleCount(); n != 4 {
			t.Errorf("%d times from token to token, want 4", n)
		}
	}
	none := serveOn(t, newScript(t, ""), 64, func(c *Config, _ *Parts) { c.Metrics = false })
	if code := none.get("/metrics", nil); code != 404 {
		t.Errorf("metrics off: %d, want 404", code)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	m.take(rollout.Stats{}, rollout.Stats{DrawnTokens: 50, CachedTokens: 30, PrefillTokens: 10}, 2*time.Second)
	if m.throughput() != 25 || m.hits() != 0.75 {
		t.Errorf("got %v and %v, want 25 and 0.75", m.throughput(), m.hits())
	}
	m.take(rollout.Stats{DrawnTokens: 50}, rollout.Stats{DrawnTokens: 50}, time.Second)
	if m.throughput() != 0 || m.hits() != 0 {
		t.Errorf("idle: %v and %v, want 0", m.throughput(), m.hits())
	}
}

func TestTokenize(t *testing.T) {
	u := serveOn(t, newScript(t, "x"), 64, nil)
	for _, tt := range []struct{ path, body, want string }{
		{"/tokenize", `{"prompt":"ab"}`, `{"tokens":[97,98],"count":2,"max_model_len":64}`},
		{"/v1/tokenize", `{"prompt":["a","bc"]}`, `{"tokens":[[97],[98,99]],"count":[1,2],"max_model_len":64}`},
		{"/tokenize", `{"prompt":""}`, `{"tokens":[],"count":0,"max_model_len":64}`},
		{"/detokenize", `{"tokens":[97,98,257]}`, `{"text":"ab"}`},
		{"/v1/detokenize", `{"tokens":[[97],[98,99]]}`, `{"text":["a","bc"]}`},
		{"/detokenize", `{"tokens":[]}`, `{"text":""}`},
	} {
		if code, raw := u.post(tt.path, tt.body); code != 200 || string(raw) != tt.want {
			t.Errorf("%s %s: %d %s, want %s", tt.path, tt.body, code, raw, tt.want)
		}
	}
	u.refused("/tokenize", `{}`, 400, "want one of them")
	u.refused("/tokenize", `{"prompt":"a","messages":[]}`, 400, "want one of them")
	u.refused("/detokenize", `{"tokens":[999]}`, 400, "want 0 to 271")
	u.refused("/detokenize", `{}`, 400, "tokens is missing")
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.ProfileDir = dir })
	u.refused("/stop_profile", "", 400, "no profile")
	u.refused("/start_profile", `{"output_dir":"/etc"}`, 403, "output_dir")
	u.ok("/start_profile", `{"output_dir":null,"num_steps":null,"profile_prefix":"../../x/y"}`, nil)
	u.refused("/start_profile", "", 400, "is being taken")
	u.ok("/stop_profile", "", nil)
	files, err := filepath.Glob(filepath.Join(dir, "*.cpu.pprof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files are %v (%v), want one", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() == 0 {
		t.Errorf("%s: %v %v", files[0], info, err)
	}
	v := serveOn(t, newScript(t, "x"), 64, nil)
	v.refused("/start_profile", "", 403, "--profile-dir")
}

// A profile that could not be written is not said to be there, and a folder that is not there is refused at the start.
func TestProfileWithoutRoom(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	w := &written{File: full}
	_, _ = w.Write([]byte("x"))
	if n, err := w.Write([]byte("y")); n != 0 || err == nil || w.err == nil {
		t.Errorf("a second write to a full disk: %d, %v", n, err)
	}
	u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.ProfileDir = t.TempDir() })
	u.profile.mu.Lock()
	u.profile.file = w
	u.profile.mu.Unlock()
	u.refused("/stop_profile", "", 500, "no space left")
	u.refused("/stop_profile", "", 400, "no profile is being taken")
	c := Default()
	c.ProfileDir = "/no/such/folder"
	if _, err := New(c, newScript(t, "x"), Parts{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "--profile-dir") {
		t.Errorf("a folder that is not there: %v, want an error that names the flag", err)
	}
}

func TestHealth(t *testing.T) {
	e := newScript(t, "x")
	e.gate = make(chan struct{})
	u := serveOn(t, e, 64, func(c *Config, _ *Parts) { c.HealthTime = 300 * time.Millisecond })
	if code, raw := u.call("GET", "/health", ""); code != 503 || !strings.Contains(string(raw), "no token was drawn yet") {
		t.Errorf("before the first token: %d %s, want 503", code, raw)
	}
	e.gate <- struct{}{}
	u.eventually("health", func() bool { return u.get("/health", nil) == 200 })
	if code := u.get("/health_generate", nil); code != 503 {
		t.Errorf("an engine that draws nothing: %d, want 503", code)
	}
	// Somebody else's token will do.
	done := make(chan int)
	go func() { done <- u.get("/health_generate", nil) }()
	u.meter.outputs.Add(1)
	u.eventually("a token elsewhere", func() bool {
		u.meter.outputs.Add(1)
		select {
		case code := <-done:
			return code == 200
		default:
			return false
		}
	})
	close(e.gate)
	if code := u.get("/health_generate", nil); code != 200 {
		t.Errorf("an engine that draws: %d, want 200", code)
	}
	if code := u.get("/ping", nil); code != 200 {
		t.Errorf("ping: %d", code)
	}
	u.Drain()
	for _, path := range []string{"/health", "/health_generate"} {
		if code, raw := u.call("GET", path, ""); code != 503 || !strings.Contains(string(raw), "about to end") {
			t.Errorf("%s while draining: %d %s", path, code, raw)
		}
	}
	u.one(`{"text":"a"}`)
}

func TestHealthOfADeadLoop(t *testing.T) {
	e := newScript(t, "x")
	e.dead = make(chan struct{})
	u := serveOn(t, e, 64, func(c *Config, _ *Parts) { c.HealthTime = 40 * time.Millisecond })
	u.eventually("proof", func() bool { return u.health.proved.Load() })
	if code, raw := u.call("GET", "/health", ""); code != 503 || !strings.Contains(string(raw), "has not answered") {
		t.Errorf("got %d %s, want 503", code, raw)
	}
}

func TestBrokenWeights(t *testing.T) {
	e := newScript(t, "x")
	u := serveOn(t, e, 64, nil)
	u.eventually("health", func() bool { return u.get("/health", nil) == 200 })
	e.fail = fmt.Errorf("request 7: %w: logit is NaN", rl.ErrBroken)
	u.refused("/generate", `{"text":"a"}`, 500, `"code":500`)
	if code, raw := u.call("GET", "/health", ""); code != 503 || !strings.Contains(string(raw), "NaN") {
		t.Errorf("health after NaN: %d %s, want 503", code, raw)
	}
	frames, _ := u.stream(`{"text":"a","stream":true}`)
	if len(frames) != 1 || frames[0].Meta.Finish.Type != "abort" || frames[0].Meta.Finish.Status != 500 {
		t.Errorf("stream: %+v", frames)
	}
	e.fail = nil
	u.health.mend()
	if code := u.get("/health", nil); code != 200 {
		t.Errorf("mended: %d, want 200", code)
	}
}

func TestPanicsAreOneRequests(t *testing.T) {
	e := newScript(t, "x")
	e.fail = errors.New("boom")
	u := serveOn(t, e, 64, nil)
	u.refused("/generate", `{"text":"a"}`, 500, "boom")
	h := u.outer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }))
	w := &recorder{header: http.Header{}}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "/x", nil)
	h.ServeHTTP(w, req)
	if w.code != 500 || !strings.Contains(w.body.String(), "internal error") {
		t.Errorf("got %d %s", w.code, w.body.String())
	}
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	code   int
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Flush()                      {}
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func TestLabels(t *testing.T) {
	var l labels
	if got := l.of(3); got != "default" {
		t.Errorf("nobody named it: %q", got)
	}
	l.set(3, "7")
	if got := l.of(3); got != "7" {
		t.Errorf("got %q, want 7", got)
	}
	l.drop(3)
	if got := l.of(3); got != "default" {
		t.Errorf("dropped: %q", got)
	}
}

// A text that cannot fit is refused before it is cut into tokens.
func TestTextTooLongForAnyTokens(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.refused("/generate", ask(strings.Repeat("a", 257), 1, ""), 400, "text has 257 bytes, want at most 256")
	if got := longestToken(tokenizer.Bytes{}); got != 1 {
		t.Errorf("the longest token has %d bytes, want 1", got)
	}
}
