package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"furlong/tokenizer"
)

func TestKeys(t *testing.T) {
	type keys struct{ api, admin string }
	for _, tt := range []struct {
		keys   keys
		header string
		path   string
		want   int
	}{
		{keys{}, "Bearer None", "GET /model_info", 200},
		{keys{}, "nonsense", "POST /abort_request", 200},
		{keys{"k", ""}, "", "GET /model_info", 401},
		{keys{"k", ""}, "Bearer k", "GET /model_info", 200},
		{keys{"k", ""}, "bearer k", "GET /model_info", 200},
		{keys{"k", ""}, "Bearer kk", "GET /model_info", 401},
		{keys{"k", ""}, "Bearer ", "GET /model_info", 401},
		{keys{"k", ""}, "Basic k", "GET /model_info", 401},
		{keys{"k", ""}, "", "POST /generate", 401},
		{keys{"k", ""}, "", "GET /health", 200},
		{keys{"k", ""}, "", "GET /health_generate", 200},
		{keys{"k", ""}, "", "GET /ping", 200},
		{keys{"k", ""}, "", "GET /metrics", 200},
		{keys{"k", ""}, "Bearer k", "POST /abort_request", 200},
		{keys{"k", "a"}, "Bearer k", "POST /abort_request", 401},
		{keys{"k", "a"}, "Bearer a", "POST /abort_request", 200},
		{keys{"k", "a"}, "Bearer a", "GET /model_info", 200},
		{keys{"", "a"}, "", "GET /model_info", 200},
		{keys{"", "a"}, "", "GET /flush_cache", 401},
		{keys{"", "a"}, "", "POST /pause_generation", 401},
	} {
		u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.APIKey, c.AdminKey = tt.keys.api, tt.keys.admin })
		u.eventually("proof", func() bool { return u.ailment() == nil })
		method, path, _ := strings.Cut(tt.path, " ")
		header := []string{"Authorization", tt.header}
		if tt.header == "" {
			header = nil
		}
		code, raw := u.call(method, path, "{}", header...)
		if code != tt.want || code == 401 && string(raw) != `{"error":"Unauthorized"}` {
			t.Errorf("keys %v, %q, %s: %d %s, want %d", tt.keys, tt.header, tt.path, code, raw, tt.want)
		}
	}
}

func TestConfigComplains(t *testing.T) {
	bad := Config{MaxBody: 0, StreamEvery: 0, APIKey: "k", AdminKey: "k", Preferred: `{"temprature":1}`, WaitTime: -1}
	err := bad.Validate()
	for _, want := range []string{"--max-body-size is 0", "--stream-interval is 0", "--body-timeout", "--waiting-timeout", "--admin-api-key is the same", "did you mean"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate says %v, want %q in it", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

func TestAnyOrigin(t *testing.T) {
	u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.APIKey = "k" })
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, u.url+"/generate", nil)
	req.Header.Set("Origin", "http://example.com")
	req.Header.Set("Access-Control-Request-Method", "POST")
	req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
	resp, err := u.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h := resp.Header
	if resp.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "authorization") {
		t.Errorf("preflight: %d %v", resp.StatusCode, h)
	}
	for path, want := range map[string]int{"/generate": 405, "/nothing": 404} { // how clients find out what there is
		if code, _ := u.call(http.MethodOptions, path, "", "Authorization", "Bearer k"); code != want {
			t.Errorf("OPTIONS %s: %d, want %d", path, code, want)
		}
	}
}

func TestLongBodies(t *testing.T) {
	u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.MaxBody = 1000 })
	long := `{"text":"` + strings.Repeat("x", 2000) + `"}`
	u.refused("/generate", long, http.StatusRequestEntityTooLarge, "at most 1000")
	req, _ := http.NewRequestWithContext(t.Context(), "POST", u.url+"/generate", io.MultiReader(strings.NewReader(long))) // in chunks: of unknown length
	resp, err := u.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("in chunks: %d, want 413", resp.StatusCode)
	}
	u.one(`{"text":"x"}`)
}

// dial sends a request by hand and returns what comes back.
func (u *site) dial(request string) *bufio.Reader {
	u.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(u.url, "http://"))
	if err != nil {
		u.Fatal(err)
	}
	u.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		u.Fatal(err)
	}
	fmt.Fprint(conn, request)
	return bufio.NewReader(conn)
}

func TestSlowSendersAreCutOff(t *testing.T) {
	u := serveOn(t, newScript(t, "x"), 64, func(c *Config, _ *Parts) { c.BodyTime = 50 * time.Millisecond })
	r := u.dial("POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("got %d, want 408", resp.StatusCode)
	}
}

// The time to send a body is no time for the answer.
func TestSlowAnswersAreNotCutOff(t *testing.T) {
	e := newScript(t, "xy")
	e.gate = make(chan struct{})
	u := serveOn(t, e, 64, func(c *Config, _ *Parts) { c.BodyTime, c.WriteTime = 500*time.Millisecond, 500*time.Millisecond })
	e.gate <- struct{}{}
	for _, stream := range []string{"false", "true"} {
		sent := `{"text":"a","stream":` + stream + `}`
		r := u.dial(fmt.Sprintf("POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(sent), sent))
		for range 3 {
			time.Sleep(350 * time.Millisecond) // two of them are longer than a body may take
			e.gate <- struct{}{}
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(raw), `"text":"xy"`) {
			t.Errorf("stream %s: %s %v", stream, raw, err)
		}
	}
}

func TestLongHeaders(t *testing.T) {
	u := serveOn(t, newScript(t, "x"), 64, nil)
	resp, err := http.ReadResponse(u.dial("GET /health HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 200_000)+"\r\n\r\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d, want 431", resp.StatusCode)
	}
}

func TestWithoutTokenizer(t *testing.T) {
	u := serveOn(t, newScript(t, "xy"), 64, func(_ *Config, p *Parts) { p.Tokenizer = nil })
	a := u.one(`{"input_ids":[1],"return_logprob":true,"return_text_in_logprobs":true}`)
	if a.Text != nil || len(a.OutputIDs) != 3 || a.OutputIDs[2] != (tokenizer.Bytes{}).EOS() {
		t.Errorf("got %+v", a)
	}
	u.refused("/generate", `{"text":"a"}`, 400, "without a tokenizer")
	u.refused("/generate", `{"input_ids":[1],"sampling_params":{"stop":"a"}}`, 400, "without a tokenizer")
	u.refused("/tokenize", `{"prompt":"a"}`, 400, "without one")
	u.refused("/detokenize", `{"tokens":[1]}`, 400, "without one")
}
