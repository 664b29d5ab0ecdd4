package router

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// A count is one of the things that a router counts.
type count int

const (
	requests  count = iota
	retried         // sent again after a connection broke
	spilled         // passed on after a refusal
	unserved        // answered 503: no healthy worker
	broken          // answered 502: lost by the workers that were tried
	left            // given up by clients
	fanFailed       // calls for all that a worker did not take
	numCounts
)

var countNames = [numCounts]string{"requests", "retried", "spilled", "unserved", "broken", "left", "fan_failed"}

// counts are since the start.
type counts [numCounts]atomic.Int64

func (c *counts) add(what count) { c[what].Add(1) }

// Counts returns what became of requests since the start: "requests" in all, "retried" sent again after a broken connection, "spilled" passed on after a refusal,
// "unserved" without a healthy worker, "broken" lost by all that were tried, "left" by their clients, and "fan_failed" calls for all that a worker did not take.
func (r *Router) Counts() map[string]int64 {
	out := map[string]int64{}
	for i := range r.counts {
		out[countNames[i]] = r.counts[i].Load()
	}
	return out
}

// metrics writes the router's own counts in Prometheus's form.
func (r *Router) metrics(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for i, name := range countNames {
		fmt.Fprintf(rw, "# TYPE furlong_router_%s_total counter\nfurlong_router_%s_total %d\n", name, name, r.counts[i].Load())
	}
	fmt.Fprint(rw, "# TYPE furlong_router_worker_healthy gauge\n# TYPE furlong_router_worker_load gauge\n")
	for _, w := range r.reg.all(false) {
		v := r.reg.view(w)
		fmt.Fprintf(rw, "furlong_router_worker_healthy{worker=%q} %d\nfurlong_router_worker_load{worker=%q} %d\n", v.URL, bit(v.Healthy), v.URL, v.Load)
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// engineMetrics joins the metrics of all workers, each sample with its worker's address. A colon in a name becomes an underscore.
func (r *Router) engineMetrics(rw http.ResponseWriter, req *http.Request) {
	req.URL.Path = "/metrics"
	all, ok := r.toAll(req.Context(), rw, req)
	if !ok {
		return
	}
	j := joined{}
	for _, p := range all {
		if p.why() == "" {
			j.add(p.body, p.w.base.String())
		}
	}
	rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
	j.write(rw)
}

// joined are metrics by family, in the order in which families came.
type joined struct {
	names    []string
	families map[string]*family
}

type family struct{ about, samples []string }

// add reads a worker's metrics. Samples belong to the family named last by a comment.
func (j *joined) add(text []byte, worker string) {
	if j.families == nil {
		j.families = map[string]*family{}
	}
	name := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			words := strings.SplitN(line, " ", 4)
			if len(words) < 3 {
				continue
			}
			words[2] = strings.ReplaceAll(words[2], ":", "_")
			name = words[2]
			j.of(name).note(strings.Join(words, " "))
		default:
			f := j.of(name)
			f.samples = append(f.samples, labelled(line, worker))
		}
	}
}

func (j *joined) of(name string) *family {
	f := j.families[name]
	if f == nil {
		f = &family{}
		j.families[name], j.names = f, append(j.names, name)
	}
	return f
}

func (f *family) note(line string) {
	if !slices.Contains(f.about, line) {
		f.about = append(f.about, line)
	}
}

// labelled returns a sample with its worker among the labels.
func labelled(line, worker string) string {
	at := strings.IndexAny(line, "{ ")
	if at < 0 {
		return line
	}
	name, rest := strings.ReplaceAll(line[:at], ":", "_"), line[at:]
	if rest[0] == ' ' {
		return fmt.Sprintf("%s{worker_addr=%q}%s", name, worker, rest)
	}
	if strings.HasPrefix(rest, "{}") {
		return fmt.Sprintf("%s{worker_addr=%q}%s", name, worker, rest[2:])
	}
	return fmt.Sprintf("%s{worker_addr=%q,%s", name, worker, rest[1:])
}

func (j *joined) write(rw http.ResponseWriter) {
	for _, name := range j.names {
		f := j.families[name]
		for _, line := range append(f.about, f.samples...) {
			fmt.Fprintln(rw, line)
		}
	}
}
