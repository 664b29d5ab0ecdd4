package dash

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/dash/dashgen"
	"furlong/dash/store"
	"furlong/metrics/run"
)

// made is a directory with one made run, called small, that tests only read.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dash")
	if err != nil {
		return "", err
	}
	o := dashgen.Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Bodies, o.Keys = 130, 4, 2, 8, "last:10", 45
	return dir, dashgen.Make(filepath.Join(dir, "small"), o)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := made(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// server returns a server of the runs in dirs.
func server(t testing.TB, o Options, dirs ...string) *Server {
	t.Helper()
	if len(dirs) == 0 {
		dir, err := made()
		if err != nil {
			t.Fatal(err)
		}
		dirs = []string{dir}
	}
	o.Shelf = store.NewShelf(dirs, store.Options{Now: time.Now, Self: run.Holder{Host: "here", Boot: "boot"}})
	t.Cleanup(func() { o.Shelf.Close() })
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return New(o)
}

// ask answers one request. headers are names and values by turns.
func ask(t testing.TB, s http.Handler, method, url string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, url, nil)
	r.Host = "localhost:7878"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestWhoMayAsk(t *testing.T) {
	open, closed := server(t, Options{}), server(t, Options{Token: "secret", Hosts: []string{"box"}})
	head := "/api/r/small/head"
	for _, tt := range []struct {
		name    string
		s       *Server
		method  string
		path    string
		headers []string
		want    int
	}{
		{"plain", open, "GET", head, nil, 200},
		{"HEAD", open, "HEAD", head, nil, 200},
		{"address of loopback", open, "GET", head, []string{"Host", "127.0.0.1:1"}, 200},
		{"the other loopback", open, "GET", head, []string{"Host", "[::1]:7878"}, 200},
		{"other host", open, "GET", head, []string{"Host", "evil.example"}, 403},
		{"other host for a page", open, "GET", "/", []string{"Host", "evil.example:7878"}, 403},
		{"no host", open, "GET", head, []string{"Host", ""}, 403},
		{"named host", closed, "GET", head, []string{"Host", "box", "Cookie", "furlong-dash=secret"}, 200},
		{"own origin", open, "GET", head, []string{"Origin", "http://localhost:7878"}, 200},
		{"foreign origin", open, "GET", head, []string{"Origin", "http://evil.example"}, 403},
		{"other port", open, "GET", head, []string{"Origin", "http://localhost:3000"}, 403},
		{"null origin", open, "GET", head, []string{"Origin", "null"}, 403},
		{"cross-site fetch", open, "GET", head, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		{"same-site fetch", open, "GET", head, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 403},
		{"link from elsewhere", open, "GET", "/r/small/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"frame from elsewhere", open, "GET", "/r/small/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"link to an answer", open, "GET", head, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		{"POST", open, "POST", head, nil, 405},
		{"PUT", open, "PUT", "/", nil, 405},
		{"OPTIONS", open, "OPTIONS", head, nil, 405},
		{"up", open, "GET", "/r/../../etc/passwd", nil, 404},
		{"up in disguise", open, "GET", "/assets/%2e%2e/%2e%2e/go.mod", nil, 404},
		{"up by backslash", open, "GET", `/assets/..%5c..%5cgo.mod`, nil, 404},
		{"up as a run", open, "GET", "/api/r/%2e%2e/head", nil, 404},
		{"no such asset", open, "GET", "/assets/none.js", nil, 404},
		{"file of the run", open, "GET", "/r/small/metrics.jsonl", nil, 200}, // the page, which shows that there is no such screen
		{"no token", closed, "GET", head, nil, 403},
		{"wrong token", closed, "GET", head, []string{"Authorization", "Bearer wrong"}, 403},
		{"wrong cookie", closed, "GET", head, []string{"Cookie", "furlong-dash=wrong"}, 403},
		{"token", closed, "GET", head, []string{"Authorization", "Bearer secret"}, 200},
		{"cookie", closed, "GET", head, []string{"Cookie", "furlong-dash=secret"}, 200},
		{"page without token", closed, "GET", "/", nil, 200}, // it holds nothing of the run
		{"wrong token for the cookie", closed, "GET", "/api/token", []string{"Authorization", "Bearer wrong"}, 403},
		{"token for the cookie", closed, "GET", "/api/token", []string{"Authorization", "Bearer secret"}, 204},
	} {
		w := ask(t, tt.s, tt.method, tt.path, tt.headers...)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
		if body := w.Body.String(); tt.want >= 400 && body != "" && !strings.HasPrefix(body, `{"error":"token"`) && !strings.Contains(body, "there is no run") {
			t.Errorf("%s: answer to a stranger has a body: %.80q", tt.name, body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers are %v", tt.name, w.Header())
		}
	}
	c := ask(t, closed, "GET", "/api/token", "Authorization", "Bearer secret").Header().Get("Set-Cookie")
	if !strings.Contains(c, "furlong-dash=secret") || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") {
		t.Errorf("cookie is %q", c)
	}
}

// Links out of the run are no files of it.
func TestLinksDoNotLeave(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const secret = "root-of-all-evil"
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(secret+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"metrics.jsonl", "alarms.jsonl", "log.jsonl", "config.json", "status.json", "run.lock", "samples/index/tail.fli", "samples/c000130.fls", "spans/0000.jsonl", "experts/c000130.bin", "eval/aime-2024/c000130.jsonl"} {
		dir := filepath.Join(t.TempDir(), "small")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(from, "small"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, path); err != nil {
			t.Fatal(err)
		}
		s := server(t, Options{}, dir)
		for _, p := range []string{"head", "rows?keys=rollout/raw_reward", "cycle/130", "samples?text=1", "log", "config", "time/130", "experts", "evals", "evals/aime-2024", "group/130/520", "sample/130/520/0"} {
			if w := ask(t, s, "GET", "/api/r/small/"+p); strings.Contains(w.Body.String(), secret) || w.Code == 0 {
				t.Errorf("%s is a link: /%s shows what it leads to: %.200s", name, p, w.Body)
			}
		}
	}
}

// What is asked wrongly is answered with 400 and a sentence; what is not there with 404.
func TestWrongQuestions(t *testing.T) {
	s := server(t, Options{})
	for path, want := range map[string]int{
		"rows?keys=a&px=4001": 400, "rows?keys=a&px=-1": 400, "rows?keys=a&x=depth": 400, "rows?keys=a&from=NaN": 400, "rows?keys=a&from=x": 400, "rows?keys=a&avg=-2": 400, "rows?keys=" + strings.Repeat("k,", 201): 400,
		"samples?limit=1001": 400, "samples?limit=-1": 400, "samples?limit=x": 400, "samples?q=nothing": 400, "samples?sort=-nothing": 400, "samples?after=zzz": 400, "samples?q=" + strings.Repeat("a", 2049): 400,
		"cycle/999": 404, "cycle/-1": 400, "cycle/x": 400, "cycle/99999999999": 400, "cycle/120": 404, "group/37/1": 404, "sample/37/1/1": 404, "group/37/x": 400,
		"next?at=37/1": 400, "next?at=37/1/1&in=run": 400, "next?at=37/1/1&dir=2": 400, "next?at=37/1/1&by=luck": 400, "evals/none": 404, "evals/aime-2024?a=0&b=7": 404, "experts?layer=99": 404, "time/999": 404,
		"log?limit=0": 400, "log?limit=2000": 400, "log?level=LOUD": 400, "log?after=-1": 400, "events?from=x": 400, "nothing": 404, "rows?keys=%zz": 400,
	} {
		w := ask(t, s, "GET", "/api/r/small/"+path)
		if w.Code != want {
			t.Errorf("%.60s: %d %.200s, want %d", path, w.Code, w.Body, want)
		}
		var e struct{ Error string }
		if path != "nothing" && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Error == "") {
			t.Errorf("%.60s: body is %.100q, want a sentence", path, w.Body)
		}
	}
	for path, want := range map[string]int{"/api/r/none/head": 404, "/api/compare?a=small&b=none": 404, "/api/compare?a=small&b=small&x=time": 400, "/api/compare?a=small&b=small&keys=rollout/raw_reward": 200, "/api/runs": 200, "/api/runs?limit=0": 400, "/nothing": 404, "/api/nothing": 404} {
		if w := ask(t, s, "GET", path); w.Code != want {
			t.Errorf("%s: %d %.200s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// Names that no query has, values beyond what there is and words that mean nothing are named, each in its own words.
func TestWrongQuestionsAreNamed(t *testing.T) {
	s := server(t, Options{})
	for path, want := range map[string]string{
		"/api/r/small/rows?keys=a&px=-1":                          "px is -1, want 0 to 4,000",
		"/api/r/small/rows?keys=a&pixels=3":                       `"pixels" is nothing that can be asked here`,
		"/api/r/small/rows?key=a":                                 "did you mean keys?",
		"/api/r/small/rows?keys=a&px=1&px=2":                      "px is given 2 times",
		"/api/r/small/rows?keys=a&format=xml":                     `format is "xml", want json or csv`,
		"/api/r/small/rows?keys=a&from=5&to=3":                    "from is 5 and to is 3",
		"/api/r/small/rows?keys=a&fit=b":                          `fit names "b"`,
		"/api/r/small/rows?keys=a&avg=10001":                      "want auto, or 0 to 10,000",
		"/api/r/small/rows?keys=a&avg=most":                       `avg is "most"`,
		"/api/r/small/time/37?format=x":                           `format is "x", want json or trace`,
		"/api/r/small/time/37?fromat=trace":                       "did you mean format?",
		"/api/r/small/head?keys=2":                                `keys is "2", want 1 or 0`,
		"/api/r/small/head?key=0":                                 "did you mean keys?",
		"/api/r/small/samples?limit=0":                            "limit is 0, want 1 to 1,000",
		"/api/r/small/samples?text=yes":                           `text is "yes", want 0 or 1`,
		"/api/r/small/samples?query=right":                        `"query" is nothing that can be asked here`,
		"/api/r/small/experts?c=-5":                               "c is -5",
		"/api/r/small/experts?layer=one":                          `layer is "one"`,
		"/api/r/small/evals?a=1":                                  `"a" is nothing`,
		"/api/r/small/evals/aime-2024?a=0":                        "a and b are the cycles to compare",
		"/api/r/small/evals/aime-2024?a=0&b=10&k=0":               "k is 0",
		"/api/r/small/sample/130/520/0?from=5&to=2":               "from is 5 and to is 2",
		"/api/r/small/sample/130/520/0?from=-1":                   "from is -1",
		"/api/r/small/next?at=130/520/0&dir=2":                    `dir is "2", want 1 or -1`,
		"/api/r/small/next?at=130/520/0&in=run":                   `in is "run", want sample or group or cycle`,
		"/api/r/small/log?after=1&before=5":                       "want one",
		"/api/r/small/log?limit=1001":                             "limit is 1001, want 1 to 1,000",
		"/api/r/small/config?x=1":                                 `"x" is nothing`,
		"/api/r/small/events?keys=a":                              `"keys" is nothing`,
		"/api/runs?limit=5001":                                    "limit is 5001, want 1 to 5,000",
		"/api/runs?after=none":                                    `there is no run "none"`,
		"/api/compare?a=small":                                    "b is missing",
		"/api/compare?a=small&b=small&px=9999":                    "px is 9999",
		"/api/r/small/heads":                                      "there is no such answer",
		"/api/r/small/group/50/200?evals=x":                       "did you mean eval?",
		"/api/r/small/cycle/37?keys=rollout%2Fraw_reward":         "did you mean key?",
		"/api/r/small/sample/130/520/0?eval=none":                 `of evaluation "none" in cycle 130`,
		"/api/r/small/experts?layer=99":                           "layer is 99, the run has 4",
		"/api/r/small/rows?keys=a&x=cycles":                       `x is "cycles"`,
		"/api/r/small/rows?keys=" + strings.Repeat("k,", 201):     "201 keys",
		"/api/r/small/samples?q=" + strings.Repeat("right+", 400): "filter is 2400 bytes",
	} {
		w := ask(t, s, "GET", path)
		if body := strings.ReplaceAll(w.Body.String(), `\"`, `"`); w.Code != 400 && w.Code != 404 || !strings.Contains(body, want) {
			t.Errorf("%.80s: %d %.200s, want %q", path, w.Code, body, want)
		}
	}
}

// Every answer is JSON in which nothing of a sample can end a script element, and text comes through.
func TestHostileTextIsJSON(t *testing.T) {
	s := server(t, Options{})
	for _, path := range []string{"head", "cycle/50", "samples?q=cycle:50&text=1", "group/50/200", "sample/50/200/0", "evals/aime-2024", "config", "log?limit=1000", "rows?keys=" + strings.ReplaceAll("moe/<b>load</b>", "/", "%2F"), "time/50"} {
		w := ask(t, s, "GET", "/api/r/small/"+path)
		b := w.Body.Bytes()
		if w.Code != 200 || !json.Valid(b) || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %.100s", path, w.Code, b)
		}
		if i := bytes.IndexAny(b, "<>\u2028"); i >= 0 {
			t.Errorf("%s: %q stands bare in the answer", path, b[max(0, i-20):min(len(b), i+20)])
		}
	}
	var got struct {
		Response struct {
			Texts []string
			Hex   map[string]string
		}
	}
	if err := json.Unmarshal(ask(t, s, "GET", "/api/r/small/sample/50/200/0").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Response.Texts) == 0 || got.Response.Texts[0] != "<script>window.__x=1</script>" {
		t.Errorf("first token is %q", got.Response.Texts)
	}
}

// A panic in an answer is an answer.
func TestPanicIsAnAnswer(t *testing.T) {
	var log bytes.Buffer
	s := server(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.mux.HandleFunc("GET /api/panic", func(http.ResponseWriter, *http.Request) { panic("the disk is full") })
	if w := ask(t, s, "GET", "/api/panic"); w.Code != 500 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %s, want 500", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("log is %q, want the panic", log.String())
	}
	if w := ask(t, s, "GET", "/api/r/small/head"); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// A port that is taken gives way to the next free one.
func TestListen(t *testing.T) {
	first, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Listen(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if a, b := first.Addr().(*net.TCPAddr).Port, second.Addr().(*net.TCPAddr).Port; b <= a || b > a+tries {
		t.Errorf("ports %d and %d, want the next free one", a, b)
	}
	for _, bad := range []string{"", "localhost", "localhost:x", "localhost:99999"} {
		if at, err := Listen(bad); err == nil {
			at.Close()
			t.Errorf("%q: no error", bad)
		}
	}
}

// The page's own files are answered, by type, and not again when they have not changed.
func TestAssets(t *testing.T) {
	s := server(t, Options{})
	w := ask(t, s, "GET", "/")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "<!doctype html>") && !strings.Contains(w.Body.String(), "<!DOCTYPE html>") {
		t.Errorf("page is %d %.80q", w.Code, w.Body)
	}
	js := ask(t, s, "GET", "/assets/lib/uPlot.min.js")
	if js.Code != 200 || js.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("script is %d %s", js.Code, js.Header())
	}
	if again := ask(t, s, "GET", "/assets/lib/uPlot.min.js", "If-None-Match", js.Header().Get("ETag")); again.Code != 304 {
		t.Errorf("again: %d, want 304", again.Code)
	}
}

// Run ends with its context, streams included.
func TestRunEnds(t *testing.T) {
	s := server(t, Options{})
	at, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, at) }()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at.Addr().String()+"/api/r/small/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
