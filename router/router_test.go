package router

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestWorkersOverHTTP(t *testing.T) {
	f := newFake(t)
	g := serve(t, quick())
	g.want(503, "no healthy worker: none is registered", "POST", "/generate", "{}")
	g.want(503, "no healthy worker", "GET", "/health", "")
	g.want(200, "", "GET", "/liveness", "")
	g.want(202, `"location":"/workers/`, "POST", "/workers", fmt.Sprintf(`{"url":%q,"labels":{"rack":"7"}}`, f.URL))
	g.want(409, "registered already", "POST", "/workers", fmt.Sprintf(`{"url":"%s/"}`, f.URL))
	until(t, "the worker is healthy and known", func() bool { l := g.list(); return len(l) == 1 && l[0].Healthy && l[0].ModelID == "tiny" })
	w := g.list()[0]
	if w.URL != f.URL || w.Priority != 50 || w.Cost != 1 || w.Type != "regular" || w.Metadata["rack"] != "7" || w.Metadata["version"] != "1.2" {
		t.Errorf("the worker is shown as %+v", w)
	}
	g.want(200, f.URL, "GET", "/workers/"+w.ID, "")
	g.want(400, "BAD_ID", "GET", "/workers/17", "")
	g.want(404, "WORKER_NOT_FOUND", "GET", "/workers/"+newID(), "")
	g.want(202, "changed", "PATCH", "/workers/"+w.ID, `{"priority":7}`)
	g.want(400, "can't be changed", "PUT", "/workers/"+w.ID, `{"url":"http://b:1"}`)
	if got := g.list()[0].Priority; got != 7 {
		t.Errorf("priority is %d, want 7", got)
	}
	g.want(200, f.URL, "POST", "/generate", "{}")
	g.want(202, "accepted", "DELETE", "/workers/"+w.ID, "")
	if got := g.list(); len(got) != 0 {
		t.Errorf("workers are %v after the only one was removed", got)
	}
	for _, body := range []string{`{`, `{"url":"x"}`, `{"url":"http://a:1","worker_type":"decode"}`} {
		g.want(400, `"code":"INVALID_`, "POST", "/workers", body)
	}
}

func TestOldCalls(t *testing.T) {
	f := newFake(t)
	g := serve(t, quick())
	at := "?url=" + url.QueryEscape(f.URL)
	g.want(200, fmt.Sprintf(`{"status":"success","worker_urls":{%q:true}}`, f.URL), "POST", "/add_worker"+at, "")
	g.want(200, fmt.Sprintf(`{"urls":[%q]}`, f.URL), "GET", "/list_workers", "")
	g.want(200, f.URL, "POST", "/generate", "{}") // healthy at once
	g.want(200, "", "POST", "/remove_worker"+at, "")
	g.want(404, "there is no worker", "POST", "/remove_worker"+at, "")
	g.want(200, "", "POST", "/add_worker", fmt.Sprintf(`{"url":%q}`, f.URL))
	g.want(202, "", "DELETE", "/workers/"+url.PathEscape(f.URL), "")
	g.want(200, `{"urls":[]}`, "GET", "/list_workers", "")
	g.want(400, "url is missing", "POST", "/add_worker", "{}")
}

// A worker that never becomes healthy is not left behind.
func TestAddingASickWorker(t *testing.T) {
	f := newFake(t)
	f.sick.Store(true)
	c := quick()
	c.StartupWithin = c.Every
	g := serve(t, c)
	g.want(503, "WORKER_UNHEALTHY", "POST", "/add_worker?url="+url.QueryEscape(f.URL), "")
	if got := g.list(); len(got) != 0 {
		t.Errorf("workers are %v, want none", got)
	}
}

func TestAnswersPassUnchanged(t *testing.T) {
	f := newFake(t)
	g := serve(t, quick(), f)
	f.does(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		rw.Header().Set("X-Seen", req.Header.Get("X-Mine"))
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(rw, "%s?%s %s", req.URL.Path, req.URL.RawQuery, body)
	})
	g.want(400, `/generate?a=b%20c {"x":1}`, "POST", "/generate?a=b%20c", `{"x":1}`, "X-Mine", "m")
	if got := g.r.Counts()["spilled"]; got != 0 || f.served.Load() != 1 {
		t.Errorf("a bad request was sent %d times", f.served.Load())
	}
	g.want(200, "", "GET", "/v1/models?x=%2F", "")
	if got := f.heard(); len(got) != 1 || got[0] != "GET /v1/models?x=%2F" {
		t.Errorf("the worker heard %q", got)
	}
}

// The router passes on what has come before the next piece is there.
func TestStreamsPassUnbuffered(t *testing.T) {
	f := newFake(t)
	g := serve(t, quick(), f)
	next := make(chan string)
	f.does(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for line := range next {
			fmt.Fprintf(rw, "data: %s\n\n", line)
			rw.(http.Flusher).Flush()
		}
	})
	go func() { next <- "a" }()
	resp, err := http.Post(g.url+"/generate", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for _, want := range []string{"a", "b", "c"} {
		if want != "a" {
			next <- want
		}
		got, err := in.ReadString('\n')
		if _, blank := in.ReadString('\n'); err != nil || blank != nil || got != "data: "+want+"\n" {
			t.Fatalf("got %q, %v, want %s", got, err, want)
		}
	}
	close(next)
	if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

// When the client leaves, the worker is told.
func TestClientsThatLeave(t *testing.T) {
	f := newFake(t)
	g := serve(t, quick(), f)
	began, told := make(chan bool), make(chan bool)
	f.does(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		began <- true
		<-req.Context().Done()
		told <- true
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/generate", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-began; leave() }()
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Error("an answer came to a client that had left")
	}
	<-told
	until(t, "it is counted and its place is free", func() bool { return g.r.Counts()["left"] == 1 && g.list()[0].Load == 0 })
}

// One of two workers dies with requests in hand: all are answered by the other one, and each once.
func TestNoRequestIsLostWithAWorker(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		a, b := newFake(t), newFake(t)
		g := serve(t, quick(), a, b)
		const n = 40
		busy, held := make(chan bool, n), make(chan bool)
		a.does(func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			busy <- true
			select {
			case <-held:
			case <-req.Context().Done():
			}
		})
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				status, text, err := g.try("POST", "/generate", fmt.Sprintf(`{"rid":"r%d"}`, i))
				if err != nil || status != 200 || !strings.Contains(text, b.URL) {
					t.Errorf("request %d: %d %s %v, want an answer of %s", i, status, text, err, b.URL)
				}
			})
		}
		<-busy
		a.kill()
		all.Wait()
		close(held)
		until(t, "the dead worker is unhealthy", func() bool { return !g.list()[0].Healthy })
		if got := g.r.Counts(); got["requests"] != n || got["broken"] != 0 || got["retried"] < 1 {
			t.Errorf("counts are %v", got)
		}
		until(t, "no request is booked", func() bool { return g.list()[0].Load+g.list()[1].Load == 0 })
	})
	settled(t, before)
}

// What broke off in the middle is not begun again: the client sees that it broke.
func TestNothingIsRetriedAfterAByte(t *testing.T) {
	a := newFake(t)
	g := serve(t, quick(), a)
	a.does(func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, "half")
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, text, err := g.try("POST", "/generate", "{}"); text != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v, want half an answer and a broken connection", text, err)
	}
	if a.served.Load() != 1 {
		t.Errorf("the worker was asked %d times", a.served.Load())
	}
}

// A full queue spills over; when all are full the client sees the last refusal as it was.
func TestFullQueuesSpillOver(t *testing.T) {
	a, b := newFake(t), newFake(t)
	g := serve(t, quick(), a, b)
	full := func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(rw, "full")
	}
	a.does(full)
	for range 4 {
		g.want(200, b.URL, "POST", "/generate", "{}")
	}
	b.does(full)
	g.want(503, "full", "POST", "/generate", "{}")
	if got := g.r.Counts(); got["spilled"] < 3 || got["unserved"] != 0 {
		t.Errorf("counts are %v", got)
	}
}

// A connection that breaks before an answer is tried again only if that can't do harm.
func TestBrokenConnections(t *testing.T) {
	for _, tt := range []struct {
		path    string
		status  int
		attempt int64
	}{{"/generate", 200, 2}, {"/open_session", 502, 1}} {
		a := newFake(t)
		g := serve(t, quick(), a)
		a.does(func(http.ResponseWriter, *http.Request) {
			if a.served.Load() == 1 {
				panic(http.ErrAbortHandler)
			}
		})
		g.want(tt.status, "", "POST", tt.path, `{"rid":"a"}`)
		if got := a.served.Load(); got != tt.attempt {
			t.Errorf("%s was sent %d times, want %d", tt.path, got, tt.attempt)
		}
	}
}

func TestStickyKeys(t *testing.T) {
	a, b := newFake(t), newFake(t)
	g := serve(t, quick(), a, b)
	seen := map[string]bool{}
	for range 6 {
		_, text := g.call("POST", "/generate", "{}", "X-SMG-Routing-Key", "one")
		seen[text] = true
	}
	if len(seen) != 1 {
		t.Errorf("one key was served by %v", seen)
	}
}

func TestCallsForAll(t *testing.T) {
	a, b := newFake(t), newFake(t)
	g := serve(t, quick(), a, b)
	g.want(200, `"total_workers":2`, "POST", "/flush_cache", "{}")
	g.want(200, "", "POST", "/abort_request", `{"rid":"x"}`)
	g.want(200, `"status":"ok"`, "POST", "/pause_generation", `{"mode":"retract"}`)
	want := `[POST /flush_cache {} POST /abort_request {"rid":"x"} POST /pause_generation {"mode":"retract"}]`
	for _, f := range []*fake{a, b} {
		if got := fmt.Sprint(f.heard()); got != want {
			t.Errorf("%s heard %s, want %s", f.URL, got, want)
		}
	}
	g.want(400, "call each at its own address", "POST", "/update_weights_from_disk", "{}")
	if text := g.want(200, `"worker":"`+b.URL, "GET", "/v1/loads?include=core", ""); strings.Count(text, "num_running_reqs") != 2 {
		t.Errorf("loads are %s", text)
	}
	g.want(200, fmt.Sprintf(`{"worker":%q,"load":0}`, b.URL), "GET", "/get_loads", "")
	metrics := g.want(200, fmt.Sprintf("sglang_num{worker_addr=%q,model_name=\"m\"} 1\n", a.URL), "GET", "/engine_metrics", "")
	if strings.Count(metrics, "# TYPE sglang_num gauge") != 1 || strings.Count(metrics, "\nplain{worker_addr=") != 2 {
		t.Errorf("metrics are %s", metrics)
	}
	g.want(200, "furlong_router_worker_healthy", "GET", "/metrics", "")
	b.kill()
	g.want(502, fmt.Sprintf(`"successful":[%q]`, a.URL), "GET", "/flush_cache", "")
}

func TestKeys(t *testing.T) {
	a := newFake(t)
	c := quick()
	c.APIKey, c.AdminKey = "client", "operator"
	g := serve(t, c, a)
	for _, tt := range []struct {
		method, path, key string
		want              int
	}{
		{"POST", "/generate", "", 401},
		{"POST", "/generate", "wrong", 401},
		{"POST", "/generate", "client", 200},
		{"POST", "/generate", "operator", 200},
		{"GET", "/workers", "", 401},
		{"GET", "/workers", "client", 200},
		{"POST", "/workers", "client", 401},
		{"POST", "/workers", "operator", 400},
		{"POST", "/add_worker", "client", 401},
		{"DELETE", "/workers/x", "client", 401},
		{"POST", "/remove_worker", "client", 401},
		{"POST", "/flush_cache", "client", 401},
		{"POST", "/flush_cache", "operator", 200},
		{"POST", "/update_weights_from_disk", "client", 401},
		{"GET", "/health", "", 200},
		{"GET", "/liveness", "", 200},
		{"GET", "/metrics", "", 200},
	} {
		if got, text := g.call(tt.method, tt.path, "", "Authorization", "Bearer "+tt.key); got != tt.want {
			t.Errorf("%s %s with %q: %d %s, want %d", tt.method, tt.path, tt.key, got, text, tt.want)
		}
	}
	if got := fmt.Sprint(a.keys); got != "[Bearer client Bearer operator]" {
		t.Errorf("the worker saw %s", got)
	}
}

func TestWorkersHaveKeysOfTheirOwn(t *testing.T) {
	a := newFake(t)
	c := quick()
	c.WorkerKey = "common"
	g := serve(t, c)
	g.want(202, "", "POST", "/workers", fmt.Sprintf(`{"url":%q,"api_key":"secret"}`, a.URL))
	until(t, "it is healthy", func() bool { return g.list()[0].Healthy })
	g.call("POST", "/generate", "{}", "Authorization", "Bearer mine")
	if _, text := g.call("GET", "/workers", ""); strings.Contains(text, "secret") {
		t.Errorf("a key is shown: %s", text)
	}
	if got := fmt.Sprint(a.keys); got != "[Bearer secret]" {
		t.Errorf("the worker saw %s, want its own key", got)
	}
}

func TestLongBodies(t *testing.T) {
	c := quick()
	c.MaxBody = 10
	g := serve(t, c, newFake(t))
	g.want(413, "more than 10 bytes", "POST", "/generate", "01234567890")
	g.want(200, "", "POST", "/generate", "0123456789")
}

func TestConfig(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"port": func(c *Config) { c.Port = 70000 }, "ssl-keyfile": func(c *Config) { c.CertFile = "x" }, "max-payload-size": func(c *Config) { c.MaxBody = 0 },
		"retry-max-retries": func(c *Config) { c.Retries = -1 }, "health-check-endpoint": func(c *Config) { c.Health = "health" },
		"worker-urls": func(c *Config) { c.Workers = []string{"a"} }, "health-check-interval-secs": func(c *Config) { c.Every = 0 },
		"health-failure-threshold": func(c *Config) { c.FailAfter = 0 },
	} {
		c := Default()
		edit(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for host, want := range map[string]bool{"127.0.0.1": false, "::1": false, "localhost": false, "0.0.0.0": true, "10.0.0.1": true, "": true} {
		if got := (Config{Host: host}).Open(); got != want {
			t.Errorf("host %q open: %v, want %v", host, got, want)
		}
	}
}
