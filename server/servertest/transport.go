package servertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

func transport() []Test {
	return []Test{
		{1, "malformed_body", "a body that is no JSON: 400 with an integer code and a message", "", plain, malformed},
		{2, "no_prompt", "a body without prompt: 400 with error.message", "", plain, noPrompt},
		{3, "unknown_field", "unknown fields of the request change nothing", "", plain, unknownField},
		{4, "put", "PUT /generate is POST /generate", "", plain, put},
		{
			5, "unknown_sampling_key", "a mistyped sampling parameter is refused by name",
			"400 and the nearest name, where SGLang fails with 500: the mistake is the caller's, and 500 is retried", plain, unknownSampling,
		},
		{6, "null_sampling", "null sampling parameters are the defaults", "", plain, nullSampling},
		{7, "sampling_ranges", "each sampling parameter out of its range: 400", "", plain, samplingRanges},
		{8, "two_grammars", "regex and json_schema together: 400", "", plain, twoGrammars},
		{9, "bias_outside_vocabulary", "logit_bias of a token that doesn't exist: 400", "", plain, biasOutside},
		{10, "stray_authorization", "without a configured key any Authorization header is ignored", "", plain, strayKey},
		{11, "api_key", "with a key: 401 without it, but /health and /metrics answer", "", keyed, apiKey},
		{12, "content_type", "OpenAI endpoints want application/json, /generate doesn't care", "", plain, contentType},
		{13, "keep_alive", "200 clients that keep their connections, 20 requests each: all 200", "", plain, keepAlive},
		{14, "long_prompt", "a prompt of 131072 tokens within the context is served", "", separate, longPrompt},
	}
}

func malformed(c *check) {
	c.post("/generate", "{").must(400).flat()
	c.post("/generate", `{"input_ids":"x","sampling_params":7}`).must(400).flat()
}

func noPrompt(c *check) { c.post("/generate", "{}").must(400).nested() }

func unknownField(c *check) {
	body := ask(prompt(3, 20), full(8))
	c.same("with zzz", c.generate(with(body, m{"zzz": 1})), c.generate(body))
}

func put(c *check) {
	body := ask(prompt(4, 20), full(8))
	c.same("PUT", c.within(patience, "PUT", "/generate", encode(body)).reply(), c.generate(body))
}

func unknownSampling(c *check) {
	a := c.post("/generate", ask(prompt(5, 5), m{"temprature": 1, "max_new_tokens": 1}))
	if c.Upstream {
		if a.err != nil || a.status < 400 {
			c.Fatalf("%v, want an error", a)
		}
		return
	}
	if s := a.must(400).message(); !strings.Contains(s, "temprature") {
		c.Errorf("message is %q, want the key named", s)
	}
}

func nullSampling(c *check) {
	nulls := m{}
	for _, k := range []string{
		"temperature", "top_p", "top_k", "min_p", "stop", "stop_token_ids", "skip_special_tokens", "no_stop_trim", "ignore_eos", "min_new_tokens", "n",
		"sampling_seed", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "regex", "json_schema", "ebnf", "custom_params",
	} {
		nulls[k] = nil
	}
	seed := m{"max_new_tokens": 4}
	r := c.generate(ask(prompt(6, 20), with(nulls, seed)))
	if r.int("completion_tokens") > 4 {
		c.Errorf("got %d tokens, want at most 4", r.int("completion_tokens"))
	}
	free := c.context() - 20
	r = c.generate(ask(prompt(6, free), with(nulls, m{"max_new_tokens": nil}))) // until the context's end
	if n := r.int("completion_tokens"); n < 1 || n > 20 {
		c.Errorf("with max_new_tokens null and room for 20 tokens got %d", n)
	}
	c.post("/generate", m{"input_ids": prompt(6, 20), "sampling_params": nil}).reply()
}

func samplingRanges(c *check) {
	for _, bad := range []m{
		{"temperature": -1}, {"top_p": 0}, {"top_p": 1.5}, {"top_k": 0}, {"min_p": 2}, {"repetition_penalty": 0}, {"frequency_penalty": 3}, {"max_new_tokens": -1},
	} {
		a := c.post("/generate", ask(prompt(7, 5), bad))
		if a.err != nil || a.status != 400 {
			c.Errorf("%v: %v, want 400", bad, a)
			continue
		}
		for key := range bad {
			if s := a.message(); !c.Upstream && !strings.Contains(s, key) {
				c.Errorf("%v: message is %q, want the field named", bad, s)
			}
		}
	}
}

func twoGrammars(c *check) {
	both := m{"regex": "a+", "json_schema": `{"type":"object"}`}
	c.post("/generate", ask(prompt(8, 5), greedy(4, both))).must(400)
}

func biasOutside(c *check) {
	c.post("/generate", ask(prompt(9, 5), greedy(4, m{"logit_bias": m{"999999999": 1}}))).must(400)
}

func strayKey(c *check) {
	if c.Key != "" {
		c.Skip("needs a server without API key")
	}
	for _, path := range []string{"/health", "/health_generate", "/model_info", "/server_info", "/v1/models", "/flush_cache"} {
		c.get(path, "Authorization", "Bearer None").must(200)
	}
	c.post("/generate", ask(prompt(10, 5), greedy(1)), "Authorization", "Bearer None").must(200)
}

func apiKey(c *check) {
	body := ask(prompt(11, 5), greedy(1))
	none := c.on(&Target{URL: c.URL})
	if c.Key == "" {
		c.Skip("needs the key of the server")
	}
	for _, header := range []string{"", "Bearer wrong", "Basic " + c.Key} {
		a := none.post("/generate", body, "Authorization", header).must(401)
		if _, ok := a.object()["error"]; !ok {
			c.Errorf("%v, want an object with error", a)
		}
	}
	for _, path := range []string{"/server_info", "/v1/models", "/flush_cache"} {
		none.get(path).must(401)
	}
	none.post("/abort_request", m{"abort_all": true}).must(401)
	none.get("/health").must(200)
	if a := none.get("/metrics"); a.status == 401 {
		c.Errorf("%v, want it without a key", a)
	}
	c.post("/generate", body).must(200)
}

func contentType(c *check) {
	chat := m{"model": "x", "messages": []m{{"role": "user", "content": "1+1"}}, "max_tokens": 1}
	c.post("/v1/chat/completions", chat, "Content-Type", "text/plain").must(400)
	c.post("/v1/completions", m{"model": "x", "prompt": "1+1", "max_tokens": 1}, "Content-Type", "text/plain").must(400)
	c.post("/v1/completions", m{"model": "x", "prompt": "1+1", "max_tokens": 1}, "Content-Type", "application/json; charset=utf-8").must(200)
	c.post("/generate", ask(prompt(12, 5), greedy(1)), "Content-Type", "text/plain").must(200)
}

func keepAlive(c *check) {
	const clients, requests = 200, 20
	faults := make(chan string, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for j := range requests {
				a := c.post("/generate", ask(prompt(uint64(i), 8), greedy(2)))
				if a.err != nil || a.status != http.StatusOK {
					faults <- fmt.Sprintf("client %d, request %d: %v", i, j, a)
					return
				}
			}
		})
	}
	wg.Wait()
	close(faults)
	for f := range faults {
		c.Error(f)
	}
}

func longPrompt(c *check) {
	const n = 131072
	if c.Long != "" && c.Start != nil {
		c = c.start("--model-path", c.Long, "--context-length", "131328", "--max-running-requests", "2")
	}
	if c.context() < n+8 {
		c.Skipf("needs a context of more than %d tokens, this one has %d", n, c.context())
	}
	body := encode(m{"input_ids": prompt(14, n), "sampling_params": greedy(2)})
	if got := c.post("/generate", body).reply().int("prompt_tokens"); got != n {
		c.Errorf("prompt_tokens is %d, want %d", got, n)
	}
}
