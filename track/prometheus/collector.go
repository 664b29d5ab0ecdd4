package prometheus

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"furlong/metrics"
)

// A Collector holds the newest figures of a run. Its methods may be called from several goroutines.
type Collector struct {
	run string

	mu    sync.Mutex
	gauge map[string]gauge // by Prometheus' name
}

type gauge struct {
	series string
	desc   *prometheus.Desc
	value  float64
}

// New returns a collector of a run's figures, each with the label run.
func New(run string) *Collector { return &Collector{run: run, gauge: map[string]gauge{}} }

// Take takes up what a row says.
func (c *Collector) Take(r metrics.Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set("cycle", float64(r.Cycle))
	c.set("step", float64(r.Step))
	c.set("version", float64(r.Version.Count()))
	for series, v := range r.Values {
		c.set(series, v)
	}
}

func (c *Collector) set(series string, v float64) {
	name := Name(series)
	g, ok := c.gauge[name]
	if !ok {
		g = gauge{series, prometheus.NewDesc(name, help(series), nil, prometheus.Labels{"run": c.run}), 0}
	}
	if g.series == series {
		g.value = v
		c.gauge[name] = g
	}
}

// help says what a series is.
func help(series string) string {
	if s, ok := metrics.Lookup(series); ok {
		return strings.TrimSpace(series + ": " + s.Meaning)
	}
	return series
}

var words = strings.NewReplacer("@", "_at_", "-", "__") // eval/x-y and eval/x/y are two series

// Name returns the name of a series' gauge.
func Name(series string) string {
	return "furlong_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, words.Replace(series))
}

// Describe describes nothing: which gauges there are shows with the rows.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends all gauges.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.gauge {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value)
	}
}

// Handler answers scrapes.
func (c *Collector) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
