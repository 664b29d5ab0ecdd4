package server

import (
	"fmt"
	"net/http"
	"runtime"
)

// absentRoutes are endpoints that the dialect has: those that have nothing to do here and say so, and those that are not here.
func (s *Server) absentRoutes() []route {
	out := []route{
		{"GET|POST", "/freeze_gc", admin, func(w http.ResponseWriter, _ *http.Request) {
			runtime.GC()
			text(w, http.StatusOK, "garbage collected; there is nothing to freeze")
		}},
		{"GET|POST", "/configure_logging", admin, s.configureLogging},
		{"GET|POST", "/slow_down", admin, s.slowDown},
	}
	for _, a := range []struct{ path, why string }{
		{"/open_session", "prompts that begin alike share their state by themselves"},
		{"/close_session", "prompts that begin alike share their state by themselves"},
		{"/encode", "the model generates"},
		{"/classify", "the model generates"},
		{"/v1/classify", "the model generates"},
		{"/v1/embeddings", "the model generates"},
		{"/v1/score", "use /generate with logprob_start_len"},
		{"/v1/rerank", "the model generates"},
		{"/v1/responses", "use /v1/chat/completions"},
		{"/v1/messages", "use /v1/chat/completions"},
		{"/api/chat", "use /v1/chat/completions"},
		{"/api/generate", "use /generate"},
		{"/generate_from_file", "no request names files to read prompts from"},
	} {
		out = append(out, route{"GET|POST", a.path, user, s.absent(a.why)})
	}
	return out
}

// absent answers that an endpoint is not here, and why.
func (s *Server) absent(why string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, refusal{http.StatusNotImplemented, fmt.Sprintf("%s is not here: %s", r.URL.Path, why)})
	}
}

// configureLogging turns the log of requests on and off; nothing else is configured this way.
func (s *Server) configureLogging(w http.ResponseWriter, r *http.Request) {
	var in struct {
		LogRequests *bool `json:"log_requests"`
	}
	if !s.readAny(w, r, &in) {
		return
	}
	if in.LogRequests != nil {
		s.verbose.Store(*in.LogRequests)
	}
	text(w, http.StatusOK, "log_requests is %v", s.verbose.Load())
}

// slowDown takes back a slowing that there never is, and refuses one.
func (s *Server) slowDown(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Sleep *float64 `json:"forward_sleep_time"`
	}
	if !s.readAny(w, r, &in) {
		return
	}
	if or(in.Sleep, 0) != 0 {
		s.fail(w, r, bad("forward_sleep_time is %v, want null: passes are not slowed down", *in.Sleep))
		return
	}
	text(w, http.StatusOK, "passes run at full speed")
}
