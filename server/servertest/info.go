package servertest

import (
	"bufio"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func info() []Test {
	return []Test{
		{74, "health_generate", "/health_generate is 200, idle and busy", "", plain, healthGenerate},
		{75, "model_info", "/get_model_info and /model_info are one; the first weight_version is default", "", plain, modelInfo},
		{76, "server_info", "/get_server_info and /server_info: launch settings with their JSON types, internal_states, version", "", plain, serverInfo},
		{77, "loads", "/v1/loads?include=core has integers num_running_reqs and num_waiting_reqs", "", plain, loads},
		{78, "metrics", "/metrics is Prometheus text with every name that dashboards read", "", plain, metrics},
	}
}

func healthGenerate(c *check) {
	for _, path := range []string{"/health", "/health_generate", "/ping"} {
		c.get(path).must(200)
	}
	p := c.later("/generate", ask(prompt(74, 10), full(c.long())))
	c.untilRunning(1)
	for _, path := range []string{"/health", "/health_generate"} {
		if a := c.get(path).must(200); a.took > 5*time.Second {
			c.Errorf("%s took %v while busy, want under 5 s", path, a.took)
		}
	}
	c.abortAll()
	p.wait(c).reply()
}

func modelInfo(c *check) {
	one, two := c.get("/get_model_info").must(200).object(), c.get("/model_info").must(200).object()
	c.equal("/get_model_info", one, two)
	c.equal("weight_version", one["weight_version"], "default")
	c.equal("is_generation", one["is_generation"], true)
	for _, key := range []string{"model_path", "tokenizer_path", "served_model_name", "model_type"} {
		if s, ok := one[key].(string); !ok {
			c.Errorf("%s is %v, want a string", key, one[key])
		} else if s == "" && key == "model_path" {
			c.Errorf("model_path is empty")
		}
	}
	if l, ok := one["architectures"].([]any); !ok || len(l) == 0 {
		c.Errorf("architectures is %v, want a list of names", one["architectures"])
	}
	c.equal("weight_version of an answer", c.generate(ask(prompt(75, 5), greedy(1))).meta()["weight_version"], "default")
	if !c.Upstream {
		c.equal("/get_weight_version", c.get("/get_weight_version").must(200).object()["weight_version"], "default")
	}
}

func serverInfo(c *check) {
	one, two := c.get("/get_server_info").must(200).object(), c.get("/server_info").must(200).object()
	c.equal("keys of /get_server_info", slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(two)))
	for _, key := range []string{
		"tp_size", "dp_size", "pp_size", "ep_size", "nnodes", "node_rank", "base_gpu_id", "gpu_id_step", "port", "context_length", "page_size",
		"max_running_requests", "chunked_prefill_size", "random_seed", "max_total_num_tokens",
	} {
		if v, ok := two[key]; !ok || v != nil {
			c.integer(v, key)
		}
	}
	for _, key := range []string{"tp_size", "dp_size", "pp_size", "ep_size", "nnodes", "gpu_id_step"} {
		c.equal(key, c.integer(two[key], key), 1)
	}
	for _, key := range []string{"host", "version", "model_path", "served_model_name", "tokenizer_path", "dtype", "load_format", "schedule_policy", "disaggregation_mode"} {
		if s, ok := two[key].(string); !ok || s == "" {
			c.Errorf("%s is %v, want a string", key, two[key])
		}
	}
	for _, key := range []string{
		"enable_memory_saver", "disable_radix_cache", "enable_deterministic_inference", "enable_return_routed_experts", "enable_metrics", "skip_tokenizer_init", "enable_lora",
	} {
		if _, ok := two[key].(bool); !ok {
			c.Errorf("%s is %v, want true or false", key, two[key])
		}
	}
	if l, ok := two["internal_states"].([]any); !ok || len(l) == 0 {
		c.Errorf("internal_states is %v, want a list with an entry for each rank", two["internal_states"])
	}
	if u, err := url.Parse(c.URL); err == nil && c.Start != nil {
		c.equal("host", two["host"], u.Hostname())
		c.equal("port", fmt.Sprint(two["port"]), u.Port())
	}
}

func loads(c *check) {
	o := c.get("/v1/loads?include=core").must(200).object()
	for _, key := range []string{"timestamp", "version"} {
		if _, ok := o[key].(string); !ok {
			c.Errorf("%s is %v, want a string", key, o[key])
		}
	}
	c.load()
	c.get("/v1/loads?include=bogus").must(400)
	l := c.get("/get_load").must(200).list()
	first, _ := l[0].(m)
	for _, key := range []string{"dp_rank", "num_reqs", "num_waiting_reqs", "num_tokens"} {
		c.integer(first[key], key)
	}
}

// dashboard are the names that the dashboards of trainers read.
func dashboard() []string {
	names := []string{
		"num_running_reqs", "num_queue_reqs", "gen_throughput", "token_usage", "cache_hit_rate", "prompt_tokens_total", "generation_tokens_total", "num_requests_total",
		"num_aborted_requests_total",
	}
	for _, h := range []string{"time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"} {
		names = append(names, h+"_sum", h+"_count")
	}
	return names
}

func metrics(c *check) {
	c.generate(ask(prompt(78, 10), full(4)))
	p := c.later("/generate", ask(prompt(78, 10), full(c.long()), m{"rid": "counted"}))
	c.untilRunning(1)
	c.abortAll()
	p.wait(c).reply()
	c.untilIdle()
	for _, path := range []string{"/metrics", "/metrics/"} {
		all := c.samples(path)
		for _, name := range dashboard() {
			s, ok := all["sglang:"+name]
			if !ok {
				c.Errorf("%s lacks sglang:%s", path, name)
				continue
			}
			for _, label := range []string{"model_name", "engine_type"} {
				if !strings.Contains(s.labels, label+`="`) {
					c.Errorf("%s: sglang:%s has the labels %s, want %s among them", path, name, s.labels, label)
				}
			}
		}
		for _, name := range []string{"num_running_reqs", "num_queue_reqs"} {
			if v := all["sglang:"+name].value; v != 0 {
				c.Errorf("sglang:%s is %v while idle, want 0", name, v)
			}
		}
		for _, name := range []string{"prompt_tokens_total", "generation_tokens_total", "num_requests_total", "num_aborted_requests_total"} {
			if v := all["sglang:"+name].value; v < 1 {
				c.Errorf("sglang:%s is %v after requests, want more", name, v)
			}
		}
	}
}

// A sample is one line of Prometheus text.
type sample struct {
	labels string
	value  float64
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)( -?[0-9]+)?$`)
	typeLine   = regexp.MustCompile(`^# TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|histogram|summary|untyped)$`)
	helpLine   = regexp.MustCompile(`^# (HELP [a-zA-Z_:]|EOF|[^HT])`)
)

// samples reads /metrics strictly: the newest sample of each name.
func (c *check) samples(path string) map[string]sample {
	c.Helper()
	a := c.get(path).must(200)
	out := map[string]sample{}
	in := bufio.NewScanner(strings.NewReader(string(a.body)))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if line == "" || typeLine.MatchString(line) || helpLine.MatchString(line) {
			continue
		}
		f := sampleLine.FindStringSubmatch(line)
		if f == nil {
			c.Fatalf("%s: line %q is no sample", path, line)
		}
		v, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			c.Fatalf("%s: line %q: %v", path, line, err)
		}
		out[f[1]] = sample{f[2], v}
	}
	return out
}

// gauge returns one number of /metrics, 0 where there is none.
func (c *check) gauge(name string) float64 {
	c.Helper()
	return c.samples("/metrics")[name].value
}
