package router

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fake is a worker without a model.
type fake struct {
	*httptest.Server
	sick     atomic.Bool
	dead     atomic.Bool
	served   atomic.Int64 // calls of /generate and /open_session
	mu       sync.Mutex
	generate http.HandlerFunc // what these do
	calls    []string         // method, path and body of what is not generation or health
	keys     []string         // Authorization of all requests
}

// newFake returns a worker that answers every /generate with its own address.
func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	f.generate = func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintf(rw, `{"text":%q}`, f.URL) }
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(rw http.ResponseWriter, _ *http.Request) {
		if f.sick.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/model_info", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"served_model_name":"tiny","model_path":"/models/tiny"}`)
	})
	mux.HandleFunc("/server_info", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, `{"version":"1.2"}`) })
	mux.HandleFunc("/v1/loads", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"version":"1","loads":[{"dp_rank":0,"num_running_reqs":2}]}`)
	})
	mux.HandleFunc("/metrics", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, "# HELP sglang:num a b\n# TYPE sglang:num gauge\nsglang:num{model_name=\"m\"} 1\nplain 2\n")
	})
	work := func(rw http.ResponseWriter, req *http.Request) {
		f.served.Add(1)
		f.mu.Lock()
		f.keys = append(f.keys, req.Header.Get("Authorization"))
		do := f.generate
		f.mu.Unlock()
		do(rw, req)
	}
	mux.HandleFunc("/generate", work)
	mux.HandleFunc("/open_session", work)
	mux.HandleFunc("/", func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, strings.TrimSpace(req.Method+" "+req.URL.RequestURI()+" "+string(body)))
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if f.dead.Load() { // on a connection that came while others were broken
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(rw, req)
	}))
	t.Cleanup(f.Close)
	return f
}

// does sets what the worker does with /generate.
func (f *fake) does(h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.generate = h
}

func (f *fake) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// kill ends the worker as the death of its process would: connections break, nobody listens.
func (f *fake) kill() {
	f.dead.Store(true)
	f.Listener.Close()
	f.CloseClientConnections()
}

// quick are settings for tests.
func quick() Config {
	c := Default()
	c.Port, c.Every, c.Patience, c.StartupWithin = 0, 20*time.Millisecond, 20*time.Second, time.Minute
	return c
}

// A rig is a router that listens.
type rig struct {
	*testing.T
	r   *Router
	url string
}

// serve runs a router over workers, and holds it to leave no goroutine behind. It returns when all workers are healthy.
func serve(t *testing.T, c Config, workers ...*fake) *rig {
	t.Helper()
	for _, f := range workers {
		c.Workers = append(c.Workers, f.URL)
	}
	r, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		r.net.(*http.Transport).CloseIdleConnections()
	})
	for _, w := range r.reg.all(false) {
		<-w.ready
	}
	return &rig{t, r, "http://" + ln.Addr().String()}
}

// call makes a request and returns status and body.
func (g *rig) call(method, path, body string, headers ...string) (int, string) {
	g.Helper()
	status, text, err := g.try(method, path, body, headers...)
	if err != nil {
		g.Fatal(err)
	}
	return status, text
}

func (g *rig) try(method, path, body string, headers ...string) (int, string, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// want makes a request and holds the answer's status, and a part of its body, to what is wanted.
func (g *rig) want(status int, part, method, path, body string, headers ...string) string {
	g.Helper()
	got, text := g.call(method, path, body, headers...)
	if got != status || !strings.Contains(text, part) {
		g.Errorf("%s %s %s: %d %s, want %d with %q", method, path, body, got, text, status, part)
	}
	return text
}

// list returns GET /workers.
func (g *rig) list() []view {
	g.Helper()
	var got struct {
		Workers []view `json:"workers"`
	}
	_, text := g.call(http.MethodGet, "/workers", "")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		g.Fatalf("%s: %v", text, err)
	}
	return got.Workers
}

// until waits until something holds, as it must soon.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not so after a minute", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// settled wants the number of goroutines back where it was.
func settled(t *testing.T, before int) {
	t.Helper()
	until(t, "goroutines are back", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
}
