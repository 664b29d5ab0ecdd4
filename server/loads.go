package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"furlong/api/sglang"
	"furlong/rollout"
)

// meter counts what engines don't, and takes rates each second. The zero value is ready.
type meter struct {
	outputs atomic.Int64 // tokens drawn, probes' too
	refused atomic.Int64 // requests
	failed  atomic.Int64 // samples

	mu       sync.Mutex
	perSec   float64 // tokens drawn, in the last second
	hitShare float64 // of prompt tokens, found in the cache
}

// throughput returns tokens drawn a second, 0 when idle.
func (m *meter) throughput() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.perSec
}

// hits returns the share of prompt tokens that were found in the cache, 0 when idle.
func (m *meter) hits() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hitShare
}

// take works out rates between two states of an engine.
func (m *meter) take(before, now rollout.Stats, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.perSec, m.hitShare = 0, 0
	if d > 0 {
		m.perSec = float64(now.DrawnTokens-before.DrawnTokens) / d.Seconds()
	}
	found, computed := now.CachedTokens-before.CachedTokens, now.PrefillTokens-before.PrefillTokens
	if found+computed > 0 {
		m.hitShare = float64(found) / float64(found+computed)
	}
}

// sample takes rates each second until ctx is done.
func (s *Server) sample(ctx context.Context) {
	before, at := s.engine.Stats(), s.now()
	for ctx.Err() == nil {
		pause(ctx, time.Second)
		st, now := s.engine.Stats(), s.now()
		s.meter.take(before, st, now.Sub(at))
		before, at = st, now
	}
}

func (s *Server) loadRoutes() []route {
	return []route{
		{"GET", "/v1/loads", user, s.loads},
		{"GET", "/get_load", user, s.oldLoad},
	}
}

var loadSections = []string{"core", "memory", "spec", "lora", "disagg", "queues", "all"}

func (s *Server) loads(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	include := strings.FieldsFunc(strings.Join(q["include"], ","), func(c rune) bool { return c == ',' })
	for _, name := range include {
		if !slices.Contains(loadSections, name) {
			s.fail(w, r, bad("include is %q, want %s", name, strings.Join(loadSections, ", ")))
			return
		}
	}
	if rank := q.Get("dp_rank"); rank != "" && rank != "0" {
		s.fail(w, r, bad("dp_rank is %q, want 0: there is one rank", rank))
		return
	}
	has := func(name string) bool {
		return len(include) == 0 || slices.Contains(include, name) || slices.Contains(include, "all")
	}
	l := s.load(has)
	switch q.Get("format") {
	case "", "json":
		write(w, http.StatusOK, sglang.Loads{Timestamp: s.now().UTC().Format(time.RFC3339Nano), Version: version(), Loads: []sglang.Load{l}})
	case "prometheus":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprintf(w, "sglang:num_running_reqs{dp_rank=\"0\"} %d\nsglang:num_waiting_reqs{dp_rank=\"0\"} %d\n", l.Running, l.Waiting)
		fmt.Fprintf(w, "sglang:num_used_tokens{dp_rank=\"0\"} %d\nsglang:num_total_tokens{dp_rank=\"0\"} %d\n", l.Used, l.Total)
	default:
		s.fail(w, r, bad("format is %q, want json or prometheus", q.Get("format")))
	}
}

func (s *Server) load(has func(section string) bool) sglang.Load {
	st := s.engine.Stats()
	used, total := st.Lasting.Used()*st.PageTokens, st.Lasting.Total*st.PageTokens // prefixes that several share count once
	l := sglang.Load{Running: st.Running, Waiting: st.Queued, Used: used, Total: total}
	if has("core") {
		l.LoadCore = &sglang.LoadCore{
			MaxRunning: st.MaxRunning, TokenUsage: sglang.Seconds(share(used, total)), Throughput: sglang.Seconds(s.meter.throughput()),
			CacheHitRate: sglang.Seconds(s.meter.hits()), Utilization: sglang.Seconds(share(st.Running, st.MaxRunning)),
		}
	}
	if has("memory") {
		free := st.Lasting.Free * st.PageTokens
		l.Memory = &sglang.LoadMemory{TokenCapacity: total, FreeTokens: free, CachedTokens: total - free - used}
	}
	if has("queues") {
		l.Queues = &sglang.LoadQueues{Waiting: st.Queued, Retracted: st.Lost}
		if st.Paused {
			l.Queues.Paused = st.Running + st.Queued
		}
	}
	return l
}

// share returns part of whole, 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (s *Server) oldLoad(w http.ResponseWriter, _ *http.Request) {
	st := s.engine.Stats()
	write(w, http.StatusOK, []sglang.OldLoad{{
		Requests: st.Running + st.Queued, Waiting: st.Queued, Tokens: st.Lasting.Used() * st.PageTokens, PendingTokens: 0, Tic: sglang.Seconds(s.now().Sub(s.started).Seconds()),
	}})
}
