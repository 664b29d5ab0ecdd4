package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// m is a JSON object.
type m = map[string]any

// with returns the union of objects; later ones win.
func with(objects ...m) m {
	out := m{}
	for _, o := range objects {
		maps.Copy(out, o)
	}
	return out
}

// patience is how long one call may take, unless a test says otherwise.
const patience = 90 * time.Second

// A check is one test's view of a server.
type check struct {
	testing.TB

	*Target
	http  *http.Client
	facts facts
	told  m // what /server_info said when the check began
	idle  *resting
}

// begin returns a check of a server.
func begin(t testing.TB, g *Target) *check {
	tr := &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	c := &check{TB: t, Target: g, http: &http.Client{Transport: tr}, facts: g.facts(t)}
	c.told = m{}
	if a := c.get("/server_info"); a.status == http.StatusOK {
		c.told = a.object()
	}
	return c
}

// on returns the same check of another server.
func (c *check) on(g *Target) *check {
	c.Helper()
	return begin(c.TB, g)
}

// start starts another server, or skips.
func (c *check) start(flags ...string) *check {
	c.Helper()
	if c.Start == nil {
		c.Skipf("needs a server started with %s", strings.Join(flags, " "))
	}
	return c.on(c.Start(c.TB, flags...))
}

// fact returns a number of /server_info, 0 for none.
func (c *check) fact(name string) int {
	n, _ := c.told[name].(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// An answer is what came back, or err.
type answer struct {
	c      *check
	what   string // method and path
	status int
	header http.Header
	body   []byte
	took   time.Duration
	err    error
}

// String says it in one line.
func (a answer) String() string {
	if a.err != nil {
		return fmt.Sprintf("%s: %v", a.what, a.err)
	}
	return fmt.Sprintf("%s: %d %.400q", a.what, a.status, a.body)
}

// send does one exchange.
func (c *check) send(ctx context.Context, method, path string, body []byte, header ...string) answer {
	a := answer{c: c, what: method + " " + path}
	began := time.Now()
	res, err := c.open(ctx, method, path, body, header...)
	if err != nil {
		a.err = err
		return a
	}
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	a.body, a.err = io.ReadAll(res.Body)
	a.took = time.Since(began)
	return a
}

// open sends a request and leaves the answer's body to be read.
func (c *check) open(ctx context.Context, method, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := c.key(path); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	return c.http.Do(req)
}

// key returns what path wants to be asked with.
func (c *check) key(path string) string {
	ordinary := strings.HasPrefix(path, "/generate") || strings.HasPrefix(path, "/v1/")
	if c.Admin != "" && !ordinary {
		return c.Admin
	}
	return c.Key
}

// get asks with GET.
func (c *check) get(path string, header ...string) answer {
	return c.within(patience, "GET", path, nil, header...)
}

// post asks with POST; body is JSON text, or what encodes to it.
func (c *check) post(path string, body any, header ...string) answer {
	return c.within(patience, "POST", path, encode(body), header...)
}

func (c *check) within(d time.Duration, method, path string, body []byte, header ...string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.send(ctx, method, path, body, header...)
}

// encode returns body as JSON; text stays as it is.
func encode(body any) []byte {
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(b)
	case []byte:
		return b
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // tests write what can be encoded
	}
	return raw
}

// pending is an answer to come.
type pending chan answer

// later posts and doesn't wait.
func (c *check) later(path string, body any) pending {
	p := make(pending, 1)
	go func() { p <- c.post(path, body) }()
	return p
}

// wait returns the answer, which must come in time.
func (p pending) wait(c *check) answer {
	c.Helper()
	select {
	case a := <-p:
		return a
	case <-time.After(patience + 10*time.Second):
		c.Fatalf("no answer after %v", patience)
		return answer{}
	}
}

// quiet reports whether no answer comes for d.
func (p pending) quiet(d time.Duration) bool {
	select {
	case a := <-p:
		p <- a
		return false
	case <-time.After(d):
		return true
	}
}

// must fails unless the answer has status.
func (a answer) must(status int) answer {
	a.c.Helper()
	if a.err != nil || a.status != status {
		a.c.Fatalf("%v, want %d", a, status)
	}
	return a
}

// client fails unless the answer is the caller's fault: 4xx.
func (a answer) client() answer {
	a.c.Helper()
	if a.err != nil || a.status < 400 || a.status > 499 {
		a.c.Fatalf("%v, want 4xx", a)
	}
	return a
}

// decode reads JSON with numbers as written.
func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("something follows the JSON value")
	}
	return v, err
}

// value returns the body as JSON.
func (a answer) value() any {
	a.c.Helper()
	v, err := decode(a.body)
	if a.err != nil || err != nil {
		a.c.Fatalf("%v, want JSON: %v", a, err)
	}
	return v
}

// object returns the body as a JSON object.
func (a answer) object() m {
	a.c.Helper()
	o, ok := a.value().(m)
	if !ok {
		a.c.Fatalf("%v, want an object", a)
	}
	return o
}

// list returns the body as a JSON array.
func (a answer) list() []any {
	a.c.Helper()
	l, ok := a.value().([]any)
	if !ok {
		a.c.Fatalf("%v, want an array", a)
	}
	return l
}

// message returns what an error says, in any of the shapes that clients know.
func (a answer) message() string {
	a.c.Helper()
	o := a.object()
	if e, ok := o["error"].(m); ok {
		o = e
	}
	s, _ := o["message"].(string)
	if s == "" {
		a.c.Errorf("%v, want a message", a)
	}
	return s
}

// nested holds a native error to {"error":{"message":S}}.
func (a answer) nested() string {
	a.c.Helper()
	e, _ := a.object()["error"].(m)
	s, _ := e["message"].(string)
	if s == "" {
		a.c.Fatalf(`%v, want {"error":{"message":...}}`, a)
	}
	return s
}

// flat holds an error to {"object":"error","message":S,"type":S,"code":status}.
func (a answer) flat() string {
	a.c.Helper()
	o := a.object()
	s, _ := o["message"].(string)
	if s == "" || o["code"] != json.Number(fmt.Sprint(a.status)) {
		a.c.Fatalf(`%v, want a message and the integer code %d`, a, a.status)
	}
	return s
}

// failed holds an answer of a weight endpoint to {"success":false,"message":S}.
func (a answer) failed() string {
	a.c.Helper()
	o := a.must(http.StatusBadRequest).object()
	s, _ := o["message"].(string)
	if o["success"] != false || s == "" {
		a.c.Fatalf(`%v, want "success":false and a message`, a)
	}
	return s
}

// succeeded holds an answer of a weight endpoint to {"success":true,"message":S}.
func (a answer) succeeded() m {
	a.c.Helper()
	o := a.must(http.StatusOK).object()
	if _, ok := o["message"].(string); !ok || o["success"] != true {
		a.c.Fatalf(`%v, want "success":true and a message`, a)
	}
	return o
}

// brief cuts what would fill a screen.
func brief(format string, args ...any) string {
	const most = 900
	s := fmt.Sprintf(format, args...)
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// Errorf is that of [testing.TB], cut to a readable length.
func (c *check) Errorf(format string, args ...any) {
	c.Helper()
	c.TB.Error(brief(format, args...))
}

// Fatalf is that of [testing.TB], cut to a readable length.
func (c *check) Fatalf(format string, args ...any) {
	c.Helper()
	c.TB.Fatal(brief(format, args...))
}
