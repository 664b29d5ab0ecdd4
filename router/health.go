package router

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// retrySick is how often a worker is looked at that gets no requests: who waits for it should not wait for a look.
const retrySick = time.Second

// Run looks at the workers until ctx ends, and returns when nobody looks any more.
func (r *Router) Run(ctx context.Context) {
	var watchers sync.WaitGroup
	defer watchers.Wait()
	for {
		for _, w := range r.reg.newcomers() {
			watchers.Go(func() { r.watch(ctx, w) })
		}
		select {
		case <-ctx.Done():
			return
		case <-r.reg.came:
		}
	}
}

// watch looks at a worker again and again until it is removed.
func (r *Router) watch(ctx context.Context, w *worker) {
	for {
		r.examine(ctx, w)
		pause := time.NewTimer(r.pause(w))
		select {
		case <-ctx.Done():
		case <-w.left:
		case <-w.look:
		case <-pause.C:
		}
		pause.Stop()
		if ctx.Err() != nil || w.gone() {
			return
		}
	}
}

// pause returns the time until the next look.
func (r *Router) pause(w *worker) time.Duration {
	if r.reg.isHealthy(w) {
		return r.cfg.Every
	}
	return min(retrySick, r.cfg.Every)
}

// examine looks at a worker once.
func (r *Router) examine(ctx context.Context, w *worker) {
	short, cancel := context.WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	_, status, err := r.ask(short, w, http.MethodGet, r.cfg.Health, nil, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d, want 200", r.cfg.Health, status)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.bad(w, err)
		return
	}
	if r.reg.passed(w) {
		r.learn(short, w)
		r.log.Info("worker is healthy", "worker", w.base.String())
	}
}

// bad notes that a worker could not be used.
func (r *Router) bad(w *worker, why error) {
	if r.reg.failed(w, why) {
		r.log.Warn("worker is unhealthy", "worker", w.base.String(), "why", why.Error())
	}
}

// facts are what a worker tells of itself, where it does.
type facts struct {
	ModelID     string `json:"model_id"`
	ServedModel string `json:"served_model_name"`
	ModelPath   string `json:"model_path"`
	Version     string `json:"version"`
	Weights     string `json:"weight_version"`
}

// learn asks a worker that has become healthy who it is. What it does not tell stays unknown.
func (r *Router) learn(ctx context.Context, w *worker) {
	found := facts{}
	for _, path := range []string{"/model_info", "/server_info"} {
		body, status, err := r.ask(ctx, w, http.MethodGet, path, nil, nil)
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(body, &found)
		}
		if err != nil {
			r.log.Warn("worker does not describe itself", "worker", w.base.String(), "path", path, "why", err.Error())
		}
	}
	r.reg.describe(w, found)
}

// longestAnswer is how much is read of an answer to the router itself.
const longestAnswer = 64 << 20

// ask sends a worker a request of the router's own, or one that all workers get, and returns the answer whole.
func (r *Router) ask(ctx context.Context, w *worker, method, path string, body io.Reader, like http.Header) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.base.String()+path, body)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range []string{"Authorization", "Content-Type"} {
		if v := like.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	r.authorize(req.Header, w)
	resp, err := r.net.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	if len(text) > longestAnswer {
		err = fmt.Errorf("%s answers more than %d bytes", path, longestAnswer)
	}
	return text, resp.StatusCode, err
}

// authorize gives a request the key of the worker that it goes to, if that has one.
func (r *Router) authorize(h http.Header, w *worker) {
	key := r.reg.spec(w).APIKey
	if key == "" {
		key = r.cfg.WorkerKey
	}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}
