package router

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// fans registers the calls that all workers get, and those that only one may.
func (r *Router) fans(mux *http.ServeMux) {
	mux.HandleFunc("/flush_cache", r.operator(r.flush))
	mux.HandleFunc("POST /abort_request", r.operator(r.abort))
	mux.HandleFunc("POST /pause_generation", r.operator(r.hold))
	mux.HandleFunc("POST /continue_generation", r.operator(r.hold))
	mux.HandleFunc("GET /v1/loads", r.user(r.loads))
	mux.HandleFunc("GET /get_loads", r.user(r.getLoads))
	mux.HandleFunc("GET /engine_metrics", r.user(r.engineMetrics))
	for _, path := range lone {
		mux.HandleFunc(path, r.operator(r.single))
	}
}

// lone are calls that change one worker's weights, adapters, memory or settings. Given to one of several, they would leave a policy of two minds.
var lone = []string{
	"/begin_weight_update", "/end_weight_update", "/post_process_weights", "/init_weights_update_group", "/destroy_weights_update_group",
	"/update_weights_from_distributed", "/update_weights_from_tensor", "/update_weights_from_disk", "/update_weights_from_ipc", "/update_weights_from_stream",
	"/update_weight_version", "/pull_weights", "/weights_checker", "/release_memory_occupation", "/resume_memory_occupation", "/load_lora_adapter",
	"/load_lora_adapter_from_tensors", "/load_lora_adapter_from_distributed", "/unload_lora_adapter", "/set_internal_state", "/start_profile", "/stop_profile",
}

// single passes a call on if there is one worker.
func (r *Router) single(rw http.ResponseWriter, req *http.Request) {
	if n := len(r.reg.all(false)); n > 1 {
		writeError(rw, http.StatusBadRequest, fmt.Sprintf("%s concerns one worker, and there are %d: call each at its own address (GET /list_workers)", req.URL.Path, n))
		return
	}
	r.forward(rw, req)
}

// A reply is what a worker said to a call that all got.
type reply struct {
	w      *worker
	body   []byte
	status int // 502 if it said nothing
	err    error
}

// why returns what was wrong with a reply, "" for nothing.
func (p reply) why() string {
	switch {
	case p.err != nil:
		return p.err.Error()
	case p.status >= 300:
		return fmt.Sprintf("answers %d: %.300s", p.status, strings.TrimSpace(string(p.body)))
	}
	return ""
}

// toAll gives a call to all workers at once, and returns what they said in their order.
func (r *Router) toAll(ctx context.Context, rw http.ResponseWriter, req *http.Request) ([]reply, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, req.Body, longestCall))
	if err != nil {
		writeUnread(rw, err)
		return nil, false
	}
	workers := r.reg.all(false)
	if len(workers) == 0 {
		writeError(rw, http.StatusServiceUnavailable, errNone.Error())
		return nil, false
	}
	out := make([]reply, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			p := reply{w: w, status: http.StatusBadGateway}
			text, status, err := r.ask(ctx, w, req.Method, req.URL.RequestURI(), bytes.NewReader(body), req.Header)
			if p.body, p.err = text, err; err == nil {
				p.status = status
			}
			out[i] = p
		})
	}
	all.Wait()
	r.logFailures(req.URL.Path, out)
	return out, true
}

func (r *Router) logFailures(path string, all []reply) {
	for _, p := range all {
		if why := p.why(); why != "" {
			r.counts.add(fanFailed)
			r.log.Warn("a worker did not take a call for all", "path", path, "worker", p.w.base.String(), "why", why)
		}
	}
}

// outcome sorts replies. Its status is that of the worst.
func outcome(all []reply) (good []string, bad [][2]string, status int) {
	good, bad, status = []string{}, [][2]string{}, http.StatusOK
	for _, p := range all {
		if why := p.why(); why != "" {
			bad, status = append(bad, [2]string{p.w.base.String(), why}), max(status, p.status)
			continue
		}
		good = append(good, p.w.base.String())
	}
	return good, bad, status
}

// flush empties all caches. One that could not be emptied makes the whole call fail, as it does at a worker.
func (r *Router) flush(rw http.ResponseWriter, req *http.Request) {
	all, ok := r.toAll(req.Context(), rw, req)
	if !ok {
		return
	}
	good, bad, status := outcome(all)
	writeJSON(rw, status, map[string]any{
		"successful": good, "failed": bad, "total_workers": len(all), "http_workers": len(all), "message": fmt.Sprintf("%d of %d caches flushed", len(good), len(all)),
	})
}

// abort ends requests wherever they are. Workers that don't know them ignore it.
func (r *Router) abort(rw http.ResponseWriter, req *http.Request) {
	all, ok := r.toAll(req.Context(), rw, req)
	if !ok {
		return
	}
	if _, bad, status := outcome(all); len(bad) > 0 {
		writeError(rw, status, fmt.Sprintf("%d of %d workers did not take it; first %s: %s", len(bad), len(all), bad[0][0], bad[0][1]))
		return
	}
	rw.WriteHeader(http.StatusOK)
}

// hold pauses or continues all.
func (r *Router) hold(rw http.ResponseWriter, req *http.Request) {
	all, ok := r.toAll(req.Context(), rw, req)
	if !ok {
		return
	}
	good, bad, status := outcome(all)
	if len(bad) > 0 {
		writeError(rw, status, fmt.Sprintf("%d of %d workers did not take it; first %s: %s", len(bad), len(all), bad[0][0], bad[0][1]))
		return
	}
	writeJSON(rw, http.StatusOK, map[string]string{"status": "ok", "message": fmt.Sprintf("%d workers", len(good))})
}

// loads joins what all workers say of their load: who waits until all are idle must see all.
func (r *Router) loads(rw http.ResponseWriter, req *http.Request) {
	all, ok := r.toAll(req.Context(), rw, req)
	if !ok {
		return
	}
	var joined map[string]any
	lists := []any{}
	for _, p := range all {
		var one map[string]any
		if why := p.why(); why != "" || json.Unmarshal(p.body, &one) != nil {
			writeError(rw, max(p.status, http.StatusBadRequest), fmt.Sprintf("load of %s is not known: %s", p.w.base, why))
			return
		}
		if joined == nil {
			joined = one
		}
		list, _ := one["loads"].([]any)
		for _, l := range list {
			if m, isMap := l.(map[string]any); isMap {
				m["worker"] = p.w.base.String()
			}
			lists = append(lists, l)
		}
	}
	joined["loads"] = lists
	writeJSON(rw, http.StatusOK, joined)
}

// getLoads says what the router itself has given to each worker.
func (r *Router) getLoads(rw http.ResponseWriter, _ *http.Request) {
	type load struct {
		Worker string `json:"worker"`
		Load   int    `json:"load"`
	}
	out := []load{}
	for _, w := range r.reg.all(false) {
		v := r.reg.view(w)
		out = append(out, load{v.URL, v.Load})
	}
	writeJSON(rw, http.StatusOK, map[string]any{"workers": out})
}
