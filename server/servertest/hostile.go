package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Hostile asks what no honest client asks. Whatever comes, the answer is the caller's fault (4xx) or right, and the server lives.
func Hostile(t *testing.T, g *Target) {
	for _, h := range []struct {
		name string
		do   func(c *check)
	}{
		{"fields", strangeFields},
		{"mutations", mutations},
		{"names", strangeNames},
		{"paths", strangePaths},
		{"urls", strangeURLs},
		{"bytes", strangeBytes},
		{"large_bodies", largeBodies},
		{"slow_writers", slowWriters},
		{"slow_readers", slowReaders},
		{"idle_connections", idleConnections},
	} {
		t.Run(h.name, func(t *testing.T) {
			c := begin(t, g)
			h.do(c)
			c.abortAll()
			c.post("/continue_generation", m{}).must(200)
			c.untilIdle()
			c.alive()
			c.generate(ask(prompt(1, 10), full(3)))
		})
	}
}

// blame fails unless an answer is right or the caller's fault; 501 is what some servers say of what they don't have. A caller's fault is told in JSON.
func (a answer) blame(what string) {
	a.c.Helper()
	if a.err != nil || a.status >= 500 && a.status != http.StatusNotImplemented {
		a.c.Errorf("%.200s: %v, want no server's fault", what, a)
		return
	}
	if v, err := decode(a.body); a.status >= 400 && strings.HasPrefix(a.header.Get("Content-Type"), "application/json") && (err != nil || v == nil) {
		a.c.Errorf("%.200s: %v, want JSON", what, a)
	}
}

// strange are values where others are wanted.
func strange() []string {
	return []string{
		"null", "true", "-1", "0", "1e99", "-0.0", "1.5", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e999", "NaN", `""`, `"\u0000"`, `"\ud800"`,
		`"x"`, "[]", "{}", "[null]", "[[]]", "[[[1]]]", `[1,"a"]`, "[-1]", "[1e30]", "[99999999999]", `{"a":{"b":[{}]}}`, strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
		`"` + strings.Repeat("a", 100_000) + `"`, `"../../../etc/passwd"`, "[" + strings.Repeat("1,", 9000) + "1]",
	}
}

// strangeFields puts each strange value in each field.
func strangeFields(c *check) {
	const generate = `{"input_ids":[40,41,42],%s"sampling_params":{"max_new_tokens":3,"temperature":0}}`
	const sampling = `{"input_ids":[40,41,42],"sampling_params":{"temperature":0,%s"max_new_tokens":3}}`
	const chat = `{"messages":[{"role":"user","content":"x"}],%s"max_tokens":3}`
	for _, f := range []struct{ path, form, names string }{
		{"/generate", generate, `text rid return_logprob logprob_start_len top_logprobs_num token_ids_logprob return_text_in_logprobs return_routed_experts
			routed_experts_start_len return_prompt_token_ids lora_path image_data custom_logit_processor session_params extra_key cache_salt routed_dp_rank priority log_metrics`},
		{"/generate", sampling, `top_p top_k min_p stop stop_token_ids stop_regex skip_special_tokens no_stop_trim ignore_eos min_new_tokens n sampling_seed frequency_penalty
			presence_penalty repetition_penalty logit_bias regex json_schema ebnf structural_tag custom_params stream_interval`},
		{"/generate", `{%s"sampling_params":{"max_new_tokens":3}}`, "text input_ids input_embeds"},
		{"/v1/chat/completions", chat, "model n stop seed tools tool_choice response_format logprobs top_logprobs input_ids stream_options logit_bias temperature top_p"},
		{"/v1/chat/completions", `{%s"max_tokens":3}`, "messages"},
		{"/v1/completions", `{%s"max_tokens":3}`, "prompt"},
		{"/v1/completions", `{"prompt":"x",%s"max_tokens":3}`, "model n best_of echo logprobs stop seed suffix stream_options"},
		{"/tokenize", `{%s"zz":1}`, "prompt messages"},
		{"/detokenize", `{%s"zz":1}`, "tokens"},
		{"/abort_request", `{%s"abort_message":"x"}`, "rid prefix"},
	} {
		for name := range strings.FieldsSeq(f.names) {
			for _, v := range strange() {
				body := fmt.Sprintf(f.form, fmt.Sprintf("%q:%s,", name, v))
				c.within(20*time.Second, "POST", f.path, []byte(body)).blame(fmt.Sprintf("%s with %s %.60s", f.path, name, v))
			}
		}
	}
}

// mutations changes bytes of good bodies at random, by a seed.
func mutations(c *check) {
	bodies := map[string]string{
		"/generate": `{"input_ids":[40,41,42],"rid":"mutant","return_logprob":true,"top_logprobs_num":2,"sampling_params":{"max_new_tokens":3,"temperature":0.5,"stop":["x","y"],` +
			`"logit_bias":{"40":1.5},"n":2}}`,
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"é\u00e9"}],"max_tokens":3,"logprobs":true,"top_logprobs":2}`,
		"/v1/completions":      `{"model":"m","prompt":["a","b"],"max_tokens":3,"echo":true,"logprobs":1}`,
		"/tokenize":            `{"prompt":"abc","add_special_tokens":true}`,
	}
	paths := []string{"/generate", "/v1/chat/completions", "/v1/completions", "/tokenize"}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			for range 250 {
				path := paths[r.IntN(len(paths))]
				body := mutate(r, []byte(bodies[path]))
				c.mutant(path, body)
			}
		})
	}
	wg.Wait()
}

// mutant posts a body. It may have become a request for very many tokens: then it is enough that it is taken.
func (c *check) mutant(path string, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	a := c.send(ctx, "POST", path, body)
	if errors.Is(a.err, context.DeadlineExceeded) {
		return
	}
	a.blame(fmt.Sprintf("%s %q", path, body))
}

func mutate(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] = byte(r.IntN(256))
		case 1:
			b = slices.Delete(b, at, min(len(b), at+1+r.IntN(4)))
		case 2:
			b = slices.Insert(b, at, []byte(`{}[]",:0-e\`)[r.IntN(11)])
		case 3:
			b = slices.Insert(b, at, b[at:min(len(b), at+1+r.IntN(12))]...)
		case 4:
			b = b[:at+1]
		}
		if len(b) == 0 {
			return []byte("x")
		}
	}
	return b
}

// strangeNames are rids that should be names.
func strangeNames(c *check) {
	for _, rid := range []string{"", " ", "a\nb", "a\x00b", "../../etc/passwd", "\u202e", strings.Repeat("r", 1<<20), "rid_0", "ümlaut", `"quoted"`} {
		c.post("/generate", ask(prompt(2, 5), greedy(1), m{"rid": rid})).blame(fmt.Sprintf("rid %.30q", rid))
		c.post("/abort_request", m{"rid": rid + "x"}).must(200)
	}
	for _, bad := range []m{{"input_ids": ids{-1}}, {"input_ids": ids{1 << 30}}, {"input_ids": ids{1 << 40}}, {"input_ids": []ids{{5}, {-7}}}} {
		c.post("/generate", with(bad, m{"sampling_params": greedy(1)})).must(400)
	}
}

// strangePaths tries to read or write where nothing is meant to be.
func strangePaths(c *check) {
	before := c.impression()
	dir := c.room()
	outside := c.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		c.Logf("no links here: %v", err)
	}
	if c.Model != "" {
		writeModel(c, filepath.Join(outside, "model"), c.Model, readWeights(c, c.Model))
	}
	paths := []string{
		"", "/", "/etc", "/etc/passwd", "/proc/self/mem", "/dev/zero", "/dev/stdin", ".", "..", "~", "~root", "a\x00b", "//host/share", `C:\Windows`, "file:///etc", "http://127.0.0.1:1/x",
		filepath.Join(outside, "model"), filepath.Join(dir, "link", "model"), dir + "/../../../../../etc", dir + "/link/../../etc", strings.Repeat("a/", 5000), "%2e%2e/%2e%2e/etc",
		c.URL + "/server_info",
	}
	for _, p := range paths {
		for _, call := range []struct {
			path string
			body m
		}{
			{"/update_weights_from_disk", m{"model_path": p}},
			{"/pull_weights", m{"local_checkpoint_dir": p, "source_dir": dir, "target_version": 1}},
			{"/pull_weights", m{"local_checkpoint_dir": filepath.Join(dir, "pulled"), "source_dir": p, "target_version": 1}},
			{"/update_weights_from_tensor", m{"load_format": "safetensors", "uri": p}},
			{"/update_weights_from_tensor", m{"load_format": "safetensors", "uri": "file://" + p}},
			{"/load_lora_adapter", m{"lora_name": "x", "lora_path": p}},
			{"/get_weights_by_name", m{"name": p}},
		} {
			a := c.post(call.path, call.body)
			if a.err != nil || a.status < 400 || a.status > 499 && a.status != 501 {
				c.Errorf("%s with %.80q: %v, want 4xx", call.path, p, a)
			}
		}
	}
	if !c.Upstream && c.Model != "" {
		for _, p := range []string{"/etc", filepath.Join(outside, "model"), filepath.Join(dir, "link", "model")} {
			c.post("/update_weights_from_disk", m{"model_path": p}).must(403)
		}
	}
	target := filepath.Join(outside, "profile")
	c.post("/start_profile", m{"output_dir": target}).blame("/start_profile")
	c.post("/stop_profile", nil).blame("/stop_profile")
	if _, err := os.Stat(target); err == nil {
		c.Errorf("/start_profile wrote to %s", target)
	}
	c.like("after all paths", c.impression(), before)
}

// strangeURLs asks for files by URL.
func strangeURLs(c *check) {
	for _, p := range []string{
		"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/generate/../../etc", "/v1/models/..%2f..%2fetc%2fpasswd", "/v1/models/%00", "/static/x", "/debug/pprof/heap",
		"/" + strings.Repeat("a", 100_000), "/flush_cache?timeout=-1", "/flush_cache?timeout=nan", "/v1/loads?include=" + strings.Repeat("x", 10_000), "/v1/loads?dp_rank=-1",
		"/metrics?name[]=x", "/dumper/x", "/generate?%zz",
	} {
		a := c.get(p)
		if a.err != nil && strings.Contains(a.err.Error(), "invalid URL") {
			continue
		}
		a.blame(p)
		if bytes.Contains(a.body, []byte("root:")) {
			c.Errorf("%s answers with a file: %v", p, a)
		}
	}
	for _, method := range []string{"DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
		c.within(patience, method, "/generate", nil).blame(method)
	}
}

// dial opens a connection to the server.
func (c *check) dial() (net.Conn, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	return net.DialTimeout("tcp", u.Host, 10*time.Second)
}

// strangeBytes sends what is no HTTP.
func strangeBytes(c *check) {
	for _, raw := range []string{
		"\x00\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST /generate HTTP/1.1\r\n\r\n", "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
		"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", "POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 4<<20) + "\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		conn, err := c.dial()
		if err != nil {
			c.Fatalf("dial: %v", err)
		}
		conn.SetDeadline(time.Now().Add(2 * time.Second)) // some servers wait for more
		conn.Write([]byte(raw))                           // the server may close before it has read all
		out, _ := io.ReadAll(io.LimitReader(conn, 1<<16))
		conn.Close()
		if s := string(out); strings.HasPrefix(s, "HTTP/1.1 2") || strings.HasPrefix(s, "HTTP/1.1 5") && !strings.HasPrefix(s, "HTTP/1.1 505") && !strings.HasPrefix(s, "HTTP/1.1 501") {
			c.Errorf("%.60q: answer %.100q, want an error of the client or nothing", raw, s)
		}
	}
}

// largeBodies sends a hundred megabytes in several ways.
func largeBodies(c *check) {
	const size = 100 << 20
	text := bytes.Repeat([]byte("a"), size)
	wrap := func(before, after string) []byte { return slices.Concat([]byte(before), text, []byte(after)) }
	for what, body := range map[string][]byte{
		"no JSON":          text,
		"a long text":      wrap(`{"text":"`, `","sampling_params":{"max_new_tokens":1}}`),
		"an unknown field": wrap(`{"input_ids":[40],"zzz":"`, `","sampling_params":{"max_new_tokens":1}}`),
		"deep nesting":     bytes.Repeat([]byte("["), size/10),
		"many ids":         slices.Concat([]byte(`{"input_ids":[`), bytes.Repeat([]byte("             40,"), size/16), []byte(`40],"sampling_params":{"max_new_tokens":1}}`)),
	} {
		p := make(pending, 1)
		go func() { p <- c.within(5*time.Minute, "POST", "/generate", body) }()
		c.prompt() // for others, meanwhile
		a := <-p
		a.blame(what)
		c.Logf("%s: %d after %v", what, a.status, a.took)
		c.alive()
	}
	c.post("/update_weights_from_stream", text, "Content-Type", "application/octet-stream").client()
	conn, err := c.dial()
	if err != nil {
		c.Fatalf("dial: %v", err)
	}
	fmt.Fprintf(conn, "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{\"text\":\"", size)
	conn.Close() // promised a hundred megabytes, sent ten bytes
}

// slowWriters send a byte now and then; nobody else waits for them.
func slowWriters(c *check) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		conn, err := c.dial()
		if err != nil {
			c.Fatalf("dial: %v", err)
		}
		fmt.Fprintf(conn, "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
		wg.Go(func() {
			defer conn.Close()
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					conn.Write([]byte(" ")) // until the server has had enough
				}
			}
		})
	}
	c.prompt()
	close(stop)
	wg.Wait()
}

// prompt fails unless others are served while somebody is slow. One slow moment of the machine decides nothing.
func (c *check) prompt() {
	c.Helper()
	var health, generate time.Duration
	for range 10 {
		health += c.get("/health").must(200).took
		generate += c.post("/generate", ask(prompt(3, 10), full(4))).must(200).took
	}
	if health > 20*time.Second {
		c.Errorf("/health took %v on the average, want under 2 s", health/10)
	}
	if generate > 100*time.Second {
		c.Errorf("/generate took %v on the average, want under 10 s", generate/10)
	}
}

// slowReaders ask for long streams and read nothing.
func slowReaders(c *check) {
	var held []*http.Response
	for i := range 4 {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		res, err := c.open(ctx, "POST", "/generate", encode(ask(prompt(uint64(i), 10), full(c.long()), m{"stream": true, "top_logprobs_num": 5}))) //nolint:bodyclose // closed below, when others were served
		if err != nil {
			c.Fatalf("stream: %v", err)
		}
		held = append(held, res) //nolint:bodyclose // as above
	}
	c.prompt()
	for _, res := range held {
		res.Body.Close()
	}
	c.untilIdle()
}

// idleConnections opens as many as it may, up to ten thousand, and leaves them alone.
func idleConnections(c *check) {
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for len(held) < 10_000 {
		conn, err := c.dial()
		if err != nil {
			c.Logf("stopped by: %v", err)
			break
		}
		held = append(held, conn)
		if len(held)%500 == 0 {
			c.alive()
		}
	}
	c.Logf("%d idle connections", len(held))
	if len(held) < 900 {
		c.Errorf("only %d connections, want 900 and more", len(held))
	}
	c.prompt()
}
