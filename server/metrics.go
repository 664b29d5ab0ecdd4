package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"furlong/rollout"
)

// series are what /metrics tells. Counters and histograms are of customers' samples; gauges are read from the engine when they are asked for.
type series struct {
	s        *Server
	registry *prometheus.Registry
	labels   prometheus.Labels
	gauges   []gauge

	prompt, generated, cached, requests, aborted prometheus.Counter
	refused                                      prometheus.Counter // calls about weights
	ttft, itl, tpot, e2e                         prometheus.Histogram
	updates                                      *prometheus.GaugeVec
}

// A gauge is a figure of an engine's state.
type gauge struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(st rollout.Stats) float64
}

// Bounds of histograms, seconds.
var (
	tokenBounds   = []float64{.0005, .001, .002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8}
	requestBounds = []float64{.01, .05, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400, 3600}
	firstBounds   = []float64{.001, .005, .01, .05, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
)

func newSeries(s *Server) *series {
	m := &series{s: s, registry: prometheus.NewRegistry(), labels: prometheus.Labels{
		"model_name": s.parts.Model.Name, "engine_type": "unified", "tp_rank": "0", "dp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0",
	}}
	m.prompt = m.counter("prompt_tokens_total", "Tokens of the prompts of finished samples.")
	m.generated = m.counter("generation_tokens_total", "Tokens of finished samples.")
	m.cached = m.counter("cached_tokens_total", "Prompt tokens found in the prefix cache.")
	m.requests = m.counter("num_requests_total", "Samples that ended.")
	m.aborted = m.counter("num_aborted_requests_total", "Samples that were aborted.")
	m.refused = m.counter("num_refused_weight_calls_total", "Calls about weights that were refused; the old ones were served on.")
	m.ttft = m.histogram("time_to_first_token_seconds", "From the request to its first token.", firstBounds)
	m.itl = m.histogram("inter_token_latency_seconds", "From a token to the next.", tokenBounds)
	m.tpot = m.histogram("time_per_output_token_seconds", "Mean time of a sample's tokens after the first.", tokenBounds)
	m.e2e = m.histogram("e2e_request_latency_seconds", "From the request to its end.", requestBounds)
	m.updates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sglang:weight_load_duration_seconds", Help: "From the beginning of the last update of weights until it was served.", ConstLabels: m.labels,
	}, []string{"source"})
	m.registry.MustRegister(m.updates)
	m.state()
	m.registry.MustRegister(m)
	return m
}

// updated notes how long an update took.
func (m *series) updated(source string, took time.Duration) {
	m.updates.WithLabelValues(source).Set(took.Seconds())
}

// state lists the gauges and the engine's own counters.
func (m *series) state() {
	add := func(name, help string, kind prometheus.ValueType, value func(st rollout.Stats) float64) {
		m.gauges = append(m.gauges, gauge{prometheus.NewDesc("sglang:"+name, help, nil, m.labels), kind, value})
	}
	is := func(name, help string, value func(st rollout.Stats) float64) {
		add(name, help, prometheus.GaugeValue, value)
	}
	total := func(name, help string, value func(st rollout.Stats) float64) {
		add(name, help, prometheus.CounterValue, value)
	}
	none := func(rollout.Stats) float64 { return 0 }

	is("num_running_reqs", "Samples that hold attention state.", func(st rollout.Stats) float64 { return float64(st.Running) })
	is("num_queue_reqs", "Samples that wait.", func(st rollout.Stats) float64 { return float64(st.Queued) })
	is("num_grammar_queue_reqs", "Samples that wait for a grammar.", none)
	is("num_retracted_reqs", "Samples that lost their attention state and wait.", func(st rollout.Stats) float64 { return float64(st.Lost) })
	is("num_paused_reqs", "Samples that a pause holds.", func(st rollout.Stats) float64 {
		if st.Paused {
			return float64(st.Running + st.Queued)
		}
		return 0
	})
	is("gen_throughput", "Tokens drawn a second, over the last one.", func(rollout.Stats) float64 { return m.s.meter.throughput() })
	is("cache_hit_rate", "Share of prompt tokens found in the prefix cache, over the last second.", func(rollout.Stats) float64 { return m.s.meter.hits() })
	is("token_usage", "Share of attention memory that running samples hold.", func(st rollout.Stats) float64 { return share(st.Lasting.Used(), st.Lasting.Total) })
	is("full_token_usage", "The same.", func(st rollout.Stats) float64 { return share(st.Lasting.Used(), st.Lasting.Total) })
	is("swa_token_usage", "Share of the memory of windows that running samples hold.", func(st rollout.Stats) float64 { return share(st.Recent.Used(), st.Recent.Total) })
	is("num_used_tokens", "Tokens of the pages that samples hold.", func(st rollout.Stats) float64 { return float64(st.Lasting.Used() * st.PageTokens) })
	is("kv_used_tokens", "The same.", func(st rollout.Stats) float64 { return float64(st.Lasting.Used() * st.PageTokens) })
	is("kv_available_tokens", "Tokens of free pages.", func(st rollout.Stats) float64 { return float64(st.Lasting.Free * st.PageTokens) })
	is("kv_evictable_tokens", "Tokens of pages that the prefix cache alone holds.", func(st rollout.Stats) float64 { return float64(st.Lasting.Cached * st.PageTokens) })
	is("decode_sum_seq_lens", "Tokens of all running samples.", func(st rollout.Stats) float64 { return float64(st.HeldTokens) })
	is("utilization", "Share of places that are taken.", func(st rollout.Stats) float64 { return share(st.Running, st.MaxRunning) })
	is("max_running_requests", "Places.", func(st rollout.Stats) float64 { return float64(st.MaxRunning) })
	total("num_weight_updates_total", "Versions of the weights that were taken up, the first one included.", func(st rollout.Stats) float64 { return float64(st.Updates) })
	total("num_retracted_requests_total", "Times a sample lost its attention state.", func(st rollout.Stats) float64 { return float64(st.Retracted) })
	total("num_retracted_input_tokens_total", "Prompt tokens of these samples.", func(st rollout.Stats) float64 { return float64(st.RetractedPromptTokens) })
	total("num_retracted_output_tokens_total", "Response tokens of these samples.", func(st rollout.Stats) float64 { return float64(st.RetractedResponseTokens) })
}

func (m *series) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "sglang:" + name, Help: help, ConstLabels: m.labels})
	m.registry.MustRegister(c)
	return c
}

func (m *series) histogram(name, help string, bounds []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sglang:" + name, Help: help, ConstLabels: m.labels, Buckets: bounds})
	m.registry.MustRegister(h)
	return h
}

// Describe names the gauges. Prometheus asks for it.
func (m *series) Describe(out chan<- *prometheus.Desc) {
	for _, g := range m.gauges {
		out <- g.desc
	}
}

// Collect reads the gauges, all of one moment. Prometheus asks for it.
func (m *series) Collect(out chan<- prometheus.Metric) {
	st := m.s.engine.Stats()
	for _, g := range m.gauges {
		out <- prometheus.MustNewConstMetric(g.desc, g.kind, g.value(st))
	}
}

func (m *series) firstToken(j *job, d time.Duration) {
	if !j.quiet {
		m.ttft.Observe(d.Seconds())
	}
}

func (m *series) nextToken(j *job, d time.Duration) {
	if !j.quiet {
		m.itl.Observe(d.Seconds())
	}
}

// over counts a job that has ended, and logs it.
func (m *series) over(j *job, a *answer) {
	if j.quiet {
		return
	}
	m.requests.Inc()
	m.prompt.Add(float64(len(a.prompt)))
	m.generated.Add(float64(len(a.tokens)))
	m.cached.Add(float64(a.cached))
	m.e2e.Observe(a.took.Seconds())
	if a.finish.why == byAbort {
		m.aborted.Inc()
	}
	if n := len(a.tokens); n > 1 {
		m.tpot.Observe((a.took - a.first).Seconds() / float64(n-1))
	}
	if m.s.verbose.Load() {
		m.s.log.Info("request over", "rid", a.rid, "prompt_tokens", len(a.prompt), "tokens", len(a.tokens), "cached_tokens", a.cached,
			"retractions", a.retractions, "finish", wireFinish(a).Type, "version", a.version, "first", a.first, "took", a.took)
	}
}

func (s *Server) metricRoutes() []route {
	if !s.cfg.Metrics {
		return nil
	}
	h := promhttp.HandlerFor(s.series.registry, promhttp.HandlerOpts{}).ServeHTTP
	return []route{
		{"GET", "/metrics", open, http.HandlerFunc(h)},
		{"GET", "/metrics/{$}", open, http.HandlerFunc(h)},
	}
}
