package router

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"
)

// manage registers the calls about workers, both generations.
func (r *Router) manage(mux *http.ServeMux) {
	mux.HandleFunc("POST /workers", r.operator(r.postWorker))
	mux.HandleFunc("GET /workers", r.user(r.getWorkers))
	mux.HandleFunc("GET /workers/{id}", r.user(r.getWorker))
	mux.HandleFunc("DELETE /workers/{id}", r.operator(r.deleteWorker))
	mux.HandleFunc("PATCH /workers/{id}", r.operator(r.patchWorker))
	mux.HandleFunc("PUT /workers/{id}", r.operator(r.patchWorker))
	mux.HandleFunc("POST /add_worker", r.operator(r.addWorker))
	mux.HandleFunc("POST /remove_worker", r.operator(r.removeWorker))
	mux.HandleFunc("GET /list_workers", r.user(r.listWorkers))
}

// A view is a worker as the router shows it.
type view struct {
	ID         string            `json:"id"`
	URL        string            `json:"url"`
	ModelID    string            `json:"model_id"`
	Priority   int               `json:"priority"`
	Cost       float64           `json:"cost"`
	Type       string            `json:"worker_type"`
	Healthy    bool              `json:"is_healthy"`
	Load       int               `json:"load"`
	Connection string            `json:"connection_mode"`
	Served     int               `json:"served"`
	Last       string            `json:"last_error,omitempty"`
	Metadata   map[string]string `json:"metadata"`
}

// view returns what is shown of a worker: its keys are not.
func (r *registry) view(w *worker) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := view{
		ID: w.id, URL: w.spec.URL, ModelID: firstOf(w.spec.ModelID, w.meta.ServedModel, w.meta.ModelID, w.meta.ModelPath), Priority: w.spec.Priority, Cost: w.spec.Cost,
		Type: w.spec.Type, Healthy: w.healthy, Load: w.requests, Connection: "http", Served: w.served, Metadata: map[string]string{},
	}
	if w.last != nil {
		v.Last = w.last.Error()
	}
	maps.Copy(v.Metadata, w.spec.Labels)
	for k, text := range map[string]string{"model_path": w.meta.ModelPath, "version": w.meta.Version} {
		if text != "" {
			v.Metadata[k] = text
		}
	}
	return v
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return "unknown"
}

// postWorker registers a worker. Its health is looked at later: the answer says only that it is on the list.
func (r *Router) postWorker(rw http.ResponseWriter, req *http.Request) {
	s := newSpec()
	if err := readBody(req, &s); err != nil {
		writeFault(rw, http.StatusBadRequest, "INVALID_REQUEST", err.Error())
		return
	}
	w, ok := r.enter(rw, s)
	if !ok {
		return
	}
	at := "/workers/" + w.id
	rw.Header().Set("Location", at)
	writeJSON(rw, http.StatusAccepted, map[string]string{
		"status": "accepted", "worker_id": w.id, "url": w.base.String(), "location": at, "message": "the worker gets requests when it is healthy",
	})
}

// enter puts a worker on the list, or answers why not.
func (r *Router) enter(rw http.ResponseWriter, s Spec) (*worker, bool) {
	if err := s.check(); err != nil {
		writeFault(rw, http.StatusBadRequest, "INVALID_WORKER", err.Error())
		return nil, false
	}
	w, err := r.reg.add(s)
	if err != nil {
		writeFault(rw, http.StatusConflict, "WORKER_EXISTS", err.Error())
		return nil, false
	}
	r.log.Info("worker registered", "worker", w.base.String(), "id", w.id)
	return w, true
}

// longestCall is how long the body of a call about workers may be.
const longestCall = 1 << 20

func readBody(req *http.Request, into any) error {
	text, err := io.ReadAll(io.LimitReader(req.Body, longestCall))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (r *Router) getWorkers(rw http.ResponseWriter, _ *http.Request) {
	list := []view{}
	for _, w := range r.reg.all(false) {
		list = append(list, r.reg.view(w))
	}
	stats := map[string]int{"prefill_count": 0, "decode_count": 0, "regular_count": len(list)}
	writeJSON(rw, http.StatusOK, map[string]any{"workers": list, "total": len(list), "stats": stats})
}

// named returns the worker that the path names, by id or, as old routers had it, by address.
func (r *Router) named(rw http.ResponseWriter, req *http.Request) (*worker, bool) {
	name := req.PathValue("id")
	if w := r.reg.find(name); w != nil {
		return w, true
	}
	if _, err := parseURL(name); err != nil && !isID(name) {
		writeFault(rw, http.StatusBadRequest, "BAD_ID", "worker id is "+name+", want a UUID")
		return nil, false
	}
	writeFault(rw, http.StatusNotFound, "WORKER_NOT_FOUND", "there is no worker "+name)
	return nil, false
}

func (r *Router) getWorker(rw http.ResponseWriter, req *http.Request) {
	if w, ok := r.named(rw, req); ok {
		writeJSON(rw, http.StatusOK, r.reg.view(w))
	}
}

func (r *Router) deleteWorker(rw http.ResponseWriter, req *http.Request) {
	w, ok := r.named(rw, req)
	if !ok {
		return
	}
	r.drop(w)
	writeJSON(rw, http.StatusAccepted, map[string]string{"status": "accepted", "worker_id": w.id, "message": "the worker gets no more requests"})
}

func (r *Router) drop(w *worker) {
	r.reg.remove(w)
	r.log.Info("worker removed", "worker", w.base.String(), "id", w.id)
}

// patchWorker changes what a worker was registered with, but for its address.
func (r *Router) patchWorker(rw http.ResponseWriter, req *http.Request) {
	w, ok := r.named(rw, req)
	if !ok {
		return
	}
	s := r.reg.spec(w)
	u := s.URL
	err := readBody(req, &s)
	if err == nil && s.URL != u {
		err = errors.New("url can't be changed: remove the worker and register another")
	}
	if err == nil {
		err = s.check()
	}
	if err != nil {
		writeFault(rw, http.StatusBadRequest, "INVALID_REQUEST", err.Error())
		return
	}
	r.reg.change(w, s)
	writeJSON(rw, http.StatusAccepted, map[string]string{"status": "accepted", "worker_id": w.id, "message": "changed"})
}

// urlOf returns the address that an old call names: in the query, or in JSON.
func urlOf(req *http.Request) (string, error) {
	if u := req.URL.Query().Get("url"); u != "" {
		return u, nil
	}
	var body struct {
		URL string `json:"url"`
	}
	err := readBody(req, &body)
	if err == nil && body.URL == "" {
		err = errors.New("url is missing, want it in the query or as JSON")
	}
	return body.URL, err
}

// addWorker registers a worker and waits until it is healthy: who calls it sends requests at once.
func (r *Router) addWorker(rw http.ResponseWriter, req *http.Request) {
	u, err := urlOf(req)
	if err != nil {
		writeFault(rw, http.StatusBadRequest, "INVALID_REQUEST", err.Error())
		return
	}
	s := newSpec()
	s.URL = u
	w, ok := r.enter(rw, s)
	if !ok {
		return
	}
	if err := r.await(req.Context(), w); err != nil {
		r.drop(w)
		writeFault(rw, http.StatusServiceUnavailable, "WORKER_UNHEALTHY", "worker "+u+" did not become healthy and was removed: "+err.Error())
		return
	}
	r.writeOld(rw)
}

// await waits for a new worker's health.
func (r *Router) await(ctx context.Context, w *worker) error {
	t := time.NewTimer(r.cfg.StartupWithin)
	defer t.Stop()
	select {
	case <-w.ready:
		return nil
	case <-w.left:
		return errors.New("it was removed")
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return errors.Join(errors.New("--worker-startup-timeout-secs is over"), r.reg.why(w))
	}
}

func (r *Router) removeWorker(rw http.ResponseWriter, req *http.Request) {
	u, err := urlOf(req)
	if err != nil {
		writeFault(rw, http.StatusBadRequest, "INVALID_REQUEST", err.Error())
		return
	}
	w := r.reg.find(u)
	if w == nil {
		writeFault(rw, http.StatusNotFound, "WORKER_NOT_FOUND", "there is no worker "+u)
		return
	}
	r.drop(w)
	r.writeOld(rw)
}

// writeOld answers as the small routers of RL frameworks do.
func (r *Router) writeOld(rw http.ResponseWriter) {
	active := map[string]bool{}
	for _, w := range r.reg.all(false) {
		active[w.base.String()] = r.reg.view(w).Healthy
	}
	writeJSON(rw, http.StatusOK, map[string]any{"status": "success", "worker_urls": active})
}

func (r *Router) listWorkers(rw http.ResponseWriter, _ *http.Request) {
	urls := []string{}
	for _, w := range r.reg.all(false) {
		urls = append(urls, w.base.String())
	}
	writeJSON(rw, http.StatusOK, map[string]any{"urls": urls})
}
